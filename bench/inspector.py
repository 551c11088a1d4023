"""The inspector's pages in a space of 10^5 entities: time on the server, first view, what is sent.

Time on the server is that of the process, which a loaded machine shares out but does not add to.
The first view is that of Chromium, where there is one. `CANONRY_BENCH_INSPECTOR` says how many
entities there are, `CANONRY_BENCH_INSPECTOR_FOLDER` where the store that takes minutes to fill is
kept. It is filled, measured and looked at in a process of its own each, so that none of them
leaves anything in the memory of another.
"""

import asyncio
import gzip
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.processes import Server, free_port, resident_bytes, stay_off_the_servers_processor
from bench.report import Row, median
from canonry.app.embedded import Embedded, open_embedded
from canonry.assistant import CANON
from canonry.cli.entry import without_collection
from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.stores.sqlite import Durability

if TYPE_CHECKING:  # what is measured is its being imported
    from starlette.types import ASGIApp

    from tests.inspector.reader import Reader

SECTION = "inspector"
ROUNDS, VIEWS = 9, 5
PAGE_MS_MAX, NEXT_MS_MAX, SENT_KB_MAX, GROWN_MB_MAX = 100.0, 50.0, 250.0, 20.0
VIEW_MS_MAX = 300.0

STATIC = Path(__file__).parent.parent / "src" / "canonry" / "inspector" / "static"
WAITING, TURNS, PLACES, PASSAGES = 300, 200, 1_000, 300
EVENTS_SHARE = 10
"""One event for so many entities."""


@dataclass(frozen=True, kw_only=True)
class Filled:
    """The contents of the store on its pages."""

    space: str
    item: str
    scene: str
    turn: str
    story: str
    document: str
    proposal: str
    world: str
    entities: int

    @property
    def pages(self) -> dict[str, str]:
        """Each page of the inspector, by what it is called in the table."""
        space, item = f"space={self.space}", self.item
        return {
            "spaces": "/",
            "space": f"/space?{space}",
            "find, one name": f"/find?{space}&q=Character+{self.entities // 3}",
            "find, what many have": f"/find?{space}&q=visited",
            "find, list": f"/find?{space}",
            "find, list far on": f"/find?{space}&from={self.entities // 2}",
            "find, facts": f"/find?{space}&kind=fact",
            "find, list at a time": f"/find?{space}&at=1207-01-01",
            "entity": f"/thing/{item}",
            "entity as once known": f"/thing/{item}?known=2030-01-01",
            "difference": f"/difference/{item}?at1=1207-01-01",
            "difference of a space": f"/difference?{space}&at1=1207-01-01",
            "scene": f"/thing/{self.scene}",
            "turn": f"/thing/{self.turn}",
            "story": f"/thing/{self.story}",
            "document": f"/thing/{self.document}",
            "proposal": f"/thing/{self.proposal}",
            "timeline": f"/timeline?{space}",
            "graph around": f"/graph?about={item}&hops=2",
            "graph": f"/graph?{space}",
            "graph of 2,000": f"/graph?{space}&most=2000",
            "map of 1,000 places": f"/map?space={self.world}",
            "map at tick 0": f"/map?space={self.world}&tick=0",
            "review": f"/review?{space}&what=pending",
            "review, conflicts": f"/review?{space}&what=conflicts",
            "review as once known": f"/review?{space}&known=2100-01-01",
            "duplicates": f"/review?{space}&what=duplicates",
            "log": f"/log?{space}",
            "health": "/health",
        }


def run() -> list[Row]:
    """Build the space once, then ask for each page in turn."""
    kept = os.environ.get("CANONRY_BENCH_INSPECTOR_FOLDER")
    with tempfile.TemporaryDirectory() as other:
        folder = Path(kept or other)
        if not (folder / "filled.json").exists():
            _apart(_fill, folder)
        return [*_apart(_grown, folder), *_apart(_pages, folder), *_apart(_views, folder), _sent()]


def _apart(work: Callable[[Path], Any], folder: Path) -> Any:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_run, work, folder).result()


def _run(work: Callable[[Path], Any], folder: Path) -> Any:
    done = work(folder)
    return asyncio.run(done) if asyncio.iscoroutine(done) else done


async def _fill(folder: Path) -> None:
    """A store with something on every page."""
    from bench.worlds import build_world

    entities = int(float(os.environ.get("CANONRY_BENCH_INSPECTOR", "1e5")))
    began = time.perf_counter()
    store = await open_embedded(folder, durability=Durability.NORMAL)
    try:
        world = await build_world(
            store.canon,
            entities=entities,
            facts_each=1,
            scenes=20,
            events=entities // EVENTS_SHARE,
        )
        answer = await _fill_space(store, world.space, world.entities)
        filled = Filled(
            space=world.space,
            item=world.entities[entities // 2],
            story=world.story,
            world=await _isle(store),
            entities=entities,
            **answer,
        )
    finally:
        await store.close()
    (folder / "filled.json").write_text(json.dumps(asdict(filled)), encoding="utf-8")
    sys.stderr.write(f"filled in {time.perf_counter() - began:.0f} s\n")


async def _fill_space(store: Embedded, space: str, entities: list[Any]) -> dict[str, str]:
    """Write statements, texts and proposals to a space, and return their ids."""
    gateway = Gateway(store.canon, [CANON])

    async def call(agent: str, tool: str, **given: Any) -> Any:
        who = Principal(agent_id="bench", agent_type=agent, authorities=None)
        outcome = await gateway.call(tool, {"space": space, **given}, who)
        if outcome.error is not None:
            raise RuntimeError(outcome.text)
        return outcome.body

    scene: Any = {}
    for start in range(0, TURNS, 50):
        lines = [{"by": "gm", "text": f"Then comes wave {start + n}."} for n in range(50)]
        scene = await call("Keeper", "tell", scene="The long watch", turns=lines)
    text = "\n\n".join(
        f"Chapter {n}. " + "The tide rises and falls. " * 20 for n in range(PASSAGES)
    )
    written = await call("Keeper", "tell", text=text, title="The book of tides")
    proposals: list[str] = []
    for start in range(0, WAITING, 10):
        claims = [
            {"kind": "fact", "says": f"Somebody owns coin {n}", "about": [entities[n]]}
            for n in range(start, start + 10)
        ]
        said = await call(
            "Contributor", "propose", claims=claims, evidence=[scene["turns"][0]["id"]]
        )
        proposals += [each["proposal"] for each in said["verdicts"] if "proposal" in each]
    waiting = (await call("Keeper", "review", limit=1))["waiting"]
    return {
        "scene": scene["scene"],
        "turn": scene["turns"][0]["id"],
        "document": written["document"],
        "proposal": (proposals or [each["id"] for each in waiting])[0],
    }


async def _isle(store: Embedded) -> str:
    """A world with places on a grid, and somebody at some of them."""
    from canonry.testing.clocks import a_caller
    from canonry.world.usecases.exchange import import_world
    from tests.domain.world.generated import an_atlas

    atlas = an_atlas(seed=1, locations=PLACES, players=PLACES // 10)
    done = await import_world(
        store.canon, a_caller("Operator"), atlas, origin="bench", progress=lambda *_: None
    )
    return str(done.world_id)


def _filled(folder: Path) -> Filled:
    return Filled(**json.loads((folder / "filled.json").read_text(encoding="utf-8")))


async def _grown(folder: Path) -> list[Row]:
    """Measure how much the pages add to a server that answers calls over HTTP already."""
    import canonry.server.http
    import canonry.server.pages  # noqa: F401 - what such a server has imported

    filled = _filled(folder)
    async with _opened(folder) as gateway:
        keeper = Principal(agent_id="bench", agent_type="Keeper", authorities=None)
        for tool, given in (("find", {"space": filled.space}), ("get", {"of": filled.item})):
            await gateway.call(tool, given, keeper)
        before = _resident_mb()
        app = _app(gateway)
        imported = _resident_mb() - before
        reader = _reader(app)
        before = _resident_mb()
        for path in ("/", f"/space?space={filled.space}", f"/thing/{filled.item}"):
            await reader.read_page(path)
        drawn = _resident_mb() - before
    return [
        _figure("opening it adds", imported + drawn, "MB", GROWN_MB_MAX, f"{imported:.1f} imported")
    ]


async def _pages(folder: Path) -> list[Row]:
    filled = _filled(folder)
    async with _opened(folder) as gateway:
        with (
            without_collection()
        ):  # as the command does, which has its garbage collected less often
            reader = _reader(_app(gateway))
        return [
            *[await _timed(reader, name, path) for name, path in filled.pages.items()],
            await _next(reader, filled),
        ]


async def _timed(reader: "Reader", name: str, path: str) -> Row:
    seconds, size = [], 0
    for _ in range(ROUNDS):
        began = time.process_time()
        answer = await reader.ask("GET", path, b"", {"accept_encoding": "gzip"}, raw=True)
        seconds.append(time.process_time() - began)
        size = len(answer.text)
        if answer.status not in {200, 404}:
            raise RuntimeError(f"{path} answers {answer.status}: {answer.text[:500]}")
    note = "" if answer.status == 200 else f"answered {answer.status}"
    note = note or f"{size / 1e3:.0f} kB sent, first {seconds[0] * 1e3:.0f} ms"
    return _figure(name, median(seconds) * 1e3, "ms", PAGE_MS_MAX, note)


async def _next(reader: "Reader", filled: Filled) -> Row:
    """Reject one and draw what waits then, as the page does after a key."""
    path = f"/review?space={filled.space}&what=pending"
    page = await reader.read_page(path)
    (key, *_rest) = re.findall(r'name="key" value="([0-9a-f]{64})"', page)
    form = {"key": key, "verdict": "reject", "reason": "no", "space": filled.space, "back": path}
    seconds = []
    for _ in range(ROUNDS):
        first = re.findall(r'data-id="([0-9a-f-]+)"', page)[0]
        began = time.process_time()
        answer = await reader.post("/decide", {**form, "of": first})
        page = await reader.read_page(answer.first_header("location"))
        seconds.append(time.process_time() - began)
    return _figure("deciding, and the next", median(seconds) * 1e3, "ms", NEXT_MS_MAX)


def _views(folder: Path) -> list[Row]:
    """First view of each page in a browser, where there is one; the median of some visits."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if chromium is None:
        return []
    from playwright.sync_api import sync_playwright

    rows, port = [], free_port()
    command = (sys.executable, "-m", "canonry.cli", "serve", "--toolsets", "canon")
    bound = ("--data", str(folder), "--agent-type", "Keeper", "--http", f"127.0.0.1:{port}")
    with Server((*command, *bound), port), sync_playwright() as playing:
        stay_off_the_servers_processor()
        browser = playing.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        for name, path in _filled(folder).pages.items():
            seen = []
            for _ in range(VIEWS):
                page.goto(f"http://127.0.0.1:{port}{path}", wait_until="load")
                seen.append(float(page.evaluate(_FIRST_VIEW)))
            rows.append(_figure(f"first view: {name}", median(seen), "ms", VIEW_MS_MAX))
        browser.close()
    return rows


_FIRST_VIEW = """() => new Promise(say => new PerformanceObserver(list =>
    list.getEntriesByName("first-contentful-paint").forEach(each => say(each.startTime))
).observe({type: "paint", buffered: true}))"""
"""From the moment at which the browser set out, the server's time among it."""


@asynccontextmanager
async def _opened(folder: Path) -> AsyncIterator[Gateway]:
    store = await open_embedded(folder, durability=Durability.NORMAL)
    try:
        yield Gateway(store.canon, [CANON])
    finally:
        await store.close()


def _app(gateway: Gateway) -> "ASGIApp":
    from canonry.inspector.app import inspector_app
    from canonry.inspector.sign_in import Unlocked

    keeper = Principal(agent_id="bench", agent_type="Keeper", authorities=None)
    return inspector_app(gateway, Unlocked(principal=keeper))


def _reader(app: "ASGIApp") -> "Reader":
    from tests.inspector.reader import Reader

    return Reader(app)


def _sent() -> Row:
    files = [path for path in STATIC.rglob("*") if path.suffix in {".js", ".css", ".svg"}]
    total = sum(len(gzip.compress(path.read_bytes(), 9)) for path in files)
    built = (STATIC / "vendor" / "cytoscape.min.js").is_file()
    note = "" if built else "without what `make scripts` brings"
    return _figure("scripts and styles", total / 1e3, "kB gzip", SENT_KB_MAX, note)


def _figure(what: str, value: float, unit: str, budget: float, note: str = "") -> Row:
    return Row(section=SECTION, what=what, value=value, unit=unit, budget=budget, note=note)


def _resident_mb() -> float:
    return resident_bytes(os.getpid()) / 1e6

"""The inspector's pages in a space of 10^5 entities: time on the server, first view, what is sent.

Time on the server is that of the process, which a loaded machine shares out but does not add to.
The first view is that of Chromium, where there is one. `CANONRY_BENCH_INSPECTOR` says how many
entities there are.
"""

import asyncio
import gzip
import os
import resource
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench.report import Row, median
from bench.worlds import World, build_world
from canonry.adapters.sqlite import Durability
from canonry.bootstrap.embedded import open_embedded
from canonry.gateway.call import Gateway
from canonry.toolsets.canon import CANON
from canonry.toolsets.narrative import NARRATIVE

if TYPE_CHECKING:  # what is measured is its being imported
    from starlette.types import ASGIApp

    from tests.inspector.reader import Reader

SECTION = "inspector"
ROUNDS = 9
PAGE_MS_MAX, NEXT_MS_MAX, SENT_KB_MAX, GROWN_MB_MAX = 100.0, 50.0, 250.0, 20.0

STATIC = Path(__file__).parent.parent / "src" / "canonry" / "inspector" / "static"
_WAITING = 40


def run() -> list[Row]:
    """Build the space once, then ask for each page in turn."""
    with tempfile.TemporaryDirectory() as folder:
        return [*asyncio.run(_run(Path(folder))), _sent()]


async def _run(folder: Path) -> list[Row]:
    entities = int(float(os.environ.get("CANONRY_BENCH_INSPECTOR", "1e5")))
    store = await open_embedded(folder, durability=Durability.NORMAL)
    try:
        world = await build_world(store.canon, entities=entities, facts_each=1, scenes=20)
        gateway = Gateway(store.canon, [CANON, NARRATIVE])
        before = _resident_mb()
        from tests.inspector.reader import Reader  # the pages are imported here, and measured

        reader = Reader(_pages(gateway))
        await reader.page("/")
        grown = _figure("opening it adds", _resident_mb() - before, "MB", GROWN_MB_MAX)
        await _propose(gateway, world)
        return [grown, *await _timed(reader, world)]
    finally:
        await store.close()


def _pages(gateway: Gateway) -> "ASGIApp":
    from canonry.gateway.principal import Principal
    from canonry.inspector.app import inspector_app
    from canonry.inspector.doors import Unlocked

    keeper = Principal(agent_id="bench", agent_type="Keeper", authorities=None)
    return inspector_app(gateway, Unlocked(principal=keeper))


async def _propose(gateway: Gateway, world: World) -> None:
    from canonry.gateway.principal import Principal

    player = Principal(agent_id="bench", agent_type="Contributor", authorities=None)
    claims = [
        {"kind": "fact", "says": f"Somebody owns coin {n}", "about": [world.entities[n]]}
        for n in range(_WAITING)
    ]
    for start in range(0, _WAITING, 10):
        given = {"claims": claims[start : start + 10], "said": "So.", "space": world.space}
        outcome = await gateway.call("propose", given, player)
        if outcome.error is not None:
            raise RuntimeError(outcome.text)


async def _timed(reader: "Reader", world: World) -> list[Row]:
    space, rows = world.space, []
    thing = world.entities[len(world.entities) // 2]
    pages = {
        "spaces": "/",
        "space": f"/space?space={space}",
        "find, words": f"/find?space={space}&q=Entity+{len(world.entities) // 3}",
        "find, list": f"/find?space={space}",
        "find, list at a time": f"/find?space={space}&at=1207-01-01",
        "entity": f"/thing/{thing}",
        "entity as once known": f"/thing/{thing}?known=2030-01-01",
        "difference": f"/difference/{thing}?at1=1207-01-01",
        "scene": f"/thing/{world.scenes[0]}",
        "timeline": f"/timeline?space={space}",
        "graph around": f"/graph?about={thing}&hops=2",
        "graph": f"/graph?space={space}",
        "graph of 2,000": f"/graph?space={space}&most=2000",
        "review": f"/review?space={space}&what=pending",
        "duplicates": f"/review?space={space}&what=duplicates",
        "log": f"/log?space={space}",
        "health": "/health",
    }
    for name, path in pages.items():
        seconds = []
        for _ in range(ROUNDS):
            began = time.process_time()
            answer = await reader.get(path)
            seconds.append(time.process_time() - began)
            if answer.status not in {200, 404}:
                raise RuntimeError(f"{path} answers {answer.status}")
        note = "" if answer.status == 200 else f"answered {answer.status}"
        rows.append(_figure(name, median(seconds) * 1e3, "ms", PAGE_MS_MAX, note))
    rows.append(await _next(reader, world))
    return rows


async def _next(reader: "Reader", world: World) -> Row:
    """Reject one and draw what waits then, as the page does after a key."""
    from re import findall

    path = f"/review?space={world.space}&what=pending"
    seconds = []
    for _ in range(ROUNDS):
        page = await reader.page(path)
        first = findall(r'data-id="([0-9a-f-]+)"', page)[0]
        (key, *_rest) = findall(r'name="key" value="([0-9a-f]{64})"', page)
        form = {"key": key, "verdict": "reject", "of": first, "reason": "no", "space": world.space}
        began = time.process_time()
        await reader.post("/decide", form)
        await reader.page(path)
        seconds.append(time.process_time() - began)
    return _figure("deciding, and the next", median(seconds) * 1e3, "ms", NEXT_MS_MAX)


def _sent() -> Row:
    files = [path for path in STATIC.rglob("*") if path.suffix in {".js", ".css", ".svg"}]
    total = sum(len(gzip.compress(path.read_bytes(), 9)) for path in files)
    built = (STATIC / "vendor" / "cytoscape.min.js").is_file()
    note = "" if built else "without what `make scripts` brings"
    return _figure("scripts and styles", total / 1e3, "kB gzip", SENT_KB_MAX, note)


def _figure(what: str, value: float, unit: str, budget: float, note: str = "") -> Row:
    return Row(section=SECTION, what=what, value=value, unit=unit, budget=budget, note=note)


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6

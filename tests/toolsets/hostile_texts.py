"""Hostile arguments of the greatest legal length for every tool, and how long others wait."""

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from canonry.app.embedded import open_embedded
from canonry.canon.session.canon import Canon
from canonry.catalog.operator import OPERATOR
from canonry.catalog.toolset import CATALOG
from canonry.gateway.call import Gateway
from canonry.gateway.limits import Limits
from canonry.gateway.principal import Principal
from canonry.gateway.tool import Tool, Toolset
from canonry.log.schemas.truth_types import TRUTH_TYPES
from canonry.narrative.toolset import NARRATIVE
from canonry.records.toolset import TRUTH
from canonry.testing.clocks import CountingIdentities, HandClock
from canonry.world.toolset import WORLD
from tests.toolsets.catalog.kit import LAB, hostile_names, import_rows, make_uuid
from tests.toolsets.narrative.filled_world import a_furnished_world, a_role_for, fitting_arguments
from tests.toolsets.narrative.kit import World
from tests.toolsets.truth.filled_account import make_furnished_driver
from tests.toolsets.truth.kit import ToolDriver
from tests.toolsets.world.kit import an_isle, brought_in

LONGEST: Final = Limits().characters - 20_000
RECORD: Final = 900_000
UNITS: Final = (
    *(
        "a",
        "@",
        "a@",
        ".",
        "a.",
        "1",
        "1,",
        "1-",
        " ",
        "\n",
        '"',
        "(",
        "[",
        "<",
        "*",
        "**a",
        "#",
        "|",
    ),
    *(
        "a ",
        "A. ",
        "e\u0301",
        "\u0301",
        "\ufdfa",
        "\u3042",
        "http://",
        "a\n\n",
        "- a: 1\n",
        "```\n",
    ),
    *("is not ", "1 (0) ", "EUR 1,", "invoice no ", "between a and ", "effective a", "a*"),
)
KEY_FIELDS: Final = (
    "name",
    "email",
    "phone",
    "website",
    "vendor_name",
    "amount",
    "due_date",
    "tags",
)

Arguments = dict[str, Any]


@dataclass(slots=True)
class Heartbeat:
    """The longest time in seconds for which the event loop was not free.

    It is the time that this process has worked meanwhile, so that a busy machine does not count:
    in the loop's own thread, or in another that kept the loop from running.
    """

    worst: float = 0.0
    _beating: bool = field(default=True, init=False)

    async def keep_beating(self) -> None:
        """Look every few milliseconds."""
        before = self._read_clocks()
        while self._beating:
            await asyncio.sleep(0.003)
            now = self._read_clocks()
            own, wall, every = (late - early for late, early in zip(now, before, strict=True))
            self.worst = max(self.worst, own, min(wall, every))
            before = now

    async def measure_during(self, work: Awaitable[object]) -> float:
        """The longest while in which nobody else was served."""
        beating = asyncio.create_task(self.keep_beating())
        await asyncio.sleep(0.004)
        await work
        await asyncio.sleep(0.004)
        self._beating = False
        await beating
        return self.worst

    @staticmethod
    def _read_clocks() -> tuple[float, float, float]:
        return time.thread_time(), time.perf_counter(), time.process_time()


@dataclass(frozen=True, slots=True)
class House:
    """A toolset over a furnished store, with arguments that fit each of its tools."""

    toolset: Toolset
    gateway: Gateway
    principal: Callable[[Tool], Principal]
    fitting: Callable[[Tool], Arguments]

    async def call_tool(self, tool: Tool, arguments: Arguments) -> None:
        """Call, whatever comes of it; no defect may."""
        outcome = await self.gateway.call(tool.name, arguments, self.principal(tool))
        assert "incident" not in outcome.text[:500], (tool.name, outcome.text[:500])


@asynccontextmanager
async def open_houses(folder: Path) -> AsyncIterator[list[House]]:
    """All toolsets, each over an embedded store of its own."""
    async with AsyncExitStack() as stack:
        built: list[House] = []
        for make in (narrative_houses, truth_houses, world_houses, catalog_houses):
            clock, data = HandClock(), folder / make.__name__
            store = await open_embedded(data, clock=clock, identities=CountingIdentities())
            stack.push_async_callback(store.close)
            built += await make(store.canon, clock)
        yield built


async def narrative_houses(canon: Canon, clock: HandClock) -> list[House]:
    world = World(canon=canon, gateway=Gateway(canon, (NARRATIVE,)), clock=clock)
    await world.begin("Middle-earth")
    world, known = await a_furnished_world(world)
    return [
        House(
            NARRATIVE,
            world.gateway,
            lambda tool: Principal(agent_id="agent", agent_type=a_role_for(tool)),
            lambda tool: fitting_arguments(tool, known),
        )
    ]


async def truth_houses(canon: Canon, clock: HandClock) -> list[House]:
    driver = ToolDriver(canon=canon, gateway=Gateway(canon, (TRUTH,)), clock=clock)
    driver, fitting = await make_furnished_driver(driver=driver)
    principal = Principal(agent_id="desk", user=driver.user)
    return [House(TRUTH, driver.gateway, lambda _: principal, lambda tool: fitting[tool.name])]


async def world_houses(canon: Canon, clock: HandClock) -> list[House]:
    del clock
    done = await brought_in(canon, an_isle())
    principal = Principal(agent_id="builder", agent_type="WorldBuilder", world=done.world_id)
    return [House(WORLD, Gateway(canon, (WORLD,)), lambda _: principal, fit_arguments(IN_WORLD))]


async def catalog_houses(canon: Canon, clock: HandClock) -> list[House]:
    del clock
    await import_rows(canon, hostile_names())
    keeper = Principal(agent_id="keeper", agent_type="Operator")
    return [
        House(toolset, Gateway(canon, (toolset,)), lambda _: keeper, fit_arguments(IN_CATALOG))
        for toolset in (CATALOG, OPERATOR)
    ]


IN_WORLD: Final = {
    **dict.fromkeys(("locationId", "fromLocationId", "scopeId", "holderId"), "inn"),
    **dict.fromkeys(("playerId", "moverId", "toHolderId"), "ann"),
    **dict.fromkeys(("fromId", "toRealmId", "realmId"), "town"),
    "factId": "council",
    "itemId": "cup",
    "toLocationId": "tower",
    "scope": "location",
    "type": "faction",
    "direction": "up",
    "stopIds": ["inn", "yard"],
    "teleportTo": "yard",
}
IN_CATALOG: Final = {
    "projectId": LAB,
    "entityId": make_uuid(1),
    "relationId": make_uuid(1),
    "entityType": "guide",
    "sourceType": "other",
    "action": "archive",
    "platform": "x",
    "primaryEntityType": "guide",
    "primaryEntityId": make_uuid(1),
    "fromEntityId": make_uuid(1),
    "toEntityId": make_uuid(3),
    "fromEntityType": "guide",
    "toEntityType": "concept",
    "relationType": "GUIDE_USES_CONCEPT",
}


def fit_arguments(known: Mapping[str, Any]) -> Callable[[Tool], Arguments]:
    def fitting(tool: Tool) -> Arguments:
        wanted = tool.input_schema.get("required", ())
        properties = tool.input_schema.get("properties", {})
        return {name: known.get(name, any_value(properties[name])) for name in wanted}

    return fitting


def any_value(schema: Mapping[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    return {"integer": 1, "number": 1, "array": [], "object": {}}.get(str(schema.get("type")), "x")


def text_spots(schema: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[Any, int]]:
    """The path of every text that a schema takes, and how long it may be; `*` is any member."""
    kinds = schema.get("type", ())
    kinds = {kinds} if isinstance(kinds, str) else set(kinds)
    for name, inner in schema.get("properties", {}).items():
        yield from text_spots(inner, (*path, name))
    if "enum" in schema or not path:
        return
    if "string" in kinds or not kinds:
        yield path, int(schema.get("maxLength", LONGEST))
    if "array" in kinds:
        yield from text_spots(schema.get("items", {}), (*path, "[]"))
    if ("object" in kinds and not schema.get("properties")) or not kinds:
        yield (*path, "*"), LONGEST


def place_value(arguments: Any, path: tuple[str, ...], value: Any) -> Any:
    """The arguments with a value at a path."""
    if not path:
        return value
    step, *rest = path
    if step == "[]":
        first = arguments[0] if isinstance(arguments, list) and arguments else None
        return [place_value(first, tuple(rest), value)]
    own = dict(arguments) if isinstance(arguments, dict) else {}
    own[step] = place_value(own.get(step), tuple(rest), value)
    return own


def long_text(unit: str, length: int) -> str:
    """A text of this length that says the same again and again."""
    return (unit * (length // len(unit) + 1))[:length]


def many_values() -> Iterator[Any]:
    """Yield large values that are not long: many members, many items, deep nesting."""
    deep: Any = "x"
    for _ in range(24):
        deep = {"k": deep}
    yield {f"k{number}": "v" for number in range(100_000)}
    yield ["a"] * 200_000
    yield [deep] * 5_000


def hard_records() -> Iterator[tuple[str, list[Arguments]]]:
    """Records whose fields are keys, numbers or dates, each as long as a record may be."""
    for place, name in enumerate(KEY_FIELDS):
        kind = next(t for t, schema in TRUTH_TYPES.items() if schema.find_field(name) is not None)
        for unit in UNITS[place :: len(KEY_FIELDS)][:2]:
            text = long_text(unit, RECORD)
            yield f"{kind}.{name} {unit!r}", [{"entity_type": kind, name: text, "x": "1"}] * 2
    people = [
        {"entity_type": "contact", "name": f"C{n}", "email": f"{n}@a.test"} for n in range(2_500)
    ]
    yield "many records", people


def hard_files(rows: int) -> Iterator[tuple[str, str, str]]:
    """(what, text, media type) of files that a stranger might send."""
    cells = ("a" * 60, "a@" * 30, "1 " * 30, "a." * 40, "1," * 50)
    table = [",".join(f'"{cell}{n}"' for cell in cells) for n in range(rows)]
    yield "table", "\n".join(["name,email,phone,website,amount", *table]), "text/csv"
    long_cells = [f'{n},"{"a" * 4_000}"' for n in range(rows // 20)]
    yield "long cells", "\n".join(["name,email", *long_cells]), "text/csv"
    objects = [{"name": "a@" * 50, "email": "a" * 100, "n": n} for n in range(rows)]
    yield "objects", json.dumps(objects), "application/json"
    for place, unit in enumerate(UNITS):
        text = long_text(unit, rows * 40)
        if place % 2:
            yield f"text {unit!r}", f"Invoice\n{text}", "text/plain"
        else:
            yield f"markdown {unit!r}", f"# Contract\n{text}", "text/markdown"


def as_file(house: House, text: str, media: str) -> Arguments:
    """The arguments that bring a file."""
    tool = next(each for each in house.toolset.tools if each.name == "ingest")
    content = base64.b64encode(text.encode()).decode()
    user = house.fitting(tool)["user_id"]
    return {"user_id": user, "file_content": content, "mime_type": media}

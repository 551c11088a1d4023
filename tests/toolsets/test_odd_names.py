"""Odd stored names and times at the ends of time: each tool that reads text answers or refuses."""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest

from canonry.app.packages import TOOLSETS, load_toolsets
from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.gateway.tool import Tool
from tests.toolsets.narrative.kit import a_world
from tests.toolsets.odd_names import NAMES, SENTENCES, TIMES, an_odd_isle
from tests.toolsets.world.kit import Isle, brought_in

READERS: Final[Mapping[str, str]] = {
    "find": "text",
    "context": "question",
    "get": "of",
    "qdrant_semantic_search": "query_text",
    "qdrant_search_canon": "query_text",
    "check-narration": "narration",
    "parse-to-action-frame": "utterance",
    "classify-intent": "utterance",
    "moderate-content": "text",
    "search-rules": "query",
    "search_records": "query",
}
"""The argument by which each tool reads what somebody says."""

TIMED: Final[Mapping[str, tuple[str, ...]]] = {
    "find": ("at", "as_known_at"),
    "context": ("at",),
    "timeline": ("from", "to"),
    "neo4j_get_entity_at": ("at", "as_known_at"),
    "neo4j_get_timeline": ("start", "end"),
    "mongodb_create_scene": ("time_ref",),
}
"""The arguments in which each tool takes a time."""

BESIDE: Final[Mapping[str, Mapping[str, Any]]] = {
    "context": {"question": "who is here"},
    "mongodb_create_scene": {"title": "Scene", "participating_entities": []},
}


class Served:
    """All toolsets over a universe and an isle that are full of odd names."""

    def __init__(self, gateway: Gateway, isle: Isle, known: Mapping[str, str]) -> None:
        """Calls through `gateway`, in the world of `isle`."""
        self.gateway, self.isle, self.known = gateway, isle, known
        toolsets = load_toolsets(TOOLSETS)
        self.tools = {tool.name: tool for each in toolsets for tool in each.tools}

    async def call(self, tool: Tool, **arguments: Any) -> None:
        """Any answer but an internal error."""
        properties = tool.input_schema["properties"]
        given = {name: each for name, each in self.known.items() if name in properties}
        agent = min(tool.roles - {"*"}, default="CanonKeeper")
        principal = Principal(agent_id="odd-001", agent_type=agent, world=self.isle.world)
        outcome = await self.gateway.call(tool.name, {**given, **arguments}, principal)
        assert "incident" not in outcome.text, (tool.name, arguments, outcome.text)
        for word in ("not authorized", "is required", "unknown property"):
            assert outcome.error is None or word not in outcome.text, (tool.name, outcome.text)


async def serve_names() -> Served:
    world = await a_world()
    ids = [await world.entity(name) for name in NAMES]
    for name, identity in zip(NAMES, ids, strict=True):
        await world.fact(f"{name} is here", identity, time_ref="9999-12-31T23:59:59.999999Z")
    imported = await brought_in(world.canon, an_odd_isle())
    gateway = Gateway(world.canon, load_toolsets(TOOLSETS))
    isle = Isle(canon=world.canon, gateway=gateway, world=imported.world_id)
    known = {
        "space": world.universe_id,
        "universe_id": world.universe_id,
        "entity_id": ids[0],
        "story_id": await world.story(),
        "collection": "facts",
        "playerId": isle.id("ann"),
        "locationId": isle.id("inn"),
    }
    return Served(gateway, isle, known)


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as one:
        yield one


@pytest.fixture(scope="module")
def served(runner: asyncio.Runner) -> Served:
    return runner.run(serve_names())


@pytest.mark.parametrize("tool", READERS)
def test_no_storable_name_causes_an_internal_error(
    tool: str, served: Served, runner: asyncio.Runner
) -> None:
    async def ask() -> None:
        for number, name in enumerate(NAMES):
            other, when = NAMES[-number], TIMES[number % len(TIMES)]
            sentence = SENTENCES[number % len(SENTENCES)].format(name, other, when)
            text = name if number % 2 else sentence
            await served.call(served.tools[tool], **{READERS[tool]: text})

    runner.run(ask())


@pytest.mark.parametrize("tool", TIMED)
def test_no_time_causes_an_internal_error(
    tool: str, served: Served, runner: asyncio.Runner
) -> None:
    async def ask() -> None:
        for when in TIMES:
            for argument in TIMED[tool]:
                await served.call(served.tools[tool], **{**BESIDE.get(tool, {}), argument: when})

    runner.run(ask())


@pytest.mark.parametrize("when", TIMES)
def test_a_time_in_a_question_causes_no_internal_error(
    when: str, served: Served, runner: asyncio.Runner
) -> None:
    for text in (when, f"what happened between 2020 and {when}"):
        runner.run(served.call(served.tools["find"], text=text))

"""Calls that nobody would make: each is answered or refused, and none keeps the others waiting."""

import asyncio
import random
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.errors import NonInteractiveExampleWarning

from canonry.app.packages import TOOLSETS, load_toolsets
from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.gateway.tool import Tool
from canonry.values.ids import SpaceId
from tests.toolsets.narrative.filled_world import a_furnished_world
from tests.toolsets.narrative.hostile import arguments_for
from tests.toolsets.odd_names import NAMES, TEXTS, TIMES, an_odd_isle, known_in
from tests.toolsets.world.kit import brought_in

CALLS = 300
BEAT_SECONDS = 0.01
STALL_SECONDS = 0.25
LENGTH = 40_000
SHAPES = ("a", "@", "a@", "1,", ".", " ", "\u0301", '"', "[", "(", "\n", "a b ", "1.250 EUR ", "- ")
INTERNAL = "incident"
_SAID = (
    *("about", "by", "contains", "description", "from", "gm_notes", "identifier", "more", "name"),
    *("name_pattern", "narration", "of", "other", "place", "query", "query_text", "question"),
    *("said", "says", "scene", "semantic_query", "spell", "statement", "summary", "text", "title"),
    *("to", "utterance", "value", "where"),
)
_TIMES = (
    *("after_date", "as_known_at", "at", "before_date", "end", "said_at", "since", "start"),
    *("start_time_ref", "time_ref", "until", "when"),
)


@dataclass(frozen=True, slots=True)
class _Served:
    """All toolsets over a world of nearly everything, and what fits arguments by name."""

    gateway: Gateway
    tools: list[Tool]
    known: Mapping[str, Any]
    world: SpaceId

    def somebody(self, tool: Tool) -> Principal:
        """One who may call the tool, in the world whose names are odd."""
        agent = min(tool.roles - {"*"}, default="CanonKeeper")
        return Principal(agent_id=f"{agent.lower()}-001", agent_type=agent, world=self.world)


async def _served() -> _Served:
    world, known = await a_furnished_world()
    for name in NAMES:
        about = await world.entity(name)
        await world.fact(f"{name} is {NAMES[-len(name)]}", about)
    isle = (await brought_in(world.canon, an_odd_isle())).world_id
    toolsets = load_toolsets(TOOLSETS)
    tools = [tool for toolset in toolsets for tool in toolset.tools]
    said = dict.fromkeys(_SAID, st.one_of(TEXTS, st.sampled_from((*NAMES, *TIMES))))
    times = dict.fromkeys(_TIMES, st.sampled_from(TIMES))
    every = {**said, **times, **known_in(isle), **known, "space": world.universe_id}
    return _Served(Gateway(world.canon, toolsets), tools, every, isle)


def fuzz(lots: random.Random, folder: Path) -> Counter[str]:
    """Arguments that nearly fit, for tools drawn by lot."""
    del folder
    return asyncio.run(_fuzz(lots))


async def _fuzz(lots: random.Random) -> Counter[str]:
    served = await _served()
    drawn = {tool.name: arguments_for(tool.input_schema, served.known) for tool in served.tools}
    counted: Counter[str] = Counter()
    for _ in range(CALLS):
        tool = lots.choice(served.tools)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NonInteractiveExampleWarning)
            arguments = drawn[tool.name].example()
        outcome = await served.gateway.call(tool.name, arguments, served.somebody(tool))
        whole = (tool.name, arguments, outcome.text)
        assert INTERNAL not in outcome.text or outcome.error is None, whole
        counted["refused" if outcome.error else "answered"] += 1
    return counted


def stalls(lots: random.Random, folder: Path) -> Counter[str]:
    """Long texts of a nasty shape in every text argument of some tools, beside a heart that beats.

    A stall is processor time of the loop's own thread between two beats, so that a busy machine
    causes none.
    """
    del folder
    return asyncio.run(_stalls(lots))


async def _stalls(lots: random.Random) -> Counter[str]:
    served = await _served()
    heart = _Heart()
    beating = asyncio.create_task(heart.beat())
    counted: Counter[str] = Counter()
    for tool in lots.sample(served.tools, 12):
        shape = lots.choice(SHAPES)
        text = (shape * LENGTH)[:LENGTH]
        arguments = {**dict(_filled(tool.input_schema, text)), **_fitting(tool, served.known)}
        outcome = await served.gateway.call(tool.name, arguments, served.somebody(tool))
        await asyncio.sleep(BEAT_SECONDS)
        worst = heart.worst()
        assert worst < STALL_SECONDS, f"{tool.name} with {shape!r}: {worst:.2f} s of the loop"
        counted["refused" if outcome.error else "answered"] += 1
    beating.cancel()
    return counted


def _fitting(tool: Tool, known: Mapping[str, Any]) -> Mapping[str, Any]:
    """The ids that a tool asks for, of items that exist."""
    properties = tool.input_schema.get("properties", {})
    return {
        name: value
        for name, value in known.items()
        if name in properties and not isinstance(value, st.SearchStrategy)
    }


def _filled(schema: Mapping[str, Any], text: str) -> Iterator[tuple[str, Any]]:
    """Every argument that may be a text, and those that must be there."""
    for name, inner in schema.get("properties", {}).items():
        kinds = inner.get("type", "string")
        if "enum" in inner:
            yield name, inner["enum"][0]
        elif "string" in kinds and inner.get("format") != "uuid":
            yield name, text[: inner.get("maxLength", len(text))]
        elif "array" in kinds:
            yield name, [dict(_filled(inner.get("items", {}), text)) or text]
        elif "object" in kinds:
            yield name, dict(_filled(inner, text)) or {"a": text}


class _Heart:
    def __init__(self) -> None:
        self._worst = 0.0

    async def beat(self) -> None:
        before = time.thread_time()
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            now = time.thread_time()
            self._worst = max(self._worst, now - before)
            before = now

    def worst(self) -> float:
        """The longest time between two beats since this was asked."""
        worst, self._worst = self._worst, 0.0
        return worst

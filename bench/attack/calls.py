"""Calls that nobody would make: each is answered or refused, and none keeps the others waiting."""

import asyncio
import random
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hypothesis.errors import NonInteractiveExampleWarning

from canonry.bootstrap.toolsets import TOOLSETS, load_toolsets
from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.gateway.tool import Tool
from tests.toolsets.narrative.furnished import a_furnished_world
from tests.toolsets.narrative.hostile import arguments_for

CALLS = 60
BEAT_SECONDS = 0.01
STALL_SECONDS = 0.25
LENGTH = 40_000
SHAPES = ("a", "@", "a@", "1,", ".", " ", "\u0301", '"', "[", "(", "\n", "a b ", "1.250 EUR ", "- ")
INTERNAL = "incident"


async def _served() -> tuple[Gateway, list[Tool], Mapping[str, Any]]:
    """All toolsets over a world of nearly everything, and what fits arguments by name."""
    world, known = await a_furnished_world()
    toolsets = load_toolsets(TOOLSETS)
    tools = [tool for toolset in toolsets for tool in toolset.tools]
    return Gateway(world.canon, toolsets), tools, known


def _somebody(tool: Tool) -> Principal:
    agent = min(tool.roles)
    return Principal(agent_id=f"{agent.lower()}-001", agent_type=agent)


def fuzz(lots: random.Random, folder: Path) -> Counter[str]:
    """Arguments that nearly fit, for tools drawn by lot."""
    del folder
    return asyncio.run(_fuzz(lots))


async def _fuzz(lots: random.Random) -> Counter[str]:
    gateway, tools, known = await _served()
    counted: Counter[str] = Counter()
    for _ in range(CALLS):
        tool = lots.choice(tools)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NonInteractiveExampleWarning)
            arguments = arguments_for(tool.input_schema, known).example()
        outcome = await gateway.call(tool.name, arguments, _somebody(tool))
        assert INTERNAL not in outcome.text or outcome.error is None, (tool.name, outcome.text)
        counted["refused" if outcome.error else "answered"] += 1
    return counted


def stalls(lots: random.Random, folder: Path) -> Counter[str]:
    """Long texts of a nasty shape in every text argument of some tools, beside a heart that beats.

    What is measured is the processor time of the loop's own thread between two beats, so that a
    busy machine is no stall.
    """
    del folder
    return asyncio.run(_stalls(lots))


async def _stalls(lots: random.Random) -> Counter[str]:
    gateway, tools, known = await _served()
    heart = _Heart()
    beating = asyncio.create_task(heart.beat())
    counted: Counter[str] = Counter()
    for tool in lots.sample(tools, 12):
        shape = lots.choice(SHAPES)
        text = (shape * LENGTH)[:LENGTH]
        arguments = {**dict(_filled(tool.input_schema, text)), **_fitting(tool, known)}
        outcome = await gateway.call(tool.name, arguments, _somebody(tool))
        await asyncio.sleep(BEAT_SECONDS)
        worst = heart.worst()
        assert worst < STALL_SECONDS, f"{tool.name} with {shape!r}: {worst:.2f} s of the loop"
        counted["refused" if outcome.error else "answered"] += 1
    beating.cancel()
    return counted


def _fitting(tool: Tool, known: Mapping[str, Any]) -> Mapping[str, Any]:
    """The ids that a tool asks for, of things that exist."""
    properties = tool.input_schema.get("properties", {})
    return {name: value for name, value in known.items() if name in properties}


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

"""Secrets: to whoever may not know one, everything is as if it had never been reported."""

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from canonry.app.compose import compose_memory
from canonry.app.embedded import open_embedded
from canonry.canon.maintenance.log_transfer import verify_store
from canonry.catalog.toolset.toolset import CATALOG
from canonry.gateway.principal import Principal
from canonry.gateway.tool import Tool, Toolset
from canonry.narrative.toolset import NARRATIVE
from canonry.records.toolset.toolset import TRUTH
from canonry.testing.clocks import CountingIdentities, HandClock
from canonry.values.ids import SpaceId
from canonry.values.provenance import Authority
from canonry.world.toolset.toolset import WORLD
from tests.toolsets.narrative.filled_world import fitting_arguments
from tests.toolsets.narrative.twins import (
    Twin,
    Twins,
    a_twin,
    count_alike,
    furnish_twin,
    live_on,
    record_secrets,
    yield_strangers,
)

BACKENDS = pytest.mark.parametrize("backend", ["memory", "sqlite"])
READING = [tool for tool in NARRATIVE.tools if tool.read_only]
WORDS = ("zyxophant rises", "Ann", "It rains drops", "zyxy")


@asynccontextmanager
async def make_informed_twin(backend: str, folder: Path) -> AsyncIterator[Twin]:
    clock, identities = HandClock(), CountingIdentities()
    if backend == "memory":
        canon = compose_memory(clock=clock, identities=identities)
        yield await furnish_twin(a_twin(canon, clock, identities))
        return
    store = await open_embedded(folder, clock=clock, identities=identities)
    try:
        yield await furnish_twin(a_twin(store.canon, clock, identities))
    finally:
        await store.close()


@asynccontextmanager
async def twins_of(backend: str, folder: Path, audience: Any = "gm") -> AsyncIterator[Twins]:
    async with (
        make_informed_twin(backend, folder / "told") as result,
        make_informed_twin(backend, folder / "other") as other,
    ):
        twins = Twins(informed=result, other=other)
        await record_secrets(twins, audience)
        yield twins


def may_call(who: Principal) -> list[Tool]:
    """Return the reading tools of a role; other tests prove that it is refused all others."""
    return [tool for tool in READING if "*" in tool.roles or who.agent_type in tool.roles]


def asked_of(tool: Tool, twins: Twins) -> Iterator[Mapping[str, Any]]:
    """Arguments that fit, every page, every filter alone, and the ids of secrets."""
    known = twins.informed.known
    fitting = fitting_arguments(tool, known)
    properties = tool.input_schema["properties"]
    wide = {"universe_id": known["universe_id"]} if "universe_id" in properties else {}
    yield from (fitting, wide)
    yield from ({**fitting, "query_text": words} for words in WORDS if "query_text" in properties)
    if "collection" in properties:
        kinds = properties["collection"]["enum"]
        yield from ({**fitting, "collection": k, "query_text": w} for k in kinds for w in WORDS)
    for offset in range(8) if "offset" in properties else ():
        yield {**fitting, "limit": 1, "offset": offset}
        yield {**wide, "limit": 2, "offset": offset}
    yield from by_id(tool, twins, fitting)
    yield from ({**wide, "name_pattern": "zyx*"} for _ in {"name_pattern"} & properties.keys())
    yield from (
        {**wide, "state_tags": {"all_of": ["zyxy"]}} for _ in {"state_tags"} & properties.keys()
    )


def by_id(tool: Tool, twins: Twins, fitting: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    properties, known = tool.input_schema["properties"], twins.informed.known
    for name in properties:
        if name in known:
            yield {name: known[name]}
        for hidden in twins.hidden if name == "id" or name.endswith("_id") else ():
            yield {**fitting, name: hidden}
        if name.endswith("_ids"):
            yield {name: twins.hidden[:3]}


@BACKENDS
@pytest.mark.parametrize("audience", ["gm", "player:somebody-else"])
@pytest.mark.anyio
async def test_no_reading_tool_reveals_a_secret_to_a_stranger(
    backend: str, audience: str, tmp_path: Path
) -> None:
    async with twins_of(backend, tmp_path, audience) as twins:
        for who in yield_strangers():
            for tool in may_call(who):
                await count_alike(twins, tool.name, list(asked_of(tool, twins)), who)


@BACKENDS
@pytest.mark.anyio
async def test_public_items_read_as_if_there_were_no_secrets(backend: str, tmp_path: Path) -> None:
    async with twins_of(backend, tmp_path) as twins:
        await live_on(twins)
        for who in yield_strangers():
            for tool in may_call(who):
                await count_alike(twins, tool.name, list(asked_of(tool, twins)), who)


@BACKENDS
@pytest.mark.parametrize("toolset", [TRUTH, WORLD, CATALOG], ids=lambda each: each.name)
@pytest.mark.anyio
async def test_no_other_toolset_reveals_a_secret(
    backend: str, toolset: Toolset, tmp_path: Path
) -> None:
    async with twins_of(backend, tmp_path) as twins:
        await live_on(twins)
        world = SpaceId(twins.informed.known["universe_id"])
        few, answered = frozenset(Authority) - {Authority.GM}, 0
        for tool in toolset.tools:
            role = min((tool.roles & toolset.agent_types) - {"*"}, default="Reader")
            who = Principal(agent_type=role, world=world, authorities=few)
            if tool.read_only:
                given = list(asked_elsewhere(tool, twins))
                answered += await count_alike(twins, tool.name, given, who, toolset)
    assert answered or toolset is CATALOG


def asked_elsewhere(tool: Tool, twins: Twins) -> Iterator[Mapping[str, Any]]:
    """Yield questions about items of any kind, by their ids and in words."""
    known, properties = twins.informed.known, tool.input_schema["properties"]
    ids = [known[name] for name in ("entity_id", "location_ref", "fact_id", "source_id")]
    wanted = [name for name, each in properties.items() if each.get("type") == "string"]
    must = tool.input_schema.get("required", ())
    for one in (*ids, *twins.hidden, "character", "Zyxophant", "Ann", "zyxy"):
        yield dict.fromkeys(must, one)
        for name in wanted:
            yield {**dict.fromkeys(must, ids[0]), name: one}
    yield {}


@pytest.mark.anyio
async def test_views_with_secrets_equal_the_folded_log(tmp_path: Path) -> None:
    clock, identities = HandClock(), CountingIdentities()
    store = await open_embedded(tmp_path, clock=clock, identities=identities)
    try:
        twin = await furnish_twin(a_twin(store.canon, clock, identities))
        known = twin.known
        ann, source = known["entity_id"], known["source_id"]
        fact = await twin.world.fact("Zyxophant", ann, audience=["gm"])
        spy = await twin.world.entity("Spy", audience=["gm"])
        await twin.world.relation(ann, "KNOWS", spy)
        for item, audience in ((fact, "everyone"), (source, "gm"), (ann, "gm"), (spy, "everyone")):
            arguments: dict[str, Any] = {"id": item, "audience": [audience], "reason": "so"}
            await twin.world.call("neo4j_set_audience", **arguments)
        merged = {"kept_entity_id": known["to_entity_id"], "merged_entity_id": spy}
        await twin.world.call("neo4j_merge_entities", reason="one", **merged)
        seen = await verify_store(store.canon.ledger, store.maintenance, lambda *_: None)
    finally:
        await store.close()

    assert list(seen.findings) == []


@pytest.mark.anyio
async def test_each_secret_is_shown_to_a_game_master(tmp_path: Path) -> None:
    async with twins_of("memory", tmp_path) as twins:
        world, known = twins.informed.world, twins.informed.known
        about = {"entity_id": known["entity_id"], "universe_id": known["universe_id"]}
        facts = await world.call("neo4j_query_facts", **about)
        ann = await world.call("neo4j_get_entity", entity_id=known["entity_id"])
        relations = await world.call("neo4j_query_relationships", **about)
        events = await world.call("neo4j_query_events", **about)
        found = await world.call(
            "qdrant_search_canon", query_text="zyxophant", universe_id=world.universe_id
        )
        rising = await world.call("neo4j_query_entities", state_tags={"all_of": ["zyxy"]})

    assert "Ann is a zyxophant" in {fact["statement"] for fact in facts["facts"]}
    assert {"zyxy", "dead", "wet"} >= set(ann["state_tags"]) > {"zyxy"}
    assert ann["properties"] == {"zyxy": "yes"}
    assert {"ALLY_OF", "ENEMY_OF"} <= {one["rel_type"] for one in relations["relationships"]}
    assert [one["title"] for one in events["events"]].count("Zyxophant rises") == 1
    assert found["results"]
    assert {one["name"] for one in rising["entities"]} == {"Ann", "Zyxophant"}
    assert rising["total"] == 2


@BACKENDS
@pytest.mark.anyio
async def test_resources_and_prompts_keep_secrets(backend: str, tmp_path: Path) -> None:
    async with twins_of(backend, tmp_path) as twins:
        known = twins.informed.known
        ids = [known["entity_id"], known["scene_id"], known["universe_id"], *twins.hidden]
        for who in yield_strangers():
            for each, one in product(NARRATIVE.resources, ids):
                uri = re.sub(r"\{[^}]*\}", one, each.uri_template)
                answers = [
                    (await twin.world.gateway.read_resource(uri, who))[1].text
                    for twin in (twins.informed, twins.other)
                ]
                assert answers[0] == answers[1], uri
            for prompt, one in product(NARRATIVE.prompts, ids):
                given = {argument.name: one for argument in prompt.arguments}
                said = [
                    (await twin.world.gateway.get_prompt(prompt.name, given, who))[1].text
                    for twin in (twins.informed, twins.other)
                ]
                assert said[0] == said[1], prompt.name

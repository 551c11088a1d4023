"""Records told at random: every list that takes `as_known_at` answers as it did then."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from canonry.records.toolset import TRUTH
from canonry.values.moments import render_instant
from tests.toolsets.truth.kit import Desk, a_desk

pytestmark = pytest.mark.anyio
PEOPLE = ("Ada Byron", "Mary Fairfax", "Bo Lund")
TOWNS = ("Rome", "Oslo", "Kyiv")


def reads_of(entities: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "retrieve_entities", {"limit": 100, "include_snapshots": True}
    for entity in entities:
        about = {"entity_id": entity}
        for tool in ("list_observations", "list_relationships", "explain_snapshot"):
            yield tool, about
        yield "get_related_entities", {**about, "include_entities": True}
        yield "get_field_provenance", {**about, "field": "name"}


async def step(desk: Desk, dice: Random, entities: list[str], number: int) -> None:
    """Tell a person, relate two, or merge two; a step that is refused changes nothing."""
    desk.wait()
    kind = dice.choice(("person", "person", "relation", "merge"))
    if kind == "person" or len(entities) < 2:
        mail = {"email": f"{number}@example.org"} if dice.random() < 0.3 else {}
        person = {"name": dice.choice(PEOPLE), "city": dice.choice(TOWNS), **mail}
        entities += {await desk.entity("person", **person)} - {*entities}
        return
    one, other = dice.sample(entities, 2)
    ends = {"source_entity_id": one, "target_entity_id": other}
    tie = ("create_relationship", {"relationship_type": "REFERS_TO", **ends})
    merge = {"from_entity_id": one, "to_entity_id": other, "user_id": desk.user}
    await desk.outcome(*(tie if kind == "relation" else ("merge_entities", merge)))


@pytest.mark.parametrize("seed", range(4))
async def test_each_list_as_known_at_a_time_is_the_list_of_then(seed: int) -> None:
    desk, dice, entities = a_desk(), Random(seed), list[str]()
    then: list[tuple[str, str, dict[str, Any], Any]] = []
    for number in range(10):
        await step(desk, dice, entities, number)
        desk.wait()
        known = render_instant(desk.clock.now())
        for tool, asked in reads_of(entities):
            then.append((known, tool, asked, (await desk.outcome(tool, asked)).body))

    for known, tool, asked, reply in then:
        again = await desk.outcome(tool, {**asked, "as_known_at": known})
        assert again.body == reply, (seed, known, tool, asked)
    assert len(then) > 50


async def test_a_snapshot_of_then_was_first_seen_when_it_was_known_to_be() -> None:
    desk = a_desk()
    ada = await desk.entity("person", name="Ada Byron")
    desk.wait()
    known = render_instant(desk.clock.now())
    early = await desk.entity("person", name="A. Byron", observed_at="2020-01-01T00:00:00Z")
    before = await desk.call("get_entity_snapshot", entity_id=ada)
    desk.wait()
    merge = {"from_entity_id": early, "to_entity_id": ada, "user_id": desk.user}
    await desk.call("merge_entities", **merge)

    then = await desk.call("get_entity_snapshot", entity_id=ada, as_known_at=known)

    assert then["first_observed_at"] == before["first_observed_at"]


async def test_a_read_that_takes_no_time_names_those_that_do() -> None:
    desk = a_desk()
    able = [tool.name for tool in TRUTH.tools if "as_known_at" in tool.times]

    error = await desk.refused("list_entity_types", "VALIDATION_ERROR", as_known_at="2025-01-16")

    assert all(name in error["message"] for name in (*able, "get_entity_snapshot"))
    assert len(able) == 6

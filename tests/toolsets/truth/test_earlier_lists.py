"""Records told at random: every list that takes `as_known_at` answers as it did then."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from canonry.records.toolset import TRUTH
from canonry.values.moments import render_instant
from tests.toolsets.truth.kit import ToolDriver, make_driver

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


async def take_step(driver: ToolDriver, dice: Random, entities: list[str], number: int) -> None:
    """Tell a person, relate two, or merge two; a step that is refused changes nothing."""
    driver.wait()
    kind = dice.choice(("person", "person", "relation", "merge"))
    if kind == "person" or len(entities) < 2:
        mail = {"email": f"{number}@example.org"} if dice.random() < 0.3 else {}
        person = {"name": dice.choice(PEOPLE), "city": dice.choice(TOWNS), **mail}
        entities += {await driver.entity("person", **person)} - {*entities}
        return
    one, other = dice.sample(entities, 2)
    ends = {"source_entity_id": one, "target_entity_id": other}
    tie = ("create_relationship", {"relationship_type": "REFERS_TO", **ends})
    merge = {"from_entity_id": one, "to_entity_id": other, "user_id": driver.user}
    await driver.outcome(*(tie if kind == "relation" else ("merge_entities", merge)))


@pytest.mark.parametrize("seed", range(4))
async def test_each_list_at_a_known_time_equals_the_earlier_list(seed: int) -> None:
    driver, dice, entities = make_driver(), Random(seed), list[str]()
    then: list[tuple[str, str, dict[str, Any], Any]] = []
    for number in range(10):
        await take_step(driver, dice, entities, number)
        driver.wait()
        known = render_instant(driver.clock.now())
        for tool, asked in reads_of(entities):
            then.append((known, tool, asked, (await driver.outcome(tool, asked)).body))

    for known, tool, asked, reply in then:
        again = await driver.outcome(tool, {**asked, "as_known_at": known})
        assert again.body == reply, (seed, known, tool, asked)
    assert len(then) > 50


async def test_an_earlier_snapshot_has_its_own_first_seen_time() -> None:
    driver = make_driver()
    ada = await driver.entity("person", name="Ada Byron")
    driver.wait()
    known = render_instant(driver.clock.now())
    early = await driver.entity("person", name="A. Byron", observed_at="2020-01-01T00:00:00Z")
    before = await driver.call("get_entity_snapshot", entity_id=ada)
    driver.wait()
    merge = {"from_entity_id": early, "to_entity_id": ada, "user_id": driver.user}
    await driver.call("merge_entities", **merge)

    then = await driver.call("get_entity_snapshot", entity_id=ada, as_known_at=known)

    assert then["first_observed_at"] == before["first_observed_at"]


async def test_a_read_without_time_support_names_those_that_have_it() -> None:
    driver = make_driver()
    able = [tool.name for tool in TRUTH.tools if "as_known_at" in tool.times]

    error = await driver.refused("list_entity_types", "VALIDATION_ERROR", as_known_at="2025-01-16")

    assert all(name in error["message"] for name in (*able, "get_entity_snapshot"))
    assert len(able) == 6

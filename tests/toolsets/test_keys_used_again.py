"""An idempotency key is one request: with other arguments it is refused, and nothing is written."""

from typing import Any

import pytest

from canonry.gateway.principal import KEY_META, Principal
from canonry.gateway.replies import Result
from tests.toolsets.narrative.kit import a_world
from tests.toolsets.operator.test_catalog_tools import KEEPER as OPERATOR
from tests.toolsets.operator.test_catalog_tools import make_driver as a_catalog
from tests.toolsets.truth.kit import make_driver as an_account
from tests.toolsets.world.kit import a_world as an_isle

pytestmark = pytest.mark.anyio
REUSED = "request.key-reused"


async def test_a_key_with_other_arguments_is_refused_and_a_repeat_answered() -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    said: dict[str, Any] = world.backed(statement="Ann is brave", entities=(ann,))
    first = await world.call("neo4j_create_fact", key="k", **said)
    before = await world.heads()

    other = await world.outcome("neo4j_create_fact", {**said, "statement": "Ann is shy"}, key="k")

    assert other.error is not None
    assert other.error.code == -32004
    assert other.error.data["code"] == REUSED
    assert await world.heads() == before
    assert (await world.call("neo4j_create_fact", key="k", **said)) == first


async def test_a_key_of_one_universe_is_independent_of_another() -> None:
    world = await a_world()
    arda = (await world.call("neo4j_create_universe", name="Arda"))["universe_id"]
    said = {"title": "The ring", "story_type": "campaign"}
    await world.call("neo4j_create_story", key="k", universe_id=world.universe_id, **said)

    there = await world.outcome("neo4j_create_story", {"universe_id": arda, **said}, key="k")

    assert there.error is not None
    assert there.error.data["code"] == REUSED


async def test_a_key_opens_one_universe_and_undoes_one_action() -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    one, two = [await world.fact(f"Fact {number}", ann) for number in range(2)]
    calls = [
        ("neo4j_create_universe", {"name": "Arda"}, {"name": "Ambar"}),
        ("neo4j_retcon_thing", {"id": one, "reason": "no"}, {"id": two, "reason": "no"}),
    ]
    for tool, asked, otherwise in calls:
        await world.call(tool, key="k", **asked)

        again = await world.outcome(tool, otherwise, key="k")

        assert again.error is not None, tool
        assert again.error.data["code"] == REUSED


async def test_a_key_closes_one_scene() -> None:
    world = await a_world()
    story = await world.story("The ring")
    asked: dict[str, Any] = {
        "story_id": story,
        "universe_id": world.universe_id,
        "participating_entities": [],
    }
    one, two = [
        (await world.call("mongodb_create_scene", "Orchestrator", title=title, **asked))["scene_id"]
        for title in ("One", "Two")
    ]
    await world.call("composite_canonize_scene", key="k", scene_id=one)

    again = await world.outcome("composite_canonize_scene", {"scene_id": two}, key="k")

    assert again.error is not None
    assert again.error.data["code"] == REUSED


async def test_keys_behave_the_same_in_the_catalog() -> None:
    catalog = await a_catalog()
    row = {"projectId": catalog.project, "entityType": "news", "title": "N", "slug": "n"}
    await catalog.gateway.call("catalog_save_entity", row, OPERATOR, {KEY_META: "k"})

    other = {**row, "title": "M", "slug": "m"}
    again = await catalog.gateway.call("catalog_save_entity", other, OPERATOR, {KEY_META: "k"})

    assert REUSED in again.text


async def test_keys_behave_the_same_for_records() -> None:
    driver = an_account()
    acme, beta, gamma = [
        await driver.entity("company", name=f"{name} Corp", tax_id=name) for name in ("A", "B", "C")
    ]
    by = Principal(agent_id="desk", user=driver.user)

    async def merge(one: str) -> Result:
        asked = {"user_id": driver.user, "from_entity_id": one, "to_entity_id": acme}
        return await driver.gateway.call("merge_entities", asked, by, {KEY_META: "k"})

    assert (await merge(beta)).error is None
    assert REUSED in (await merge(gamma)).text


async def test_keys_behave_the_same_in_a_world() -> None:
    isle = await an_isle()
    await isle.call("advance-clock", retry="k", durationMs=7)

    again = await isle.outcome("advance-clock", {"durationMs": 8}, "WorldBuilder", "k")

    assert REUSED in again.text

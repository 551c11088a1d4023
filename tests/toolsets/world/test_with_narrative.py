"""One canon, two vocabularies: a scene of a story takes place at a location of a world."""

import pytest

from canonry.domain.provenance import Authority
from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.toolsets.narrative import NARRATIVE
from canonry.toolsets.world import WORLD
from tests.toolsets.world.kit import a_world

pytestmark = pytest.mark.anyio


async def test_a_scene_takes_place_in_a_world() -> None:
    isle = await a_world()
    gateway = Gateway(isle.canon, (NARRATIVE, WORLD))
    agent = Principal(agent_id="k", agent_type="Orchestrator", authorities=frozenset(Authority))

    async def call(tool: str, **arguments: object) -> dict[str, str]:
        outcome = await gateway.call(tool, arguments, agent)
        assert outcome.error is None, outcome.text
        return dict(outcome.body)

    story = await call(
        "neo4j_create_story", universe_id=isle.world, title="A night", story_type="campaign"
    )
    scene = await call(
        "mongodb_create_scene",
        universe_id=isle.world,
        story_id=story["story_id"],
        title="At the inn",
        location_ref=isle.id("inn"),
        participating_entities=[isle.id("cook")],
    )
    found = await call("neo4j_query_entities", universe_id=isle.world, entity_type="location")

    assert scene["scene_id"]
    assert "Inn" in str(found)


async def test_two_toolsets_are_served_side_by_side() -> None:
    names = [tool.name for tool in (*NARRATIVE.tools, *WORLD.tools)]
    aliases = [alias for tool in WORLD.tools for alias in tool.aliases]
    assert len({*names, *aliases}) == len(names) + len(aliases)

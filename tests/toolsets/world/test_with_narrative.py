"""One canon, two vocabularies: a scene of a story takes place at a location of a world."""

import pytest

from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.log.schemas.world_types import WORLD_RELATIONS
from canonry.narrative.toolset import NARRATIVE
from canonry.values.provenance import Authority
from canonry.world.toolset import WORLD
from canonry.world.usecases.exchange import export_world
from canonry.world.usecases.worlds import find_world
from tests.toolsets.world.kit import a_world, tied_isle

pytestmark = pytest.mark.anyio
CONTEXTS: tuple[tuple[str, dict[str, str]], ...] = (
    ("get-location-context", {}),
    ("get-location", {}),
    ("get-spatial-context", {}),
    ("get-atmosphere", {}),
    ("get-player-context", {"playerId": "ann"}),
    ("get-realm-context", {"realmId": "crown"}),
)


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


async def test_story_relations_named_like_a_worlds_do_no_harm() -> None:
    """They hold between the same entities and say neither direction nor tie."""
    isle = await a_world(tied_isle())
    gateway = Gateway(isle.canon, (NARRATIVE,))
    keeper = Principal(agent_id="k", agent_type="CanonKeeper", authorities=frozenset(Authority))
    before = [await isle.call(tool, **arguments) for tool, arguments in CONTEXTS]
    for rel_type in WORLD_RELATIONS:
        for start, end in (("inn", "tower"), ("mist", "crown"), ("mist", "inn")):
            arguments = {"from_entity_id": isle.id(start), "to_entity_id": isle.id(end)}
            outcome = await gateway.call(
                "neo4j_create_relationship", {**arguments, "rel_type": rel_type}, keeper
            )
            assert outcome.error is None, outcome.text

    after = [await isle.call(tool, **arguments) for tool, arguments in CONTEXTS]

    assert after[-1]["ties"] == before[-1]["ties"]
    for name in ("exits", "memberships", "layers"):
        assert after[0][name] == before[0][name]
    world = await find_world(isle.canon, isle.world)
    assert world is not None
    assert {p.key for p in (await export_world(isle.canon, world)).players} == {"ann", "bob"}
    for direction in ("out", "in"):
        await isle.call("move", moverId="ann", direction=direction)


async def test_two_toolsets_are_served_side_by_side() -> None:
    names = [tool.name for tool in (*NARRATIVE.tools, *WORLD.tools)]
    aliases = [alias for tool in WORLD.tools for alias in tool.aliases]
    assert len({*names, *aliases}) == len(names) + len(aliases)

"""All toolsets on one canon: what one of them keeps, the others find where it lies."""

import pytest

from canonry.assistant import CANON
from canonry.catalog.toolset import CATALOG
from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.narrative.toolset import NARRATIVE
from canonry.readmodels.catalog import item_id
from canonry.records.toolset import TRUTH
from canonry.values.provenance import Authority
from canonry.world.toolset import WORLD
from tests.toolsets.catalog.kit import LAB, OTHER, hostile_names, import_rows, make_uuid
from tests.toolsets.world.kit import Isle, a_world

pytestmark = pytest.mark.anyio
TOOLSETS = (CANON, NARRATIVE, TRUTH, WORLD, CATALOG)


class Together:
    """An isle and a catalog in one canon, and every toolset before it."""

    def __init__(self, isle: Isle) -> None:
        self.isle = isle
        self.gateway = Gateway(isle.canon, TOOLSETS)

    async def call(self, agent: str | None, tool: str, **arguments: object) -> dict[str, object]:
        """The reply of a call that succeeds."""
        world = self.isle.world
        principal = Principal(
            agent_id="a", agent_type=agent, world=world, authorities=frozenset(Authority)
        )
        outcome = await self.gateway.call(tool, arguments, principal)
        assert outcome.error is None, outcome.text
        return dict(outcome.body)


async def open_together() -> Together:
    isle = await a_world()
    await import_rows(isle.canon, hostile_names())
    return Together(isle)


async def test_a_catalog_entity_has_a_snapshot_with_its_evidence() -> None:
    here = await open_together()
    guide = item_id(LAB, "guide", make_uuid(2))

    read = await here.call(None, "get_entity_snapshot", entity_id=guide)

    assert read["snapshot"]["name"] == "snake_case"  # type: ignore[index]
    assert set(read["provenance"]) == set(read["snapshot"])  # type: ignore[call-overload]


async def test_recall_finds_a_catalog_entity_only_in_its_project() -> None:
    here = await open_together()
    guide = item_id(LAB, "guide", make_uuid(1))
    sought = {"query_text": "a sure guide", "limit": 50}

    mine = await here.call("Narrator", "qdrant_search_canon", universe_id=LAB, **sought)
    other = await here.call("Narrator", "qdrant_search_canon", universe_id=OTHER, **sought)
    world = await here.call(
        "Narrator", "qdrant_search_canon", universe_id=here.isle.world, **sought
    )

    def ids(found: dict[str, object]) -> list[str]:
        return [each["id"] for each in found["results"]]  # type: ignore[attr-defined]

    assert guide in ids(mine)
    assert guide not in ids(other) + ids(world)


async def test_canon_of_a_scene_in_a_world_has_a_snapshot() -> None:
    here = await open_together()
    isle = here.isle
    story = await here.call(
        "Orchestrator",
        "neo4j_create_story",
        universe_id=isle.world,
        title="A night",
        story_type="campaign",
    )
    scene = await here.call(
        "Orchestrator",
        "mongodb_create_scene",
        universe_id=isle.world,
        story_id=story["story_id"],
        title="At the inn",
        location_ref=isle.id("inn"),
        participating_entities=[isle.id("cook")],
    )
    turn = await here.call(
        "Narrator",
        "mongodb_append_turn",
        scene_id=scene["scene_id"],
        speaker="gm",
        text="A fishwife walks in.",
    )
    await here.call(
        "Narrator",
        "mongodb_create_proposed_change",
        scene_id=scene["scene_id"],
        type="entity",
        content={
            "name": "Odda Kern",
            "entity_class": "EntityInstance",
            "entity_type": "character",
            "description": "A fishwife.",
        },
        evidence=[{"type": "turn", "ref_id": turn["turn_id"]}],
        confidence=1.0,
        authority="gm",
    )

    done = await here.call("CanonKeeper", "composite_canonize_scene", scene_id=scene["scene_id"])

    made = done["canonical_entity_ids"][0]  # type: ignore[index]
    read = await here.call(None, "get_entity_snapshot", entity_id=made)
    assert read["snapshot"] == {"name": "Odda Kern", "description": "A fishwife."}


def test_no_two_toolsets_use_one_name_for_different_meanings() -> None:
    names = [name for each in TOOLSETS for t in each.tools for name in (t.name, *t.aliases)]

    assert len(set(names)) == len(names)

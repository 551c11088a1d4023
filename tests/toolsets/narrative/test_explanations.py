"""The explanation tools: why something is true, what happened when, and what was known then."""

import pytest

from canonry.values.moments import SECOND, render_instant
from tests.toolsets.narrative.kit import NOWHERE, World, a_world
from tests.toolsets.narrative.test_canonization import a_scene, a_turn, propose_content

pytestmark = pytest.mark.anyio


async def a_canon_fact(world: World) -> tuple[str, str, str]:
    """A fact that became canon from a turn: its id, its turn's and its proposal's."""
    scene = await a_scene(world)
    turn = await a_turn(world, scene, "The gate of Moria is shut.")
    proposal = await propose_content(
        world,
        scene,
        "fact",
        {"statement": "The gate is shut"},
        turn_id=turn,
        evidence=[{"type": "turn", "ref_id": turn}],
        authority="player",
    )
    reply = await world.call("composite_canonize_scene", scene_id=scene)
    return reply["canonical_fact_ids"][0], turn, proposal


async def test_a_fact_is_explained_down_to_the_words_of_its_turn() -> None:
    world = await a_world()
    fact, turn, proposal = await a_canon_fact(world)

    reply = await world.call("neo4j_explain", agent="Narrator", id=fact)

    assert (reply["kind"], reply["says"]) == ("fact", "The gate is shut")
    (reported,) = [one for one in reply["evidence"] if one["ref"] == f"turn:{turn}"]
    assert reported["text"] == "The gate of Moria is shut."
    assert (reported["speaker"], reported["scene_title"]) == ("gm", "At the gate")
    assert reply["proposal"]["proposal_id"] == proposal
    assert reply["proposal"]["proposed_by"] == "resolver-001"
    decision = reply["proposal"]["decision"]
    assert (decision["rule"], decision["score"]) == ("gate:score-reaches-threshold", 0.7)
    assert reply["recorded"]["agent_id"] == "canonkeeper-001"
    assert reply["recorded"]["tool"] == "composite_canonize_scene"
    assert reply["fall"] is None


async def test_a_retconned_fact_names_its_retractor_and_replacement() -> None:
    world = await a_world()
    fact, _, _ = await a_canon_fact(world)
    scene = await a_scene(world)
    await propose_content(
        world, scene, "fact", {"statement": "The gate was never shut", "replaces": fact}
    )
    report = await world.call("composite_canonize_scene", scene_id=scene)

    reply = await world.call("neo4j_explain", id=fact)

    (replacement,) = report["canonical_fact_ids"]
    assert reply["canon_level"] == "retconned"
    assert (reply["fall"]["how"], reply["fall"]["by"]) == ("retconned", replacement)
    assert reply["fall"]["agent_type"] == "CanonKeeper"
    newer = await world.call("neo4j_explain", id=replacement)
    assert newer["replaces"] == fact
    assert newer["proposal"]["decision"]["rule"] == "gate:replacement-outranks"


async def test_an_entity_is_explained_by_its_observations_and_its_source() -> None:
    world = await a_world()
    frodo = await world.entity("Frodo", state_tags=["healthy"])

    reply = await world.call("neo4j_explain", id=frodo)

    (seen,) = reply["observations"]
    assert seen["fields"]["name"] == "Frodo"
    assert reply["provenance"]["state_tags.healthy"] == seen["observation_id"]
    assert reply["evidence"][0]["source_title"] == "The First Book"
    assert reply["proposal"] is None


async def test_the_end_of_a_relation_and_a_merge_are_explained() -> None:
    world = await a_world()
    ann, ben, ann_too = [await world.entity(name) for name in ("Ann", "Ben", "Anne")]
    tie = await world.relation(ann, "KNOWS", ben)
    await world.call("neo4j_end_relationship", relationship_id=tie, reason="they parted")
    await world.call(
        "neo4j_merge_entities", kept_entity_id=ann, merged_entity_id=ann_too, reason="one person"
    )

    ended = await world.call("neo4j_explain", id=tie)
    merged = await world.call("neo4j_explain", id=ann_too)

    assert ended["fall"]["how"] == "superseded"
    assert merged["fall"]["how"] == "merged"
    assert merged["fall"]["by"] == ann


async def test_a_rejected_proposal_is_explained_too() -> None:
    world = await a_world()
    scene = await a_scene(world)
    weak = await propose_content(
        world, scene, "fact", {"statement": "x"}, authority="system", evidence=[]
    )
    await world.call("composite_canonize_scene", scene_id=scene)

    reply = await world.call("neo4j_explain", id=weak)

    assert reply["proposal"]["status"] == "rejected"
    assert "below 0.5" in reply["proposal"]["rationale"]


async def test_missing_and_noncanonical_items_have_no_explanation() -> None:
    world = await a_world()
    scene = await a_scene(world)

    for item in (NOWHERE, scene):
        await world.refused("neo4j_explain", id=item, code=-32002)


async def test_a_timeline_has_events_and_dated_facts_in_the_order_of_the_story() -> None:
    world = await a_world()
    frodo, sam = await world.entity("Frodo"), await world.entity("Sam")
    await world.event("undated", frodo)
    await world.event("third", frodo, time_ref="1420-03-01T00:00:00Z")
    await world.fact("second", sam, time_ref="1419-03-25T00:00:00Z")
    await world.fact("timeless", frodo)
    await world.event("first", sam, time_ref="1418-09-23T00:00:00Z")

    whole = await world.call("neo4j_get_timeline", universe_id=world.universe_id)
    window = await world.call(
        "neo4j_get_timeline",
        universe_id=world.universe_id,
        start="1419-01-01T00:00:00Z",
        end="1420-01-01T00:00:00Z",
    )
    page = await world.call(
        "neo4j_get_timeline", universe_id=world.universe_id, entity_ids=[sam], limit=1, offset=1
    )

    titles = [one.get("event", one.get("fact")) for one in whole["items"]]
    assert [one.get("title", one.get("statement")) for one in titles] == [
        "undated", "first", "second", "third",
    ]  # fmt: skip
    assert [one["kind"] for one in window["items"]] == ["fact"]
    assert (page["total"], page["items"][0]["kind"], page["truncated"]) == (2, "fact", False)
    await world.refused(
        "neo4j_get_timeline",
        universe_id=world.universe_id,
        start="1420-01-01T00:00:00Z",
        end="1419-01-01T00:00:00Z",
        code=-32003,
    )
    other = await world.another_universe()
    await other.refused(
        "neo4j_get_timeline", universe_id=other.universe_id, entity_ids=[sam], code=-32004
    )


async def test_an_entity_is_shown_as_canon_knew_it() -> None:
    world = await a_world()
    frodo = await world.entity("Frodo", state_tags=["healthy"])
    world.clock.move_by(60 * SECOND)
    then = render_instant(world.clock.now())
    (head,) = [p for space, p in await world.heads() if space == world.universe_id]
    world.clock.move_by(60 * SECOND)
    await world.call(
        "neo4j_update_entity_state",
        entity_id=frodo,
        state_tag_changes={"add": ["wounded"], "remove": ["healthy"]},
        authority="gm",
        evidence_refs=world.evidence,
    )

    by_instant = await world.call("neo4j_get_entity_at", entity_id=frodo, as_known_at=then)
    by_position = await world.call("neo4j_get_entity_at", entity_id=frodo, as_known_at=head)

    assert by_instant["state_tags"] == by_position["state_tags"] == ["healthy"]
    await world.refused("neo4j_get_entity_at", entity_id=frodo, as_known_at=0, code=-32002)
    await world.refused("neo4j_get_entity_at", entity_id=frodo, code=-32003)


async def test_an_entity_is_shown_at_a_world_time() -> None:
    world = await a_world()
    frodo = await world.entity("Frodo")
    scene = await a_scene(world)
    for tag, when in (("wounded", "1419-03-25T00:00:00Z"), ("healthy", "1420-03-01T00:00:00Z")):
        await propose_content(
            world, scene, "state_change", {"entity_id": frodo, "add": [tag], "time_ref": when}
        )
    await world.call("composite_canonize_scene", scene_id=scene)

    tags = [
        (await world.call("neo4j_get_entity_at", entity_id=frodo, at=at))["state_tags"]
        for at in ("1418-01-01T00:00:00Z", "1419-04-01T00:00:00Z", "1421-01-01T00:00:00Z")
    ]

    assert tags == [[], ["wounded"], ["healthy"]]


async def test_each_kind_of_retraction_has_its_reason_and_successor() -> None:
    world = await a_world()
    ann, anna = await world.entity("Ann"), await world.entity("Anna")
    inn = await world.entity("Inn", entity_type="location")
    relation = await world.relation(ann, "LOCATED_IN", inn)
    await world.call("neo4j_end_relationship", relationship_id=relation, reason="She left.")
    await world.call(
        "neo4j_merge_entities", kept_entity_id=ann, merged_entity_id=anna, reason="One woman."
    )

    left = await world.call("neo4j_explain", id=relation)
    merged = await world.call("neo4j_explain", id=anna)
    kept = await world.call("neo4j_explain", id=ann)

    assert (left["fall"]["how"], left["fall"]["by"]) == ("superseded", None)
    assert left["fall"]["reason"] == "She left."
    assert (merged["fall"]["how"], merged["fall"]["by"]) == ("merged", ann)
    assert merged["fall"]["reason"] == "One woman."
    assert kept["fall"] is None


async def test_an_overruled_relation_names_its_successor() -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    inn = await world.entity("Inn", entity_type="location")
    mill = await world.entity("Mill", entity_type="location")
    old = await world.relation(ann, "LOCATED_IN", inn)
    scene = await a_scene(world)
    content = {"from": ann, "to": mill, "type": "LOCATED_IN", "since": "1970-01-02T00:00:00Z"}
    await propose_content(world, scene, "relationship", content)
    report = await world.call("composite_canonize_scene", scene_id=scene)

    reply = await world.call("neo4j_explain", id=old)

    (verdict,) = report["verdicts"]
    assert reply["fall"]["by"] == verdict["canonical_id"]

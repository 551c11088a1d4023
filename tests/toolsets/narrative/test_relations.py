"""Relations: what a new one takes over from, what it cannot stand beside, and how it ends."""

from typing import Any

import pytest

from canonry.canon.session import paging
from tests.toolsets.narrative.kit import NOWHERE, World, a_world

pytestmark = pytest.mark.anyio

YEAR_1, YEAR_2, YEAR_3 = (f"000{year}-01-01T00:00:00Z" for year in (1, 2, 3))


async def current_relations(world: World, **filters: Any) -> list[tuple[str, str, str]]:
    found = await world.call("neo4j_query_relationships", detail=True, current_only=True, **filters)
    return [(r["from_entity_id"], r["rel_type"], r["to_entity_id"]) for r in found["relationships"]]


async def test_two_ids_and_a_type_are_enough() -> None:
    world = await a_world()
    ann, ben = await world.entity("Ann"), await world.entity("Ben")

    made = await world.call(
        "neo4j_create_relationship", from_entity_id=ann, to_entity_id=ben, rel_type="knows"
    )

    assert made["rel_type"] == "KNOWS"
    assert made["superseded"] == []
    assert await current_relations(world, entity_id=ben) == [(ann, "KNOWS", ben)]


async def test_a_relation_keeps_its_properties() -> None:
    world = await a_world()
    ann, guild = await world.entity("Ann"), await world.entity("Guild", entity_type="faction")

    made = await world.relation(
        ann,
        "MEMBER_OF",
        guild,
        properties={"rank": "master"},
        since=YEAR_1,
        authority="gm",
        confidence=0.8,
        evidence_refs=world.evidence,
    )

    (shown,) = (await world.call("neo4j_query_relationships", detail=True))["relationships"]
    assert shown["relationship_id"] == made
    assert shown["properties"] == {"rank": "master"}
    assert shown["since"] == YEAR_1
    assert (shown["authority"], shown["confidence"]) == ("gm", 0.8)
    assert shown["evidence_refs"] == world.evidence
    assert shown["current"] is True


async def test_a_place_is_left_when_another_is_entered() -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    inn, mill = [await world.entity(n, entity_type="location") for n in ("Inn", "Mill")]
    first = await world.relation(ann, "LOCATED_IN", inn, since=YEAR_1)

    made = await world.call(
        "neo4j_create_relationship",
        from_entity_id=ann,
        to_entity_id=mill,
        rel_type="LOCATED_IN",
        since=YEAR_2,
    )

    assert made["superseded"] == [first]
    assert await current_relations(world, entity_id=ann) == [(ann, "LOCATED_IN", mill)]
    all_of_them = (await world.call("neo4j_query_relationships", detail=True))["relationships"]
    assert [(r["since"], r["until"], r["current"]) for r in all_of_them] == [
        (YEAR_1, YEAR_2, False),
        (YEAR_2, None, True),
    ]


async def test_an_item_has_one_owner_and_an_owner_many_items() -> None:
    world = await a_world()
    ann, ben = await world.entity("Ann"), await world.entity("Ben")
    ring, sword = [await world.entity(n, entity_type="object") for n in ("Ring", "Sword")]
    first = await world.relation(ann, "OWNS", ring)
    await world.relation(ann, "OWNS", sword)

    made = await world.call(
        "neo4j_create_relationship", from_entity_id=ben, to_entity_id=ring, rel_type="OWNS"
    )

    assert made["superseded"] == [first]
    assert await current_relations(world) == [(ann, "OWNS", sword), (ben, "OWNS", ring)]


async def test_an_earlier_relation_ends_where_the_later_one_begins() -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    inn, mill = [await world.entity(n, entity_type="location") for n in ("Inn", "Mill")]
    await world.relation(ann, "LOCATED_IN", inn, since=YEAR_2)

    made = await world.call(
        "neo4j_create_relationship",
        from_entity_id=ann,
        to_entity_id=mill,
        rel_type="LOCATED_IN",
        since=YEAR_1,
    )

    assert made["superseded"] == []
    assert await current_relations(world) == [(ann, "LOCATED_IN", inn)]
    both = (await world.call("neo4j_query_relationships", detail=True, entity_id=ann))[
        "relationships"
    ]
    until = {each["to_entity_id"]: each["until"] for each in both}
    assert until == {inn: None, mill: YEAR_2}


@pytest.mark.parametrize(("one", "other"), [("ALLY_OF", "ENEMY_OF"), ("HOSTILE_TO", "allied with")])
@pytest.mark.parametrize("turned", [False, True])
async def test_a_change_of_heart_ends_a_feeling_in_either_direction(
    one: str, other: str, turned: bool
) -> None:
    world = await a_world()
    ann, ben = await world.entity("Ann"), await world.entity("Ben")
    standing = await world.relation(ann, one, ben)
    ends = (ben, ann) if turned else (ann, ben)

    made = await world.call(
        "neo4j_create_relationship", from_entity_id=ends[0], to_entity_id=ends[1], rel_type=other
    )

    assert made["superseded"] == [standing]
    assert len(await current_relations(world)) == 1


@pytest.mark.parametrize(("one", "other"), [("ALLY_OF", "ENEMY_OF"), ("HOSTILE_TO", "allied with")])
async def test_allies_are_not_enemies_at_one_time(one: str, other: str) -> None:
    world = await a_world()
    ann, ben = await world.entity("Ann"), await world.entity("Ben")
    standing = await world.relation(ann, one, ben, since=YEAR_1)

    data = await world.refused(
        "neo4j_create_relationship",
        code=-32004,
        from_entity_id=ben,
        to_entity_id=ann,
        rel_type=other,
        since=YEAR_1,
    )

    assert (data["code"], data["conflicts"]) == ("relation.opposed", [standing])


async def test_an_identical_repetition_writes_nothing() -> None:
    world = await a_world()
    ann, ben = await world.entity("Ann"), await world.entity("Ben")
    first = await world.relation(ann, "ALLY_OF", ben)
    before = await world.heads()

    for ends in ((ann, ben), (ben, ann)):
        made = await world.call(
            "neo4j_create_relationship",
            from_entity_id=ends[0],
            to_entity_id=ends[1],
            rel_type="ALLIED_WITH",
        )
        assert (made["relationship_id"], made["existing"]) == (first, True)
    assert await world.heads() == before


async def test_more_details_on_the_same_pair_supersede() -> None:
    world = await a_world()
    ann, ben = await world.entity("Ann"), await world.entity("Ben")
    first = await world.relation(ann, "KNOWS", ben)

    made = await world.call(
        "neo4j_create_relationship",
        from_entity_id=ann,
        to_entity_id=ben,
        rel_type="KNOWS",
        properties={"well": True},
    )

    assert made["superseded"] == [first]
    assert len(await current_relations(world)) == 1


async def test_a_directed_relation_holds_one_way() -> None:
    world = await a_world()
    ann, ben = await world.entity("Ann"), await world.entity("Ben")
    await world.relation(ann, "KNOWS", ben)
    await world.relation(ben, "KNOWS", ann)

    assert len(await current_relations(world)) == 2
    assert await current_relations(world, entity_id=ann, direction="out") == [(ann, "KNOWS", ben)]
    assert await current_relations(world, entity_id=ann, direction="in") == [(ben, "KNOWS", ann)]
    assert await current_relations(world, entity_id=ann, rel_type="owns") == []


async def test_ends_are_two_known_entities_of_one_universe() -> None:
    world = await a_world()
    other = await world.another_universe()
    ann, stranger = await world.entity("Ann"), await other.entity("Stranger")

    for to, code in ((NOWHERE, -32002), (stranger, -32004), (ann, -32004)):
        await world.refused(
            "neo4j_create_relationship",
            code=code,
            from_entity_id=ann,
            to_entity_id=to,
            rel_type="KNOWS",
        )


async def test_only_an_archetype_of_the_type_is_derived_from() -> None:
    world = await a_world()
    ann, ben = await world.entity("Ann"), await world.entity("Ben")
    city = await world.entity("City", entity_class="EntityArchetype", entity_type="location")
    human = await world.entity("Human", entity_class="EntityArchetype")

    for to in (ben, city):
        await world.refused(
            "neo4j_create_relationship",
            code=-32004,
            from_entity_id=ann,
            to_entity_id=to,
            rel_type="DERIVES_FROM",
        )
    await world.relation(ann, "DERIVES_FROM", human)


@pytest.mark.parametrize("rel_type", ["", "  ", "1ST", "LOVES!", "x" * 65, "<b>"])
async def test_a_relation_type_is_a_word(rel_type: str) -> None:
    world = await a_world()
    ann, ben = await world.entity("Ann"), await world.entity("Ben")

    data = await world.refused(
        "neo4j_create_relationship",
        code=-32003,
        from_entity_id=ann,
        to_entity_id=ben,
        rel_type=rel_type,
    )

    assert data["path"] == "/rel_type"


async def test_given_evidence_must_exist() -> None:
    world = await a_world()
    ann, ben = await world.entity("Ann"), await world.entity("Ben")
    arguments = {"from_entity_id": ann, "to_entity_id": ben, "rel_type": "KNOWS"}

    for refs, code in (([], -32003), ([f"source:{NOWHERE}"], -32002)):
        await world.refused("neo4j_create_relationship", code=code, **arguments, evidence_refs=refs)


async def test_an_ended_relation_is_past_and_ends_once() -> None:
    world = await a_world()
    ann, ben = await world.entity("Ann"), await world.entity("Ben")
    made = await world.relation(ann, "KNOWS", ben, since=YEAR_2)
    ending = {"relationship_id": made, "reason": "they parted"}

    data = await world.refused("neo4j_end_relationship", code=-32004, **ending, until=YEAR_1)
    assert data["path"] == "/until"
    ended = await world.call("neo4j_end_relationship", **ending, until=YEAR_3)

    assert (ended["current"], ended["until"]) == (False, YEAR_3)
    assert await current_relations(world) == []
    data = await world.refused("neo4j_end_relationship", code=-32004, **ending)
    assert data["code"] == "relation.ended"
    await world.refused(
        "neo4j_end_relationship", code=-32002, relationship_id=NOWHERE, reason="why"
    )


async def test_a_pair_is_found_among_more_relations_than_a_page_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(paging, "PAGE_MAX", 2)
    world = await a_world()
    hubs = [await world.entity("Ann"), await world.entity("Ben")]
    guests = [await world.entity(f"Guest {n}") for n in range(3)]
    for hub in hubs:
        for guest in guests:
            await world.relation(hub, "ALLY_OF", guest)
    last = await world.relation(hubs[0], "ALLY_OF", hubs[1])

    again = await world.call(
        "neo4j_create_relationship",
        from_entity_id=hubs[1],
        to_entity_id=hubs[0],
        rel_type="ALLY_OF",
    )

    assert (again["relationship_id"], again["existing"]) == (last, True)


async def test_an_unsupported_relation_is_reported_and_ends_no_higher_authority() -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    inn, mill = [await world.entity(n, entity_type="location") for n in ("Inn", "Mill")]
    held = await world.relation(ann, "LOCATED_IN", inn, authority="gm")
    asked = {"from_entity_id": ann, "rel_type": "LOCATED_IN", "to_entity_id": mill}

    data = await world.refused(
        "neo4j_create_relationship", code=-32004, authority="player", **asked
    )
    assert (data["code"], data["conflicts"]) == ("relation.outranked", [held])

    bare = await world.call("neo4j_create_relationship", authority="gm", **asked)
    assert (bare["superseded"], len(bare["warnings"])) == ([held], 1)
    shown = await world.call(
        "neo4j_create_relationship", authority="gm", evidence_refs=world.evidence, **asked
    )
    assert shown["warnings"] == []

"""Nothing accepted is lost: what is said again is merged, superseded, or told to be canon."""

from typing import Any

import pytest

from canonry.canon.canonization.canonize_scene import canonize_proposals
from canonry.log.items.entities import Entity, EntityClass
from canonry.log.items.facts import Event, Fact, Relation
from canonry.log.items.proposals import Grade
from canonry.log.schemas.narrative import EntityType
from canonry.readmodels.ports.state import EventQuery, FactQuery, RelationQuery
from canonry.testing.clocks import a_caller
from canonry.testing.example_items import some_evidence, uuid_of
from canonry.values.ids import EntityId
from canonry.values.provenance import Authority, Evidence, EvidenceKind
from tests.usecases.stage import (
    ACCEPTED,
    PENDING,
    REJECTED,
    Stage,
    a_peopled_stage,
    a_stage,
    day_text,
    id_of,
    verdict_on,
)

pytestmark = pytest.mark.anyio
GM = Authority.GM
SOURCE = Evidence(kind=EvidenceKind.SOURCE, ref=uuid_of("source"))


async def a_hoard() -> tuple[Stage, str]:
    """Coins of which Frodo owns ten since the first scene, and the id of that relation."""
    stage = await a_peopled_stage()
    await stage.entity("Coins", EntityType.OBJECT)
    ten = await stage.verdict("relationship", ownership_content(quantity=10), authority=GM)
    await stage.scene("later", order=2)
    assert ten.canonical_id is not None
    return stage, ten.canonical_id


def ownership_content(**properties: Any) -> dict[str, Any]:
    ends = {"from_entity_id": id_of("Frodo"), "to_entity_id": id_of("Coins")}
    return {**ends, "rel_type": "OWNS", "properties": properties}


async def test_another_quantity_holds_from_its_moment_and_history_is_kept() -> None:
    stage, ten_id = await a_hoard()
    verdict = await stage.verdict(
        "relationship", ownership_content(quantity=40), authority=GM, scene="later"
    )
    forty, ten = await stage.find_item(verdict.canonical_id), await stage.find_item(ten_id)
    assert isinstance(forty, Relation)
    assert isinstance(ten, Relation)
    assert (verdict.status, forty.properties, forty.current) == (ACCEPTED, {"quantity": 40}, True)
    assert (ten.properties, ten.current, ten.level) == ({"quantity": 10}, False, "canon")


async def test_an_earlier_quantity_stated_later_holds_until_the_next() -> None:
    stage = await a_peopled_stage()
    await stage.entity("Coins", EntityType.OBJECT)
    await stage.scene("later", order=2)
    forty = await stage.verdict(
        "relationship", ownership_content(quantity=40), authority=GM, scene="later"
    )
    ten = await stage.verdict("relationship", ownership_content(quantity=10), authority=GM)
    assert (await stage.find_item(forty.canonical_id)).current
    assert not (await stage.find_item(ten.canonical_id)).current


async def test_a_further_property_is_added_to_those_of_a_relation() -> None:
    stage, _ten = await a_hoard()
    content = ownership_content(hidden="in a chest")
    verdict = await stage.verdict("relationship", content, authority=GM, scene="later")
    merged = await stage.find_item(verdict.canonical_id)
    assert merged.properties == {"quantity": 10, "hidden": "in a chest"}


async def test_a_lower_authority_on_a_quantity_waits_for_review() -> None:
    stage, ten_id = await a_hoard()
    verdict = await stage.verdict("relationship", ownership_content(quantity=99), scene="later")
    assert (verdict.status, verdict.conflicts) == (PENDING, (ten_id,))
    assert (await stage.find_item(ten_id)).current


async def test_two_quantities_at_one_time_contradict_each_other() -> None:
    stage = await a_peopled_stage()
    await stage.entity("Coins", EntityType.OBJECT)
    ten = await stage.propose(
        "relationship", {**ownership_content(quantity=10), "since": day_text(1)}
    )
    other = await stage.propose(
        "relationship", {**ownership_content(quantity=40), "since": day_text(1)}
    )
    report = await stage.canonize()
    first, second = verdict_on(report, ten), verdict_on(report, other)
    assert (first.status, second.status) == (ACCEPTED, REJECTED)
    assert second.conflicts == (first.canonical_id,)


async def test_a_repeated_relation_is_reported_as_canon() -> None:
    stage, ten_id = await a_hoard()
    verdict = await stage.verdict("relationship", ownership_content(quantity=10), scene="later")
    assert (verdict.status, verdict.canonical_id) == (ACCEPTED, ten_id)
    assert verdict.rationale.endswith(f"already canon: {ten_id}")
    assert some_evidence("later/turn")[0] in (await stage.find_item(ten_id)).evidence


def an_ana(**more: Any) -> dict[str, Any]:
    return {"name": "Ana", "entity_type": "character", **more}


async def test_new_details_of_a_known_entity_are_merged_into_it() -> None:
    stage = await a_stage()
    await stage.entity("Ana", EntityType.CHARACTER, "brave")
    said = an_ana(properties={"hp": 12}, state_tags=["wounded"], description="A smith.")
    verdict = await stage.verdict("entity", said)
    ana = await stage.find_item(id_of("Ana"))
    assert isinstance(ana, Entity)
    assert (verdict.status, verdict.canonical_id) == (ACCEPTED, ana.id)
    assert (ana.properties, ana.description) == ({"hp": 12}, "A smith.")
    assert ana.state_tags == ("brave", "wounded")
    assert "already canon" not in verdict.rationale
    facts = await stage.canon.state.facts(FactQuery(entities=frozenset((ana.id,))))
    assert [fact.statement for fact in facts.items] == ["Ana is wounded"]


async def test_a_known_entity_without_news_is_reported_as_canon() -> None:
    stage = await a_stage()
    await stage.entity("Ana")
    verdict = await stage.verdict("entity", an_ana())
    assert verdict.rationale.endswith(f"already canon: {id_of('Ana')}")


async def test_a_lower_authority_does_not_change_an_entity_of_a_higher_one() -> None:
    stage = await a_stage()
    await stage.verdict("entity", an_ana(properties={"hp": 12}), authority=GM)
    await stage.scene("later", order=2)
    player = await stage.verdict("entity", an_ana(properties={"hp": 99}), scene="later")
    await stage.scene("last", order=3)
    master = await stage.verdict("entity", an_ana(properties={"hp": 3}), authority=GM, scene="last")
    assert (player.status, player.rule) == (PENDING, "gate:entity-restated")
    assert "needs review" in player.rationale
    assert (master.status, (await stage.find_item(master.canonical_id)).properties) == (
        ACCEPTED,
        {"hp": 3},
    )


async def test_a_player_kills_nobody_by_proposing_them_again() -> None:
    stage = await a_stage()
    await stage.entity("Ana", EntityType.CHARACTER, "alive")
    verdict = await stage.verdict("entity", an_ana(state_tags=["dead"]))
    assert (verdict.status, verdict.rule) == (PENDING, "gate:entity-known")
    assert (await stage.find_item(id_of("Ana"))).state_tags == ("alive",)


async def test_two_namesakes_with_separate_refs_stay_two() -> None:
    stage = await a_stage()
    guards = [
        await stage.propose("entity", {"name": "Guard", "entity_type": "character", "ref": ref})
        for ref in ("$g1", "$g2")
    ]
    await stage.propose("state_change", {"entity_id": "$g1", "add": ["dead"]})
    report = await stage.canonize()
    first, second = [await stage.find_item(verdict_on(report, one).canonical_id) for one in guards]
    assert first.id != second.id
    assert (first.state_tags, second.state_tags) == (("dead",), ())


async def test_the_first_of_two_refs_is_the_known_entity() -> None:
    stage = await a_stage()
    known = await stage.entity("Guard")
    guards = [
        await stage.propose("entity", {"name": "Guard", "entity_type": "character", "ref": ref})
        for ref in ("$g1", "$g2")
    ]
    report = await stage.canonize()
    first, second = [verdict_on(report, one).canonical_id for one in guards]
    assert first == known
    assert second != known


async def test_one_ref_proposed_twice_is_one_entity() -> None:
    stage = await a_stage()
    content = {"name": "Guard", "entity_type": "character", "ref": "$g1"}
    guards = [await stage.propose("entity", content) for _ in range(2)]
    report = await stage.canonize()
    first, second = [verdict_on(report, one).canonical_id for one in guards]
    assert first == second


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("fact", {"statement": "Frodo hums", "involved": [id_of("Frodo")]}),
        ("event", {"title": "A song", "description": "Loud.", "actors": [id_of("Frodo")]}),
        ("event", {"title": "Rain", "time_ref": day_text(3)}),
    ],
)
async def test_repeated_statements_are_one_with_both_evidences(
    kind: str, content: dict[str, Any]
) -> None:
    stage = await a_peopled_stage()
    words = {"title": content["title"].upper()} if "title" in content else {}
    once = await stage.propose(kind, content, cited=some_evidence("scene/turn"))
    again = await stage.propose(kind, {**content, **words}, cited=(SOURCE,))
    report = await stage.canonize()
    one = await stage.find_item(verdict_on(report, once).canonical_id)
    assert isinstance(one, Fact | Event)
    assert verdict_on(report, again).canonical_id == one.id
    assert verdict_on(report, again).rationale.endswith(f"already canon: {one.id}")
    assert {*some_evidence("scene/turn"), SOURCE} <= {*one.evidence}


async def test_events_differing_in_participants_time_or_content_stay_separate() -> None:
    stage = await a_peopled_stage()
    song = {"title": "A song", "actors": [id_of("Frodo")]}
    others: list[dict[str, Any]] = [
        {**song, "actors": [id_of("Gollum")]},
        {**song, "time_ref": day_text(3)},
        {**song, "description": "Another one."},
    ]
    proposals = [await stage.propose("event", each) for each in (song, *others)]
    report = await stage.canonize()
    assert len({verdict_on(report, one).canonical_id for one in proposals}) == 4


SONG: dict[str, Any] = {"title": "A song", "description": "Loud.", "actors": [id_of("Frodo")]}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"time_ref": day_text(3)}, {"time_ref": day_text(3)}),
        ({}, {"outside": True}),
        ({"time_ref": day_text(3)}, {"outside": True}),
    ],
)
async def test_an_event_of_two_scenes_or_none_is_one_with_both_evidences(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    stage = await a_peopled_stage()
    known = await stage.verdict("event", {**SONG, **first}, cited=some_evidence("scene/turn"))
    outside = second.pop("outside", False)
    more: dict[str, Any] = {"scene_id": None, "turn_id": None} if outside else {"scene": "later"}
    await stage.scene("later", order=2)
    again = await stage.propose("event", {**SONG, **second}, cited=(SOURCE,), **more)

    if outside:
        report: Any = await canonize_proposals(stage.canon, a_caller(), (again,))
    else:
        report = await stage.canonize("later")

    assert verdict_on(report, again).canonical_id == known.canonical_id
    event = await stage.find_item(known.canonical_id)
    assert {*some_evidence("scene/turn"), SOURCE} <= {*event.evidence}


async def test_an_event_of_two_differently_dated_scenes_may_be_a_duplicate() -> None:
    stage = await a_peopled_stage()
    first = await stage.verdict("event", SONG)
    await stage.scene("later", order=2)

    again = await stage.verdict("event", SONG, scene="later")

    assert again.status is ACCEPTED
    assert again.canonical_id != first.canonical_id
    (reported,) = again.graded
    assert (reported.id, reported.grade) == (first.canonical_id, Grade.POSSIBLE)
    assert reported.reason.startswith("this may be the event"), "gate:event-told-before"


async def test_the_same_event_at_two_times_happened_twice() -> None:
    stage = await a_peopled_stage()
    await stage.verdict("event", {**SONG, "time_ref": day_text(3)})
    await stage.scene("later", order=2)

    again = await stage.verdict("event", {**SONG, "time_ref": day_text(4)}, scene="later")

    assert (again.status, again.graded) == (ACCEPTED, ())


async def test_an_event_without_participants_is_repeated_only_in_its_scene() -> None:
    stage = await a_stage()
    await stage.verdict("event", {"title": "Rain"})
    outside = await stage.propose("event", {"title": "Rain"}, scene_id=None, turn_id=None)

    report = await canonize_proposals(stage.canon, a_caller(), (outside,))

    assert "already canon" not in verdict_on(report, outside).rationale


OLD: dict[str, Any] = {"statement": "Frodo bears a ring", "involved": [id_of("Frodo")]}


@pytest.mark.parametrize("authority", [Authority.PLAYER, GM])
async def test_new_details_of_a_fact_are_merged_into_its_successor(
    authority: Authority,
) -> None:
    stage = await a_peopled_stage()
    first = await stage.verdict("fact", {**OLD, "properties": {"metal": "gold"}}, authority=GM)
    await stage.scene("later", order=2)
    more = {**OLD, "properties": {"finger": "ring"}}

    again = await stage.verdict("fact", more, authority=authority, scene="later", cited=(SOURCE,))

    before, now = (
        await stage.find_item(first.canonical_id),
        await stage.find_item(again.canonical_id),
    )
    assert before.superseded_by == now.id
    assert now.properties == {"metal": "gold", "finger": "ring"}
    assert now.authority is GM
    assert {*before.evidence, SOURCE} <= {*now.evidence}


async def test_a_lower_authority_changes_no_property_of_a_fact() -> None:
    stage = await a_peopled_stage()
    first = await stage.verdict("fact", {**OLD, "properties": {"inside": "runes"}}, authority=GM)
    await stage.scene("later", order=2)
    otherwise = {**OLD, "properties": {"inside": "nothing"}}

    await stage.verdict("fact", otherwise, scene="later")

    known = await stage.find_item(first.canonical_id)
    assert (known.properties, known.superseded_by) == ({"inside": "runes"}, None)


async def test_the_origin_of_a_known_entity_is_written_once() -> None:
    stage = await a_stage()
    await stage.entity("Hobbit", entity_class=EntityClass.ARCHETYPE)
    await stage.entity("Ana")
    said = an_ana(derives_from=id_of("Hobbit"))

    verdict = await stage.verdict("entity", said)
    await stage.scene("later", order=2)
    again = await stage.verdict("entity", said, scene="later")

    assert "already canon" not in verdict.rationale
    assert again.rationale.endswith(f"already canon: {id_of('Ana')}")
    query = RelationQuery(entities=frozenset((EntityId(id_of("Ana")),)), rel_type="DERIVES_FROM")
    (tie,) = (await stage.canon.state.relations(query)).items
    assert (tie.from_id, tie.to_id) == (id_of("Ana"), id_of("Hobbit"))


async def test_an_event_is_found_at_its_place() -> None:
    stage = await a_peopled_stage()
    content = {"title": "A song", "location_id": id_of("Shire")}
    verdict = await stage.verdict("event", content)
    query = EventQuery(entities=frozenset((EntityId(id_of("Shire")),)))
    page = await stage.canon.state.events(query)
    assert [event.id for event in page.items] == [verdict.canonical_id]


@pytest.mark.parametrize("key", ["actor_ids", "actors", "participants", "characters"])
async def test_the_dead_take_part_in_no_event_under_any_name(key: str) -> None:
    stage = await a_peopled_stage()
    await stage.tag("Frodo", "dead")
    verdict = await stage.verdict("event", {"title": "A feast", key: [id_of("Frodo")]})
    assert (verdict.status, verdict.rule) == (REJECTED, "gate:actor-alive")


@pytest.mark.parametrize("key", ["involved_entity_ids", "entities", "involved"])
async def test_an_event_that_concerns_the_dead_gives_a_warning(key: str) -> None:
    stage = await a_peopled_stage()
    await stage.tag("Frodo", "dead")
    verdict = await stage.verdict("event", {"title": "A burial", key: [id_of("Frodo")]})
    event = await stage.find_item(verdict.canonical_id)
    assert (verdict.status, event.involved) == (ACCEPTED, (id_of("Frodo"),))
    assert "warning: Frodo is involved in it but is dead then" in verdict.rationale


async def test_circular_places_and_characters_in_characters_are_refused() -> None:
    stage = await a_peopled_stage()
    inside = {"from": id_of("Shire"), "to": id_of("Mordor"), "type": "LOCATED_IN"}
    around = {"from": id_of("Mordor"), "to": id_of("Shire"), "type": "LOCATED_IN"}
    held = {"from": id_of("Frodo"), "to": id_of("Gollum"), "type": "LOCATED_IN"}
    proposals = [await stage.propose("relationship", each) for each in (inside, around, held)]
    report = await stage.canonize()
    verdicts = [verdict_on(report, each) for each in proposals]
    assert [each.status for each in verdicts] == [ACCEPTED, REJECTED, REJECTED]
    assert [each.rule for each in verdicts[1:]] == ["gate:references-fit"] * 2


async def test_a_tag_in_another_spelling_is_the_same() -> None:
    stage = await a_stage()
    await stage.entity("Ana", EntityType.CHARACTER, "Very Tired")
    await stage.propose("state_change", {"entity_id": id_of("Ana"), "remove": ["very  tired"]},
                        authority=GM)  # fmt: skip
    await stage.canonize()
    assert (await stage.find_item(id_of("Ana"))).state_tags == ()

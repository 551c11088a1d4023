"""Keys: what a thing touches covers every way in which somebody may have read it."""

import pytest
from hypothesis import given, settings

from canonry.log.canon import fold, needs
from canonry.log.commits import Commit, Position
from canonry.log.entries import THING_KINDS, EntitiesMerged, Thing, Tombstone
from canonry.log.folding import (
    ANY,
    axioms_key,
    causes_key,
    facts_key,
    key_hash,
    keys_of,
    listing_key,
    memories_key,
    name_key,
    proposals_key,
    relations_key,
    scenes_key,
    statement_key,
    stories_key,
    thing_key,
    turns_key,
)
from canonry.log.items.facts import Fact
from canonry.log.observing import beside
from canonry.testing.things import (
    MIDDLE_EARTH,
    a_fact,
    a_memory,
    a_named,
    a_proposal,
    a_relation,
    a_scene,
    a_turn,
    an_axiom,
    an_event,
    an_observation,
    ident,
    made,
)
from canonry.testing.worlds import ACTOR
from canonry.values.ids import CommitId, EntityId
from canonry.values.moments import Instant
from tests.conformance.histories import HistoryStep, histories
from tests.strategies import texts


def a_commit(step: HistoryStep, position: int) -> Commit:
    return Commit(
        id=CommitId(ident(f"commit {position}")),
        space=MIDDLE_EARTH,
        position=Position(position),
        recorded_at=Instant(position),
        actor=ACTOR,
        tool="test",
        entries=step.entries,
        previous="",
        hash="",
    )


@settings(max_examples=40)
@given(steps=histories())
def test_a_change_touches_the_keys_before_and_after(steps: list[HistoryStep]) -> None:
    things: dict[str, Thing] = {}
    for position, step in enumerate(steps, start=1):
        loaded = {i: things[i] for i in needs(step.entries) if i in things}
        loaded |= {i: things[i] for i in beside(step.entries, loaded) if i in things}
        changes = fold(a_commit(step, position), loaded)
        for thing in changes.things.values():
            before = things.get(thing.id)
            counted_only = thing_key(thing.id) not in changes.touched
            if not counted_only:
                assert keys_of(thing) <= changes.touched
                assert before is None or keys_of(before) <= changes.touched
        things.update(changes.things)


@pytest.mark.parametrize(
    ("thing", "keys"),
    [
        (a_fact("says", "ann"), {facts_key(ident("ann")), statement_key(" SAYS ")}),
        (an_event("e", "ann"), {facts_key(ident("ann")), causes_key(MIDDLE_EARTH)}),
        (a_relation("r", "ann", "bob"), {relations_key(ident("ann")), relations_key(ident("bob"))}),
        (an_axiom(), {axioms_key(MIDDLE_EARTH)}),
        (a_turn(), {turns_key(ident("scene"))}),
        (a_memory(), {memories_key(ident("frodo"))}),
        (a_proposal(), {proposals_key(ident("scene"))}),
        (a_proposal(scene=None), {proposals_key(MIDDLE_EARTH)}),
        (a_scene(), {scenes_key(ident("story")), stories_key(MIDDLE_EARTH)}),
    ],
)
def test_a_thing_is_read_under_these_keys(thing: Thing, keys: set[str]) -> None:
    assert keys | {thing_key(thing.id)} <= keys_of(thing)


def test_a_new_name_touches_the_old_and_the_new() -> None:
    born = fold(a_commit(HistoryStep(entries=a_named("Frodo")), 1), {})
    renaming = made(an_observation("Frodo", "renamed", fields={"name": "Underhill"}))
    renamed = fold(a_commit(HistoryStep(entries=renaming), 2), dict(born.things))

    assert name_key("character", "frodo") in born.touched
    assert {name_key("character", "FRODO"), name_key("character", "underhill")} <= renamed.touched
    assert listing_key("entity", MIDDLE_EARTH) in renamed.touched


def test_merging_touches_both_and_their_names() -> None:
    born = fold(a_commit(HistoryStep(entries=(*a_named("Strider"), *a_named("Aragorn"))), 1), {})
    strider, aragorn = EntityId(ident("Strider")), EntityId(ident("Aragorn"))
    merging = EntitiesMerged(kept=aragorn, merged=strider, members=(), reason="")
    merged = fold(a_commit(HistoryStep(entries=(merging,)), 2), dict(born.things))

    assert {thing_key(strider), thing_key(aragorn)} <= merged.touched
    assert {name_key("character", n) for n in ("Strider", "Aragorn")} <= merged.touched


def test_an_erased_thing_touches_everything() -> None:
    grave = Tombstone(id=ident("x"), space=MIDDLE_EARTH, was="fact", position=1, changed_at=1)

    assert ANY in keys_of(grave)


def test_every_kind_of_thing_has_its_own_key() -> None:
    assert len(THING_KINDS) == len(set(THING_KINDS.values()))
    assert thing_key(ident("says")) in keys_of(a_fact("says"))
    assert THING_KINDS[Fact] == "fact"


@given(text=texts())
def test_a_key_hash_fits_a_signed_column_and_repeats(text: str) -> None:
    assert -(2**63) <= key_hash(text) < 2**63
    assert key_hash(text) == key_hash(text)
    assert key_hash(text) != key_hash(f"{text}.")

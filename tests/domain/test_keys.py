"""Keys: what an item touches covers every way in which somebody may have read it."""

import pytest
from hypothesis import given, settings

from canonry.log.commits import Commit, Position
from canonry.log.entries import KIND_NAMES, EntitiesMerged, StoredItem, Tombstone
from canonry.log.fold_commit import fold_commit, ids_needed
from canonry.log.folding import (
    ANY,
    axioms_key,
    causes_key,
    facts_key,
    item_key,
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
    turns_key,
)
from canonry.log.items.facts import Fact
from canonry.log.observations import ids_needed_next
from canonry.testing.clocks import ACTOR
from canonry.testing.example_items import (
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
    creation_entries,
    uuid_of,
)
from canonry.values.ids import CommitId, EntityId
from canonry.values.moments import Instant
from tests.conformance.histories import HistoryStep, draw_history
from tests.strategies import texts


def a_commit(step: HistoryStep, position: int) -> Commit:
    return Commit(
        id=CommitId(uuid_of(f"commit {position}")),
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
@given(steps=draw_history())
def test_a_change_touches_the_keys_before_and_after(steps: list[HistoryStep]) -> None:
    items: dict[str, StoredItem] = {}
    for position, step in enumerate(steps, start=1):
        loaded = {i: items[i] for i in ids_needed(step.entries) if i in items}
        loaded |= {i: items[i] for i in ids_needed_next(step.entries, loaded) if i in items}
        changes = fold_commit(a_commit(step, position), loaded)
        for item in changes.items.values():
            before = items.get(item.id)
            counted_only = item_key(item.id) not in changes.touched
            if not counted_only:
                assert keys_of(item) <= changes.touched
                assert before is None or keys_of(before) <= changes.touched
        items.update(changes.items)


@pytest.mark.parametrize(
    ("item", "keys"),
    [
        (a_fact("says", "ann"), {facts_key(uuid_of("ann")), statement_key(" SAYS ")}),
        (an_event("e", "ann"), {facts_key(uuid_of("ann")), causes_key(MIDDLE_EARTH)}),
        (
            a_relation("r", "ann", "bob"),
            {relations_key(uuid_of("ann")), relations_key(uuid_of("bob"))},
        ),
        (an_axiom(), {axioms_key(MIDDLE_EARTH)}),
        (a_turn(), {turns_key(uuid_of("scene"))}),
        (a_memory(), {memories_key(uuid_of("frodo"))}),
        (a_proposal(), {proposals_key(uuid_of("scene"))}),
        (a_proposal(scene=None), {proposals_key(MIDDLE_EARTH)}),
        (a_scene(), {scenes_key(uuid_of("story")), stories_key(MIDDLE_EARTH)}),
    ],
)
def test_an_item_is_read_under_these_keys(item: StoredItem, keys: set[str]) -> None:
    assert keys | {item_key(item.id)} <= keys_of(item)


def test_a_rename_touches_the_old_and_the_new_name() -> None:
    born = fold_commit(a_commit(HistoryStep(entries=a_named("Frodo")), 1), {})
    renaming = creation_entries(an_observation("Frodo", "renamed", fields={"name": "Underhill"}))
    renamed = fold_commit(a_commit(HistoryStep(entries=renaming), 2), dict(born.items))

    assert name_key("character", "frodo") in born.touched
    assert {name_key("character", "FRODO"), name_key("character", "underhill")} <= renamed.touched
    assert listing_key("entity", MIDDLE_EARTH) in renamed.touched


def test_merging_touches_both_and_their_names() -> None:
    born = fold_commit(
        a_commit(HistoryStep(entries=(*a_named("Strider"), *a_named("Aragorn"))), 1), {}
    )
    strider, aragorn = EntityId(uuid_of("Strider")), EntityId(uuid_of("Aragorn"))
    merging = EntitiesMerged(kept=aragorn, merged=strider, members=(), reason="")
    merged = fold_commit(a_commit(HistoryStep(entries=(merging,)), 2), dict(born.items))

    assert {item_key(strider), item_key(aragorn)} <= merged.touched
    assert {name_key("character", n) for n in ("Strider", "Aragorn")} <= merged.touched


def test_an_erased_item_touches_everything() -> None:
    grave = Tombstone(id=uuid_of("x"), space=MIDDLE_EARTH, was="fact", position=1, changed_at=1)

    assert ANY in keys_of(grave)


def test_every_kind_of_item_has_its_own_key() -> None:
    assert len(KIND_NAMES) == len(set(KIND_NAMES.values()))
    assert item_key(uuid_of("says")) in keys_of(a_fact("says"))
    assert KIND_NAMES[Fact] == "fact"


def test_stored_names_of_kinds_stay_whatever_the_classes_are_called() -> None:
    stored = "space entity observation relation fact event axiom source snippet story scene turn"
    stored += " proposal memory schema run tombstone"

    assert [*KIND_NAMES.values()] == stored.split()


@given(text=texts())
def test_a_key_hash_fits_a_signed_column_and_is_stable(text: str) -> None:
    assert -(2**63) <= key_hash(text) < 2**63
    assert key_hash(text) == key_hash(text)
    assert key_hash(text) != key_hash(f"{text}.")

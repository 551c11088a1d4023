"""The fold: pure, the same in one piece and in parts, and deaf to what was erased."""

from copy import deepcopy
from dataclasses import replace

import pytest
from hypothesis import given, settings

from canonry.log.commits import Commit, Position
from canonry.log.entries import (
    CausesLinked,
    EntitiesMerged,
    EntitiesUnmerged,
    Entry,
    Erased,
    FactRetconned,
    Redacted,
    SceneCompleted,
    StoredItem,
    Tombstone,
)
from canonry.log.fold_commit import fold_commit, ids_needed, ids_of
from canonry.log.items.entities import Entity
from canonry.log.items.scenes import Scene, SceneStatus, Turn
from canonry.log.observations import ids_needed_next
from canonry.log.sealing import GENESIS, ErasablePart, Sealed, seal_commit, unseal
from canonry.testing.clocks import ACTOR, a_draft
from canonry.testing.conformance.chronicle import chronicle_drafts
from canonry.testing.example_items import (
    MIDDLE_EARTH,
    a_memory,
    a_named,
    a_scene,
    a_story,
    a_turn,
    an_event,
    an_observation,
    creation_entries,
    uuid_of,
)
from canonry.values.errors import BrokenInvariant
from canonry.values.ids import CommitId, EntityId, EventId, FactId, SceneId
from canonry.values.moments import Instant
from tests.conformance.histories import HistoryStep, draw_history


def a_commit(position: int, *entries: Entry) -> Commit:
    return Commit(
        id=CommitId(uuid_of(f"commit {position}")),
        space=MIDDLE_EARTH,
        position=Position(position),
        recorded_at=Instant(position * 1_000),
        actor=ACTOR,
        tool="test",
        entries=entries,
        previous="",
        hash="",
    )


def fold_commits(*commits: Commit) -> dict[str, StoredItem]:
    """All items after these commits, each loaded as an adapter loads them."""
    items: dict[str, StoredItem] = {}
    for commit in commits:
        loaded = {i: items[i] for i in ids_needed(commit.entries) if i in items}
        loaded |= {i: items[i] for i in ids_needed_next(commit.entries, loaded) if i in items}
        items.update(fold_commit(commit, loaded).items)
    return items


def a_log(steps: list[HistoryStep]) -> list[Sealed]:
    """The steps as a store seals them."""
    log: list[Sealed] = []
    for number, step in enumerate(steps, start=1):
        salts = [bytes([n % 256]) * 16 for n, _ in enumerate(step.entries)]
        log.append(
            seal_commit(
                a_draft(str(number), step.entries),
                position=Position(number),
                recorded_at=Instant(number * 1_000),
                previous=log[-1].hash if log else GENESIS,
                salts=salts,
            )
        )
    return log


def purge_log(log: list[Sealed], targets: set[str]) -> list[Sealed]:
    """The log after a purge: entries about any target have lost their payload."""
    purged: list[Sealed] = []
    for sealed in log:
        parts: list[ErasablePart | None] = [
            None if targets.intersection(ids_of(entry)) and not isinstance(entry, Erased) else part
            for entry, part in zip(unseal(sealed).entries, sealed.parts, strict=True)
        ]
        purged.append(replace(sealed, parts=tuple(parts)))
    return purged


@settings(max_examples=40)
@given(steps=draw_history())
def test_folding_does_not_change_its_arguments(steps: list[HistoryStep]) -> None:
    items: dict[str, StoredItem] = {}
    for position, step in enumerate(steps, start=1):
        commit, before = a_commit(position, *step.entries), deepcopy(items)
        once, again = fold_commit(commit, items), fold_commit(commit, items)
        assert items == before
        assert once == again
        items.update(once.items)


@settings(max_examples=40)
@given(steps=draw_history())
def test_only_needed_items_are_read(steps: list[HistoryStep]) -> None:
    items: dict[str, StoredItem] = {}
    for position, step in enumerate(steps, start=1):
        commit = a_commit(position, *step.entries)
        loaded = {i: items[i] for i in ids_needed(step.entries) if i in items}
        loaded |= {i: items[i] for i in ids_needed_next(step.entries, loaded) if i in items}
        assert fold_commit(commit, loaded) == fold_commit(commit, items)
        items.update(fold_commit(commit, loaded).items)


@settings(max_examples=40)
@given(steps=draw_history())
def test_every_change_is_stamped_with_its_commit(steps: list[HistoryStep]) -> None:
    items: dict[str, StoredItem] = {}
    for position, step in enumerate(steps, start=1):
        changes = fold_commit(a_commit(position, *step.entries), items)
        for item in changes.items.values():
            assert 1 <= item.position <= item.changed_at <= position
            if item.id not in items:
                assert item.position == item.changed_at == position
        items.update(changes.items)


@settings(max_examples=40)
@given(steps=draw_history())
def test_a_purged_log_folds_to_the_same_items(steps: list[HistoryStep]) -> None:
    """Contents that `Erased` removed stay removed, and everything else is as it was."""
    log = a_log(steps)
    targets = {t for s in steps for e in s.entries if isinstance(e, Erased) for t in e.targets}
    purged = purge_log(log, targets)

    assert fold_commits(*map(unseal, purged)) == fold_commits(*map(unseal, log))


def test_the_example_log_folds_alike_after_a_purge() -> None:
    log = a_log([HistoryStep(entries=d.entries) for d in chronicle_drafts()[MIDDLE_EARTH]])
    targets = {uuid_of(n) for n in ("gossip", "slip", "dream", "turn 1", "at home", "secret")}
    erasing = a_commit(len(log) + 1, Erased(targets=tuple(sorted(targets)), reason=""))

    purged = fold_commits(*map(unseal, purge_log(log, targets)), erasing)

    assert purged == fold_commits(*map(unseal, log), erasing)
    assert all(isinstance(purged[target], Tombstone) for target in targets)


def test_erasing_a_formerly_merged_entity_leaves_the_others_merged() -> None:
    strider, aragorn, elessar = (EntityId(uuid_of(n)) for n in ("Strider", "Aragorn", "Elessar"))
    entries: list[tuple[Entry, ...]] = [
        (*a_named("Strider"), *a_named("Aragorn"), *a_named("Elessar")),
        (EntitiesMerged(kept=aragorn, merged=strider, members=(), reason=""),),
        (EntitiesMerged(kept=elessar, merged=aragorn, members=(strider,), reason=""),),
        (EntitiesUnmerged(kept=elessar, separated=strider, remaining=(aragorn,), reason=""),),
        (Erased(targets=(strider, uuid_of("Strider/born")), reason=""),),
    ]
    log = a_log([HistoryStep(entries=some) for some in entries])

    purged = fold_commits(*map(unseal, purge_log(log, {strider, uuid_of("Strider/born")})))

    assert purged == fold_commits(*map(unseal, log))
    root = purged[elessar]
    assert isinstance(root, Entity)
    assert root.members == (aragorn,)


def test_merging_and_separating_restores_the_original() -> None:
    ann, bob = EntityId(uuid_of("ann")), EntityId(uuid_of("bob"))
    born = a_commit(1, *a_named("ann", tags=("old",)), *a_named("bob", tags=("young",)))
    merging = a_commit(2, EntitiesMerged(kept=ann, merged=bob, members=(), reason=""))
    parting = EntitiesUnmerged(kept=ann, separated=bob, remaining=(), reason="")

    together, apart = fold_commits(born, merging), fold_commits(born, merging, a_commit(3, parting))

    root, member = together[ann], together[bob]
    assert isinstance(root, Entity)
    assert isinstance(member, Entity)
    assert root.state_tags == ("old", "young")
    assert (root.members, member.merged_into) == ((bob,), ann)
    for name, item in fold_commits(born).items():
        now = apart[name]
        assert now == item or now == replace(item, changed_at=3)


def test_later_statements_about_the_root_stay_with_it() -> None:
    ann, bob = EntityId(uuid_of("ann")), EntityId(uuid_of("bob"))
    entries = (
        a_commit(1, *a_named("ann"), *a_named("bob")),
        a_commit(2, EntitiesMerged(kept=ann, merged=bob, members=(), reason="")),
        a_commit(
            3, *creation_entries(an_observation("ann", "late", fields={"description": "kept"}))
        ),
        a_commit(4, EntitiesUnmerged(kept=ann, separated=bob, remaining=(), reason="")),
    )

    items = fold_commits(*entries)

    one, other = items[ann], items[bob]
    assert isinstance(one, Entity)
    assert isinstance(other, Entity)
    assert (one.name, one.description, other.name, other.description) == ("ann", "kept", "bob", "")


def test_an_erased_item_is_not_changed_by_later_entries() -> None:
    fact = creation_entries(an_event("storm"), an_event("flood"))
    storm, flood = (EventId(uuid_of(n)) for n in ("storm", "flood"))
    erased = a_commit(2, Erased(targets=(storm,), reason=""))
    linked = a_commit(3, CausesLinked(cause=storm, effect=flood))

    items = fold_commits(a_commit(1, *fact), erased, linked)

    assert isinstance(items[storm], Tombstone)


def test_a_redacted_turn_keeps_its_number() -> None:
    opening = a_commit(1, *creation_entries(a_story(), a_scene(), a_turn("first")))
    redacted = Redacted(kind="turn.made", ids=(uuid_of("second"), uuid_of("scene")))

    items = fold_commits(
        opening, a_commit(2, redacted), a_commit(3, *creation_entries(a_turn("third")))
    )

    third, scene = items[uuid_of("third")], items[uuid_of("scene")]
    assert isinstance(third, Turn)
    assert isinstance(scene, Scene)
    assert (third.index, scene.turn_count) == (2, 3)
    assert isinstance(items[uuid_of("second")], Tombstone)


def test_completing_a_scene_dates_it() -> None:
    done = SceneCompleted(
        scene_id=SceneId(uuid_of("scene")), outcomes=(uuid_of("x"),), summary="end"
    )

    items = fold_commits(a_commit(1, *creation_entries(a_story(), a_scene())), a_commit(2, done))

    scene = items[uuid_of("scene")]
    assert isinstance(scene, Scene)
    assert scene.status is SceneStatus.COMPLETED
    assert (scene.completed_at, scene.summary, scene.changed_at) == (2_000, "end", 2)


@pytest.mark.parametrize(
    "entry",
    [
        FactRetconned(fact_id=FactId(uuid_of("memory")), replaced_by=None, reason=""),
        FactRetconned(fact_id=FactId(uuid_of("nobody")), replaced_by=None, reason=""),
        *creation_entries(an_observation("nobody", "said")),
    ],
)
def test_an_entry_about_a_missing_item_is_a_broken_invariant(entry: Entry) -> None:
    with pytest.raises(BrokenInvariant) as caught:
        fold_commits(a_commit(1, *creation_entries(a_memory())), a_commit(2, entry))

    assert caught.value.code == "canon.dangling-entry"

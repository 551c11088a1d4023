"""The fold: pure, the same in one piece and in parts, and deaf to what was erased."""

from copy import deepcopy
from dataclasses import replace

import pytest
from hypothesis import given, settings

from canonry.log.canon import fold, ids_of, needs
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
    Thing,
    Tombstone,
)
from canonry.log.items.entities import Entity
from canonry.log.items.scenes import Scene, SceneStatus, Turn
from canonry.log.observing import beside
from canonry.log.sealing import GENESIS, ErasablePart, Sealed, seal, unseal
from canonry.testing.conformance.chronicle import chronicle
from canonry.testing.things import (
    MIDDLE_EARTH,
    a_memory,
    a_named,
    a_scene,
    a_story,
    a_turn,
    an_event,
    an_observation,
    ident,
    made,
)
from canonry.testing.worlds import ACTOR, a_draft
from canonry.values.errors import BrokenInvariant
from canonry.values.ids import CommitId, EntityId, EventId, FactId, SceneId
from canonry.values.moments import Instant
from tests.conformance.histories import HistoryStep, histories


def a_commit(position: int, *entries: Entry) -> Commit:
    return Commit(
        id=CommitId(ident(f"commit {position}")),
        space=MIDDLE_EARTH,
        position=Position(position),
        recorded_at=Instant(position * 1_000),
        actor=ACTOR,
        tool="test",
        entries=entries,
        previous="",
        hash="",
    )


def folded(*commits: Commit) -> dict[str, Thing]:
    """All things after these commits, each loaded as an adapter loads them."""
    things: dict[str, Thing] = {}
    for commit in commits:
        loaded = {i: things[i] for i in needs(commit.entries) if i in things}
        loaded |= {i: things[i] for i in beside(commit.entries, loaded) if i in things}
        things.update(fold(commit, loaded).things)
    return things


def a_log(steps: list[HistoryStep]) -> list[Sealed]:
    """The steps as a store seals them."""
    log: list[Sealed] = []
    for number, step in enumerate(steps, start=1):
        salts = [bytes([n % 256]) * 16 for n, _ in enumerate(step.entries)]
        log.append(
            seal(
                a_draft(str(number), step.entries),
                position=Position(number),
                recorded_at=Instant(number * 1_000),
                previous=log[-1].hash if log else GENESIS,
                salts=salts,
            )
        )
    return log


def without(log: list[Sealed], targets: set[str]) -> list[Sealed]:
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
@given(steps=histories())
def test_folding_changes_nothing_that_it_was_given(steps: list[HistoryStep]) -> None:
    things: dict[str, Thing] = {}
    for position, step in enumerate(steps, start=1):
        commit, before = a_commit(position, *step.entries), deepcopy(things)
        once, again = fold(commit, things), fold(commit, things)
        assert things == before
        assert once == again
        things.update(once.things)


@settings(max_examples=40)
@given(steps=histories())
def test_only_needed_things_are_looked_at(steps: list[HistoryStep]) -> None:
    things: dict[str, Thing] = {}
    for position, step in enumerate(steps, start=1):
        commit = a_commit(position, *step.entries)
        loaded = {i: things[i] for i in needs(step.entries) if i in things}
        loaded |= {i: things[i] for i in beside(step.entries, loaded) if i in things}
        assert fold(commit, loaded) == fold(commit, things)
        things.update(fold(commit, loaded).things)


@settings(max_examples=40)
@given(steps=histories())
def test_every_change_is_stamped_with_its_commit(steps: list[HistoryStep]) -> None:
    things: dict[str, Thing] = {}
    for position, step in enumerate(steps, start=1):
        changes = fold(a_commit(position, *step.entries), things)
        for thing in changes.things.values():
            assert 1 <= thing.position <= thing.changed_at <= position
            if thing.id not in things:
                assert thing.position == thing.changed_at == position
        things.update(changes.things)


@settings(max_examples=40)
@given(steps=histories())
def test_a_purged_log_folds_to_the_same_things(steps: list[HistoryStep]) -> None:
    """What `Erased` buried stays buried, and everything else is as it was."""
    log = a_log(steps)
    targets = {t for s in steps for e in s.entries if isinstance(e, Erased) for t in e.targets}
    purged = without(log, targets)

    assert folded(*map(unseal, purged)) == folded(*map(unseal, log))


def test_the_whole_chronicle_folds_alike_after_a_purge() -> None:
    log = a_log([HistoryStep(entries=d.entries) for d in chronicle()[MIDDLE_EARTH]])
    targets = {ident(n) for n in ("gossip", "slip", "dream", "turn 1", "at home", "secret")}
    erasing = a_commit(len(log) + 1, Erased(targets=tuple(sorted(targets)), reason=""))

    purged = folded(*map(unseal, without(log, targets)), erasing)

    assert purged == folded(*map(unseal, log), erasing)
    assert all(isinstance(purged[target], Tombstone) for target in targets)


def test_erasing_one_who_was_merged_once_leaves_the_others_merged() -> None:
    strider, aragorn, elessar = (EntityId(ident(n)) for n in ("Strider", "Aragorn", "Elessar"))
    entries: list[tuple[Entry, ...]] = [
        (*a_named("Strider"), *a_named("Aragorn"), *a_named("Elessar")),
        (EntitiesMerged(kept=aragorn, merged=strider, members=(), reason=""),),
        (EntitiesMerged(kept=elessar, merged=aragorn, members=(strider,), reason=""),),
        (EntitiesUnmerged(kept=elessar, separated=strider, remaining=(aragorn,), reason=""),),
        (Erased(targets=(strider, ident("Strider/born")), reason=""),),
    ]
    log = a_log([HistoryStep(entries=some) for some in entries])

    purged = folded(*map(unseal, without(log, {strider, ident("Strider/born")})))

    assert purged == folded(*map(unseal, log))
    root = purged[elessar]
    assert isinstance(root, Entity)
    assert root.members == (aragorn,)


def test_merging_and_separating_gives_back_what_was() -> None:
    ann, bob = EntityId(ident("ann")), EntityId(ident("bob"))
    born = a_commit(1, *a_named("ann", tags=("old",)), *a_named("bob", tags=("young",)))
    merging = a_commit(2, EntitiesMerged(kept=ann, merged=bob, members=(), reason=""))
    parting = EntitiesUnmerged(kept=ann, separated=bob, remaining=(), reason="")

    together, apart = folded(born, merging), folded(born, merging, a_commit(3, parting))

    root, member = together[ann], together[bob]
    assert isinstance(root, Entity)
    assert isinstance(member, Entity)
    assert root.state_tags == ("old", "young")
    assert (root.members, member.merged_into) == ((bob,), ann)
    for name, thing in folded(born).items():
        now = apart[name]
        assert now == thing or now == replace(thing, changed_at=3)


def test_what_is_said_of_the_root_after_merging_stays_with_it() -> None:
    ann, bob = EntityId(ident("ann")), EntityId(ident("bob"))
    entries = (
        a_commit(1, *a_named("ann"), *a_named("bob")),
        a_commit(2, EntitiesMerged(kept=ann, merged=bob, members=(), reason="")),
        a_commit(3, *made(an_observation("ann", "late", fields={"description": "kept"}))),
        a_commit(4, EntitiesUnmerged(kept=ann, separated=bob, remaining=(), reason="")),
    )

    things = folded(*entries)

    one, other = things[ann], things[bob]
    assert isinstance(one, Entity)
    assert isinstance(other, Entity)
    assert (one.name, one.description, other.name, other.description) == ("ann", "kept", "bob", "")


def test_an_erased_thing_is_changed_by_nothing() -> None:
    fact = made(an_event("storm"), an_event("flood"))
    storm, flood = (EventId(ident(n)) for n in ("storm", "flood"))
    erased = a_commit(2, Erased(targets=(storm,), reason=""))
    linked = a_commit(3, CausesLinked(cause=storm, effect=flood))

    things = folded(a_commit(1, *fact), erased, linked)

    assert isinstance(things[storm], Tombstone)


def test_a_redacted_turn_keeps_its_number() -> None:
    opening = a_commit(1, *made(a_story(), a_scene(), a_turn("first")))
    redacted = Redacted(kind="turn.made", ids=(ident("second"), ident("scene")))

    things = folded(opening, a_commit(2, redacted), a_commit(3, *made(a_turn("third"))))

    third, scene = things[ident("third")], things[ident("scene")]
    assert isinstance(third, Turn)
    assert isinstance(scene, Scene)
    assert (third.index, scene.turn_count) == (2, 3)
    assert isinstance(things[ident("second")], Tombstone)


def test_completing_a_scene_dates_it() -> None:
    done = SceneCompleted(scene_id=SceneId(ident("scene")), outcomes=(ident("x"),), summary="end")

    things = folded(a_commit(1, *made(a_story(), a_scene())), a_commit(2, done))

    scene = things[ident("scene")]
    assert isinstance(scene, Scene)
    assert scene.status is SceneStatus.COMPLETED
    assert (scene.completed_at, scene.summary, scene.changed_at) == (2_000, "end", 2)


@pytest.mark.parametrize(
    "entry",
    [
        FactRetconned(fact_id=FactId(ident("memory")), replaced_by=None, reason=""),
        FactRetconned(fact_id=FactId(ident("nobody")), replaced_by=None, reason=""),
        *made(an_observation("nobody", "said")),
    ],
)
def test_an_entry_about_nothing_is_a_broken_invariant(entry: Entry) -> None:
    with pytest.raises(BrokenInvariant) as caught:
        folded(a_commit(1, *made(a_memory())), a_commit(2, entry))

    assert caught.value.code == "canon.dangling-entry"

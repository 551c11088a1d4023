"""Passages: what recall may find, and under which filters."""

from dataclasses import replace

from hypothesis import given, settings

from canonry.domain.entries import Thing, Tombstone
from canonry.domain.ids import EntityId
from canonry.domain.passages import Collection, passages_of
from canonry.domain.scenes import SceneStatus
from canonry.domain.time import Instant
from canonry.testing.histories import Step, histories
from canonry.testing.things import (
    MIDDLE_EARTH,
    a_fact,
    a_memory,
    a_scene,
    a_snippet,
    a_turn,
    an_entity,
    ident,
)
from tests.domain.test_canon import a_commit, folded

SAM = EntityId(ident("sam"))


def test_a_turn_names_its_speaker_and_scene() -> None:
    (passage,) = passages_of(a_turn(entity_id=SAM, text="I follow"))

    assert (passage.collection, passage.kind) == (Collection.SCENES, "turn")
    assert (passage.text, passage.entities) == ("I follow", (SAM,))
    assert passage.scene_id == ident("scene")


def test_a_scene_is_found_by_its_summary_once_completed() -> None:
    scene = a_scene(participants=(SAM,), summary="They leave", completed_at=Instant(7))
    done = replace(scene, status=SceneStatus.COMPLETED)

    assert list(passages_of(scene)) == []
    assert list(passages_of(replace(done, summary=None))) == []
    (passage,) = passages_of(done)
    assert (passage.text, passage.entities, passage.at) == ("They leave", (SAM,), 7)


def test_a_memory_is_found_by_its_bearer_only() -> None:
    (passage,) = passages_of(a_memory(entity="sam", importance=0.7))

    assert passage.collection is Collection.MEMORIES
    assert (passage.entities, passage.importance) == ((SAM,), 0.7)


def test_a_snippet_is_found_by_its_source() -> None:
    (passage,) = passages_of(a_snippet())

    assert (passage.collection, passage.source_id) == (Collection.SNIPPETS, ident("source"))


def test_what_is_canon_or_erased_is_no_passage() -> None:
    grave = Tombstone(id=ident("x"), space=MIDDLE_EARTH, was="turn", position=1, changed_at=1)
    silent: tuple[Thing, ...] = (an_entity(), a_fact(), grave)

    assert [p for thing in silent for p in passages_of(thing)] == []


@settings(max_examples=30)
@given(steps=histories())
def test_a_passage_is_that_of_its_thing(steps: list[Step]) -> None:
    commits = [a_commit(n, *step.entries) for n, step in enumerate(steps, start=1)]
    for thing in folded(*commits).values():
        for passage in passages_of(thing):
            assert (passage.id, passage.space) == (thing.id, thing.space)
            assert None not in passage.entities

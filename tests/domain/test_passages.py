"""Passages: what recall may find, and under which filters."""

from dataclasses import replace

import pytest
from hypothesis import given, settings

from canonry.log.entries import StoredItem, Tombstone
from canonry.log.items.entities import Entity
from canonry.log.items.scenes import SceneStatus
from canonry.readmodels.passages import Collection, is_silenced, passages_of
from canonry.testing.example_items import (
    MIDDLE_EARTH,
    a_fact,
    a_memory,
    a_named,
    a_scene,
    a_snippet,
    a_turn,
    an_axiom,
    an_event,
    uuid_of,
)
from canonry.values.ids import EntityId
from canonry.values.moments import Instant
from canonry.values.provenance import CanonLevel
from tests.conformance.histories import HistoryStep, draw_history
from tests.domain.test_canon import a_commit, fold_commits

SAM = EntityId(uuid_of("sam"))


def a_sam() -> Entity:
    entity = fold_commits(a_commit(1, *a_named("sam")))[SAM]
    assert isinstance(entity, Entity)
    return entity


def test_a_turn_names_its_speaker_and_scene() -> None:
    (passage,) = passages_of(a_turn(entity_id=SAM, text="I follow"))

    assert (passage.collection, passage.kind) == (Collection.SCENES, "turn")
    assert (passage.text, passage.entities) == ("I follow", (SAM,))
    assert passage.scene_id == uuid_of("scene")


def test_a_scene_is_found_by_its_summary_once_completed() -> None:
    scene = a_scene(participants=(SAM,), summary="They leave", completed_at=Instant(7))
    done = replace(scene, status=SceneStatus.COMPLETED)

    assert list(passages_of(scene)) == []
    assert list(passages_of(replace(done, summary=None))) == []
    (passage,) = passages_of(done)
    assert (passage.text, passage.entities, passage.at) == ("They leave", (SAM,), 7)


def test_a_memory_is_found_only_by_its_owner() -> None:
    (passage,) = passages_of(a_memory(entity="sam", importance=0.7))

    assert passage.collection is Collection.MEMORIES
    assert (passage.entities, passage.importance) == ((SAM,), 0.7)


def test_a_snippet_is_found_by_its_source() -> None:
    (passage,) = passages_of(a_snippet())

    assert (passage.collection, passage.source_id) == (Collection.SNIPPETS, uuid_of("source"))


def test_canon_is_found_by_its_words_and_entities() -> None:
    involved = (SAM,)
    items: tuple[StoredItem, ...] = (
        a_sam(),
        a_fact(statement="Sam cooks", involved=involved),
        an_event(title="A feast", description="They ate.", involved=involved),
        an_axiom(statement="Rings corrupt."),
    )

    found = [(p.collection, p.kind, p.text, p.entities) for t in items for p in passages_of(t)]

    assert found == [
        (Collection.ENTITIES, "entity", "sam: character", (SAM,)),
        (Collection.FACTS, "fact", "Sam cooks", (SAM,)),
        (Collection.FACTS, "event", "A feast\nThey ate.", (SAM,)),
        (Collection.LORE, "axiom", "Rings corrupt.", ()),
    ]


def test_an_entity_of_a_type_of_lore_is_found_as_lore() -> None:
    (passage,) = passages_of(replace(a_sam(), entity_type="lore_fact"))

    assert (passage.collection, passage.kind) == (Collection.LORE, "lore")


@pytest.mark.parametrize("level", [CanonLevel.PROPOSED, CanonLevel.RETCONNED])
def test_items_outside_canon_are_no_passages_and_leave_the_index(
    level: CanonLevel,
) -> None:
    grave = Tombstone(id=uuid_of("x"), space=MIDDLE_EARTH, was="turn", position=1, changed_at=1)
    retracted = (replace(a_sam(), level=level), a_fact(level=level), an_event(level=level))

    assert [p for item in (*retracted, grave) for p in passages_of(item)] == []
    assert all(is_silenced(item) for item in (*retracted, grave))
    standing: tuple[StoredItem, ...] = (a_sam(), a_fact(), a_turn(), a_scene())
    assert not any(is_silenced(item) for item in standing)


def test_a_merged_entity_is_still_found_by_its_old_name() -> None:
    merged = replace(a_sam(), merged_into=EntityId(uuid_of("samwise")))

    assert [(p.id, p.text) for p in passages_of(merged)] == [(SAM, "sam: character")]


@settings(max_examples=30)
@given(steps=draw_history())
def test_a_passage_is_that_of_its_item(steps: list[HistoryStep]) -> None:
    commits = [a_commit(n, *step.entries) for n, step in enumerate(steps, start=1)]
    for item in fold_commits(*commits).values():
        for passage in passages_of(item):
            assert (passage.id, passage.space) == (item.id, item.space)
            assert None not in passage.entities

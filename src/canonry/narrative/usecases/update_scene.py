"""Update a scene: who is in it, where and when it plays, its summary, the game master's notes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, Receipt, commit_change
from canonry.canon.session.lookup import require, require_all
from canonry.canon.session.staging import (
    require_active,
    require_instances,
    require_location,
    require_unfinished,
)
from canonry.log.entries import Entry, SaidAt
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.scenes import Scene
from canonry.log.keys import thing_key
from canonry.log.scene_entries import (
    SceneDated,
    SceneNoted,
    ScenePlaced,
    SceneStaged,
    SceneSummarised,
)
from canonry.values.errors import InvalidInput
from canonry.values.ids import EntityId, NewId
from canonry.values.time import Instant


@dataclass(frozen=True, slots=True)
class Notes:
    """The notes replaced; None clears them."""

    text: str | None


@dataclass(frozen=True, slots=True)
class WrittenSummary:
    """The summary written; None takes it back, and one is made when the scene is closed."""

    text: str | None


@dataclass(frozen=True, slots=True)
class Time:
    """The time replaced, and the words that told it; None takes it back."""

    at: Instant | None
    words: str | None = None


@dataclass(frozen=True, slots=True)
class PlayedAt:
    """When it was played, which a closed scene takes as well; None takes it back."""

    said_at: Instant | None


@dataclass(frozen=True, slots=True)
class SceneSetting:
    """The place moved; None leaves it open."""

    place_id: str | None


@dataclass(frozen=True, slots=True)
class Staging:
    """Those who come in and those who go; who is there already, or is not, stays so."""

    joining: Sequence[str]
    leaving: Sequence[str]


SceneChange: TypeAlias = Notes | WrittenSummary | Time | PlayedAt | SceneSetting | Staging


async def update_scene(
    canon: Canon, caller: Caller, scene_id: str, changes: Sequence[SceneChange]
) -> Receipt:
    """Change what is named; what stands so already is not written again.

    When it was played says nothing of the world, and is told of a closed scene too.

    A scene that is being canonized still takes notes and a summary, but keeps its time, its place
    and its participants: its proposals are judged by them.

    Raises:
        InvalidInput: `scene.empty-change`.
        NotFound: `scene.unknown` or `entity.unknown`.
        Conflict: `scene.completed`, `scene.finalizing`, `space.foreign`,
            `entity.not-an-instance`, `entity.retconned` or `scene.not-a-location`.
    """
    if not changes:
        message = (
            "name what changes: gm_notes, time_ref, said_at, summary, location_ref, "
            "joining_entities or leaving_entities; null clears what was there"
        )
        raise InvalidInput("scene.empty-change", message, path="")
    space = (await require(canon, caller, Scene, scene_id)).space

    async def prepare(_: NewId) -> Change:
        scene = await require(canon, caller, Scene, scene_id)
        if not all(isinstance(change, PlayedAt) for change in changes):
            require_unfinished(scene)
        entries: list[Entry] = []
        reads = {thing_key(scene.id)}
        for change in changes:
            named = await require_all(canon, caller, Entity, _named(change))
            reads |= {thing_key(each) for each in (*_named(change), *(e.id for e in named))}
            entry = _entry(scene, change, named)
            if entry is not None:
                entries.append(entry)
        return Change(entries=tuple(entries), reads=frozenset(reads))

    return await commit_change(canon, caller, space, prepare)


def _named(change: SceneChange) -> tuple[str, ...]:
    """The entities that a change names."""
    match change:
        case SceneSetting(place_id=place_id) if place_id is not None:
            return (place_id,)
        case Staging(joining=joining, leaving=leaving):
            return (*joining, *leaving)
        case _:
            return ()


def _entry(scene: Scene, change: SceneChange, named: Sequence[Entity]) -> Entry | None:
    match change:
        case Notes(text=text):
            same = scene.gm_notes == text
            return None if same else SceneNoted(scene_id=scene.id, gm_notes=text)
        case WrittenSummary(text=text):
            same = scene.summary == text
            return None if same else SceneSummarised(scene_id=scene.id, summary=text)
        case Time() | PlayedAt():
            return _dated(scene, change)
        case SceneSetting():
            return _placed(scene, named[0] if named else None)
        case Staging(joining=joining):
            return _staged(scene, named[: len(joining)], named[len(joining) :])


def _placed(scene: Scene, place: Entity | None) -> Entry | None:
    if place is not None:
        require_location(scene.space, place)
    where = None if place is None else place.id
    if scene.location_ref == where:
        return None
    require_active(scene)
    return ScenePlaced(scene_id=scene.id, location_ref=where)


def _dated(scene: Scene, change: Time | PlayedAt) -> Entry | None:
    if isinstance(change, PlayedAt):
        same = scene.said_at == change.said_at
        return None if same else SaidAt(thing_id=scene.id, said_at=change.said_at)
    if scene.time_ref == change.at:
        return None
    require_active(scene)
    return SceneDated(scene_id=scene.id, time_ref=change.at, time_words=change.words)


def _staged(
    scene: Scene, joining: Sequence[Entity], leaving: Sequence[Entity]
) -> SceneStaged | None:
    require_instances(scene.space, joining, path="/joining_entities")
    present = frozenset(scene.participants)
    new = [each.id for each in joining if not family_of(each) & present]
    gone = [i for each in leaving for i in sorted(family_of(each) & present)]
    if not new and not gone:
        return None
    require_active(scene)
    return SceneStaged(scene_id=scene.id, joined=_once(new), left=_once(gone))


def _once(ids: Sequence[EntityId]) -> tuple[EntityId, ...]:
    return tuple(dict.fromkeys(ids))

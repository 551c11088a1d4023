"""Turns: append and read them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from canonry.canon.session.caller import Caller, unknown
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import (
    Change,
    Receipt,
    commit_change,
    require_active,
    require_instances,
)
from canonry.canon.session.lookup import require
from canonry.log.entries import Entry, Made, SceneStaged
from canonry.log.folding import thing_key
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.scenes import Scene, Speaker, Turn, TurnDraft
from canonry.values.audience import EVERYBODY, Audience, covers
from canonry.values.ids import EntityId, NewId, TurnId


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRequest:
    """A turn as it is asked for; `entity_id` stands exactly where an entity speaks.

    Nobody reads it who may not see its scene, whoever its `audience` is.
    """

    scene_id: str
    speaker: Speaker
    entity_id: str | None
    text: str
    resolution_ref: str | None
    audience: Audience = EVERYBODY


async def append_turn(canon: Canon, caller: Caller, request: TurnRequest) -> Receipt:
    """Append the turn; its index is given by the log. Who speaks has come into the scene.

    The first read only tells the space, which never changes; the verdict rests on what is read
    after the head of that space, which is why the scene is read again.

    Raises:
        NotFound: `scene.unknown` or `entity.unknown`.
        Conflict: `scene.completed`, `scene.finalizing`, `space.foreign`,
            `entity.not-an-instance` or `entity.retconned`.
    """
    space = (await require(canon, caller, Scene, request.scene_id)).space
    wanted = [request.scene_id]
    if request.entity_id is not None:
        wanted.append(request.entity_id)

    async def prepare(new_id: NewId) -> Change:
        found = await canon.seen_by(caller).things(wanted)
        scene = found.get(request.scene_id)
        if not isinstance(scene, Scene):
            raise unknown("scene", request.scene_id)
        require_active(scene)
        reads = {thing_key(scene.id)}
        speaker: EntityId | None = None
        entries: list[Entry] = []
        if request.entity_id is not None:
            entity = found.get(request.entity_id)
            if not isinstance(entity, Entity):
                raise unknown("entity", request.entity_id)
            if entity.merged_into is not None:
                entity = await require(canon, caller, Entity, request.entity_id)
            require_instances(space, (entity,), path="/entity_id")
            reads |= {thing_key(request.entity_id), thing_key(entity.id)}
            speaker = entity.id
            heard = covers(request.audience, scene.audience)  # a whisper shows nobody there
            if heard and not family_of(entity) & {*scene.participants, scene.location_ref}:
                entries.append(SceneStaged(scene_id=scene.id, joined=(entity.id,)))
        turn = TurnDraft(
            id=TurnId(new_id("turn")),
            space=space,
            scene_id=scene.id,
            speaker=request.speaker,
            entity_id=speaker,
            text=request.text,
            resolution_ref=request.resolution_ref,
            audience=request.audience,
        )
        return Change(entries=(*entries, Made(thing=turn)), reads=frozenset(reads))

    return await commit_change(canon, caller, space, prepare)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnPage:
    """Turns in the order of play; `following` is the index to go on after, None at the end."""

    scene: Scene
    turns: Sequence[Turn]
    total: int
    following: int | None
    names: Mapping[str, str]


async def get_turns(
    canon: Canon, caller: Caller, scene_id: str, *, after: int, limit: int
) -> TurnPage:
    """Up to `limit` turns past the index `after`.

    Raises:
        NotFound: `scene.unknown`.
    """
    scene = await require(canon, caller, Scene, scene_id)
    found = await canon.documents.turns(scene.id, after=after, limit=limit + 1)
    turns = found[:limit]
    names = await names_of(canon, turns)
    total = max(scene.turn_count, found[-1].index + 1 if found else 0)
    more = len(found) > limit
    return TurnPage(
        scene=scene,
        turns=turns,
        total=total,
        following=turns[-1].index if more else None,
        names=names,
    )


async def names_of(canon: Canon, turns: Sequence[Turn]) -> Mapping[str, str]:
    """The current names of the entities that speak in these turns."""
    speakers = {turn.entity_id for turn in turns if turn.entity_id is not None}
    roots = await canon.within(*{turn.space for turn in turns}).roots(speakers)
    return {given: root.name for given, root in roots.items()}

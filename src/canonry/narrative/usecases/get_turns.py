"""Get turns: a page of a scene's transcript, with the names of those who speak in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import require
from canonry.log.items.scenes import Scene, Turn


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

"""Involved entities, which are of this space and not retconned, and what stands beside a word."""

from collections.abc import Callable, Iterable, Sequence

from canonry.canon.judging.making import Backing
from canonry.canon.judging.slices import SliceView
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import audience_for, judged_by
from canonry.canon.session.lookup import require_all, require_same_space
from canonry.log.folding import thing_key
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Fact, Relation
from canonry.values.errors import Conflict
from canonry.values.ids import SpaceId
from canonry.values.provenance import CanonLevel


async def require_involved(
    canon: Canon, caller: Caller, space: SpaceId, ids: Iterable[str], *, path: str
) -> tuple[tuple[Entity, ...], frozenset[str]]:
    """The entities behind `ids`, merged ones as their roots and each once, and the keys read.

    Raises:
        NotFound: `entity.unknown`.
        Conflict: `space.foreign`, or `entity.retconned`.
    """
    wanted = tuple(ids)
    entities = await require_all(canon, caller, Entity, wanted)
    require_same_space(space, entities, path=path)
    require_standing(*entities)
    roots = {entity.id: entity for entity in entities}
    return tuple(roots.values()), frozenset(map(thing_key, (*wanted, *roots)))


def require_standing(*things: Entity | Relation | Fact | Event) -> None:
    """Refuse what was retconned.

    Raises:
        Conflict: `<kind>.retconned`, with the ids.
    """
    fallen = [thing for thing in things if thing.level is CanonLevel.RETCONNED]
    if fallen:
        kind = type(fallen[0]).__name__.lower()
        message = f"this {kind} was retconned; nothing new can rest on what never was"
        raise Conflict(f"{kind}.retconned", message, conflicts=[thing.id for thing in fallen])


async def standing_beside(
    canon: Canon,
    backing: Backing,
    involved: Sequence[str],
    look: Callable[[SliceView], tuple[str, ...]],
) -> tuple[tuple[str, ...], frozenset[str]]:
    """What `look` warns of, as far as all may know it who know of the word; what that rests on."""
    cited = () if backing.audience is not None else tuple(one.ref for one in backing.evidence)
    audience = await audience_for(canon, (*involved, *cited), backing.audience)
    return await judged_by(canon, backing.space, look, audience)

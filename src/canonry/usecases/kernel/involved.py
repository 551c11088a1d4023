"""Involved entities, which are of this space and not retconned, and what stands beside a word."""

from collections.abc import Callable, Iterable, Sequence

from canonry.domain.errors import Conflict
from canonry.domain.ids import SpaceId
from canonry.domain.judging.making import Backing
from canonry.domain.judging.slices import SliceView
from canonry.domain.log.keys import thing_key
from canonry.domain.provenance import CanonLevel
from canonry.domain.things.entities import Entity
from canonry.domain.things.facts import Event, Fact
from canonry.domain.things.relations import Relation
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.commit_change import audience_for
from canonry.usecases.kernel.extend_slice import judged_by
from canonry.usecases.kernel.lookup import require_all, require_same_space


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

"""Lookups: the thing behind an id, for this caller; what they may not see does not exist."""

from collections.abc import Iterable
from typing import TypeVar

from canonry.canon.session.caller import Caller, unknown
from canonry.canon.session.canon import Canon
from canonry.log.entries import THING_KINDS, Born, Thing
from canonry.log.items.entities import Entity
from canonry.log.keys import thing_key
from canonry.values.errors import Conflict
from canonry.values.ids import SpaceId
from canonry.values.provenance import Evidence, EvidenceKind
from canonry.values.spaces import Space

T = TypeVar("T", bound=Born)


async def require(canon: Canon, caller: Caller, kind: type[T], thing_id: str) -> T:
    """The thing of `kind` with this id; a merged entity's id gives the entity that it became.

    Raises:
        NotFound: `<kind>.unknown`, it does not exist, was erased, or lies in a space that the
            caller may not see.
    """
    return (await require_all(canon, caller, kind, (thing_id,)))[0]


async def require_all(
    canon: Canon, caller: Caller, kind: type[T], ids: Iterable[str]
) -> tuple[T, ...]:
    """The same for several ids, in their order, with one read."""
    wanted, seen = tuple(ids), canon.seen_by(caller)
    found = await (seen.roots(wanted) if kind is Entity else seen.things(wanted))
    return tuple(checked(kind, thing_id, found.get(thing_id)) for thing_id in wanted)


def checked(kind: type[T], thing_id: str, thing: Thing | None) -> T:
    """What was found under an id, if it is of a kind.

    Raises:
        NotFound: `<kind>.unknown`.
    """
    if not isinstance(thing, kind):
        raise unknown(THING_KINDS[kind], thing_id)
    return thing


async def require_itself(canon: Canon, caller: Caller, entity_id: str) -> Entity:
    """The entity with exactly this id, even if it was merged away.

    Raises:
        NotFound: `entity.unknown`.
    """
    return checked(Entity, entity_id, await canon.seen_by(caller).thing(entity_id))


async def require_universe(canon: Canon, caller: Caller, space: str) -> Space:
    """The universe with this id.

    Raises:
        NotFound: `universe.unknown`.
    """
    found = await canon.seen_by(caller).thing(space)
    if not isinstance(found, Space) or not found.told:
        raise unknown("universe", space)
    return found


def require_same_space(space: SpaceId, things: Iterable[Born], *, path: str) -> None:
    """Refuse things of another universe.

    Raises:
        Conflict: `space.foreign`, with the ids that lie elsewhere.
    """
    foreign = [t.id for t in things if t.space != space]
    if foreign:
        message = f"{path} names things of another universe; use ids of this one"
        raise Conflict("space.foreign", message, path=path, conflicts=foreign)


_EVIDENCE_KINDS: dict[EvidenceKind, str] = {
    EvidenceKind.SOURCE: "source",
    EvidenceKind.TURN: "turn",
    EvidenceKind.SCENE: "scene",
    EvidenceKind.SNIPPET: "snippet",
    EvidenceKind.RULE: "axiom",
    EvidenceKind.PROPOSAL: "proposal",
}


async def require_evidence(
    canon: Canon,
    caller: Caller,
    space: SpaceId,
    evidence: Iterable[Evidence],
    *,
    path: str = "/evidence_refs",
) -> frozenset[str]:
    """Check that each reference names something of that kind in `space`; the keys that were read.

    Raises:
        NotFound: `evidence.unknown`.
        Conflict: `space.foreign`.
    """
    wanted = tuple(evidence)
    found = await canon.seen_by(caller).things(e.ref for e in wanted)
    for each in wanted:
        thing = found.get(each.ref)
        known = thing is not None and THING_KINDS[type(thing)] == _EVIDENCE_KINDS[each.kind]
        if thing is None or not known:
            raise unknown("evidence", str(each))
        if thing.space != space:
            message = "the evidence lies in another universe; cite something of this one"
            raise Conflict("space.foreign", message, path=path, conflicts=[each.ref])
    return frozenset(thing_key(e.ref) for e in wanted)

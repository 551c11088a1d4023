"""Look items up for a caller, and refuse what is unknown or not allowed."""

from collections.abc import Iterable
from typing import TypeVar

from canonry.canon.judging.relation_lines import opposed_tags
from canonry.canon.session.caller import Caller, unknown
from canonry.canon.session.canon import APART, Canon
from canonry.log.entries import THING_KINDS, Born, Thing
from canonry.log.folding import thing_key
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Axiom
from canonry.readmodels.ports.state import Spaces
from canonry.values.errors import Conflict, InvalidInput
from canonry.values.ids import Space, SpaceId
from canonry.values.policy import Policy
from canonry.values.provenance import Evidence, EvidenceKind

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


def require_compatible(tags: Iterable[str], policy: Policy, *, path: str) -> None:
    """Refuse tags that cannot hold at once.

    Raises:
        InvalidInput: `state.opposed`.
    """
    opposed = opposed_tags(tags, policy.exclusive_tags)
    if opposed is not None:
        message = f"{path} holds tags that exclude each other; keep one of them"
        raise InvalidInput("state.opposed", message, path=path, tags=list(opposed))


def require_lawful(broken: Iterable[Axiom]) -> None:
    """Refuse what an axiom forbids.

    Raises:
        Conflict: `axiom.forbids`, with the ids of the axioms.
    """
    ids = [axiom.id for axiom in broken]
    if ids:
        message = "an axiom of the universe forbids this; change the law first"
        raise Conflict("axiom.forbids", message, conflicts=ids)


# Covered spaces: what a query may look at; nobody finds what they may not see.
#
# Where stories are told, whoever asks of no universe in particular asks of all of them; what lies
# in somebody's account or in a catalog's project is found there alone by whoever names it.


async def covered_spaces(canon: Canon, caller: Caller, universe_id: str | None) -> Spaces:
    """The spaces that a query covers: the one that it names, or all told ones that the caller sees.

    It names a universe or a world, a catalog's project, or an account: the caller's own, or one
    that they were granted by its id. An account that they were not is as if it did not exist.

    Raises:
        NotFound: `universe.unknown`.
    """
    if universe_id is None:
        if caller.spaces is None:
            return await canon.space_kinds.together(canon.state)
        known = await canon.seen_by(caller).things(caller.spaces)
        return frozenset(
            space
            for space in caller.spaces
            if not (isinstance(one := known.get(space), Space) and one.kind in APART)
        )
    named = await canon.seen_by(caller).thing(universe_id)
    if isinstance(named, Space) and named.kind in APART:
        return frozenset((named.id,))
    return frozenset(((await require_universe(canon, caller, universe_id)).id,))

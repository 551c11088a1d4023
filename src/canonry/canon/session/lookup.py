"""Look items up for a caller or an account, and refuse unknown or forbidden ones."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from typing_extensions import override

from canonry.canon.judging.relation_timelines import find_opposed_tags
from canonry.canon.session.caller import Caller, unknown_item
from canonry.canon.session.canon import APART, Canon, ReadScope
from canonry.canon.session.viewpoint import require_at_viewpoint
from canonry.log.commits import ORIGIN, Commit, Position, stamp_draft
from canonry.log.entries import KIND_NAMES, Born, Made, StoredItem
from canonry.log.folding import item_key
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Axiom, Event, Fact, events_of_changes
from canonry.log.items.sources import account_space, entity_id_of_alias, user_id_of
from canonry.readmodels.ports.state import Spaces
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.values.errors import Conflict, InvalidInput, NotFound
from canonry.values.ids import Space, SpaceDraft, SpaceId, SpaceKind, is_uuid
from canonry.values.policy import Policy
from canonry.values.provenance import Evidence

T = TypeVar("T", bound=Born)


async def require_item(canon: Canon, caller: Caller, kind: type[T], item_id: str) -> T:
    """Return the item of `kind` with this id, or the survivor of a merged entity.

    Raises:
        NotFound: `<kind>.unknown`, it does not exist, was erased, or lies in a space that the
            caller may not see; or as `require_at_viewpoint`.
    """
    return (await require_all(canon, caller, kind, (item_id,)))[0]


async def require_all(
    canon: Canon, caller: Caller, kind: type[T], ids: Iterable[str]
) -> tuple[T, ...]:
    """Return several items by id in the given order, with one read."""
    wanted, scope = tuple(ids), canon.caller_scope(caller)
    found = await (scope.root_entities(wanted) if kind is Entity else scope.items_by_id(wanted))
    if canon.now is not None:
        absent = await canon.now.caller_scope(caller).items_by_id(
            i for i in wanted if i not in found
        )
        for each in (*absent.values(), *(e for e in found.values() if isinstance(e, Entity))):
            await require_at_viewpoint(canon, each)
    return tuple(check_kind(kind, item_id, found.get(item_id)) for item_id in wanted)


def check_kind(kind: type[T], item_id: str, item: StoredItem | None) -> T:
    """Return the item found under an id if it is of `kind`.

    Raises:
        NotFound: `<kind>.unknown`.
    """
    if not isinstance(item, kind):
        raise unknown_item(KIND_NAMES[kind], item_id)
    return item


async def require_any(
    canon: Canon, caller: Caller, kinds: Any, item_id: str, *, called: str = "thing"
) -> Any:
    """Return the item with this id if it is of one of several kinds, survivors for merged ones.

    Raises:
        NotFound: `<called>.unknown`.
    """
    found = await canon.caller_scope(caller).find_item(item_id)
    if not isinstance(found, kinds):
        raise unknown_item(called, item_id)
    return (
        await require_item(canon, caller, Entity, item_id) if isinstance(found, Entity) else found
    )


async def require_itself(canon: Canon, caller: Caller, entity_id: str) -> Entity:
    """Return the entity with exactly this id, even if it was merged.

    Raises:
        NotFound: `entity.unknown`.
    """
    return check_kind(Entity, entity_id, await canon.caller_scope(caller).find_item(entity_id))


async def require_universe(canon: Canon, caller: Caller, space: str) -> Space:
    """Return the universe with this id.

    Raises:
        NotFound: `universe.unknown`.
    """
    found = await canon.caller_scope(caller).find_item(space)
    if not isinstance(found, Space) or not found.may_have_stories:
        raise unknown_item("universe", space)
    return found


async def find_event_facts(canon: Canon, item: object) -> list[Fact]:
    """Return the facts that state what an event changed; they share its readers and its end."""
    if not isinstance(item, Event):
        return []
    state, words = canon.with_all_secrets.state, {item.title, item.description}
    found = await state.facts_stating(item.space, words)
    return [e for e in found if e.position == item.position and events_of_changes((e, item))]


async def commit_at(canon: Canon, space: SpaceId, position: int) -> Commit | None:
    """Return the commit at a position of a space, or None."""
    if position <= ORIGIN:
        return None
    found = await canon.ledger.read_commits(space, after=Position(position - 1), limit=1)
    return found[0] if found else None


async def require_judged(canon: Canon, caller: Caller, space: str) -> Space:
    """Return the universe with this id, or the caller's own account.

    An account without commits has the position `ORIGIN`.

    Raises:
        NotFound: `universe.unknown`.
    """
    if space != caller.account_id:
        return await require_universe(canon, caller, space)
    known = await canon.space_scope(caller.account_id).find_item(space)
    if known is not None:
        return check_kind(Space, space, known)
    (new,) = opening_entries(account_of(caller), {})
    return check_kind(Space, space, stamp_draft(new.thing, ORIGIN, canon.clock.now()))


def require_same_space(space: SpaceId, items: Iterable[Born], *, path: str) -> None:
    """Refuse items of another universe.

    Raises:
        Conflict: `space.foreign`, with the ids in other spaces.
    """
    foreign = [t.id for t in items if t.space != space]
    if foreign:
        message = f"{path} names items of another universe. Use ids of this universe."
        raise Conflict("space.foreign", message, path=path, conflicts=foreign)


async def require_evidence(
    canon: Canon,
    caller: Caller,
    space: SpaceId,
    evidence: Iterable[Evidence],
    *,
    path: str = "/evidence_refs",
) -> frozenset[str]:
    """Check that each reference names an item of its kind in `space`; return the keys read.

    Raises:
        NotFound: `evidence.unknown`.
        Conflict: `space.foreign`.
    """
    wanted = tuple(evidence)
    found = await canon.caller_scope(caller).items_by_id(e.ref for e in wanted)
    return keys_of_evidence(found, wanted, space, path=path)


def keys_of_evidence(
    found: Mapping[str, StoredItem],
    evidence: Iterable[Evidence],
    space: SpaceId,
    *,
    path: str = "/evidence_refs",
) -> frozenset[str]:
    """Check references against the items that were found, as `require_evidence` does."""
    wanted = tuple(evidence)
    for each in wanted:
        item = found.get(each.ref)
        if item is None or KIND_NAMES[type(item)] != each.kind.item_kind:
            raise unknown_item("evidence", str(each))
        if item.space != space:
            message = "The evidence is in another universe. Cite evidence of this universe."
            raise Conflict("space.foreign", message, path=path, conflicts=[each.ref])
    return frozenset(item_key(e.ref) for e in wanted)


def require_compatible(tags: Iterable[str], policy: Policy, *, path: str) -> None:
    """Refuse tags that exclude each other.

    Raises:
        InvalidInput: `state.opposed`.
    """
    opposed = find_opposed_tags(tags, policy.exclusive_tags)
    if opposed is not None:
        message = f"{path} has tags that exclude each other: {', '.join(opposed)}. Keep one."
        raise InvalidInput("state.opposed", message, path=path, tags=list(opposed))


def require_lawful(broken: Iterable[Axiom]) -> None:
    """Refuse a change that an axiom forbids.

    Raises:
        Conflict: `axiom.forbids`, with the ids of the axioms.
    """
    ids = [axiom.id for axiom in broken]
    if ids:
        message = "An axiom of this universe forbids the change. Change the axiom first."
        raise Conflict("axiom.forbids", message, conflicts=ids)


# Covered spaces: the spaces that a query searches.
#
# A query without a universe covers all narrative universes and worlds. Items of an account or of a
# catalog's project are found only by a query that names it.


async def covered_spaces(canon: Canon, caller: Caller, universe_id: str | None) -> Spaces:
    """Return the named space, or all universes and worlds that the caller sees.

    The id names a universe, a world, a catalog's project, the caller's account, or an account that
    was granted by id. Other accounts are reported as unknown.

    Raises:
        NotFound: `universe.unknown`.
    """
    if universe_id is None:
        if caller.spaces is None:
            return await canon.space_kinds.default_spaces(canon.state)
        known = await canon.caller_scope(caller).items_by_id(caller.spaces)
        return frozenset(
            space
            for space in caller.spaces
            if not (isinstance(one := known.get(space), Space) and one.kind in APART)
        )
    named = await canon.caller_scope(caller).find_item(universe_id)
    if isinstance(named, Space) and (named.kind in APART or named.may_have_stories):
        return frozenset((named.id,))
    raise unknown_item("universe", universe_id)


# The caller's account: the space of the user's own records, and the other readable spaces.
#
# Another user's account is reported as unknown. Other spaces are read within the caller's grants,
# and never written.

_READABLE_KINDS: Final = (SpaceKind.UNIVERSE, SpaceKind.WORLD, SpaceKind.PROJECT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A user and the space of the user's records."""

    user_id: str
    space: SpaceId


def account_of(caller: Caller) -> Account:
    """Return the account of the authenticated user, or of the only user of a local server."""
    user_id = user_id_of(caller.actor.user)
    return Account(user_id=user_id, space=account_space(user_id))


def require_account(caller: Caller, user_id: str | None) -> Account:
    """Return the caller's account if `user_id` is its user or None.

    Raises:
        InvalidInput: `user.mismatch`, for any other id.
    """
    account = account_of(caller)
    if user_id is not None and user_id_of(user_id.strip()) != account.user_id:
        message = (
            "user_id must be the id of the user for whom this server is called. "
            "details.expected gives it."
        )
        raise InvalidInput("user.mismatch", message, path="/user_id", expected=account.user_id)
    return account


async def require_account_opened(canon: Canon, space: SpaceId) -> None:
    """Refuse an account without commits, for example one with a mistyped name.

    Raises:
        NotFound: `account.unknown`.
    """
    if not isinstance(await canon.space_scope(space).find_item(space), Space):
        message = "There is no such account. Name the user as the token or the settings do."
        raise NotFound("account.unknown", message, kind="account")


def within_account(caller: Caller) -> Caller:
    """Return the caller limited to its own account, for writes."""
    return replace(caller, spaces=frozenset((account_of(caller).space,)))


async def readable_spaces(canon: Canon, caller: Caller) -> frozenset[SpaceId]:
    """Return the caller's account and the other spaces that the caller may see."""
    own = account_of(caller).space
    if caller.spaces is not None:
        known = (await canon.caller_scope(caller).items_by_id(caller.spaces)).values()
        spaces = (each for each in known if isinstance(each, Space))
        return frozenset((own, *(one.id for one in spaces if one.kind in _READABLE_KINDS)))
    found = [own]
    for kind in _READABLE_KINDS:
        page = await canon.state.spaces(kind=kind, parent=None, limit=PAGE_MAX, offset=0)
        found += [space.id for space in page.items]
    return frozenset(found)


async def require_readable(
    canon: Canon, caller: Caller, kind: type[T], ids: Iterable[str]
) -> tuple[T, ...]:
    """Return the items of `kind` with these ids, or the survivors of merged entities.

    Raises:
        NotFound: `<kind>.unknown`, also for all items of other users.
    """
    wanted, scope = tuple(ids), readable_scope(canon, caller)
    found = await (scope.root_entities(wanted) if kind is Entity else scope.items_by_id(wanted))
    return tuple(check_kind(kind, item_id, found.get(item_id)) for item_id in wanted)


def readable_scope(canon: Canon, caller: Caller) -> ReadScope:
    """Return lookups limited to the spaces that the caller reads here."""
    return _ReadableScope(
        state=canon.state, kinds=canon.space_kinds, spaces=caller.spaces, caller=caller
    )


class _ReadableScope(ReadScope):
    """The read scope: the own account and the granted spaces except other accounts."""

    __slots__ = ()

    @override
    async def may_see_space(self, space: SpaceId) -> bool:
        if self.caller is not None and space == self.caller.account_id:
            return True
        kind = await self.kinds.kind_of(self.state, space)
        return kind in _READABLE_KINDS and await ReadScope.may_see_space(self, space)


def entity_id_in(text: str, path: str) -> str:
    """Return the entity id in a text: a UUID, or its short alias.

    Raises:
        InvalidInput: `entity-id.malformed`.
    """
    given = text.strip()
    found = given.lower() if is_uuid(given) else entity_id_of_alias(given)
    if found is None:
        message = f"{path} must be a hyphenated UUID, or ent_ and 24 hexadecimal digits."
        raise InvalidInput("entity-id.malformed", message, path=path)
    return found


def opening_entries(account: Account, known: Mapping[str, StoredItem]) -> tuple[Made, ...]:
    """Return the entry that opens the account, unless the account is already known."""
    if account.space in known:
        return ()
    space = SpaceDraft(
        id=account.space, kind=SpaceKind.ACCOUNT, name="Account", description="", parent=None
    )
    return (Made(thing=space),)

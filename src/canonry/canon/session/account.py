"""The caller's account: the space of a user's own canon, and what else that user may read.

Another user's account is exactly as if it did not exist; other spaces are read as far as the
caller may see them, and written to by nobody here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from typing_extensions import override

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon, Sight
from canonry.canon.session.lookup import checked
from canonry.log.entries import Born, Made, Thing
from canonry.log.items.entities import Entity
from canonry.log.items.sources import account_space, entity_id_behind, user_id_of
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.values.errors import InvalidInput, NotFound
from canonry.values.ids import Space, SpaceDraft, SpaceId, SpaceKind, is_uuid

T = TypeVar("T", bound=Born)
_READ_BESIDE: Final = (SpaceKind.UNIVERSE, SpaceKind.WORLD, SpaceKind.PROJECT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Whose canon it is, and the space that holds it."""

    user_id: str
    space: SpaceId


def account_of(caller: Caller) -> Account:
    """The account of the authenticated user, or of the one user of a local server."""
    user_id = user_id_of(caller.actor.user)
    return Account(user_id=user_id, space=account_space(user_id))


def require_account(caller: Caller, user_id: str | None) -> Account:
    """The caller's account, if `user_id` names its user or nobody.

    Raises:
        InvalidInput: `user.mismatch`, whoever else it names, or nobody that exists.
    """
    account = account_of(caller)
    if user_id is not None and user_id_of(user_id.strip()) != account.user_id:
        message = (
            "user_id must be the id of the user on whose behalf this server is called, "
            "which is details.expected"
        )
        raise InvalidInput("user.mismatch", message, path="/user_id", expected=account.user_id)
    return account


async def require_told(canon: Canon, space: SpaceId) -> None:
    """See that anything was ever told in an account: a name that was mistyped has none.

    Raises:
        NotFound: `account.unknown`.
    """
    if not isinstance(await canon.within(space).thing(space), Space):
        message = "there is no such account here; name the user as the token or the settings do"
        raise NotFound("account.unknown", message, kind="account")


def within_account(caller: Caller) -> Caller:
    """The same caller, who sees nothing but the own account: everything is written this way."""
    return replace(caller, spaces=frozenset((account_of(caller).space,)))


async def readable_spaces(canon: Canon, caller: Caller) -> frozenset[SpaceId]:
    """The own account and the spaces beside it that the caller may see."""
    own = account_of(caller).space
    if caller.spaces is not None:
        known = await canon.seen_by(caller).things(caller.spaces)
        return frozenset((own, *(i for i in caller.spaces if _beside(known.get(i)))))
    found = [own]
    for kind in _READ_BESIDE:
        page = await canon.state.spaces(kind=kind, parent=None, limit=PAGE_MAX, offset=0)
        found += [space.id for space in page.items]
    return frozenset(found)


async def require_readable(
    canon: Canon, caller: Caller, kind: type[T], ids: Iterable[str]
) -> tuple[T, ...]:
    """The things of `kind` with these ids; a merged entity's id gives the entity that it became.

    Raises:
        NotFound: `<kind>.unknown`, also for everything of another user.
    """
    wanted, reading = tuple(ids), read_by(canon, caller)
    found = await (reading.roots(wanted) if kind is Entity else reading.things(wanted))
    return tuple(checked(kind, thing_id, found.get(thing_id)) for thing_id in wanted)


def read_by(canon: Canon, caller: Caller) -> Sight:
    """Lookups that know of nothing but what the caller reads here."""
    return _Reading(state=canon.state, kinds=canon.space_kinds, spaces=caller.spaces, caller=caller)


class _Reading(Sight):
    """The own account, whatever was granted, and what is read beside it; no other account."""

    __slots__ = ()

    @override
    async def sees(self, space: SpaceId) -> bool:
        if self.caller is not None and space == self.caller.account:
            return True
        kind = await self.kinds.kind_of(self.state, space)
        return kind in _READ_BESIDE and await Sight.sees(self, space)


def entity_id_in(text: str, path: str) -> str:
    """The entity id that a text says: a UUID, or the short alias of one.

    Raises:
        InvalidInput: `entity-id.malformed`.
    """
    given = text.strip()
    found = given.lower() if is_uuid(given) else entity_id_behind(given)
    if found is None:
        message = f"{path} is an entity id: a hyphenated UUID, or ent_ and 24 hexadecimal digits"
        raise InvalidInput("entity-id.malformed", message, path=path)
    return found


def opened(account: Account, known: Mapping[str, Thing]) -> tuple[Made, ...]:
    """The entry that opens the account, unless it is among the things known."""
    if account.space in known:
        return ()
    space = SpaceDraft(
        id=account.space,
        kind=SpaceKind.ACCOUNT,
        name="Account",
        description="",
        parent=None,
    )
    return (Made(thing=space),)


def _beside(thing: Thing | None) -> bool:
    return isinstance(thing, Space) and thing.kind in _READ_BESIDE

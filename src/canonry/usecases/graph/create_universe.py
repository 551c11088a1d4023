"""Create a universe or a multiverse: a new space with a log of its own."""

from collections.abc import Mapping

from canonry.domain.errors import NotAllowed
from canonry.domain.ids import NewId, SpaceId, keyed_commit_id
from canonry.domain.log.entries import Made
from canonry.domain.spaces import Space, SpaceDraft, SpaceKind
from canonry.usecases.kernel.caller import Caller, unknown
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.commit_change import Change, Receipt, commit_change


async def create_universe(
    canon: Canon,
    caller: Caller,
    *,
    kind: SpaceKind,
    name: str,
    description: str,
    properties: Mapping[str, str],
    parent: str | None = None,
) -> Receipt:
    """Open a space; a retry with the same idempotency key finds the one that it opened.

    Raises:
        NotAllowed: `space.bound`, the caller may see given universes only and would lose this one.
        NotFound: `multiverse.unknown`.
    """
    if caller.spaces is not None:
        message = "this caller is bound to given universes and cannot create another"
        raise NotAllowed("space.bound", message)
    if parent is not None:
        await _require_multiverse(canon, caller, parent)
    space_id = _space_id(canon, caller)

    async def prepare(new_id: NewId) -> Change:
        del new_id  # the space has its id before its first commit
        space = SpaceDraft(
            id=space_id,
            kind=kind,
            name=name,
            description=description,
            parent=None if parent is None else SpaceId(parent),
            properties=dict(properties),
        )
        return Change(entries=(Made(thing=space),), reads=frozenset())

    return await commit_change(canon, caller, space_id, prepare)


def _space_id(canon: Canon, caller: Caller) -> SpaceId:
    key = caller.idempotency_key
    if key is None:
        return SpaceId(canon.identities.fresh())
    return SpaceId(keyed_commit_id("", caller.actor.agent_id, caller.tool, key))


async def _require_multiverse(canon: Canon, caller: Caller, parent: str) -> None:
    found = await canon.seen_by(caller).thing(parent)
    if not isinstance(found, Space) or found.kind is not SpaceKind.MULTIVERSE:
        raise unknown("multiverse", parent)

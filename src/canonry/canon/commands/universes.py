"""Commands on universes: create one, declare its calendar."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from canonry.canon.session.caller import Caller, unknown
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, Receipt, commit_change, the_made
from canonry.canon.session.lookup import require_universe
from canonry.canon.session.paging import every_item
from canonry.canon.session.spoken_times import CALENDAR
from canonry.log.entries import Made, SpaceRevised
from canonry.log.folding import thing_key
from canonry.log.items.entities import normalised_name
from canonry.values.calendars.declaring import read_calendar
from canonry.values.errors import NotAllowed
from canonry.values.ids import NewId, Space, SpaceDraft, SpaceId, SpaceKind, keyed_commit_id


async def create_universe(
    canon: Canon,
    caller: Caller,
    *,
    kind: SpaceKind,
    name: str,
    description: str,
    properties: Mapping[str, Any],
    parent: str | None = None,
) -> Receipt:
    """Open a space; a retry with the same idempotency key finds the one that it opened.

    Raises:
        InvalidInput: as `read_calendar`, for the property `calendar`.
        NotAllowed: `space.bound`, the caller may see given universes only and would lose this one.
        NotFound: `multiverse.unknown`.
    """
    if CALENDAR in properties:
        read_calendar(properties[CALENDAR])
    if caller.spaces is not None:
        message = "this caller is bound to given universes and cannot create another"
        raise NotAllowed("space.bound", message)
    if parent is not None:
        await _require_multiverse(canon, caller, parent)
    space_id = space_opened_by(canon, caller)

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


def space_opened_by(canon: Canon, caller: Caller) -> SpaceId:
    """The id of the space that this request opens; a new one each time where it has no key."""
    key = caller.idempotency_key
    if key is None:
        return SpaceId(canon.identities.fresh())
    return SpaceId(keyed_commit_id("", caller.actor.agent_id, caller.tool, key))


async def _require_multiverse(canon: Canon, caller: Caller, parent: str) -> None:
    found = await canon.seen_by(caller).thing(parent)
    if not isinstance(found, Space) or found.kind is not SpaceKind.MULTIVERSE:
        raise unknown("multiverse", parent)


async def universe_named(canon: Canon, caller: Caller, name: str, *, description: str) -> SpaceId:
    """The universe of that name, the oldest if there are several; made if there is none."""
    universes = partial(canon.state.spaces, kind=SpaceKind.UNIVERSE, parent=None)
    async for space in every_item(universes):
        if normalised_name(space.name) == normalised_name(name):
            return space.id
    receipt = await create_universe(
        canon,
        replace(caller, idempotency_key=f"universe {normalised_name(name)}"),
        kind=SpaceKind.UNIVERSE,
        name=name,
        description=description,
        properties={},
    )
    return the_made(receipt, SpaceDraft).id


async def declare_calendar(
    canon: Canon, caller: Caller, universe_id: str, declared: Mapping[str, Any] | None
) -> Receipt:
    """Give the universe this calendar, or with None the Gregorian one.

    Raises:
        InvalidInput: as `read_calendar`.
        NotFound: `universe.unknown`.
    """
    if declared is not None:
        read_calendar(declared)
    space = (await require_universe(canon, caller, universe_id)).id

    async def prepare(_: NewId) -> Change:
        universe = await require_universe(canon, caller, universe_id)
        properties = {key: each for key, each in universe.properties.items() if key != CALENDAR}
        if declared is not None:
            properties[CALENDAR] = dict(declared)
        same = properties == dict(universe.properties)
        revised = SpaceRevised(
            space_id=universe.id,
            name=universe.name,
            description=universe.description,
            properties=properties,
        )
        entries = () if same else (revised,)
        return Change(entries=entries, reads=frozenset((thing_key(universe.id),)))

    return await commit_change(canon, caller, space, prepare)

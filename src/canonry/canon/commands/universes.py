"""Create universes, and declare their calendars."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from canonry.canon.session.caller import Caller, unknown_item
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, Receipt, commit_change, first_made
from canonry.canon.session.lookup import require_universe
from canonry.canon.session.paging import every_item
from canonry.canon.session.spoken_times import CALENDAR
from canonry.log.entries import Made, SpaceRevised
from canonry.log.folding import item_key
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
    """Create a space; a retry with the same idempotency key returns the first one.

    Raises:
        InvalidInput: as `read_calendar`, for the property `calendar`.
        NotAllowed: `space.bound`, the caller may use granted universes only.
        NotFound: `multiverse.unknown`.
    """
    if CALENDAR in properties:
        read_calendar(properties[CALENDAR])
    if caller.spaces is not None:
        message = "This caller may only use universes granted to it. It cannot create one."
        raise NotAllowed("space.bound", message)
    if parent is not None:
        found = await canon.caller_scope(caller).find_item(parent)
        if not isinstance(found, Space) or found.kind is not SpaceKind.MULTIVERSE:
            raise unknown_item("multiverse", parent)
    space_id = space_opened_by(canon, caller)

    async def prepare_change(_: NewId) -> Change:
        space = SpaceDraft(
            id=space_id,
            kind=kind,
            name=name,
            description=description,
            parent=None if parent is None else SpaceId(parent),
            properties=dict(properties),
        )
        return Change(entries=(Made(thing=space),), reads=frozenset())

    return await commit_change(canon, caller, space_id, prepare_change)


def space_opened_by(canon: Canon, caller: Caller) -> SpaceId:
    """Return the id of the space that this request creates; random without an idempotency key."""
    key = caller.idempotency_key
    if key is None:
        return SpaceId(canon.identities.new_id())
    return SpaceId(keyed_commit_id("", caller.actor.agent_id, caller.tool, key))


async def universe_named(canon: Canon, caller: Caller, name: str, *, description: str) -> SpaceId:
    """Return the oldest universe of that name; create one if there is none."""
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
    return first_made(receipt, SpaceDraft).id


async def declare_calendar(
    canon: Canon, caller: Caller, universe_id: str, declared: Mapping[str, Any] | None
) -> Receipt:
    """Set the universe's calendar; None sets the Gregorian one.

    Raises:
        InvalidInput: as `read_calendar`.
        NotFound: `universe.unknown`.
    """
    if declared is not None:
        read_calendar(declared)
    space = (await require_universe(canon, caller, universe_id)).id

    async def prepare_change(_: NewId) -> Change:
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
        return Change(entries=entries, reads=frozenset((item_key(universe.id),)))

    return await commit_change(canon, caller, space, prepare_change)

"""Declare a calendar: how a universe counts its days; times that stand already stay as they are."""

from collections.abc import Mapping
from typing import Any

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, Receipt, commit_change
from canonry.canon.session.lookup import require_universe
from canonry.canon.session.spoken_times import CALENDAR
from canonry.log.entries import SpaceRevised
from canonry.log.keys import thing_key
from canonry.values.calendars.declaring import read_calendar
from canonry.values.ids import NewId


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

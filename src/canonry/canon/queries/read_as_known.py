"""Read as known: things of one space as they stood when an instant had been recorded."""

from collections.abc import Iterable, Mapping

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.log.entries import Thing, Tombstone
from canonry.values.ids import SpaceId
from canonry.values.time import Instant


async def read_as_known(
    canon: Canon, caller: Caller, space: SpaceId, ids: Iterable[str], instant: Instant
) -> Mapping[str, Thing]:
    """Those of the things that were known then, as they stood; erased ones are gone for ever."""
    wanted = list(ids)
    position = await canon.ledger.position_at(space, instant)
    seen = canon.seen_by(caller)
    now = await seen.things(wanted)
    then = await seen.things_as_known_at(wanted, position)
    return {i: t for i, t in then.items() if not isinstance(now.get(i), Tombstone | None)}

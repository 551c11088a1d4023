"""Foreseen: what will be known of an entity once drafts about it are in the log, as the last."""

from collections.abc import Iterable
from typing import Final

from canonry.log.schemas.narrative_fields import policy_of
from canonry.values.merge import accumulate, join
from canonry.values.observations import Observation, ObservationDraft
from canonry.values.revising import spread
from canonry.values.snapshots import Accumulator
from canonry.values.time import Instant

_LAST_OF_ALL: Final = 2**62


def foreseen(own: Accumulator, drafts: Iterable[ObservationDraft]) -> Accumulator:
    """What observations make of what is known already."""
    at = Instant(_LAST_OF_ALL)
    for each in drafts:
        plain = spread(each) | {"fragments": {}, "dates": {}}
        seen = Observation(**plain, recorded_at=at, position=_LAST_OF_ALL, changed_at=_LAST_OF_ALL)
        own = join(own, accumulate(seen, policy_of), policy_of)
    return own

"""Stamping: a draft becomes a thing by its place in the log and the instant of its commit."""

from dataclasses import fields
from functools import cache
from typing import Any, Final

from canonry.log.commits import Position
from canonry.log.entries import STAMPED, Born, ThingDraft
from canonry.values.revising import spread
from canonry.values.time import Instant

_INSTANTS: Final = frozenset({"created_at", "updated_at", "recorded_at", "timestamp"})


def stamped(draft: ThingDraft, position: Position, at: Instant, **counted: int) -> Born:
    """The thing that a commit makes of `draft`; `counted` says its number among others."""
    kind = STAMPED[type(draft)]
    dates = dict.fromkeys(_dated(kind), at)
    thing: Born = kind(**spread(draft), **dates, **counted, position=position, changed_at=position)
    return thing


@cache
def _dated(kind: type[Any]) -> frozenset[str]:
    return _INSTANTS.intersection(each.name for each in fields(kind))

"""Edges: how long a relation of a world holds, and by which kind it is chosen."""

from typing import Final

from canonry.log.items.relations import RelationDraft
from canonry.log.schemas.world_types import KIND, WORLD_RELATIONS, Tie
from canonry.readmodels.ticks import Tick, tick_of
from canonry.values.provenance import CanonLevel
from canonry.values.time import Instant

FOREVER: Final = 2**63 - 1
"""The end of what has none, as it is compared and stored."""
ALWAYS: Final = -(2**63)
_TIES: Final = frozenset(Tie)


def kind_of(relation: RelationDraft) -> str:
    """The kind of an edge, as `world_types` says for each relation; empty where it has none."""
    return str(relation.properties.get(KIND, ""))


def tie_of(relation: RelationDraft) -> Tie | None:
    """The tie that an edge is; None: one of this name that somebody else made says no tie."""
    kind = kind_of(relation)
    return Tie(kind) if kind in _TIES else None


def span_of(relation: RelationDraft) -> tuple[int, int] | None:
    """From when until just before when an edge holds; None: never, as far as is known."""
    if relation.rel_type not in WORLD_RELATIONS or relation.level is not CanonLevel.CANON:
        return None
    if relation.ended and relation.until is None:
        return None
    since = ALWAYS if relation.since is None else relation.since
    until = FOREVER if relation.until is None else relation.until
    return (since, until) if since < until else None


def recurs(relation: RelationDraft) -> bool:
    """Whether an edge holds again and again."""
    return bool(relation.properties.get("every"))


def shows_at(relation: RelationDraft, tick: Tick) -> bool:
    """Whether what recurs is on at a tick at which its edge holds."""
    if not recurs(relation) or relation.since is None:
        return True
    return _passed(relation, tick) < int(relation.properties["lasting"])


def _passed(relation: RelationDraft, tick: Tick) -> int:
    """So many ticks of its round have gone by."""
    own = relation.properties
    first = own.get("opens")
    begin = tick_of(Instant(relation.since or 0)) if first is None else int(first)
    return (tick - begin) % int(own["every"])


def blocked_at(exit_edge: RelationDraft, tick: Tick) -> str | None:
    """Why nobody passes an exit at a tick; None where it is open."""
    own = exit_edge.properties
    if own.get("blocked") or shows_at(exit_edge, tick):
        return own.get("blocked") or None
    return f"It is shut until tick {tick + int(own['every']) - _passed(exit_edge, tick)}."


def holds_at(relation: RelationDraft, at: Instant) -> bool:
    """Whether an edge holds at an instant."""
    span = span_of(relation)
    return span is not None and span[0] <= at < span[1]

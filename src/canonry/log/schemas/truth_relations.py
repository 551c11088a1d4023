"""The seven types of relationship between a user's entities, and which of them form no cycles."""

from enum import StrEnum
from typing import Final


class TruthRelation(StrEnum):
    """How one entity stands to another; an edge points from the part, the later, the needy one."""

    PART_OF = "PART_OF"
    CORRECTS = "CORRECTS"
    REFERS_TO = "REFERS_TO"
    SETTLES = "SETTLES"
    DUPLICATE_OF = "DUPLICATE_OF"
    DEPENDS_ON = "DEPENDS_ON"
    SUPERSEDES = "SUPERSEDES"


ACYCLIC: Final = frozenset(
    (
        TruthRelation.PART_OF,
        TruthRelation.DEPENDS_ON,
        TruthRelation.SUPERSEDES,
        TruthRelation.CORRECTS,
    )
)
"""Each of these is acyclic for itself; an edge of another type closes no cycle."""

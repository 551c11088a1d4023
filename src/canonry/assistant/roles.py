"""Roles of the canon toolset: each may do what those before it may, and something more."""

from typing import Final

READER: Final = "Reader"
CONTRIBUTOR: Final = "Contributor"
KEEPER: Final = "Keeper"
SOLO: Final = "Solo"
"""One person on their own machine, who tells, proposes and decides."""

EVERYBODY: Final = frozenset({READER, CONTRIBUTOR, KEEPER, SOLO})
CONTRIBUTORS: Final = frozenset({CONTRIBUTOR, KEEPER, SOLO})
KEEPERS: Final = frozenset({KEEPER, SOLO})

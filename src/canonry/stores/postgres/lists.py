"""Lists in PostgreSQL: the rows of the domain as they are stored."""

from collections.abc import Iterable, Iterator
from struct import pack, unpack
from typing import Final, TypeAlias

from canonry.log.entries import Thing
from canonry.readmodels import listing
from canonry.readmodels.listing import List, Owner

StoredRow: TypeAlias = tuple[str, int, str, str, int, int, str, int | None, int | None, str | None]
"""(space, list, owner, facet, rank, later, id, starts, ends, name)."""

_SIGN: Final = 0x7FFF_FFFF_FFFF_FFFF


def rows_of(thing: Thing) -> Iterator[StoredRow]:
    """The rows of `thing` in every list; those without a space are kept in that of the thing."""
    for listed, owner, space, facet, rank, later, identity, *rest in listing.rows_of(thing):
        place = (space or thing.space, listed, str(owner), facet, ranked(listed, rank), later)
        yield (*place, identity, *rest)  # type: ignore[misc] # three are left


def ranked(listed: int, rank: float) -> int:
    """A rank as a whole number in the same order: that of memories is their importance."""
    if listed != List.MEMORIES:
        return int(rank)
    bits: int = unpack(">q", pack(">d", rank + 0.0))[0]
    return bits if bits >= 0 else bits ^ _SIGN


def owners_stored(owners: Iterable[Owner]) -> list[str]:
    """Owners as they are stored."""
    return [str(owner) for owner in owners]

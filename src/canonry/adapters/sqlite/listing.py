"""Lists in SQLite: the rows of the domain with their ids packed, and what changes between them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

from canonry.adapters.sqlite.packing import Packed, pack
from canonry.domain.log.entries import Thing
from canonry.domain.views import listing

PackedOwner: TypeAlias = bytes | str | int
CountKey: TypeAlias = tuple[int, PackedOwner, Packed, str]
PackedRow: TypeAlias = tuple[
    int, PackedOwner, Packed, str, int | float, int, Packed, int | None, int | None, str | None
]


def rows_of(thing: Thing) -> Iterator[PackedRow]:
    """The rows of `thing` in every list, as they are stored."""
    for listed, owner, space, facet, rank, later, identity, *rest in listing.rows_of(thing):
        mine = pack(owner) if isinstance(owner, str) else owner
        yield (listed, mine, pack(space), facet, rank, later, pack(identity), *rest)  # type: ignore[misc] # three are left


RowT = TypeVar("RowT", bound=tuple[Any, ...])


def difference(
    rows: Callable[[Thing], Iterable[RowT]], gone: Iterable[Thing], come: Iterable[Thing]
) -> tuple[Sequence[RowT], Sequence[RowT]]:
    """The rows that `gone` had and `come` have not, and the other way round."""
    before = dict.fromkeys(row for thing in gone for row in rows(thing))
    if not before:  # a thing never has the same row twice
        return (), [row for thing in come for row in rows(thing)]
    after = dict.fromkeys(row for thing in come for row in rows(thing))
    return (
        [row for row in before if row not in after],
        [row for row in after if row not in before],
    )

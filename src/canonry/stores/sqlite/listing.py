"""Lists in SQLite: the rows of the domain with their ids packed."""

from typing import TypeAlias

from canonry.log.entries import Thing
from canonry.readmodels import listing
from canonry.stores.sqlite.bodies import Packed, pack

PackedOwner: TypeAlias = bytes | str | int
CountKey: TypeAlias = tuple[int, PackedOwner, Packed, str]
PackedRow: TypeAlias = tuple[
    int, PackedOwner, Packed, str, int | float, int, Packed, int | None, int | None, str | None
]


def rows_of(thing: Thing) -> list[PackedRow]:
    """The rows of `thing` in every list, as they are stored."""
    found: list[PackedRow] = []
    for listed, owner, space, facet, rank, later, identity, *rest in listing.rows_of(thing):
        mine = pack(owner) if isinstance(owner, str) else owner
        found.append((listed, mine, pack(space), facet, rank, later, pack(identity), *rest))  # type: ignore[arg-type] # three are left
    return found

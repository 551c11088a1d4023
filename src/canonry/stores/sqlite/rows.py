"""Rows in SQLite: packed items, lookups by id, and the pages of lists."""

import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from sys import byteorder
from typing import Any, Final, TypeAlias, TypeVar
from zlib import DEFLATED, Z_DEFAULT_STRATEGY, compressobj, crc32, decompressobj

import apsw

from canonry.log.entries import KIND_NAMES, StoredItem
from canonry.log.items.entities import EntityClass, normalised_name
from canonry.log.sealing import decode_item, encode_item
from canonry.readmodels import listing
from canonry.readmodels.listing import MERGED, NOBODY, TAG, List, Owner, clamp_instant
from canonry.readmodels.ports.documents import ProposalQuery, SceneQuery
from canonry.readmodels.ports.state import EntityQuery, EventQuery, FactQuery, RelationQuery, Spaces
from canonry.readmodels.ports.view import Page
from canonry.values.errors import BrokenInvariant, InvalidInput
from canonry.values.provenance import CanonLevel

T = TypeVar("T")

# Selections: the rows of a list that a query asks for. `readmodels/listing.py` defines the lists.

_SIDES: Final = {"out": ("out", "both"), "in": ("in", "both")}
_WHOLE: Final = (NOBODY, MERGED)
_PATTERN_BYTES: Final = 40_000  # SQLite refuses patterns above 50,000 bytes
_WILD: Final = re.compile(r"[*%]")


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetCondition:
    """A condition on a facet's parts between slashes, counted from the left or, below 0, the end.

    `whole` lists complete facets, because a type that an agent chose may contain a slash. `asks`
    matches any of the words between the signs `+` of the last part.
    """

    parts: Mapping[int, frozenset[str]] = field(default_factory=dict)
    whole: frozenset[str] | None = None
    asks: frozenset[str] | None = None

    def fits_facet(self, facet: str) -> bool:
        """Return whether a facet meets the condition."""
        if self.whole is not None and facet not in self.whole:
            return False
        facet_parts = facet.split("/")
        return all(
            facet_parts[part_index] in among for part_index, among in self.parts.items()
        ) and (self.asks is None or not self.asks.isdisjoint(facet_parts[-1].split("+")))


@dataclass(frozen=True, slots=True, kw_only=True)
class AlsoListed:
    """The condition that an item is also listed under one of `owners`, or under none of them.

    The other row has the same space, facet and place. `named` is a pattern for the row's name, with
    `*` for any characters.
    """

    listed: List
    owners: tuple[Owner, ...]
    never: bool = False
    named: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Rows of a list under any of `owners` whose facet matches.

    `disjoint` owners share no row. `newest_first` reverses the order of the ranks, but not of the
    ids. Rows that begin after `begun_by`, have ended at `open_after` or rank above `rank_most` are
    left out.
    """

    listed: List
    owners: tuple[Owner, ...] = (NOBODY,)
    spaces: Spaces = None
    facet: FacetCondition | None = None
    begun_by: int | None = None
    open_after: int | None = None
    rank_most: float | None = None
    standing: tuple[AlsoListed, ...] = ()
    disjoint: bool = False
    newest_first: bool = False


def facts_of(query: FactQuery) -> Selection:
    """Select the facts that a query asks for."""
    return Selection(
        listed=List.FACTS_OF if query.entities else List.FACTS,
        owners=_owners_or_nobody(query.entities),
        spaces=query.spaces,
        facet=_facet_condition((query.level, query.authority, query.fact_type)),
        begun_by=clamp_instant(query.end),
        open_after=clamp_instant(query.start),
    )


def events_of(query: EventQuery) -> Selection:
    """Select the events that a query asks for."""
    listed, owners = List.EVENTS, _owners_or_nobody(query.entities)
    standing: tuple[AlsoListed, ...] = ()
    if query.scene_id is not None:
        listed = List.EVENTS_IN
        if query.entities:
            standing = (AlsoListed(listed=List.EVENTS_OF, owners=owners),)
        owners = (query.scene_id,)
    elif query.entities:
        listed = List.EVENTS_OF
    return Selection(
        listed=listed,
        owners=owners,
        spaces=query.spaces,
        facet=_facet_condition((query.level,)),
        standing=standing,
    )


def relations_of(query: RelationQuery) -> Selection:
    """Select the relations that a query asks for."""
    sides = _SIDES.get(query.direction, ("out", "in", "both")) if query.entities else ("edge",)
    states = ("current",) if query.current else ("current", "past")
    if query.rel_type is None:
        condition = FacetCondition(parts={0: frozenset(sides), 1: frozenset(states)})
    else:
        condition = FacetCondition(
            whole=frozenset(f"{s}/{state}/{query.rel_type}" for s in sides for state in states)
        )
    return Selection(
        listed=List.RELATIONS_OF if query.entities else List.RELATIONS,
        owners=_owners_or_nobody(query.entities),
        spaces=query.spaces,
        facet=condition,
        newest_first=query.newest_first,
    )


def entities_of(query: EntityQuery, leading: str | None) -> Selection:
    """Select the entities that a query asks for. If tags are required, read the list `leading`."""
    owners: tuple[Owner, ...] = (NOBODY,)
    every = set(query.all_of)
    some = tuple(TAG + tag for tag in sorted(query.any_of))
    standing: list[AlsoListed] = []
    if every:
        owners = (f"{TAG}{leading}",)
        standing += [_tag_condition((TAG + tag,)) for tag in sorted(every - {leading})]
        standing += [_tag_condition(some)] if some else []
    elif some:
        owners = some
    elif query.include_merged and not query.none_of:
        owners = _WHOLE
    if query.none_of:
        standing.append(_tag_condition(tuple(TAG + t for t in sorted(query.none_of)), never=True))
    if query.name_pattern is not None:
        standing.append(AlsoListed(listed=List.ENTITIES, owners=_WHOLE, named=query.name_pattern))
    return Selection(
        listed=List.ENTITIES,
        owners=owners,
        spaces=query.spaces,
        facet=_entity_condition(query),
        standing=tuple(standing),
        disjoint=owners == _WHOLE,
    )


def scenes_of(query: SceneQuery) -> Selection:
    """Select the scenes that a query asks for."""
    return Selection(
        listed=List.SCENES if query.story_id is None else List.SCENES_OF,
        owners=(NOBODY if query.story_id is None else query.story_id,),
        spaces=query.spaces,
        facet=_facet_condition((query.status,)),
    )


def proposals_of(query: ProposalQuery) -> Selection:
    """Select the proposals that a query asks for."""
    parts = {0: frozenset(map(str, query.types))}
    if query.status is not None:
        parts[1] = frozenset((str(query.status),))
    condition = FacetCondition(
        parts=parts, asks=None if query.asks is None else frozenset(map(str, query.asks))
    )
    return Selection(
        listed=List.PROPOSALS if query.scene_id is None else List.PROPOSALS_OF,
        owners=(NOBODY if query.scene_id is None else query.scene_id,),
        spaces=query.spaces,
        facet=condition,
    )


def _tag_condition(owners: tuple[Owner, ...], *, never: bool = False) -> AlsoListed:
    return AlsoListed(listed=List.ENTITIES, owners=owners, never=never)


def _facet_condition(parts: Sequence[str | None]) -> FacetCondition | None:
    """Return a condition for the named parts of a facet, or None if no part is named."""
    wanted = {n: frozenset((str(part),)) for n, part in enumerate(parts) if part is not None}
    return FacetCondition(parts=wanted) if wanted else None


def _entity_condition(query: EntityQuery) -> FacetCondition | None:
    """Match the last two parts of the facet. A type may be any text, so it needs whole facets."""
    if query.entity_type is None:
        asked_parts = {-2: query.entity_class, -1: query.level}
        parts = {n: frozenset((str(part),)) for n, part in asked_parts.items() if part is not None}
        return FacetCondition(parts=parts) if parts else None
    classes = EntityClass if query.entity_class is None else (query.entity_class,)
    levels = CanonLevel if query.level is None else (query.level,)
    return FacetCondition(
        whole=frozenset(f"{query.entity_type}/{c}/{level}" for c in classes for level in levels)
    )


def _owners_or_nobody(ids: Iterable[str]) -> tuple[Owner, ...]:
    return tuple(sorted(ids)) or (NOBODY,)


def parts_of_pattern(pattern: str) -> list[str]:
    """Return the normalised texts between the wildcards of a pattern.

    Raises:
        InvalidInput: `query.pattern-long`.
    """
    if (size := len(pattern.encode())) > _PATTERN_BYTES:
        message = f"The pattern has {size} bytes; the limit is {_PATTERN_BYTES}. Shorten it."
        raise InvalidInput("query.pattern-long", message, path="name_pattern")
    return _WILD.split(normalised_name(pattern))


Packed: TypeAlias = bytes | str
"""A stored id. Packed UUIDs sort like their text."""

_UUID_LENGTH: Final = 36
_UUID_BYTES: Final = 16


@lru_cache(maxsize=16_384)  # a record's write packs each id 14 times: bench compare, bulk
def pack_id(identity: str) -> Packed:
    """Return the stored form of an id."""
    if len(identity) != _UUID_LENGTH:
        return identity
    try:
        raw = bytes.fromhex(identity.replace("-", ""))
    except ValueError:
        return identity
    return raw if len(raw) == _UUID_BYTES and unpack_id(raw) == identity else identity


@lru_cache(maxsize=16_384)  # hits repeat entities and scenes: bench compare, find
def unpack_id(packed: Packed) -> str:
    """Return the id of a stored form."""
    if isinstance(packed, str):
        return packed
    text = packed.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def packed_sort_key(packed: Packed) -> tuple[bool, Packed]:
    """Return a key that sorts stored ids like the store, text before bytes."""
    return isinstance(packed, bytes), packed


def pack_keys(hashes: Iterable[int]) -> bytes:
    """Pack signed 64-bit numbers, sorted, each as 8 bytes, lowest byte first."""
    numbers = array("q", sorted(hashes))
    if byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def unpack_keys(packed: bytes) -> "array[int]":
    """Return the numbers of a packed form."""
    numbers = array("q")
    numbers.frombytes(packed)
    if byteorder == "big":
        numbers.byteswap()
    return numbers


# Bodies: an item as a row stores it, with a checksum that every read compares.
#
# A bit that flips on a disk can change a name into another valid name. The checksum is CRC-32 over
# the kind and the payload, which detects every change of up to 32 consecutive bits. `verify` finds
# deliberate changes by comparing with the records.
#
# Entities, observations and sources consist mostly of field names. They are packed with the
# dictionary `bodies.txt`, which changes only together with `VIEWS_VERSION`.

_WIDTH: Final = 4
_RIGHT: Final = 0x2144DF1C  # the checksum of any bytes that end with their own checksum

_PACKED: Final = b"\x01"
"""First byte of a packed payload. JSON never begins with it."""

_COMMON: Final = files(__package__).joinpath("bodies.txt").read_bytes()
_WINDOW: Final = -12
_MEMORY: Final = 5
"""Less than the default, because bodies are small and every packing copies the state."""

_LEVEL: Final = 3  # higher levels cost more time than they save: bench growth
_PACKER: Final = compressobj(_LEVEL, DEFLATED, _WINDOW, _MEMORY, Z_DEFAULT_STRATEGY, _COMMON)
"""Never used itself: each packing copies it, with the dictionary already loaded."""

_SEEDS: Final = {kind: crc32(kind.encode()) for kind in KIND_NAMES.values()}


def body_of(kind: str, item: StoredItem) -> bytes:
    """Return the stored body of an item of this kind."""
    payload = encode_item(item)
    if kind in {"entity", "observation", "source"}:
        packer = _PACKER.copy()
        payload = _PACKED + packer.compress(payload) + packer.flush()
    return payload + crc32(payload, _SEEDS[kind]).to_bytes(_WIDTH, "little")


def item_in_row(
    kind: str, body: Any, part: type | None = None, *, under: Packed | None = None
) -> Any:
    """Return the item in a row, or only the `part` of it.

    An item that was looked up `under` an id must have it, because an index with flipped bits can
    lead to another item.

    Raises:
        BrokenInvariant: `store.altered`, the row differs from the row that was written.
    """
    item = decode_item(kind, payload_in(kind, body), part=part)
    if under is not None and item.id != unpack_id(under):
        raise altered_error()
    return item


def payload_in(kind: str, body: Any) -> bytes:
    """Return the unpacked payload of a row. Packing may differ between machines.

    Raises:
        BrokenInvariant: `store.altered`.
    """
    # Even the type of a column may be wrong: a bit may flip in the header of a row.
    seed = _SEEDS.get(kind) if isinstance(body, bytes) else None
    if seed is None or crc32(body, seed) != _RIGHT:
        raise altered_error()
    payload: bytes = body[:-_WIDTH]
    if payload[:1] != _PACKED:
        return payload
    return decompressobj(_WINDOW, _COMMON).decompress(payload[1:])


def altered_error() -> BrokenInvariant:
    """Return the error for rows that contradict each other or their checksums."""
    message = (
        "A stored row was altered. The disk may be failing. Run `canonry verify`. If the records "
        "are whole, run `canonry rebuild`. Otherwise restore a backup with `canonry restore`."
    )
    return BrokenInvariant("store.altered", message)


PackedOwner: TypeAlias = bytes | str | int
CountKey: TypeAlias = tuple[int, PackedOwner, Packed, str]
PackedRow: TypeAlias = tuple[
    int, PackedOwner, Packed, str, int | float, int, Packed, int | None, int | None, str | None
]


def rows_of(item: StoredItem) -> list[PackedRow]:
    """Return the stored rows of `item` in every list."""
    found: list[PackedRow] = []
    for listed, owner, space, facet, rank, later, identity, *rest in listing.rows_of(item):
        mine = pack_id(owner) if isinstance(owner, str) else owner
        found.append((listed, mine, pack_id(space), facet, rank, later, pack_id(identity), *rest))  # type: ignore[arg-type] # three are left
    return found


LookupRow: TypeAlias = tuple[int, str, bytes]
"""(n, kind, body) of an item."""

_TOGETHER: Final = 64  # one statement of a fixed size stays prepared: bench compare, find
_FEW: Final = 8  # fewer ids than this are looked up one by one

_ONE: Final = "SELECT n, kind, body FROM things WHERE id = ?"
_MANY: Final = f"SELECT id, n, kind, body FROM things WHERE id IN ({', '.join('?' * _TOGETHER)})"  # noqa: S608
_BEGINNING: Final = "SELECT id FROM things WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?"
_UUID_DIGITS: Final = 32
_VERSION: Final = (
    "SELECT kind, body FROM versions WHERE id = ? AND since <= ? ORDER BY since DESC LIMIT 1"
)


def find_item(db: apsw.Connection, packed: Packed) -> Any:
    """Return the item with a stored id, or None."""
    row: Any = db.execute(_ONE, (packed,)).fetchone()
    return None if row is None else item_in_row(*row[1:], under=packed)


def version_of(db: apsw.Connection, packed: Packed, position: int) -> Any:
    """Return an item as it was at a position before its last change; None before its first."""
    row: Any = db.execute(_VERSION, (packed, position)).fetchone()
    return None if row is None else item_in_row(*row, under=packed)


def ids_beginning(db: apsw.Connection, text: str, limit: int) -> list[str]:
    """Return the first ids that begin with a part of a UUID, in order."""
    digits = text.replace("-", "")
    ends = [bytes.fromhex(digits.ljust(_UUID_DIGITS, end)) for end in "0f"]
    return [unpack_id(row[0]) for row in db.execute(_BEGINNING, (*ends, limit))]


def find_items(db: apsw.Connection, ids: Sequence[Packed]) -> list[Any]:
    """Return the items with the ids from an index, in that order.

    Raises:
        BrokenInvariant: `store.altered`, an id has no item.
    """
    found = look_up(db, ids)
    if len(found) < len(ids) and len(found) < len(frozenset(ids)):
        raise altered_error()
    return [item_in_row(*found[packed][1:], under=packed) for packed in ids]


def select_items(db: apsw.Connection, sql: str, values: Sequence[Any]) -> list[Any]:
    """Return the items whose ids a statement selects in its first column, in that order."""
    return find_items(db, [row[0] for row in db.execute(sql, values)])


def select_number(
    db: apsw.Connection, sql: str, values: Sequence[Any] | dict[str, Any] = ()
) -> int:
    """Return the number that a statement selects, or 0 if it selects none."""
    row: Any = db.execute(sql, values).fetchone()
    return int(row[0] or 0)


def look_up(db: apsw.Connection, ids: Iterable[Packed]) -> dict[Packed, LookupRow]:
    """Return the rows of those `ids` that exist, in the given order."""
    wanted = list(dict.fromkeys(ids))
    if len(wanted) < _FEW:
        rows: Any = [(packed, db.execute(_ONE, (packed,)).fetchone()) for packed in wanted]
        return {packed: row for packed, row in rows if row is not None}
    found: dict[Packed, LookupRow] = {}
    for some in filled(wanted, _TOGETHER):
        found |= {packed: (n, kind, body) for packed, n, kind, body in db.execute(_MANY, some)}
    return {packed: found[packed] for packed in wanted if packed in found}


def filled(values: Sequence[T], length: int) -> Iterator[Sequence[T]]:
    """Yield the values in lists of one length, so that one statement is compiled for all.

    The last list is filled with its last value.
    """
    for start in range(0, len(values), length):
        some = list(values[start : start + length])
        yield [*some, *some[-1:] * (length - len(some))]


# Pages of a list: the counts name its facets, and each facet is a sorted run.
#
# The cost of a page is its own length times the number of matching facets, however long the list
# is. A total is a sum of counts. Only filters inside a run (time, a second tag, a pattern) read
# further.

_RUN: Final = "l.list = ? AND l.owner = ? AND l.space = ? AND l.facet = ?"
_ORDER: Final = "ORDER BY l.rank, l.later, l.id"
_SHALLOW: Final = 1000
"""Up to this depth, runs are merged here. SQLite merges deeper pages."""

_RUNS_MAX: Final = 400  # SQLite compounds at most 500 statements

_NEWEST: Final = "ORDER BY l.rank DESC, l.later, l.id"
FIRST_IDS: Final = f"SELECT l.id FROM listing l WHERE {_RUN} {_ORDER} LIMIT ?"  # noqa: S608 - our SQL
"""Selects the first ids of one owner's list, in the order of its ranks."""
_NEWEST_IDS: Final = f"SELECT l.id FROM listing l WHERE {_RUN} {_NEWEST} LIMIT ?"  # noqa: S608 - our SQL
_AT_ONCE: Final = 8
"""Owners for which one statement selects ids. A fixed number, so that it is compiled once."""

_SPECIAL: Final = re.compile(r"([*?\[])")
_STANDS: Final = (
    "SELECT 1 FROM listing o WHERE o.list = ? AND o.owner IN ({owners}) AND o.space = l.space"
    " AND o.facet = l.facet AND o.rank = l.rank AND o.later = l.later AND o.id = l.id"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sql:
    """A selection in SQL. `where` is over the row `l` with its `values`; it starts with AND."""

    selection: Selection
    owners: Sequence[PackedOwner]
    where: str
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _PageRun:
    owner: PackedOwner
    space: Packed
    facet: str
    n: int


def page_of(db: apsw.Connection, selection: Selection, limit: int, offset: int) -> Page[Any]:
    """Return the items of a page, and the number of all matches.

    Raises:
        BrokenInvariant: `store.altered`, there are more or fewer rows than are counted, because
            the key of an index was altered. The list lacks an item or shows a wrong one.
    """
    where, values = "", list[Any]()
    bounds = (
        (" AND (l.starts IS NULL OR l.starts <= ?)", selection.begun_by),
        (" AND (l.ends IS NULL OR l.ends > ?)", selection.open_after),
        (" AND l.rank <= ?", selection.rank_most),
    )
    for bound, value in bounds:
        if value is not None:
            where += bound
            values.append(value)
    for each in selection.standing:
        owners = _pack_owners(each.owners)
        stands = _STANDS.format(owners=", ".join("?" * len(owners)))
        values += [int(each.listed), *owners]
        if each.named is not None:
            stands += " AND o.name GLOB ?"
            # Only the wildcards of the pattern are wild.
            parts = (_SPECIAL.sub(r"[\1]", part) for part in parts_of_pattern(each.named))
            values.append("*".join(("", *parts, "")))
        where += f" AND {'NOT ' if each.never else ''}EXISTS ({stands})"
    owners = _pack_owners(selection.owners)
    sql = _Sql(selection=selection, owners=owners, where=where, values=tuple(values))
    runs = [
        _PageRun(owner, space, facet, n)
        for owner in sql.owners
        for space, facet, n in list_counts(db, sql.selection.listed, owner, sql.selection.spaces)
        if sql.selection.facet is None or sql.selection.facet.fits_facet(facet)
    ]
    total = _count_total(db, sql, runs)
    ids = _select_ids(db, sql, runs, limit, offset) if offset < total else ()
    if len(ids) != max(0, min(limit, total - offset)):
        raise altered_error()
    return Page(items=find_items(db, ids), total=total)


def list_counts(
    db: apsw.Connection, listed: List, owner: PackedOwner, spaces: Spaces
) -> Sequence[tuple[Packed, str, int]]:
    """Return (space, facet, rows) of an owner's list."""
    if spaces is None:
        sql = "SELECT space, facet, n FROM counts WHERE list = ? AND owner = ?"
        return list[Any](db.execute(sql, (int(listed), owner)))
    sql = "SELECT space, facet, n FROM counts WHERE list = ? AND owner = ? AND space = ?"
    found: list[Any] = []
    for space in spaces:
        found += db.execute(sql, (int(listed), owner, pack_id(space)))
    return found


def ids_of_owners(
    db: apsw.Connection,
    listed: List,
    owners: Sequence[tuple[PackedOwner, int]],
    space: str,
    *,
    newest: bool,
) -> Sequence[Packed]:
    """Return distinct ids of a list without counts: of each owner, its limit of lowest ranks.

    With `newest`, the highest ranks are selected.
    """
    whole = _MANY_NEWEST if newest else _MANY_FIRST
    found: dict[Packed, None] = {}
    for start in range(0, len(owners), _AT_ONCE):
        some = owners[start : start + _AT_ONCE]
        filled = [*some, *[(owners[0][0], 0)] * (_AT_ONCE - len(some))]
        values = [
            each
            for owner, limit in filled
            for each in (int(listed), owner, pack_id(space), "", limit)
        ]
        found |= dict.fromkeys([row[0] for row in db.execute(whole, values)])
    return list(found)


def _pack_owners(owners: Sequence[Owner]) -> Sequence[PackedOwner]:
    return [pack_id(owner) if isinstance(owner, str) else owner for owner in owners]


def _count_total(db: apsw.Connection, selected: _Sql, runs: Sequence[_PageRun]) -> int:
    if len(selected.owners) > 1 and not selected.selection.disjoint:
        sql = f"SELECT l.id FROM listing l WHERE {_RUN} {selected.where}"  # noqa: S608 - our SQL
        seen: set[Packed] = set()
        for run in runs:
            seen.update([row[0] for row in db.execute(sql, _run_values(selected, run))])
        return len(seen)
    if not selected.where:
        return sum(run.n for run in runs)
    sql = f"SELECT count(*) FROM listing l WHERE {_RUN} {selected.where}"  # noqa: S608 - our SQL
    return sum(select_number(db, sql, _run_values(selected, run)) for run in runs)


def _select_ids(
    db: apsw.Connection, selected: _Sql, runs: Sequence[_PageRun], limit: int, offset: int
) -> Sequence[Packed]:
    order = _NEWEST if selected.selection.newest_first else _ORDER
    direction = -1 if selected.selection.newest_first else 1
    bare = f"SELECT l.rank, l.later, l.id FROM listing l WHERE {_RUN} {selected.where}"  # noqa: S608
    head = f"{bare} {order}"
    if len(runs) == 1:
        values = (*_run_values(selected, runs[0]), limit, offset)
        return [row[2] for row in db.execute(f"{head} LIMIT ? OFFSET ?", values)]
    if limit + offset > _SHALLOW and len(runs) <= _RUNS_MAX:
        whole = merge_statement(bare, order, len(runs))
        values = tuple(value for run in runs for value in _run_values(selected, run))
        return [row[2] for row in db.execute(whole, (*values, limit, offset))]
    rows: set[tuple[Any, ...]] = set()
    for run in runs:
        rows.update(db.execute(f"{head} LIMIT ?", (*_run_values(selected, run), limit + offset)))
    ordered = sorted(rows, key=lambda row: (direction * row[0], row[1], unpack_id(row[2])))
    return [row[2] for row in ordered[offset : offset + limit]]


_MANY_FIRST, _MANY_NEWEST = (
    " UNION ALL ".join([f"SELECT * FROM ({one})"] * _AT_ONCE)  # noqa: S608 - our SQL
    for one in (FIRST_IDS, _NEWEST_IDS)
)


def merge_statement(bare: str, order: str, runs: int) -> str:
    """Return the statement that merges this many sorted runs row by row."""
    return f"{' UNION '.join([bare] * runs)} {order.replace('l.', '')} LIMIT ? OFFSET ?"


def _run_values(selected: _Sql, run: _PageRun) -> tuple[Any, ...]:
    return (int(selected.selection.listed), run.owner, run.space, run.facet, *selected.values)

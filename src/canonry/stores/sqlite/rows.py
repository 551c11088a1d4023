"""Rows as SQLite keeps them: bodies of things, lookups by id, and the rows that a page shows."""

import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from sys import byteorder
from typing import Any, Final, TypeAlias
from zlib import DEFLATED, Z_DEFAULT_STRATEGY, compressobj, crc32, decompressobj

import apsw

from canonry.log.entries import THING_KINDS, Thing
from canonry.log.items.entities import EntityClass, normalised_name
from canonry.log.sealing import decode_thing, encode_thing
from canonry.readmodels import listing
from canonry.readmodels.listing import MERGED, NOBODY, TAG, List, Owner, storable
from canonry.readmodels.ports.documents import ProposalQuery, SceneQuery
from canonry.readmodels.ports.state import EntityQuery, EventQuery, FactQuery, RelationQuery, Spaces
from canonry.readmodels.ports.view import Page
from canonry.values.errors import BrokenInvariant, InvalidInput
from canonry.values.ids import SpaceId, SpaceKind
from canonry.values.provenance import CanonLevel

# Selections: which rows of which list a query asks for; `canonry.readmodels.listing` says what rows
# there are.

_SIDES: Final = {"out": ("out", "both"), "in": ("in", "both")}
_WHOLE: Final = (NOBODY, MERGED)
_PATTERN_BYTES: Final = 40_000
_WILD: Final = re.compile(r"[*%]")


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetWish:
    """Which facets fit: by their parts between slashes, counted from the left or, below 0, the end.

    `whole` names facets outright, because a type that an agent chose may hold a slash itself.
    `asks` is met by any of them between the signs `+` of the last part.
    """

    parts: Mapping[int, frozenset[str]] = field(default_factory=dict)
    whole: frozenset[str] | None = None
    asks: frozenset[str] | None = None

    def fits(self, facet: str) -> bool:
        """Whether rows of this facet are asked for."""
        if self.whole is not None and facet not in self.whole:
            return False
        told = facet.split("/")
        return all(told[place] in among for place, among in self.parts.items()) and (
            self.asks is None or not self.asks.isdisjoint(told[-1].split("+"))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AlsoListed:
    """That the same thing stands in the list under any of `owners` too, or under none of them.

    Its row there has the same space, facet and place. `named` is a pattern for the row's name, in
    which `*` stands for any characters.
    """

    listed: List
    owners: tuple[Owner, ...]
    never: bool = False
    named: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Rows of a list under any of `owners` whose facet fits.

    `disjoint` owners have no row in common. `newest_first` turns the order of the ranks around, but
    not that of the ids. A row that begins after `begun_by` or has ended at `open_after` is left
    out, as is one whose rank is greater than `rank_most`.
    """

    listed: List
    owners: tuple[Owner, ...] = (NOBODY,)
    spaces: Spaces = None
    facet: FacetWish | None = None
    begun_by: int | None = None
    open_after: int | None = None
    rank_most: float | None = None
    standing: tuple[AlsoListed, ...] = ()
    disjoint: bool = False
    newest_first: bool = False


def all_of(listed: List, spaces: Spaces, *, newest_first: bool = False) -> Selection:
    """Everything in a list that nobody owns."""
    return Selection(listed=listed, spaces=spaces, newest_first=newest_first)


def owned(listed: List, owner: Owner) -> Selection:
    """Everything in the list of one owner."""
    return Selection(listed=listed, owners=(owner,))


def spaces_in(kind: SpaceKind | None, parent: SpaceId | None) -> Selection:
    """The spaces of a kind, of all or below one."""
    return Selection(
        listed=List.SPACES if parent is None else List.SPACES_IN,
        owners=(NOBODY if parent is None else parent,),
        facet=_wish((kind,)),
    )


def facts_of(query: FactQuery) -> Selection:
    """The facts that a query asks for."""
    return Selection(
        listed=List.FACTS_OF if query.entities else List.FACTS,
        owners=_owners(query.entities),
        spaces=query.spaces,
        facet=_wish((query.level, query.authority, query.fact_type)),
        begun_by=storable(query.end),
        open_after=storable(query.start),
    )


def events_of(query: EventQuery) -> Selection:
    """The events that a query asks for."""
    listed, owners = List.EVENTS, _owners(query.entities)
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
        facet=_wish((query.level,)),
        standing=standing,
    )


def relations_of(query: RelationQuery) -> Selection:
    """The relations that a query asks for."""
    sides = _SIDES.get(query.direction, ("out", "in", "both")) if query.entities else ("edge",)
    states = ("current",) if query.current else ("current", "past")
    if query.rel_type is None:
        wish = FacetWish(parts={0: frozenset(sides), 1: frozenset(states)})
    else:
        wish = FacetWish(
            whole=frozenset(f"{s}/{state}/{query.rel_type}" for s in sides for state in states)
        )
    return Selection(
        listed=List.RELATIONS_OF if query.entities else List.RELATIONS,
        owners=_owners(query.entities),
        spaces=query.spaces,
        facet=wish,
        newest_first=query.newest_first,
    )


def entities_of(query: EntityQuery, leading: str | None) -> Selection:
    """The entities that a query asks for.

    Of several tags that all are asked for, the list of the one named `leading` is walked.
    """
    owners: tuple[Owner, ...] = (NOBODY,)
    every = set(query.all_of)
    some = tuple(TAG + tag for tag in sorted(query.any_of))
    standing: list[AlsoListed] = []
    if every:
        owners = (f"{TAG}{leading}",)
        standing += [_tagged((TAG + tag,)) for tag in sorted(every - {leading})]
        standing += [_tagged(some)] if some else []
    elif some:
        owners = some
    elif query.include_merged and not query.none_of:
        owners = _WHOLE
    if query.none_of:
        standing.append(_tagged(tuple(TAG + tag for tag in sorted(query.none_of)), never=True))
    if query.name_pattern is not None:
        standing.append(AlsoListed(listed=List.ENTITIES, owners=_WHOLE, named=query.name_pattern))
    return Selection(
        listed=List.ENTITIES,
        owners=owners,
        spaces=query.spaces,
        facet=_entity_wish(query),
        standing=tuple(standing),
        disjoint=owners == _WHOLE,
    )


def scenes_of(query: SceneQuery) -> Selection:
    """The scenes that a query asks for."""
    return Selection(
        listed=List.SCENES if query.story_id is None else List.SCENES_OF,
        owners=(NOBODY if query.story_id is None else query.story_id,),
        spaces=query.spaces,
        facet=_wish((query.status,)),
    )


def proposals_of(query: ProposalQuery) -> Selection:
    """The proposals that a query asks for."""
    parts = {0: frozenset(map(str, query.types))}
    if query.status is not None:
        parts[1] = frozenset((str(query.status),))
    wish = FacetWish(
        parts=parts, asks=None if query.asks is None else frozenset(map(str, query.asks))
    )
    return Selection(
        listed=List.PROPOSALS if query.scene_id is None else List.PROPOSALS_OF,
        owners=(NOBODY if query.scene_id is None else query.scene_id,),
        spaces=query.spaces,
        facet=wish,
    )


def _tagged(owners: tuple[Owner, ...], *, never: bool = False) -> AlsoListed:
    return AlsoListed(listed=List.ENTITIES, owners=owners, never=never)


def _wish(parts: Sequence[str | None]) -> FacetWish | None:
    """A wish for facets whose parts are these, where one is named."""
    wanted = {n: frozenset((str(part),)) for n, part in enumerate(parts) if part is not None}
    return FacetWish(parts=wanted) if wanted else None


def _entity_wish(query: EntityQuery) -> FacetWish | None:
    """By the last two parts; with the type before them, which may be any text, outright."""
    if query.entity_type is None:
        told = {-2: query.entity_class, -1: query.level}
        parts = {n: frozenset((str(part),)) for n, part in told.items() if part is not None}
        return FacetWish(parts=parts) if parts else None
    classes = EntityClass if query.entity_class is None else (query.entity_class,)
    levels = CanonLevel if query.level is None else (query.level,)
    return FacetWish(
        whole=frozenset(f"{query.entity_type}/{c}/{level}" for c in classes for level in levels)
    )


def _owners(ids: Iterable[str]) -> tuple[Owner, ...]:
    return tuple(sorted(ids)) or (NOBODY,)


def parts_of_pattern(pattern: str) -> list[str]:
    """The normalised texts between the wildcards of a pattern.

    Raises:
        InvalidInput: `query.pattern-long`.
    """
    if len(pattern.encode()) > _PATTERN_BYTES:
        message = f"a pattern has at most {_PATTERN_BYTES} bytes"
        raise InvalidInput("query.pattern-long", message, path="name_pattern")
    return _WILD.split(normalised_name(pattern))


Packed: TypeAlias = bytes | str
"""An id as stored; the order of packed UUIDs is that of their text."""

_UUID_LENGTH: Final = 36
_UUID_BYTES: Final = 16


@lru_cache(maxsize=16_384)
def pack(identity: str) -> Packed:
    """The stored form of an id."""
    if len(identity) != _UUID_LENGTH:
        return identity
    try:
        raw = bytes.fromhex(identity.replace("-", ""))
    except ValueError:
        return identity
    return raw if len(raw) == _UUID_BYTES and unpack(raw) == identity else identity


@lru_cache(maxsize=16_384)
def unpack(packed: Packed) -> str:
    """The inverse of `pack`."""
    if isinstance(packed, str):
        return packed
    text = packed.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def in_order(packed: Packed) -> tuple[bool, Packed]:
    """A key that sorts stored ids as the store does: those that are text first."""
    return isinstance(packed, bytes), packed


def pack_keys(hashes: Iterable[int]) -> bytes:
    """Signed 64-bit numbers, sorted, each as 8 bytes, the lowest first."""
    numbers = array("q", sorted(hashes))
    if byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def unpack_keys(packed: bytes) -> "array[int]":
    """The inverse of `pack_keys`."""
    numbers = array("q")
    numbers.frombytes(packed)
    if byteorder == "big":
        numbers.byteswap()
    return numbers


# Bodies: a thing as a row holds it, with a checksum that is compared whenever it is read.
#
# A bit that flips on a disk changes a name into another name, and the row still reads well. The
# checksum covers the kind too. It is CRC-32, which sees every change of up to 32 bits in a row; who
# alters a row on purpose is found by `verify`, which has the records to compare with.
#
# Entities, observations and sources are mostly names of fields. They are packed against
# `bodies.txt`, which has these once; it changes with `VIEWS_VERSION` alone.

_WIDTH: Final = 4
_RIGHT: Final = 0x2144DF1C
"""What the checksum of bytes is that end with their own checksum."""

_DENSE: Final = frozenset(("entity", "observation", "source"))
_PACKED: Final = b"\x01"
"""What a packed payload begins with, and no JSON does."""

_COMMON: Final = files(__package__).joinpath("bodies.txt").read_bytes()
_WINDOW: Final = -12
_MEMORY: Final = 5
"""Smaller than usual, as bodies are: what they are packed with is copied for each."""

_LEVEL: Final = 3
_PACKER: Final = compressobj(_LEVEL, DEFLATED, _WINDOW, _MEMORY, Z_DEFAULT_STRATEGY, _COMMON)
"""Never fed: who packs takes a copy, which knows the common words already."""

_SEEDS: Final = {kind: crc32(kind.encode()) for kind in THING_KINDS.values()}


def body_of(kind: str, thing: Thing) -> bytes:
    """What a row of this kind holds of a thing."""
    payload = encode_thing(thing)
    if kind in _DENSE:
        packer = _PACKER.copy()
        payload = _PACKED + packer.compress(payload) + packer.flush()
    return payload + crc32(payload, _SEEDS[kind]).to_bytes(_WIDTH, "little")


def thing_in(kind: str, body: Any, part: type | None = None) -> Any:
    """The thing that a row holds, or the `part` of it that is asked for.

    Raises:
        BrokenInvariant: `store.altered`, the row is not what was written.
    """
    return decode_thing(kind, said_in(kind, body), part=part)


def said_in(kind: str, body: Any) -> bytes:
    """The payload of a row, which is the same however another machine has packed it.

    Raises:
        BrokenInvariant: `store.altered`.
    """
    # Not even the type of a column is sure: a bit may flip in the head of a row.
    seed = _SEEDS.get(kind) if isinstance(body, bytes) else None
    if seed is None or crc32(body, seed) != _RIGHT:
        raise altered()
    payload: bytes = body[:-_WIDTH]
    if payload[:1] != _PACKED:
        return payload
    return decompressobj(_WINDOW, _COMMON).decompress(payload[1:])


def thing_under(packed: Packed, kind: str, body: Any, part: type | None = None) -> Any:
    """The thing that was looked up by its id: an index whose bits flip leads to another one.

    Raises:
        BrokenInvariant: `store.altered`.
    """
    thing = thing_in(kind, body, part)
    if thing.id != unpack(packed):
        raise altered()
    return thing


def altered() -> BrokenInvariant:
    """What is raised where rows do not agree with each other or with their checksums."""
    message = (
        "a stored row is not what was written, so the disk may be failing: run `canonry verify`; "
        "`canonry rebuild` makes the views anew if the records are whole, else `canonry restore` "
        "a backup"
    )
    return BrokenInvariant("store.altered", message)


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


LookupRow: TypeAlias = tuple[int, str, bytes]
"""(n, kind, body) of a thing."""

_TOGETHER: Final = 64
_FEW: Final = 8
"""Fewer ids than this are asked for one by one."""

_ONE: Final = "SELECT n, kind, body FROM things WHERE id = ?"
_MANY: Final = f"SELECT id, n, kind, body FROM things WHERE id IN ({', '.join('?' * _TOGETHER)})"  # noqa: S608
_BEGINNING: Final = "SELECT id FROM things WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?"
_UUID_DIGITS: Final = 32
_VERSION: Final = (
    "SELECT kind, body FROM versions WHERE id = ? AND since <= ? ORDER BY since DESC LIMIT 1"
)


def thing_of(db: apsw.Connection, packed: Packed) -> Any:
    """The thing under a stored id; None where there is none."""
    row: Any = db.execute(_ONE, (packed,)).fetchone()
    return None if row is None else thing_under(packed, *row[1:])


def version_of(db: apsw.Connection, packed: Packed, position: int) -> Any:
    """What a thing was at a position that lies before its last change; None before the first."""
    row: Any = db.execute(_VERSION, (packed, position)).fetchone()
    return None if row is None else thing_under(packed, *row)


def ids_beginning(db: apsw.Connection, text: str, limit: int) -> list[str]:
    """The first ids that begin with a part of a UUID, in order."""
    digits = text.replace("-", "")
    ends = [bytes.fromhex(digits.ljust(_UUID_DIGITS, end)) for end in "0f"]
    return [unpack(row[0]) for row in db.execute(_BEGINNING, (*ends, limit))]


def things_of(db: apsw.Connection, ids: Sequence[Packed]) -> list[Any]:
    """The things under the ids that an index holds, in that order.

    Raises:
        BrokenInvariant: `store.altered`, one of them is the id of nothing.
    """
    found = look_up(db, ids)
    if len(found) < len(ids) and len(found) < len(frozenset(ids)):
        raise altered()
    return [thing_under(packed, *found[packed][1:]) for packed in ids]


def things_found(db: apsw.Connection, sql: str, values: Sequence[Any]) -> list[Any]:
    """The things whose ids a statement gives in its first column, in that order."""
    return things_of(db, [row[0] for row in db.execute(sql, values)])


def number(db: apsw.Connection, sql: str, values: Sequence[Any] | dict[str, Any] = ()) -> int:
    """The one number that a statement gives; 0 where it gives none."""
    row: Any = db.execute(sql, values).fetchone()
    return int(row[0] or 0)


def look_up(db: apsw.Connection, ids: Iterable[Packed]) -> dict[Packed, LookupRow]:
    """Those of `ids` that there are, in the order in which they are asked for."""
    wanted = list(dict.fromkeys(ids))
    found: dict[Packed, LookupRow] = {}
    for start in range(0, len(wanted), _TOGETHER):
        some = wanted[start : start + _TOGETHER]
        if len(some) < _FEW:
            rows: Any = [(packed, db.execute(_ONE, (packed,)).fetchone()) for packed in some]
            found |= {packed: row for packed, row in rows if row is not None}
        else:
            found |= _together(db, some)
    return found


def _together(db: apsw.Connection, ids: Sequence[Packed]) -> dict[Packed, LookupRow]:
    # One length of the list for all, so that the statement is compiled once.
    filled = [*ids, *[ids[-1]] * (_TOGETHER - len(ids))]
    rows: Any = db.execute(_MANY, filled)
    found = {packed: (n, kind, body) for packed, n, kind, body in rows}
    return {packed: found[packed] for packed in ids if packed in found}


# Pages of a list: its facets are known from their counts, and each is a run in the right order.
#
# So a page costs its own length times the number of facets that match, however long the list is,
# and a total is a sum of counts. Only filters inside a run (time, a second tag, a pattern) must
# look on.

_RUN: Final = "l.list = ? AND l.owner = ? AND l.space = ? AND l.facet = ?"
_ORDER: Final = "ORDER BY l.rank, l.later, l.id"
_SHALLOW: Final = 1000
"""So many rows of each run are merged here; deeper pages are merged by SQLite, run beside run."""

_RUNS_MAX: Final = 400
"""SQLite compounds at most 500 statements."""

_NEWEST: Final = "ORDER BY l.rank DESC, l.later, l.id"
FIRST_IDS: Final = f"SELECT l.id FROM listing l WHERE {_RUN} {_ORDER} LIMIT ?"  # noqa: S608 - our SQL
"""The first ids of a list of one owner, in the order of its ranks."""
_NEWEST_IDS: Final = f"SELECT l.id FROM listing l WHERE {_RUN} {_NEWEST} LIMIT ?"  # noqa: S608 - our SQL
_AT_ONCE: Final = 8
"""The owners whose ids one statement gives; one number, so that it is compiled once."""

_SPECIAL: Final = re.compile(r"([*?\[])")
_STANDS: Final = (
    "SELECT 1 FROM listing o WHERE o.list = ? AND o.owner IN ({owners}) AND o.space = l.space"
    " AND o.facet = l.facet AND o.rank = l.rank AND o.later = l.later AND o.id = l.id"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sql:
    """A selection as SQLite carries it out.

    `where` is SQL over the row `l` with its `values`; it starts with AND.
    """

    told: Selection
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
    """The things of a page, and how many there are in all.

    Raises:
        BrokenInvariant: `store.altered`, there are more or fewer rows than are counted: the key of
            an index is not what was written, so that a list lacks a thing or shows a strange one.
    """
    sql = _sql_of(selection)
    runs = _runs(db, sql)
    total = _total(db, sql, runs)
    ids = _ids(db, sql, runs, limit, offset) if offset < total else ()
    if len(ids) != max(0, min(limit, total - offset)):
        raise altered()
    return Page(items=things_of(db, ids), total=total)


def counted(
    db: apsw.Connection, listed: List, owner: PackedOwner, spaces: Spaces
) -> Sequence[tuple[Packed, str, int]]:
    """(space, facet, rows) of an owner's list."""
    if spaces is None:
        sql = "SELECT space, facet, n FROM counts WHERE list = ? AND owner = ?"
        return list[Any](db.execute(sql, (int(listed), owner)))
    sql = "SELECT space, facet, n FROM counts WHERE list = ? AND owner = ? AND space = ?"
    found: list[Any] = []
    for space in spaces:
        found += db.execute(sql, (int(listed), owner, pack(space)))
    return found


def ids_under(
    db: apsw.Connection,
    listed: List,
    owners: Sequence[tuple[PackedOwner, int]],
    space: str,
    *,
    newest: bool,
) -> Sequence[Packed]:
    """The ids, each once, of an uncounted list: of each owner so many with the lowest ranks.

    Or with the highest, where the `newest` are asked for.
    """
    whole = _MANY_NEWEST if newest else _MANY_FIRST
    found: dict[Packed, None] = {}
    for start in range(0, len(owners), _AT_ONCE):
        some = owners[start : start + _AT_ONCE]
        filled = [*some, *[(owners[0][0], 0)] * (_AT_ONCE - len(some))]
        values = [
            each for owner, limit in filled for each in (int(listed), owner, pack(space), "", limit)
        ]
        found |= dict.fromkeys([row[0] for row in db.execute(whole, values)])
    return list(found)


def _sql_of(selection: Selection) -> _Sql:
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
        owners = _packed(each.owners)
        stands = _STANDS.format(owners=", ".join("?" * len(owners)))
        values += [int(each.listed), *owners]
        if each.named is not None:
            stands += " AND o.name GLOB ?"
            # Only the wildcards of the pattern are wild.
            parts = (_SPECIAL.sub(r"[\1]", part) for part in parts_of_pattern(each.named))
            values.append("*".join(("", *parts, "")))
        where += f" AND {'NOT ' if each.never else ''}EXISTS ({stands})"
    owners = _packed(selection.owners)
    return _Sql(told=selection, owners=owners, where=where, values=tuple(values))


def _packed(owners: Sequence[Owner]) -> Sequence[PackedOwner]:
    return [pack(owner) if isinstance(owner, str) else owner for owner in owners]


def _runs(db: apsw.Connection, said: _Sql) -> Sequence[_PageRun]:
    return [
        _PageRun(owner, space, facet, n)
        for owner in said.owners
        for space, facet, n in counted(db, said.told.listed, owner, said.told.spaces)
        if said.told.facet is None or said.told.facet.fits(facet)
    ]


def _total(db: apsw.Connection, said: _Sql, runs: Sequence[_PageRun]) -> int:
    if len(said.owners) > 1 and not said.told.disjoint:
        sql = f"SELECT l.id FROM listing l WHERE {_RUN} {said.where}"  # noqa: S608 - our SQL
        seen: set[Packed] = set()
        for run in runs:
            seen.update([row[0] for row in db.execute(sql, _values(said, run))])
        return len(seen)
    if not said.where:
        return sum(run.n for run in runs)
    sql = f"SELECT count(*) FROM listing l WHERE {_RUN} {said.where}"  # noqa: S608 - our SQL
    return sum(number(db, sql, _values(said, run)) for run in runs)


def _ids(
    db: apsw.Connection, said: _Sql, runs: Sequence[_PageRun], limit: int, offset: int
) -> Sequence[Packed]:
    order = _NEWEST if said.told.newest_first else _ORDER
    turn = -1 if said.told.newest_first else 1
    bare = f"SELECT l.rank, l.later, l.id FROM listing l WHERE {_RUN} {said.where}"  # noqa: S608
    head = f"{bare} {order}"
    if len(runs) == 1:
        values = (*_values(said, runs[0]), limit, offset)
        return [row[2] for row in db.execute(f"{head} LIMIT ? OFFSET ?", values)]
    if limit + offset > _SHALLOW and len(runs) <= _RUNS_MAX:
        whole = compounded(bare, order, len(runs))
        values = tuple(value for run in runs for value in _values(said, run))
        return [row[2] for row in db.execute(whole, (*values, limit, offset))]
    rows: set[tuple[Any, ...]] = set()
    for run in runs:
        rows.update(db.execute(f"{head} LIMIT ?", (*_values(said, run), limit + offset)))
    ordered = sorted(rows, key=lambda row: (turn * row[0], row[1], unpack(row[2])))
    return [row[2] for row in ordered[offset : offset + limit]]


_MANY_FIRST, _MANY_NEWEST = (
    " UNION ALL ".join([f"SELECT * FROM ({one})"] * _AT_ONCE)  # noqa: S608 - our SQL
    for one in (FIRST_IDS, _NEWEST_IDS)
)


def compounded(bare: str, order: str, runs: int) -> str:
    """The statement that merges so many runs, each in its own order already, row by row."""
    return f"{' UNION '.join([bare] * runs)} {order.replace('l.', '')} LIMIT ? OFFSET ?"


def _values(said: _Sql, run: _PageRun) -> tuple[Any, ...]:
    return (int(said.told.listed), run.owner, run.space, run.facet, *said.values)

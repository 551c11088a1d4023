"""Interpretations of files and bounds of records."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pickle import dumps, loads
from typing import Any, Final, overload
from zlib import compress, decompress

from typing_extensions import override

from canonry.log.schemas.truth_types import type_named
from canonry.values.errors import InvalidInput

# Interpretations: which entities an interpreter finds in a file, before a schema has judged them.
#
# Nothing here is canon: fields are as the interpreter read them, and `unread` keeps what it saw and
# would not decide, so that nothing of a document is lost to a guess.

_TOGETHER: Final = 1_000
_HELD_MAX: Final = 10_000
"""More entities than this are packed, so that a long file takes little more memory than another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A value that is kept as it stands, and why it was not taken as its field."""

    value: Any
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An entity that a document speaks of.

    `row` is its place in a table or list, where it comes from one: two rows are two entities unless
    their identity says otherwise. `occurrence` counts rows that say the same, so that those without
    a key of their own stay two as well. `refers_to` are the places of other entities in the same
    interpretation; `reasons` say what made it this type.
    """

    entity_type: str
    fields: Mapping[str, Any]
    unread: Mapping[str, Unread] = field(default_factory=dict[str, Unread])
    row: int | None = None
    occurrence: int = 1
    refers_to: tuple[int, ...] = ()
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpretation:
    """What one run of an interpreter says of one file."""

    entities: Sequence[Found]
    warnings: tuple[str, ...] = ()


def held(found: Iterable[Found]) -> Sequence[Found]:
    """The entities, packed as they come where they are very many."""
    rest = iter(found)
    few = tuple(islice(rest, _HELD_MAX + 1))
    return few if len(few) <= _HELD_MAX else _Packed(chain(few, rest))


class _Packed(Sequence[Found]):
    """Entities of which whoever iterates has a thousand unpacked at a time."""

    def __init__(self, found: Iterable[Found]) -> None:
        rest = iter(found)
        self._total = 0
        self._packed: list[bytes] = []
        while some := tuple(islice(rest, _TOGETHER)):
            self._total += len(some)
            self._packed.append(compress(dumps(some), 1))

    @override
    def __len__(self) -> int:
        return self._total

    @override
    def __iter__(self) -> Iterator[Found]:
        return chain.from_iterable(map(self._some, range(len(self._packed))))

    @overload
    def __getitem__(self, place: int) -> Found: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Found]: ...

    @override
    def __getitem__(self, place: int | slice) -> Found | Sequence[Found]:
        if isinstance(place, int):
            number = range(self._total)[place]
            return self._some(number // _TOGETHER)[number % _TOGETHER]
        begin, end, step = place.indices(self._total)
        before = begin // _TOGETHER
        some = map(self._some, range(before, -(-end // _TOGETHER)))
        shift = before * _TOGETHER
        return tuple(islice(chain.from_iterable(some), begin - shift, end - shift, step))

    def _some(self, number: int) -> Sequence[Found]:
        found: Sequence[Found] = loads(decompress(self._packed[number]))  # noqa: S301 - our own
        return found


RECORDS_MAX: Final = 10_000
"""So many records become canon by one commit."""

FILED_MAX: Final = 100_000
"""So many records of one file become canon, in batches where they are more than that."""

FIELDS_MAX: Final = 500
CHARACTERS_MAX: Final = 1_000_000
"""So much text one record holds, so that a list of entities can be answered; files hold more."""

NAME_MAX: Final = 200


def require_bounds(records: Sequence[Found], at: str = "/entities", *, filed: bool = False) -> int:
    """See that there are not too many records, and that each can be kept; how much they weigh.

    More of them may be `filed`, as long as none of those refers to another one.

    Raises:
        InvalidInput: `records.too-many`, or as `require_record` says.
    """
    limit = RECORDS_MAX
    if filed and len(records) > limit and not any(record.refers_to for record in records):
        limit = FILED_MAX
    if len(records) > limit:
        message = f"one source tells of at most {limit} entities; split it"
        raise InvalidInput("records.too-many", message, path=at, limit=limit)
    return sum(require_record(record, f"{at}/{index}") for index, record in enumerate(records))


def require_record(record: Found, path: str) -> int:
    """See that a record can be kept; how much text it holds.

    Raises:
        InvalidInput: `record.type`, `record.fields`, `record.field-name`, `record.too-long` or
            `record.empty`.
    """
    kind = record.entity_type
    if not kind.strip() or len(kind) > NAME_MAX or not type_named(kind):
        message = f"entity_type is a word of 1 to {NAME_MAX} characters"
        raise InvalidInput("record.type", message, path=f"{path}/entity_type")
    if len(record.fields) > FIELDS_MAX:
        message = f"a record has at most {FIELDS_MAX} fields"
        raise InvalidInput("record.fields", message, path=path, limit=FIELDS_MAX)
    if any(not name or len(name) > NAME_MAX for name in record.fields):
        message = f"the name of a field has 1 to {NAME_MAX} characters"
        raise InvalidInput("record.field-name", message, path=path)
    size = sum(map(_characters, record.fields.values()))
    if size > CHARACTERS_MAX:
        message = f"a record holds at most {CHARACTERS_MAX} characters; bring more as a file"
        raise InvalidInput("record.too-long", message, path=path, limit=CHARACTERS_MAX)
    if not any(value is not None for value in record.fields.values()) and not record.unread:
        message = "the record says nothing; give at least one field beside entity_type"
        raise InvalidInput("record.empty", message, path=path)
    return size


def _characters(value: Any) -> int:
    """How much text a value holds, with all that is inside it."""
    match value:
        case str():
            return len(value)
        case dict():
            return sum(_characters(x) for pair in value.items() for x in pair)
        case list() | tuple():
            return sum(map(_characters, value))
        case _:
            return 0

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

# Interpretations: the entities that an interpreter finds in a file, before schemas read them.
#
# They are not canon yet. `unread` keeps unclear values, so that nothing is guessed or lost.

_BATCH_SIZE: Final = 1_000  # one batch is unpacked to read one entity
_UNPACKED_MAX: Final = 10_000
"""More entities than this are packed, which limits the memory of long files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadValue:
    """A value that is kept as written, and the reason why it was not read."""

    value: Any
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundEntity:
    """An entity that was found in a document.

    `row` is its position in a table or list. Two rows are two entities unless their keys are
    equal. `occurrence` numbers equal rows, which keeps rows without a key apart. `refers_to` are
    indexes of other entities of the interpretation. `reasons` explain the choice of the type.
    `seen_at` is the time of the statement, in RFC 3339, if the document itself gives it.
    """

    entity_type: str
    fields: Mapping[str, Any]
    unread: Mapping[str, UnreadValue] = field(default_factory=dict[str, UnreadValue])
    row: int | None = None
    occurrence: int = 1
    refers_to: tuple[int, ...] = ()
    reasons: tuple[str, ...] = ()
    seen_at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpretation:
    """The result of an interpreter for one file."""

    entities: Sequence[FoundEntity]
    warnings: tuple[str, ...] = ()


def pack_entities(found: Iterable[FoundEntity]) -> Sequence[FoundEntity]:
    """Return the entities as a sequence, which is packed if there are very many."""
    rest = iter(found)
    few = tuple(islice(rest, _UNPACKED_MAX + 1))
    return few if len(few) <= _UNPACKED_MAX else _PackedEntities(chain(few, rest))


class _PackedEntities(Sequence[FoundEntity]):
    """Compressed entities; iteration unpacks a thousand at a time."""

    def __init__(self, found: Iterable[FoundEntity]) -> None:
        rest = iter(found)
        self._total = 0
        self._packed: list[bytes] = []
        while some := tuple(islice(rest, _BATCH_SIZE)):
            self._total += len(some)
            self._packed.append(compress(dumps(some), 1))

    @override
    def __len__(self) -> int:
        return self._total

    @override
    def __iter__(self) -> Iterator[FoundEntity]:
        return chain.from_iterable(map(self._unpack_batch, range(len(self._packed))))

    @overload
    def __getitem__(self, index: int) -> FoundEntity: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[FoundEntity]: ...

    @override
    def __getitem__(self, index: int | slice) -> FoundEntity | Sequence[FoundEntity]:
        if isinstance(index, int):
            number = range(self._total)[index]
            return self._unpack_batch(number // _BATCH_SIZE)[number % _BATCH_SIZE]
        begin, end, step = index.indices(self._total)
        before = begin // _BATCH_SIZE
        some = map(self._unpack_batch, range(before, -(-end // _BATCH_SIZE)))
        shift = before * _BATCH_SIZE
        return tuple(islice(chain.from_iterable(some), begin - shift, end - shift, step))

    def _unpack_batch(self, number: int) -> Sequence[FoundEntity]:
        found: Sequence[FoundEntity] = loads(decompress(self._packed[number]))  # noqa: S301 - our own
        return found


RECORDS_MAX: Final = 10_000
"""The most records of one commit."""

FILED_MAX: Final = 100_000
"""The most records of one file, which are recorded in batches."""

FIELDS_MAX: Final = 500  # each field is one observation: bounds a commit
CHARACTERS_MAX: Final = 1_000_000
"""The most characters of one record, which keeps replies bounded; files may hold more."""

NAME_MAX: Final = 200  # names are parts of keys and of each observation


def require_bounds(
    records: Sequence[FoundEntity], at: str = "/entities", *, filed: bool = False
) -> int:
    """Refuse too many or unusable records; return their characters.

    A file (`filed`) may have more records if none refers to another one.

    Raises:
        InvalidInput: `records.too-many`, or those of `require_record`.
    """
    limit = RECORDS_MAX
    if filed and len(records) > limit and not any(record.refers_to for record in records):
        limit = FILED_MAX
    if len(records) > limit:
        message = f"The source has {len(records)} entities; the limit is {limit}. Split it."
        raise InvalidInput("records.too-many", message, path=at, limit=limit)
    return sum(require_record(record, f"{at}/{index}") for index, record in enumerate(records))


def require_record(record: FoundEntity, path: str) -> int:
    """Refuse an unusable record; return its number of characters.

    Raises:
        InvalidInput: `record.type`, `record.fields`, `record.field-name`, `record.too-long` or
            `record.empty`.
    """
    kind = record.entity_type
    if not kind.strip() or len(kind) > NAME_MAX or not type_named(kind):
        message = f"`entity_type` must have 1 to {NAME_MAX} characters, with a letter or digit."
        raise InvalidInput("record.type", message, path=f"{path}/entity_type")
    if len(record.fields) > FIELDS_MAX:
        message = f"The record has {len(record.fields)} fields; the limit is {FIELDS_MAX}."
        raise InvalidInput("record.fields", message, path=path, limit=FIELDS_MAX)
    if any(not name or len(name) > NAME_MAX for name in record.fields):
        message = f"The name of a field must have 1 to {NAME_MAX} characters."
        raise InvalidInput("record.field-name", message, path=path)
    size = sum(map(_count_characters, record.fields.values()))
    if size > CHARACTERS_MAX:
        message = (
            f"The record has {size} characters; the limit is {CHARACTERS_MAX}. Send it as a file."
        )
        raise InvalidInput("record.too-long", message, path=path, limit=CHARACTERS_MAX)
    if not any(value is not None for value in record.fields.values()) and not record.unread:
        message = "The record is empty. Give at least one field besides `entity_type`."
        raise InvalidInput("record.empty", message, path=path)
    return size


def _count_characters(value: Any) -> int:
    """Count the characters in a value, including nested ones."""
    match value:
        case str():
            return len(value)
        case dict():
            return sum(_count_characters(x) for pair in value.items() for x in pair)
        case list() | tuple():
            return sum(map(_count_characters, value))
        case _:
            return 0

"""Record bounds: how many records one source may bring, and how much each of them may hold."""

from collections.abc import Sequence
from typing import Any, Final

from canonry.log.schemas.truth_types import type_named
from canonry.records.domain.interpretations import Found
from canonry.values.errors import InvalidInput

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

"""Arguments: reading tool arguments into domain values; the step that checks meaning.

The schema has been applied before, so types and enums hold here; ids come out in lower case.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from canonry.canon.session.account import entity_id_in
from canonry.gateway.tool import Arguments
from canonry.values.errors import InvalidInput
from canonry.values.ids import is_uuid
from canonry.values.time import Instant, parse_instant

NAME_MAX: Final = 200
TEXT_MAX: Final = 2_000
_COUNTED_MAX: Final = 2**53 - 1
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_OFFSET: Final = re.compile(r"([Zz]|[+-]\d\d:?\d\d)$", re.ASCII)
_COMPACT: Final = re.compile(r"([+-]\d\d)(\d\d)$", re.ASCII)
_MINUTES: Final = re.compile(r"(T\d\d:\d\d)(?=Z|[+-]|$)", re.ASCII)


def entity_of(arguments: Arguments, name: str = "entity_id") -> str:
    """An entity's id, as a UUID.

    Raises:
        InvalidInput: `entity-id.malformed`.
    """
    return entity_id_in(arguments[name], f"/{name}")


def source_of(arguments: Arguments, name: str = "source_id") -> str:
    """A source's id.

    Raises:
        InvalidInput: `source-id.malformed`.
    """
    given = str(arguments[name]).strip()
    if not is_uuid(given):
        message = f"/{name} is a source id: a hyphenated UUID"
        raise InvalidInput("source-id.malformed", message, path=f"/{name}")
    return given.lower()


def text_of(arguments: Arguments, name: str, maximum: int = NAME_MAX) -> str:
    """A text that says something.

    Raises:
        InvalidInput: `text.empty` or `text.too-long`.
    """
    value = str(arguments[name])
    if not value.strip():
        raise InvalidInput("text.empty", f"/{name} is empty; say something", path=f"/{name}")
    if len(value) > maximum:
        message = f"/{name} has {len(value)} characters; the limit is {maximum}"
        raise InvalidInput("text.too-long", message, path=f"/{name}", limit=maximum)
    return value


def optional_text(arguments: Arguments, name: str, maximum: int = NAME_MAX) -> str | None:
    """The same, where it may be missing."""
    return None if arguments.get(name) is None else text_of(arguments, name, maximum)


def moment_of(
    arguments: Arguments, name: str, *, end_of_day: bool = False, inside: str = ""
) -> Instant | None:
    """An instant in ISO 8601 that may be missing; without an offset it is meant as UTC.

    A day alone is its beginning, or its last microsecond with `end_of_day`. `inside` is the path of
    the arguments, where they stand in others.

    Raises:
        InvalidInput: `time.malformed`.
    """
    value = arguments.get(name)
    if value is None:
        return None
    text = str(value).strip()
    if _DAY.fullmatch(text):
        text += "T23:59:59.999999Z" if end_of_day else "T00:00:00Z"
    else:
        text = text.replace(" ", "T", 1) if "T" not in text.upper() else text
        text = _COMPACT.sub(r"\1:\2", text) if "T" in text else text
        text = _MINUTES.sub(r"\1:00", text)
        text += "" if _OFFSET.search(text) else "Z"
    return parse_instant(text, path=f"{inside}/{name}")


def page_of(arguments: Arguments) -> Mapping[str, Any]:
    """Which part of a list is asked for, by `limit` and `offset`.

    Raises:
        InvalidInput: `number.too-large`, more than a store can count to.
    """
    offset = int(arguments["offset"])
    if offset > _COUNTED_MAX:
        message = f"/offset is at most {_COUNTED_MAX}"
        raise InvalidInput("number.too-large", message, path="/offset", limit=_COUNTED_MAX)
    return {"limit": int(arguments["limit"]), "offset": offset}

"""JSON as values: one text for equal values, and values of a type read back out of it.

In canonical JSON keys are sorted, letters composed, and whole numbers written without a fraction.
"""

import unicodedata
from typing import Any, TypeVar

import msgspec

from canonry.values.errors import InvalidInput

T = TypeVar("T")


def encode_json(value: Any) -> bytes:
    """JSON with sorted keys, so that equal values are equal bytes."""
    return msgspec.json.encode(value, order="sorted")


def decode_json(data: bytes) -> Any:
    """The inverse of `encode_json`."""
    return msgspec.json.decode(data)


def encode_pretty(value: Any) -> bytes:
    """JSON for people: a line for each field, in the order in which the type declares them."""
    return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"


def canonical_json(value: Any) -> bytes:
    """The bytes that stand for a JSON value."""
    return encode_json(_canonical(value))


def _canonical(value: Any) -> Any:
    match value:
        case str():
            return value if value.isascii() else unicodedata.normalize("NFC", value)
        case dict():
            return {_canonical(key): _canonical(each) for key, each in value.items()}
        case list() | tuple():
            return [_canonical(each) for each in value]
        case float() if value.is_integer() and abs(value) < 2**53:
            return int(value)
        case _:
            return value


def schema_of(target: type) -> dict[str, Any]:
    """The JSON Schema of what `read_value` takes for `target`."""
    return msgspec.json.schema(target)


def read_value(value: Any, target: type[T]) -> T:
    """JSON values that satisfy `schema_of(target)` as a value of this type.

    Raises:
        InvalidInput: `value.malformed`.
    """
    try:
        return msgspec.convert(value, target)
    except msgspec.ValidationError as error:
        message = f"this is no {target.__name__.lower()}: {error}"
        raise InvalidInput("value.malformed", message, path="") from error

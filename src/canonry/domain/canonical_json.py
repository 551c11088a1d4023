"""Canonical JSON: one text for all ways in which the same values can be written.

Keys are sorted, letters composed, and whole numbers written without a fraction.
"""

import unicodedata
from typing import Any

from canonry.domain.encoding import encode_json


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

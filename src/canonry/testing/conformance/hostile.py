"""Values that break careless stores; all valid, since NUL and lone surrogates stay outside."""

from collections.abc import Mapping
from typing import Any, Final

from canonry.values.moments import Instant

TEXTS: Final[tuple[str, ...]] = (
    "",
    " ",
    "'; DROP TABLE things; --",
    '"quoted" \\ back\\\\slash \\u0041 {"json": [1]}',
    "line\nfeed\r\nreturn\ttab\x01\x1f\x7f\x85\u2028\u2029",
    "%_*?[a-z]^$.|()+{1,2}",
    "e\u0301 is not \u00e9, \u212b is not \u00c5, \ufb01 is not fi",
    "\u202eright to left\u202c \u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd",
    "\U0001f409\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0010ffff \ufeff \ufffe \uffff",
    "\u6c49\u5b57\u304b\u306a\ud55c\uae00",
    "{{template}} ${variable} %s %(x)s \\x00 \\0",
    "long " * 5_000,
)

NUMBERS: Final[tuple[Any, ...]] = (
    0,
    -1,
    2**53,
    -(2**53),
    2**63 - 1,
    -(2**63),
    0.1,
    1.0,
    -0.0,
    5e-324,
    1.7976931348623157e308,
    1e22,
    True,
    False,
    None,
)

YEAR_ONE: Final = Instant(-62_135_596_800_000_000)
YEAR_9999: Final = Instant(253_402_300_799_999_999)
LONGEST_DURATION: Final = 2**53
"""Seconds; its end lies past every 64-bit microsecond."""


def deep(levels: int = 30) -> Mapping[str, Any]:
    """Objects in lists in objects."""
    value: dict[str, Any] = {"bottom": list(TEXTS[:-1])}
    for level in range(levels):
        value = {f"level {level}": [value, level]}
    return value


PROPERTIES: Final[Mapping[str, Any]] = {
    **{text[:200]: text for text in TEXTS},
    "numbers": list(NUMBERS),
    "empty": [{}, [], ""],
    "deep": deep(),
}

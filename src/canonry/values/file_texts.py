"""Texts and times as files write them: what is read of them, and what is left over."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import Any, Final

TextsByPath = Iterable[tuple[str, str]]
"""Texts of a file, each with its path in the format."""

_UNREAD_MAX: Final = 500  # a document of unread parts is still named in a few lines
_FILE_TIME: Final = re.compile(
    r"(?:D:)?(\d{4})[-:]?(\d\d)[-:]?(\d\d)"
    r"(?:[T ]?(\d\d):?(\d\d)(?::?(\d\d)(?:[.,](\d{1,6})\d*)?)?)?"
    r"\s?(?:Z(?:00'?00'?)?"
    r"|(?:\[|(?=[+-]))([+-]?)(\d{1,2})(?:[:']?(\d\d))?'?(?:\.(\d\d?))?(?::[A-Z]+)?\]?)?"
)
"""A day, its time and its zone, as ISO 8601, PDF, EXIF and OFX write them."""

_UNSET: Final = frozenset(
    {"1970-01-01T00:00:00Z", "1980-01-01T00:00:00Z", "2000-01-01T00:00:00Z", "2013-12-23T23:15:00Z"}
)
"""Times that programs and libraries write into files if nobody gives one."""


def utc_text_of(text: str) -> str | None:
    """Return a time as RFC 3339 in UTC; None if it is no whole day or time.

    A day counts from its beginning. A time without a zone counts as UTC.
    """
    if (found := _FILE_TIME.fullmatch(text.strip())) is None:
        return None
    *day, fraction, sign, hours, minutes, hundredths = found.groups("0")
    ahead = timedelta(hours=int(hours) + int(hundredths.ljust(2, "0")) / 100, minutes=int(minutes))
    try:
        date_time = datetime(*map(int, day), int(fraction.ljust(6, "0")), tzinfo=UTC)  # type: ignore[misc, arg-type]
        date_time -= -ahead if sign == "-" else ahead
    except (ValueError, OverflowError):
        return None
    written = date_time.isoformat().replace("+00:00", "Z")
    return None if written in _UNSET else written


def leaves_of(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the texts and numbers in a JSON value, at any depth, with their paths."""
    match value:
        case Mapping():
            for name, each in value.items():
                yield from leaves_of(each, f"{path}/{name}" if path else name)
        case list():
            for each in value:
                yield from leaves_of(each, path)
        case str() | int() | float() if not isinstance(value, bool):
            yield path, str(value)
        case _:
            pass


def first_texts(found_texts: TextsByPath, wanted: Mapping[str, str]) -> dict[str, str]:
    """Return the first text for each name, at the first of its paths that has one."""
    texts: dict[str, str] = {}
    for path, text in found_texts:
        texts.setdefault(path, text)
    named = ((name, filter(None, map(texts.get, paths.split()))) for name, paths in wanted.items())
    return {name: next(found, "") for name, found in named}


def note_unread(texts: Sequence[str]) -> Sequence[str]:
    """Return the note on texts that became no field; after many signs it tells how many follow."""
    before = accumulate(map(len, texts), initial=0)
    shown = [text for text, size in zip(texts, before, strict=False) if size < _UNREAD_MAX]
    more = f", and {len(texts) - len(shown)} more" if len(shown) < len(texts) else ""
    joined = "; ".join(text[:_UNREAD_MAX] for text in shown)
    return [f"Values beside the records were not read: {joined}{more}."] if joined else []


_WORDS: Final = re.compile(r"\w+")
_DECIMAL: Final = re.compile(r"[+-]?\d{1,15}\.\d{1,10}")
_SIDE_WORDS: Final = frozenset({"dbit", "crdt", "book", "debit", "credit"})
"""Texts whose meaning is in the sign, the kind or the state of a payment, or in a type."""

_CONTAINED_MIN: Final = 4
"""The fewest signs of a text that counts as kept if a longer text has it among its words."""


def unused_texts(found_texts: TextsByPath, kept: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """Yield the texts that no kept value holds, with their paths.

    This function alone decides what a parser has dropped. Case, signs between words and
    the digits of a decimal number make no difference.
    """
    bare = [_bare_text(str(value)) for value in kept if value is not None]
    whole, within = _SIDE_WORDS | {each.replace(" ", "") for each in bare}, f" {' '.join(bare)} "
    for path, text in found_texts:
        words = _bare_text(text)
        contained = len(words) >= _CONTAINED_MIN and f" {words} " in within
        if text.strip() and not contained and words.replace(" ", "") not in whole:
            yield path, text.strip()


def _bare_text(text: str) -> str:
    if text.isalnum():
        return text.lower()
    if _DECIMAL.fullmatch(text):
        return f"{abs(float(text)):f}"
    return " ".join(_WORDS.findall(text.lower())) or text


_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def split_words(name: str) -> str:
    """Return a name such as `PaymentTerms` with its words apart, in lower case."""
    return _HUMP.sub("_", name).lower()

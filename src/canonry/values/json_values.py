"""JSON values, normal forms of texts, and numerals."""

import re
import unicodedata
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, Final, TypeVar

import msgspec

from canonry.values.errors import InvalidInput

# JSON as values: one text for equal values, and values of a type read back out of it.
#
# In canonical JSON keys are sorted, letters composed, and whole numbers written without a fraction.

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


# Normal forms: how names, numbers and addresses are written so that equal ones are equal texts.
#
# Every form is idempotent and does not depend on case or on how Unicode composes a letter; what
# nothing is left of is kept as it was, so that no two different names become one by being odd.

_SPACES: Final = re.compile(r"\s+")
_IGNORED: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""What Unicode calls default ignorable: soft hyphens, joiners, marks of direction and the like."""

_APOSTROPHES: Final = (
    "`\u00b4\u02b9\u02bb\u02bc\u02bd\u02c8\u055a\u05f3\u2018\u2019\u201b\u2032\ua78c\uff07\uff40"
)
_HYPHENS: Final = "\u02d7\u058a\u05be\u2010\u2011\u2012\u2043\u2212\ufe63\uff0d"
_SIGNS: Final = str.maketrans(dict.fromkeys(_APOSTROPHES, "'") | dict.fromkeys(_HYPHENS, "-"))
"""Other signs that people and programs write for an apostrophe or a hyphen."""

_JOINING_DASH: Final = re.compile(r"(?<=\w)\u2013(?=\w)")

_EMAIL: Final = re.compile(
    r"(?<![^\s@<>,;:\"()])[^\s@<>,;:\"()]++@[^\s@<>,;:\"()]+\.[^\s@<>,;:\"().]+"
)
_ADDRESS: Final = re.compile(r"(?:https?:)?(?://)?([^\s/:?#@\[\]]+)(?::\d+)?(?:[/?#]\S*)?")
_EXTENSION: Final = re.compile(r"(?:\bext\.?|\bx|#)\s*\d+\s*$")
_TRUNK: Final = re.compile(r"\(\s*0\s*\)")
_PHONE: Final = re.compile(r"\+?[\d\s().\-/]+")
_INITIALS: Final = re.compile(r"\b(?:\w[.]){2,}")
LONG: Final = 2_000
"""A text with more characters is no name or address that others write differently."""

_TWO_NUMBERS: Final = re.compile(r"[-+]?[1-9]\d{0,2}[.,]\d{3}", re.ASCII)
_PHONE_DIGITS: Final = (5, 17)
_PLAIN: Final = (int, float, str)
_NUMERIC: Final = (*_PLAIN, Decimal)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_COMPANY_FORMS: Final = _words(
    """
    & ab ag aktiengesellschaft and aps as bv co company corp corporation ev gbr gmbh inc
    incorporated kg kgaa kk limited llc llp lp ltd mbh nv ohg oy plc pte pty pvt sa sarl
    sas se sl spa sro srl ug und y
    """
)
_TITLES: Final = _words(
    """
    mr mrs ms miss mx dr prof professor sir dame herr frau hr fr dipl ing sra don dona
    """
)
_DEGREES: Final = _words(
    """
    phd md esq msc bsc mba
    """
)
_AFTER: Final = _DEGREES | {"jr", "sr", "ii", "iii", "iv"}
_TURNED: Final = 2
"""Parts around the comma of a name that is written with the family's name first."""


def without_ignored(text: str) -> str:
    """The text without characters that nobody sees; as it was where nothing else is in it."""
    seen = _IGNORED.sub("", text)
    return seen if seen.strip() else text


def signs_in_place(text: str) -> str:
    """The text with `'` and `-` for every sign of their kind; each character keeps its place."""
    return text.translate(_SIGNS)


def plain_signs(text: str) -> str:
    """The text with its letters composed, `'` and `-` for their kind, and nothing invisible.

    Case, spaces and all other signs stay, so that names are read in it as `folded` compares them.
    """
    if text.isascii():
        return text.replace("`", "'")
    plain = signs_in_place(_JOINING_DASH.sub("-", without_ignored(text)))
    return unicodedata.normalize("NFC", plain)


def folded(text: str) -> str:
    """The form in which names are compared.

    It is the compatibility form, case folded, with plain signs, single spaces and nothing
    invisible.
    """
    return _folded(text) if len(text) <= LONG else _fold(text)


def _fold(text: str) -> str:
    if text.isascii():
        return " ".join(text.replace("`", "'").casefold().split())
    once = without_ignored(unicodedata.normalize("NFKC", plain_signs(text))).casefold()
    return _SPACES.sub(" ", unicodedata.normalize("NFKC", once)).strip()


_folded: Final = lru_cache(maxsize=8192)(_fold)
"""A name is folded for each of its keys, rows and forms."""


def words_only(text: str) -> str:
    """The folded text without punctuation; signs that tell names apart (`C++`, `C#`) are kept.

    A long text is kept as it is folded: it is no name, and looking at each of its signs takes long.
    """
    if len(text) > LONG:
        return folded(text)
    plain = folded(text).replace("'", "")
    if "." in plain:
        plain = _INITIALS.sub(lambda match: match[0].replace(".", ""), plain)
    if plain.isascii():
        return " ".join(plain.translate(_ASCII_SIGNS).split()) or folded(text)
    kept = "".join(c if _is_letter(c) else " " for c in plain)
    return _SPACES.sub(" ", kept).strip() or folded(text)


def company_name(text: str) -> str:
    """The name without its legal form, however many there are: `ACME Corp, Inc.` is `acme`."""
    return folded(text) if len(text) > LONG else _company_name(text)


@lru_cache(maxsize=4096)
def _company_name(text: str) -> str:
    words = words_only(text).split()
    while len(words) > 1 and words[-1] in _COMPANY_FORMS:
        words.pop()
    return " ".join(words)


def person_name(text: str) -> str:
    """The name without titles, first name first: `Dr. Lovelace, Ada` is `ada lovelace`."""
    return folded(text) if len(text) > LONG else _person_name(text)


@lru_cache(maxsize=4096)
def _person_name(text: str) -> str:
    parts = [part.strip() for part in folded(text).split(",")]
    turned = len(parts) == _TURNED and all(parts) and parts[1].strip(". ") not in _AFTER
    words = words_only(f"{parts[1]} {parts[0]}" if turned else text).split()
    while len(words) > 1 and words[0] in _TITLES:
        words.pop(0)
    while len(words) > 1 and words[-1] in _DEGREES:
        words.pop()
    return " ".join(words)


def email_address(text: str) -> str | None:
    """The address that the text is or holds alone, folded; None if it is none."""
    return None if len(text) > LONG else _email_address(text)


@lru_cache(maxsize=4096)
def _email_address(text: str) -> str | None:
    found = _EMAIL.findall(folded(text).removeprefix("mailto:"))
    return found[0].rstrip(".") if len(found) == 1 else None


def phone_number(text: str) -> str | None:
    """The digits, after a `+` where the country is said; without an extension."""
    return None if len(text) > LONG else _phone_number(text)


@lru_cache(maxsize=4096)
def _phone_number(text: str) -> str | None:
    plain = _TRUNK.sub("", _EXTENSION.sub("", folded(text).removeprefix("tel:"))).strip()
    if _PHONE.fullmatch(plain) is None:
        return None
    digits = "".join(c for c in plain if c.isdigit())
    if plain.startswith("00"):
        plain, digits = "+", digits[2:]
    low, high = _PHONE_DIGITS
    if not low <= len(digits) <= high:
        return None
    return f"+{digits}" if plain.startswith("+") else digits


def web_domain(text: str) -> str | None:
    """The host of an address, without `www.`."""
    match = _ADDRESS.fullmatch(folded(text))
    if match is None:
        return None
    host = match[1].removeprefix("www.").rstrip(".")
    return host if "." in host else None


def amount(value: Any) -> str | None:
    """The number without trailing zeros: `1500.50` and `1500.5` are one; None if it is unclear."""
    if isinstance(value, bool) or not isinstance(value, _NUMERIC):
        return None
    if isinstance(value, str) and _TWO_NUMBERS.fullmatch(value.strip()):
        return None
    if not isinstance(value, float) or (plain := repr(value)).strip("-.0123456789"):
        try:
            number = Decimal(str(value))
        except InvalidOperation:
            return None
        if not number.is_finite():
            return None
        plain = format(number, "f")
    return (plain.rstrip("0").rstrip(".") if "." in plain else plain) or "0"


def plain_text(value: Any) -> str | None:
    """The folded text of a text or number; None for what is neither, or empty."""
    if isinstance(value, bool) or not isinstance(value, _PLAIN):
        return None
    return folded(str(value)) or None


def _is_letter(character: str) -> bool:
    return character.isalnum() or character in "+#&" or unicodedata.category(character)[0] == "M"


_ASCII_SIGNS: Final = {ord(sign): " " for sign in map(chr, range(128)) if not _is_letter(sign)}
"""What stands between words, where the text is plain."""


# Numerals: numbers as several countries write them, by one rule for all that is read.
#
# What can be read in one way only is a number. One mark with three digits behind it may divide
# thousands or decimals; who knows how a document writes its numbers may say so.

NUMERAL: Final = (
    r"(?:[0-9]{1,3}(?P<group>[ \xa0\u202f'\u2019.,])[0-9]{3}(?:(?P=group)[0-9]{3})*(?:[.,][0-9]+)?"
    r"|[0-9]+(?:[.,][0-9]+)?)"
)
"""What a numeral looks like, without a sign; part of a pattern."""

_GROUP: Final = 3
_BLANKS: Final = str.maketrans("", "", " \xa0\u202f'\u2019")


def plain_numeral(written: str, mark: str | None = None, group: str | None = None) -> str | None:
    """A numeral with a point and no thousands; None where it is unclear.

    Where that is so, `mark` is the decimal mark; `group` divides thousands, and says nothing of the
    other mark.
    """
    plain = written.translate(_BLANKS)
    marks = [char for char in plain if char in ".,"]
    if not marks:
        return plain
    last = marks[-1]
    head, _, tail = plain.rpartition(last)
    if len(set(marks)) == 2:  # noqa: PLR2004 - both marks, the last one is decimal
        other = "," if last == "." else "."
        return None if marks.count(last) > 1 else f"{head.replace(other, '')}.{tail}"
    if len(marks) > 1:
        return plain.replace(last, "") if len(tail) == _GROUP else None
    if len(tail) != _GROUP or head in {"", "0"} or len(head) > _GROUP or plain != written:
        return f"{head}.{tail}"
    if last == group or mark not in {last, None}:
        return head + tail
    return f"{head}.{tail}" if mark == last else None

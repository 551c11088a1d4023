"""JSON values, normal forms of texts, and numerals."""

import re
import unicodedata
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, Final, TypeAlias, TypeVar

import msgspec
from stdnum import iso11649

from canonry.values.data_files import read_toml
from canonry.values.errors import InvalidInput

# JSON values: one text for equal values, and typed values read from it.
#
# In canonical JSON keys are sorted, letters composed, and whole numbers have no fraction.

T = TypeVar("T")

UnsetType: TypeAlias = msgspec.UnsetType
UNSET: Final = msgspec.UNSET
"""The value of a field that stored JSON leaves out."""


def encode_json(value: Any) -> bytes:
    """Return JSON with sorted keys, so that equal values are equal bytes."""
    return msgspec.json.encode(value, order="sorted")


def decode_json(data: bytes) -> Any:
    """Decode JSON, the inverse of `encode_json`."""
    return msgspec.json.decode(data)


def encode_pretty(value: Any) -> bytes:
    """Return JSON for people: one line a field, in the order of the type's declaration."""
    return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"


def canonical_json(value: Any) -> bytes:
    """Return the canonical bytes of a JSON value."""
    return encode_json(_canonical_value(value))


def _canonical_value(value: Any) -> Any:
    match value:
        case str():
            return value if value.isascii() else unicodedata.normalize("NFC", value)
        case dict():
            return {_canonical_value(key): _canonical_value(each) for key, each in value.items()}
        case list() | tuple():
            return [_canonical_value(each) for each in value]
        case float() if value.is_integer() and abs(value) < 2**53:
            return int(value)
        case _:
            return value


def schema_of(target: type) -> dict[str, Any]:
    """Return the JSON Schema of the values that `read_value` accepts for `target`."""
    return msgspec.json.schema(target)


def read_value(value: Any, target: type[T]) -> T:
    """Convert JSON values that satisfy `schema_of(target)` to this type.

    Raises:
        InvalidInput: `value.malformed`.
    """
    try:
        return msgspec.convert(value, target)
    except msgspec.ValidationError as error:
        message = f"The value is not a valid {target.__name__.lower()}: {error}"
        raise InvalidInput("value.malformed", message, path="") from error


# Normal forms of names, numbers and addresses: equal ones are equal texts.
#
# Every form is idempotent and does not depend on case or on how Unicode composes a letter. A text
# that would become empty is kept as it was, so that different unusual names stay different.

_SPACES: Final = re.compile(r"\s+")
_IGNORED: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""The default ignorable characters of Unicode: soft hyphens, joiners, direction marks, ..."""

_APOSTROPHES: Final = (
    "`\u00b4\u02b9\u02bb\u02bc\u02bd\u02c8\u055a\u05f3\u2018\u2019\u201b\u2032\ua78c\uff07\uff40"
)
_HYPHENS: Final = "\u02d7\u058a\u05be\u2010\u2011\u2012\u2043\u2212\ufe63\uff0d"
_SIGNS: Final = str.maketrans(dict.fromkeys(_APOSTROPHES, "'") | dict.fromkeys(_HYPHENS, "-"))
"""Other characters that people and programs use for an apostrophe or a hyphen."""

_JOINING_DASH: Final = re.compile(r"(?<=\w)\u2013(?=\w)")

_EMAIL: Final = re.compile(
    r"(?<![^\s@<>,;:\"()])[^\s@<>,;:\"()]++@[^\s@<>,;:\"()]+\.[^\s@<>,;:\"().]+"
)
_ADDRESS: Final = re.compile(r"(?:https?:)?(?://)?([^\s/:?#@\[\]]+)(?::\d+)?(?:[/?#]\S*)?")
_EXTENSION: Final = re.compile(
    r"(?:\b(?:ext(?:ension|n)?|durchwahl|dw|poste|int|toestel|wew)\b|\bx(?=\s?\d)|#)"
    r"[.:=]?\s?\d{1,10}$"
)
_TRUNK: Final = re.compile(r"\(\s*0\s*\)")
_PHONE: Final = re.compile(r"\+?[\d\s().\-/]+")
_NUMBER_SIGN: Final = re.compile(r"^(?:#|n[ro]\b\.?|n\xba|\u2116)\s*")
_NUMBER_MARKS: Final = re.compile(r"[\s./_#-]+|(?<=[^\W\d_])(?=\d)")
"""Marks between the parts of a document's number, and the boundary between letters and digits."""

_SWISS_TAX: Final = re.compile(r"(?<=\Ache\d{9})(?:mwst|tva|iva)\Z")
_LONG_NUMBER: Final = 7
_INITIALS: Final = re.compile(r"\b(?:\w[.]){2,}")
LONG: Final = 2_000
"""A longer text is no name or address that needs a normal form."""

_TWO_NUMBERS: Final = re.compile(r"[-+]?[1-9]\d{0,2}[.,]\d{3}", re.ASCII)
_PLAIN: Final = (int, float, str)
_NUMERIC: Final = (*_PLAIN, Decimal)


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


NAMED: Final = read_toml(__package__, "names.toml")
"""Titles, legal forms and other words around names."""

_COMPANY_FORMS: Final = _word_set(NAMED["forms"])
_SAME_FORMS: Final[dict[str, str]] = NAMED["same"]
_LONG_FORMS: Final[dict[str, str]] = NAMED["long"]
_TITLES: Final = _word_set(NAMED["titles"])
_DEGREES: Final = _word_set(NAMED["degrees"])
_AFTER: Final = _DEGREES | {"jr", "sr", "ii", "iii", "iv"}
_TURNED: Final = 2  # the parts around the comma of a name that starts with the family name


def without_ignored(text: str) -> str:
    """Remove invisible characters, unless the text has no others."""
    seen = _IGNORED.sub("", text)
    return seen if seen.strip() else text


def replace_signs(text: str) -> str:
    """Replace every apostrophe and hyphen by `'` and `-`; each character keeps its position."""
    return text.translate(_SIGNS)


def plain_signs(text: str) -> str:
    """Compose letters, replace apostrophes and hyphens, and remove invisible characters.

    Case, spaces and all other signs stay, so that names in it compare as in `fold_text`.
    """
    if text.isascii():
        return text.replace("`", "'")
    plain = replace_signs(_JOINING_DASH.sub("-", without_ignored(text)))
    return unicodedata.normalize("NFC", plain)


def fold_text(text: str) -> str:
    """Return the form in which names are compared.

    It is the compatibility form, case folded, with plain signs, single spaces and no invisible
    characters.
    """
    return _folded(text) if len(text) <= LONG else _fold_uncached(text)


def _fold_uncached(text: str) -> str:
    if text.isascii():
        return " ".join(text.replace("`", "'").casefold().split())
    once = without_ignored(unicodedata.normalize("NFKC", plain_signs(text))).casefold()
    return _SPACES.sub(" ", unicodedata.normalize("NFKC", once)).strip()


_folded: Final = lru_cache(maxsize=8192)(_fold_uncached)
"""A name is folded for each of its keys, rows and forms."""


def words_only(text: str) -> str:
    """Return the folded text without punctuation, but keep signs as in `C++` and `C#`.

    A long text is only folded: it is no name, and checking each of its characters is slow.
    """
    if len(text) > LONG:
        return fold_text(text)
    plain = fold_text(text).replace("'", "")
    if "." in plain:
        plain = _INITIALS.sub(lambda match: match[0].replace(".", ""), plain)
    if plain.isascii():
        return " ".join(plain.translate(_ASCII_SIGNS).split()) or fold_text(text)
    kept = "".join(c if _is_letter(c) else " " for c in plain)
    return _SPACES.sub(" ", kept).strip() or fold_text(text)


def company_name(text: str) -> str:
    """Return the name without any legal forms: `ACME Corp, Inc.` is `acme`."""
    return fold_text(text) if len(text) > LONG else _split_company(text)[0]


def legal_forms(text: str) -> frozenset[str]:
    """Return the legal forms at the end of a company's name, each in one spelling."""
    return frozenset() if len(text) > LONG else _split_company(text)[1]


@lru_cache(maxsize=4096)  # one party is compared with many records: bench compare, bulk
def _split_company(text: str) -> tuple[str, frozenset[str]]:
    """Divide a company's name into the name and its legal forms."""
    plain = words_only(text)
    written = next((each for each in _LONG_FORMS if plain.endswith(f" {each}")), "")
    words = plain.removesuffix(written).split() + ([_LONG_FORMS[written]] if written else [])
    forms: set[str] = set()
    while len(words) > 1 and words[-1] in _COMPANY_FORMS:
        forms.add(_SAME_FORMS.get(words[-1], words[-1]))
        words.pop()
    return " ".join(words), frozenset(forms - {""})


def person_name(text: str) -> str:
    """Return the name without titles, first name first: `Dr. Lovelace, Ada` is `ada lovelace`."""
    return fold_text(text) if len(text) > LONG else _person_name(text)


@lru_cache(maxsize=4096)  # one person is compared with many records
def _person_name(text: str) -> str:
    parts = [part.strip() for part in fold_text(text).split(",")]
    turned = len(parts) == _TURNED and all(parts) and parts[1].strip(". ") not in _AFTER
    words = words_only(f"{parts[1]} {parts[0]}" if turned else text).split()
    while len(words) > 1 and words[0] in _TITLES:
        words.pop(0)
    while len(words) > 1 and words[-1] in _DEGREES:
        words.pop()
    return " ".join(words)


def email_address(text: str) -> str | None:
    """Return the only address in the text, folded; None: there is none."""
    return None if len(text) > LONG else _email_address(text)


@lru_cache(maxsize=4096)  # one address is compared with many records
def _email_address(text: str) -> str | None:
    found = _EMAIL.findall(fold_text(text).removeprefix("mailto:"))
    return found[0].rstrip(".") if len(found) == 1 else None


def phone_number(text: str) -> str | None:
    """Return the digits without an extension, after `+` if the country is given."""
    return None if len(text) > LONG else _phone_number(text)


@lru_cache(maxsize=4096)  # one number is compared with many records
def _phone_number(text: str) -> str | None:
    plain = _TRUNK.sub("", _EXTENSION.sub("", fold_text(text).removeprefix("tel:"))).strip(" ,;")
    if _PHONE.fullmatch(plain) is None:
        return None
    digits = "".join(c for c in plain if c.isdigit())
    if plain.startswith("00"):
        plain, digits = "+", digits[2:]
    low, high = 5, 17
    if not low <= len(digits) <= high:
        return None
    return f"+{digits}" if plain.startswith("+") else digits


def phone_extension(text: str) -> str:
    """Return the digits of the extension behind a telephone number; an empty text: it has none."""
    found = _EXTENSION.search(fold_text(text)) if len(text) <= LONG else None
    return "" if found is None else "".join(c for c in found[0] if c.isdigit())


def web_domain(text: str) -> str | None:
    """Return the host of an address, without `www.`."""
    match = _ADDRESS.fullmatch(fold_text(text))
    if match is None:
        return None
    host = match[1].removeprefix("www.").rstrip(".")
    return host if "." in host else None


def document_number(text: str) -> str:
    """Return a number of a document with a hyphen for each mark in it: `INV 0012`, `inv/0012`."""
    return _NUMBER_MARKS.sub("-", _NUMBER_SIGN.sub("", fold_text(text))).strip("-") or fold_text(
        text
    )


def bare_number(text: str) -> str:
    """Return the letters and digits of a long number: `DE 136 695 976`, `CHE-107.787.577 MWST`."""
    bare = _SWISS_TAX.sub("", "".join(c for c in fold_text(text) if c.isalnum()))
    return bare if sum(map(str.isdecimal, bare)) >= _LONG_NUMBER else fold_text(text)


def reference_number(text: str) -> str:
    """Return the number in a payment reference: of `RF18 5390 0754 7034` that behind the check."""
    bare = "".join(fold_text(text).split())
    if iso11649.is_valid(bare):
        return document_number(bare[4:].lstrip("0"))
    return bare if bare.isdecimal() else document_number(text)


def plain_amount(value: Any) -> str | None:
    """Return the number without trailing zeros: `1500.50` becomes `1500.5`; None if unclear."""
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
    """Return the folded text of a text or number; None for other or empty values."""
    if isinstance(value, bool) or not isinstance(value, _PLAIN):
        return None
    return fold_text(str(value)) or None


def _is_letter(character: str) -> bool:
    return character.isalnum() or character in "+#&" or unicodedata.category(character)[0] == "M"


_ASCII_SIGNS: Final = {ord(sign): " " for sign in map(chr, range(128)) if not _is_letter(sign)}
"""Separators between words in an ASCII text."""


# Numerals: numbers in the notations of several countries, read by one rule.
#
# A text with a single reading is a number. One mark before three digits may divide thousands or
# decimals. If you know the notation of a document, give it.

NUMERAL: Final = (
    r"(?:[0-9]{1,3}(?P<group>[ \xa0\u202f'\u2019.,])[0-9]{3}(?:(?P=group)[0-9]{3})*(?:[.,][0-9]+)?"
    r"|[0-9]{1,2}(?:,[0-9]{2})+,[0-9]{3}(?:\.[0-9]+)?|[0-9]+(?:[.,][0-9]+)?)"
)
"""The pattern of a numeral without a sign, also in Indian groups: `1,47,000.00`."""

_GROUP: Final = 3
_BLANKS: Final = str.maketrans("", "", " \xa0\u202f'\u2019")


def plain_numeral(written: str, mark: str | None = None, group: str | None = None) -> str | None:
    """Return a numeral with a decimal point and no group marks; None: it is unclear.

    `mark` is the decimal mark that decides unclear cases; `group` divides thousands and leaves the
    other mark open.
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

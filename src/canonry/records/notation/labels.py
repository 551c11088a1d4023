"""Labels of values, the locations of values in files, and parties."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial, reduce
from typing import Any, Final

from canonry.canon.ports.files import Cell, Reading, Table
from canonry.language.texts.sentences import Box
from canonry.records.notation.numbers import WORDS, numbers_in, without_currency
from canonry.values.calendar_dates import DayOrder, dates_in
from canonry.values.data_files import read_toml
from canonry.values.json_values import company_name, fold_text, words_only
from canonry.values.languages import columns_named, known_languages, meaning_of, plain_letters

# Labels: words before a value that name it, in several languages.
#
# A label stands for a notion, such as `due` for *Due Date*, *Zahlbar bis* and *Vencimiento*. The
# field of a notion depends on the type of the document.

_MARKUP: Final = re.compile(r"^\s*(?:[-*+\u2022]\s+|#{1,6}\s+|>\s?|\|\s*)*")
_EMPHASIS: Final = re.compile(
    r"(\*\*|__|`|\*|_)(?=\S)([^*_`]{1,300}+(?:[*_`]{1,2}[^*_`]{1,300}+){0,4}?)(?<=\S)\1(?![\w*_`])"
)
"""Emphasized text, which may contain a few marks, such as the one in `due_date`."""

_PAIR: Final = re.compile(
    r"([^:\uff1a|\t]{1,60}?)\s*(?:[:\uff1a](?!//)|\t|\s\|\s|\s{3,}|\.{4,})\s*(.*)", re.DOTALL
)
_GAP: Final = re.compile(r"\t|\s{3,}")
_TITLES: Final = frozenset(WORDS["titles"].split("|"))
_NOT_PLAIN: Final = re.compile(r"[^a-z0-9#]+")
_RATE: Final = re.compile(r"[(\[]?\d{1,2}(?:[.,]\d+)?\s?%[)\]]?")
_BRACKET: Final = re.compile(r"\s\([^()]{1,40}\)\s*$")
_LISTED: Final = re.compile(r"\s*(?:[-*+\u2022]|\d{1,2}[.)])\s")
_ORDINAL: Final = re.compile(r"^\d{1,2}[.)]\s+")
_LINE_MAX: Final = 2_000
"""The most characters of a line that are searched for a label and its value."""

_LABEL_WORDS: Final = 4
_BLOCK_MAX: Final = 40  # a list below a label ends on the same page


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledLine:
    """One line of a document, with `label`, `value` and `meaning` if they are recognized.

    `block` holds the lines below a label without a value. `currency` is named by the label.
    """

    text: str
    label: str = ""
    value: str = ""
    meaning: str = ""
    language: str = ""
    block: tuple[str, ...] = ()
    listed: bool = False
    currency: str = ""


def plain_label(label: str) -> str:
    """Return a label without accents, marks and case, as the vocabulary lists it."""
    bare = plain_letters(label.replace("\xba", "").replace("\xb0", ""))
    return _NOT_PLAIN.sub(" ", bare.replace("#", " # ")).strip()


def read_lines(text: str) -> Sequence[LabelledLine]:
    """Return the lines that are not empty, read as labels and values if possible."""
    raw = [line[:_LINE_MAX] for line in text.split("\n") if line.strip()]
    return [_read_line(line, partial(_lines_below, raw, index)) for index, line in enumerate(raw)]


def _read_line(raw: str, following: Callable[[], Iterator[str]]) -> LabelledLine:
    listed = bool(_LISTED.match(raw))
    text = _EMPHASIS.sub(r"\2", _MARKUP.sub("", raw)).strip().strip("|").strip()
    cells = [cell.strip() for cell in text.split("|") if cell.strip()]
    line = partial(LabelledLine, text=text, listed=listed)
    if len(cells) > 2 or _are_titles(text):  # noqa: PLR2004 - a row of a table, and no label
        return line()
    # A colon at the end of a label's cell is redundant.
    found = _PAIR.fullmatch(" | ".join((cells[0].rstrip(": "), cells[1])) if cells[1:] else text)
    if found is not None and len(found[1].split()) <= _LABEL_WORDS + 2:
        value = found[2].strip()
        quoted = len(value) > 1 and value[0] == value[-1] == '"' and value.count('"') == 2  # noqa: PLR2004
        label, value = _ORDINAL.sub("", found[1].strip()), (value[1:-1] if quoted else value)
        found_meaning, language, currency = label_meaning(label)
        block = () if value else tuple(following())
        return line(
            label=label,
            value=value,
            meaning=found_meaning,
            language=language,
            block=block,
            currency=currency,
        )
    return _read_unmarked(text, line, following)


def _are_titles(text: str) -> bool:
    """Return whether a line has more than two labels with gaps between them, and no value."""
    pieces = [plain_label(piece) for piece in _GAP.split(text)]
    known = (meaning_of(each)[0] or columns_named(each) or each in _TITLES for each in pieces)
    return len(pieces) > 2 and all(known)  # noqa: PLR2004 - a label and its value are two


def label_meaning(label: str) -> tuple[str, str, str]:
    """Return the notion of a label, its language, and the currency at its end."""
    written = plain_label(_RATE.sub("", label))
    found_meaning, language = meaning_of(written)
    if found_meaning:
        return found_meaning, language, ""
    bare, currency = without_currency(written)
    found_meaning, language = meaning_of(bare) if currency else ("", "")
    if found_meaning:
        return found_meaning, language, currency
    outside = _BRACKET.sub(" ", label)
    return label_meaning(outside) if outside != label and plain_label(outside) else ("", "", "")


def _read_unmarked(
    text: str, line: Callable[..., LabelledLine], following: Callable[[], Iterator[str]]
) -> LabelledLine:
    """Read a line that is a known label alone, or a known label before a value."""
    words = text.split()
    found_meaning, language = meaning_of(plain_label(text))
    if found_meaning in _HEADS and len(words) <= _LABEL_WORDS:
        return line(label=text, meaning=found_meaning, language=language, block=tuple(following()))
    for count in range(min(_LABEL_WORDS, len(words) - 1), 0, -1):
        label, value = " ".join(words[:count]), " ".join(words[count:])
        found_meaning, language = meaning_of(plain_label(label))
        if found_meaning in _VALUED and _begins_as_value(value):
            return line(label=label, value=value, meaning=found_meaning, language=language)
    return line()


_HEADS: Final = frozenset(
    {"customer", "vendor", "attendees", "agenda", "actions", "points", "items", "parties"}
)
"""Notions whose label may stand alone on a line above its values."""

_VALUED: Final = frozenset(WORDS["valued"].split())
"""Notions whose value may follow without a mark, because it does not begin with a word."""


def _begins_as_value(text: str) -> bool:
    first = text.split(maxsplit=1)[0]
    return (
        any(char.isdigit() for char in first)
        or not first[0].isalnum()
        or (first.isupper() and any(char.isdigit() for char in text))
    )


def _lines_below(lines: Sequence[str], index: int) -> Iterator[str]:
    """Yield the lines below the label at an index, up to the next label."""
    for raw in lines[index + 1 : index + 1 + _BLOCK_MAX]:
        text = _EMPHASIS.sub(r"\2", raw).strip()
        listed = _LISTED.match(text)
        pair = None if listed else _PAIR.fullmatch(text)
        if raw.lstrip().startswith("#") or (pair is not None and pair[1]):
            return
        if not listed and meaning_of(plain_label(text))[0]:
            return
        yield text


# Locations: find a value in its file again, by the fields of its entity.
#
# Locations are not stored. They can be found for any file, whenever and however it was read.

LOCATIONS_MAX: Final = 3  # a value that repeats is marked a few times
_QUOTE_MAX: Final = 200  # a quote only has to be found again
_LINES_MAX: Final = 5_000  # bounds the time of a search that nothing stored speeds up
_PLAIN: Final = (str, int, float)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueLocation:
    """A line or row with its text, and its page or sheet if there are any."""

    quote: str
    line: int
    column: str | None = None
    page: int | None = None
    sheet: str | None = None
    box: Box | None = None


def find_locations(
    reading: Reading, fields: Mapping[str, Any], value: Any
) -> tuple[ValueLocation, ...]:
    """Return the first locations of a value of an entity with these fields."""
    if not isinstance(value, _PLAIN) or isinstance(value, bool):
        return ()
    cells = [
        location
        for table in reading.tables
        for location in _locations_in_table(table, fields, value)
    ]
    return tuple(cells[:LOCATIONS_MAX] or list(_locations_in_text(reading, value))[:LOCATIONS_MAX])


def _locations_in_table(
    table: Table, fields: Mapping[str, Any], value: Any
) -> Iterator[ValueLocation]:
    """Yield cells with the value in the rows that match most fields of the entity."""
    texts = [each for each in fields.values() if isinstance(each, _PLAIN)]
    scores = [
        sum(1 for each in texts if any(_contains_value(cell, each) for cell in row))
        for row in table.rows[:_LINES_MAX]
    ]
    most = max(scores, default=0)
    for number, score in enumerate(scores):
        if score < most or most < min(2, len(texts)):
            continue
        for index, cell in enumerate(table.rows[number]):
            if _contains_value(cell, value):
                line = table.lines[number] if table.lines else number + 1
                yield ValueLocation(
                    quote=str(cell)[:_QUOTE_MAX],
                    line=line,
                    column=_column_title(table.rows, number, index),
                    sheet=table.name,
                )
                break


def _column_title(rows: Sequence[Sequence[Cell]], number: int, index: int) -> str | None:
    """Return the title of a column: its first text above, in a row of the same width."""
    for row in rows[:number]:
        if len(row) > index and isinstance(row[index], str) and len(row) == len(rows[number]):
            return str(row[index])
    return None


def _locations_in_text(reading: Reading, value: Any) -> Iterator[ValueLocation]:
    for part in reading.parts:
        before = 0
        for number, line in enumerate(part.text.split("\n")[:_LINES_MAX], 1):
            words = line.split()
            if words and _contains_value(line, value):
                yield ValueLocation(
                    quote=line.strip()[:_QUOTE_MAX],
                    line=number,
                    page=part.page,
                    box=_box_around(words, part.boxes[before : before + len(words)], value),
                )
            before += len(words)


def _box_around(words: Sequence[str], boxes: Sequence[Box], value: Any) -> Box | None:
    """Return the box around the fewest words of a line that contain the value."""
    if not boxes:
        return None
    begin, end = 0, len(boxes)
    while end - begin > 1 and _contains_value(" ".join(words[begin : end - 1]), value):
        end -= 1
    while end - begin > 1 and _contains_value(" ".join(words[begin + 1 : end]), value):
        begin += 1
    return reduce(Box.enclosing_box, boxes[begin:end])


def _contains_value(cell: Cell, value: Any) -> bool:
    """Return whether a text contains a value in any notation."""
    if cell is None or isinstance(cell, bool):
        return False
    if not isinstance(cell, str):
        return isinstance(value, int | float) and abs(cell) == abs(value)
    if isinstance(value, str):
        wanted = fold_text(value)
        if wanted and wanted in fold_text(cell):
            return True
        seen = (each.value for order in DayOrder for each in dates_in(cell[:_QUOTE_MAX], order))
        return value[:10] in {each[:10] for each in seen if each is not None}
    return any(abs(each) == abs(value) for each in numbers_in(cell))


# Parties: find names in a list or a sentence, and tell companies from persons.
#
# A party's seat, role and legal details are not part of its name.

_TABLES: Final = read_toml(__package__, "parties.toml")
_COMPANY: Final = re.compile(rf"(?:^|[\s,])(?:{_TABLES['company']})\.?(?:$|[\s,)])", re.IGNORECASE)
_FORM: Final = _TABLES["form"]
_SHORTENED: Final = re.compile(
    r"(?:^|[\s,])(?:inc|corp|co|ltd|lda|ltda|jr|sr|(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2})\.$",
    re.IGNORECASE,
)
"""Names that end in an abbreviation, whose point belongs to the name."""

_APART: Final = re.compile(rf"\s\|\s|,(?!\s?(?:{_FORM})\b)", re.IGNORECASE)
_ROLE: Final = re.compile(
    r"(?<![(\u201c\"])[(\u201c\"]++(?:the\s|hereinafter|der\s|die\s|el\s|la\s)?[^)\"\u201d]{0,60}+[)\"\u201d]++"
)
_HONOURED: Final = re.compile(rf"(?:{_TABLES['honoured']})\.?\s+(?=[^\W\d_])", re.IGNORECASE)
_ENDS: Final = re.compile(rf",(?!\s?(?:{_FORM})\b)|\s[-\u2013]\s|\d{{3,}}", re.IGNORECASE)
"""The end of a name in a sentence. The text behind it describes the party."""

_SMALL: Final = frozenset(WORDS["small"].split())
"""Words within names that begin with small letters."""

_BUSINESSES: Final = frozenset(WORDS["businesses"].split())
_ENDS_OF_BUSINESSES: Final = tuple(WORDS["ends_of_businesses"].split())
_ENDS_OF_FIRST: Final = tuple(WORDS["ends_of_first_words"].split())
_WITHIN: Final = frozenset(WORDS["within_businesses"].split())
_BEFORE: Final = frozenset(WORDS["before_businesses"].split())
_NAME_MAX: Final = 120  # longer texts are sentences
_WORDS_MAX: Final = 10  # longer texts are sentences


def is_company(name: str) -> bool:
    """Return whether a name contains a word or legal form of companies."""
    return bool(_COMPANY.search(name))


def _is_business(name: str) -> bool:
    """Return whether a name has words that name a business or a body and no person."""
    first, *others = words = plain_label(name).split() or [""]
    return (
        not _BUSINESSES.isdisjoint(words)
        or any(word.endswith(_ENDS_OF_BUSINESSES) for word in words)
        or (bool(others) and (first in _BEFORE or first.endswith(_ENDS_OF_FIRST)))
        or not _WITHIN.isdisjoint(name.split()[1:])  # in small letters: "An" is a name
    )


def party_type(name: str) -> str:
    """Return `company` or `person`; a single word is a company."""
    bare = _HONOURED.sub("", name.strip(), count=1)
    if bare != name.strip():
        return "person"
    words = words_only(name).split()
    if is_company(name) or _is_business(name) or company_name(name) != " ".join(words):
        return "company"
    capital = all(word[:1].isupper() for word in bare.split() if len(word) > 3)  # noqa: PLR2004
    alone = all(word.isalpha() for word in words)
    count = sum(1 for word in words if word not in _SMALL)
    return "person" if alone and capital and count in range(2, 5) else "company"


def parties_in(text: str, language: str = "") -> tuple[str, ...]:
    """Return the names in a list of parties, in order, without roles in brackets."""
    lines = (" ".join(line.split()) for line in _ROLE.sub(" ", text).split("\n"))
    pieces = (piece for line in lines for piece in _APART.split(line))
    parts = (part for piece in pieces for part in _divided(piece, language))
    names = (_tidy(part) for part in parts)
    return tuple(dict.fromkeys(name for name in names if 1 < len(name) <= _NAME_MAX))


def named_in(text: str, language: str = "") -> tuple[str, ...]:
    """Return the names of the parties in a sentence, without descriptions."""
    bare = _ROLE.sub(", ", " ".join(text.split()))
    names: dict[str, None] = {}
    before = ""
    for part in _divided(bare, language):
        # A description may contain joining words. A comma ends it.
        if before.rstrip().endswith(",") or not _ENDS.search(before.strip(" ,")):
            words = _ENDS.split(part.strip(" ,;:"))[0].split()
            while words and words[0][0].islower():
                words.pop(0)
            name = _HONOURED.sub("", _tidy(" ".join(words)), count=1)
            names |= {name: None} if is_name(name) else {}
        before = part
    return tuple(names)


def is_name(text: str) -> bool:
    """Return whether a text is a name: its words begin with capitals."""
    words = text.split()
    if not 1 < len(text) <= _NAME_MAX or len(words) > _WORDS_MAX or not text[0].isalnum():
        return False
    if not any(char.isalpha() for char in text) or words[0].lower() in _articles():
        return False
    return all(
        not word[0].islower() or word.lower().strip(",") in _SMALL or is_company(word)
        for word in words
    )


def _tidy(name: str) -> str:
    bare = " ".join(name.split()).strip(" ,:-*;")
    return bare if _SHORTENED.search(bare) else bare.strip(" .")


def _divided(text: str, language: str) -> Iterator[str]:
    """Yield the parts between semicolons and the joining words of the language."""
    own = known_languages()[language].joined if language else ("and", "und", "y", "et")
    words: list[str] = []
    given = text.replace(";", " ; ").split()
    for index, word in enumerate(given):
        after = given[index + 1].lower() if index + 1 < len(given) else ""
        joins = word.lower() in own or (word == "&" and not after.startswith("co"))
        if word == ";" or (joins and words):
            yield " ".join(words)
            words = []
        else:
            words.append(word)
    yield " ".join(words)


@lru_cache(maxsize=1)  # built from the tables of all languages
def _articles() -> frozenset[str]:
    """Return words that begin a phrase and no name."""
    known = known_languages().values()
    common = frozenset(word for each in known for word in each.common if len(word) > 1)
    return common | {"a", "an", "eine", "ein", "une", "una", "een"}


COMPANIONS: Final[Mapping[str, Mapping[str, str]]] = _TABLES["companions"]
"""Entity type -> field -> type of the party or invoice; `party` is a company or a person."""


NAMED_BY: Final = {"company": "name", "person": "name", "invoice": "invoice_number"}
"""The field by which a record names an entity of each type."""

_PAYMENTS: Final = frozenset(_TABLES["payments"].split())
"""Words for kinds of payments, in the languages of the labels. They are no names."""

_CONNECTING: Final = frozenset(_TABLES["connecting"].split())
"""Words that may accompany them and are no names either."""

_NAMES_MAX: Final = 50  # each name becomes an entity: bounds a commit


def companions_of(entity_type: str, fields: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield (field, type, name) of all parties that the fields of a record name."""
    for field, kind in COMPANIONS.get(entity_type, {}).items():
        value = fields.get(field)
        names = value if isinstance(value, list | tuple) else (value,)
        for name in names[:_NAMES_MAX]:
            if not isinstance(name, str) or not name.strip() or "@" in name:
                continue
            if entity_type != "transaction" or not names_a_payment(name):
                yield field, party_type(name) if kind == "party" else kind, name.strip()


def names_a_payment(name: str) -> bool:
    """Return whether a text is only a kind of payment, such as `Rent Payment 05/24`.

    One other word makes it a name.
    """
    words = [word for word in plain_label(name).split() if not word.isdigit()]
    kinds = [word for word in words if word in _PAYMENTS]
    return bool(kinds) and all(word in _PAYMENTS or word in _CONNECTING for word in words)

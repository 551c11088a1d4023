"""Labels: the lines of a document that say what a value is, in several languages.

A label stands for a notion, such as `due` for *Due Date*, *Zahlbar bis* and *Vencimiento*; what a
notion means for a field depends on the type of the document.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from canonry.records.notation.numbers import without_currency
from canonry.values.languages import notion_of, plain_letters

_MARKUP: Final = re.compile(r"^\s*(?:[-*+\u2022]\s+|#{1,6}\s+|>\s?|\|\s*)*")
_EMPHASIS: Final = re.compile(
    r"(\*\*|__|`|\*|_)(?=\S)([^*_`]{1,300}+(?:[*_`]{1,2}[^*_`]{1,300}+){0,4}?)(?<=\S)\1(?![\w*_`])"
)
"""What is marked, which may itself hold a few marks such as those of `due_date`."""

_PAIR: Final = re.compile(
    r"([^:\uff1a|\t]{1,60}?)\s*(?:[:\uff1a](?!//)|\t|\s\|\s|\s{3,}|\.{4,})\s*(.*)",
    re.DOTALL,
)
_NOT_PLAIN: Final = re.compile(r"[^a-z0-9#]+")
_RATE: Final = re.compile(r"[(\[]?\d{1,2}(?:[.,]\d+)?\s?%[)\]]?")
_BRACKET: Final = re.compile(r"\s\([^()]{1,40}\)\s*$")
_LISTED: Final = re.compile(r"\s*(?:[-*+\u2022]|\d{1,2}[.)])\s")
_ORDINAL: Final = re.compile(r"^\d{1,2}[.)]\s+")
_LINE_MAX: Final = 2_000
"""What stands farther right in a line is no label and no value of one."""

_LABEL_WORDS: Final = 4
_BLOCK_MAX: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledLine:
    """One line of a document: `label` and `value` where it says so, `notion` where that is known.

    `block` holds the lines that follow a label which has no value of its own; `currency` is what
    the label says that its value is in.
    """

    text: str
    label: str = ""
    value: str = ""
    notion: str = ""
    language: str = ""
    block: tuple[str, ...] = ()
    listed: bool = False
    currency: str = ""


def plain(label: str) -> str:
    """A label without accents, marks and case, as the vocabulary has it."""
    bare = plain_letters(label.replace("\xba", "").replace("\xb0", ""))
    return _NOT_PLAIN.sub(" ", bare.replace("#", " # ")).strip()


def lines_of(text: str) -> Sequence[LabelledLine]:
    """The lines that say something, read as labels and values where they are such."""
    raw = [line[:_LINE_MAX] for line in text.split("\n") if line.strip()]
    return [_line(line, _Following(raw, place)) for place, line in enumerate(raw)]


@dataclass(frozen=True, slots=True)
class _Following:
    """The lines behind one; looked at only where it is a label without a value."""

    lines: Sequence[str]
    place: int

    def block(self) -> tuple[str, ...]:
        """Those that belong to the label."""
        return tuple(_block(self.lines[self.place + 1 : self.place + 1 + _BLOCK_MAX]))


def _line(raw: str, following: _Following) -> LabelledLine:
    listed = bool(_LISTED.match(raw))
    text = _EMPHASIS.sub(r"\2", _MARKUP.sub("", raw)).strip().strip("|").strip()
    cells = [cell.strip() for cell in text.split("|") if cell.strip()]
    if len(cells) > 2:  # noqa: PLR2004 - a row of a table, not a label and its value
        return LabelledLine(text=text, listed=listed)
    # A colon within the cell of a label says nothing more than the cell's end does.
    found = _PAIR.fullmatch(" | ".join((cells[0].rstrip(": "), cells[1])) if cells[1:] else text)
    if found is not None and len(found[1].split()) <= _LABEL_WORDS + 2:
        label, value = _ORDINAL.sub("", found[1].strip()), _unquoted(found[2].strip())
        notion, language, currency = meaning(label)
        block = () if value else following.block()
        return LabelledLine(
            text=text,
            label=label,
            value=value,
            notion=notion,
            language=language,
            block=block,
            listed=listed,
            currency=currency,
        )
    return _unmarked(text, following, listed=listed)


def meaning(label: str) -> tuple[str, str, str]:
    """The notion of a label, its language, and the currency that it ends in."""
    written = plain(_RATE.sub("", label))
    notion, language = notion_of(written)
    if notion:
        return notion, language, ""
    bare, currency = without_currency(written)
    notion, language = notion_of(bare) if currency else ("", "")
    if notion:
        return notion, language, currency
    outside = _BRACKET.sub(" ", label)
    return meaning(outside) if outside != label and plain(outside) else ("", "", "")


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] == '"' and value.count('"') == 2  # noqa: PLR2004
    return value[1:-1] if quoted else value


def _unmarked(text: str, following: _Following, *, listed: bool) -> LabelledLine:
    """A line that begins with a known label and goes on with a value, or is a label alone."""
    words = text.split()
    notion, language = notion_of(plain(text))
    if notion in _HEADS and len(words) <= _LABEL_WORDS:
        return LabelledLine(
            text=text,
            label=text,
            notion=notion,
            language=language,
            block=following.block(),
            listed=listed,
        )
    for count in range(min(_LABEL_WORDS, len(words) - 1), 0, -1):
        label, value = " ".join(words[:count]), " ".join(words[count:])
        notion, language = notion_of(plain(label))
        if notion in _VALUED and _begins_as_value(value):
            return LabelledLine(
                text=text, label=label, value=value, notion=notion, language=language, listed=listed
            )
    return LabelledLine(text=text, listed=listed)


_HEADS: Final = frozenset(
    {"customer", "vendor", "attendees", "agenda", "actions", "points", "items", "parties"}
)
"""Notions whose label may stand alone on a line, above what it names."""

_VALUED: Final = frozenset(
    {
        *("invoice_number", "receipt_number", "contract_number", "date", "issued", "due", "signed"),
        *("effective", "expiration", "amount_due", "total", "amount", "subtotal", "tax"),
    }
)
"""Notions whose value may follow without a mark between, as it begins with no ordinary word."""


def _begins_as_value(text: str) -> bool:
    first = text.split(maxsplit=1)[0]
    return (
        any(char.isdigit() for char in first)
        or not first[0].isalnum()
        or (first.isupper() and any(char.isdigit() for char in text))
    )


def _block(following: Sequence[str]) -> Iterator[str]:
    """The lines under a label, up to the next one."""
    for raw in following:
        text = _EMPHASIS.sub(r"\2", raw).strip()
        listed = _LISTED.match(text)
        pair = None if listed else _PAIR.fullmatch(text)
        if raw.lstrip().startswith("#") or (pair is not None and pair[1]):
            return
        if not listed and notion_of(plain(text))[0]:
            return
        yield text

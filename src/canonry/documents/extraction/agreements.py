"""The notation of a whole document; parties and dates of agreements, letters and minutes."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from canonry.records.domain.interpretations import FoundEntity, UnreadValue
from canonry.records.notation import labels
from canonry.records.notation.numbers import SeenNumber, currency_in, dollar_in, mark_in, number_in
from canonry.values.calendar_dates import DayOrder, SeenDate, dates_in, find_day_order, first_date
from canonry.values.languages import detect_language, known_languages

CONTENT_MAX: Final = 100_000
"""The most characters of a document's text in its entity."""

SEARCHED_MAX: Final = 200_000
"""The number of characters in which labels are searched."""

_DISTANCE: Final = re.compile(
    r"\d\s+[^\W\d_]{4,}|\b(?:between|zwischen|entre|tussen|not before|nicht vor|after|nach|about"
    r"|around|approx|ca|circa|etwa|gegen|environ|aprox|omkring|not|nicht|no)\b\.?\s+$|[~\u2248<>]\s?$",
    re.IGNORECASE,
)
_OR: Final = re.compile(
    r"\s*(?:(?:or|oder|ou|o|lub|of)\s|[+/\u2013\u2014-]\s?\d|[?\xb1])", re.IGNORECASE
)
_NEAR: Final = re.compile(r"[^:]{0,16}")

_KRONOR: Final = re.compile(r"(?<=\d)\s?kr\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentContext:
    """The notation of the whole document, which decides ambiguous values."""

    order: DayOrder | None = None
    mark: str | None = None
    group: str | None = None
    dollar: str | None = None
    currency: str | None = None
    dated: date | None = None
    language: str = ""

    def find_date(self, text: str) -> SeenDate | None:
        """Find the first date of a text; unclear if the text beside it means another day."""
        days = dates_in(text, self.order, self.dated)
        if (seen := next(days, None)) is None:
            return None
        several = any(  # without a label between them
            each.value != seen.value and _NEAR.fullmatch(text, seen.end, each.begin)
            for each in islice(days, 1)
        )
        changes_date = _DISTANCE.search(text, 0, seen.begin) or _OR.match(text, seen.end)
        if changes_date or several or (seen.value or "").startswith("0"):
            return SeenDate(value=None, reason="the text beside the date changes it")
        return seen

    def find_number(self, text: str) -> SeenNumber | None:
        """Find the first number of a text."""
        return number_in(text, self.mark, self.group)

    def currency_of(self, text: str) -> str | None:
        """Return the currency in a text, else that of the document."""
        return currency_in(text, self.dollar) or self.currency


def context_of(lines: list[labels.LabelledLine]) -> DocumentContext:
    """Find the notation of a document by all its lines.

    If its numbers and dates are all ambiguous, the language decides the mark of thousands and the
    order of dates. English has two orders and does not decide.
    """
    text = "\n".join(line.text for line in lines)
    spoken = [line.language for line in lines if line.language]
    code = detect_language(text) or (max(sorted(set(spoken)), key=spoken.count) if spoken else "")
    language = known_languages().get(code)
    day_first = language is not None and language.day_first
    order = find_day_order(text) or (DayOrder.DAY if day_first else None)
    dollar = dollar_in(text) or ("USD" if "$" in text else None)
    mark = mark_in(text)
    currencies = {found for e in lines if (found := currency_in(e.text, dollar) or e.currency)}
    if code == "sv" and not currencies and _KRONOR.search(text):
        currencies.add("SEK")
    return DocumentContext(
        order=order,
        mark=mark,
        group=None if mark or language is None else language.thousands,
        dollar=dollar,
        currency=currencies.pop() if len(currencies) == 1 else None,
        dated=_document_date(lines, order),
        language=code,
    )


def _document_date(lines: list[labels.LabelledLine], order: DayOrder | None) -> date | None:
    for meaning in ("issued", "date", "signed", "effective"):
        for line in lines:
            if line.meaning == meaning and (seen := first_date(line.value, order)) and seen.value:
                return date.fromisoformat(seen.value[:10])
    return None


def shorten_text(text: str) -> str:
    """Return the part of a text that an entity stores; the source has all of it."""
    return text[:CONTENT_MAX].strip()


def tidy_blanks(value: Any) -> Any:
    """Normalize the blanks of a text; return other values unchanged."""
    return " ".join(value.split()) if isinstance(value, str) else value


BETWEEN: Final = "; "
"""The separator of names of parties in one text, because names may have commas."""

_OPENINGS_MAX: Final = 50  # the most sentences in which the parties of a contract are searched

_PARTIES_MAX: Final = 600  # sentences without an end shall not be searched to the last page
_ENDED: Final = re.compile(
    r"(?<!\b[A-Z])(?<!\bInc)(?<!\bLtd)(?<!\bLda)(?<!\bCor)(?<!\bo)\.(?=\s+[A-Z\xa7\d]|\s*$)"
    r"|\n\s*\n|\n[^\n]{1,60}?(?::|\t|\s{3})"
    r"|(?:,\s|\s)(?:effective|dated|geschlossen|wird|se celebra)\b"
)
"""The end of the sentence that names the parties."""

_CALLED: Final = re.compile(
    r"\bas of ([^()\n]{6,40})\(the [\"\u201c]?Effective Date", re.IGNORECASE
)
_PHRASES: Final = {
    name: re.compile(
        rf"\b(?:{words})[^.;\n]{{0,40}}?(?=[\d]|\b[A-Z][a-z]{{1,20}} \d)", re.IGNORECASE
    )
    for name, words in {
        "effective_date": r"effective|commenc\w++|with effect|begin\w*+|g\xfcltig ab|a partir del?",
        "expiration_date": r"expir\w++|terminat\w++|valid until|ends?|g\xfcltig bis|hasta el",
        "signed_date": "signed|entered into|unterzeichnet|firmado",
    }.items()
}


def parties_of(
    lines: Sequence[labels.LabelledLine], text: str, context: DocumentContext
) -> Sequence[str]:
    """Return the parties of an agreement, by labels such as landlord, or by a sentence."""
    values = [line.value for line in lines if line.meaning == "party" and line.value]
    if len(values) > 1:
        named = (name for each in values for name in labels.named_in(each, context.language)[:1])
        return tuple(dict.fromkeys(named))
    return parties_between(text, context.language)


def days_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield fields and the text after the words that announce their date."""
    if (called := _CALLED.search(text)) is not None:
        yield "effective_date", called[1]
    for name, pattern in _PHRASES.items():
        found = pattern.search(text)
        if found is not None:
            yield name, text[found.end() : found.end() + 40]


def listed_in(text: str, context: DocumentContext) -> Sequence[str]:
    """Return the parties after a label: a list of names, or names in a sentence."""
    listed = labels.parties_in(text, context.language)
    if all(map(labels.is_name, listed)):
        return listed
    named = labels.named_in(text, context.language)
    return named if len(named) > 1 else ()


def parties_between(text: str, language: str) -> Sequence[str]:
    """Find the parties in the sentences that can open an agreement."""
    for position in islice(_party_openings(text, language), _OPENINGS_MAX):
        sentence = text[position : position + _PARTIES_MAX]
        end = _ENDED.search(sentence)
        names = labels.named_in(sentence[: end.start()] if end else sentence, language)
        if len(names) > 1:
            return names
    return ()


def _party_openings(text: str, language: str) -> Iterator[int]:
    """Yield positions after the words that precede parties."""
    known = [known_languages()[language]] if language else known_languages().values()
    lower = text.lower()
    for word in dict.fromkeys(word for each in known for word in each.between):
        position = lower.find(word)
        while position >= 0:
            end = position + len(word)
            alone = (
                not lower[max(0, position - 1) : position].isalnum()
                and not lower[end : end + 1].isalnum()
            )
            if alone:
                yield end
            position = lower.find(word, end)


_DATELINE: Final = re.compile(r"(?:[^\W\d_][^,:\n\d]{1,40},)?(?P<date>[^,\n]{6,40}?)\.?")
_DATELINE_WORDS: Final = 3
_SUBJECT_WORDS: Final = 12
_ADDRESS: Final = re.compile(r"\d|@|,$")


def dateline_of(lines: Sequence[labels.LabelledLine]) -> str:
    """Return the date in the dateline of a letter."""
    for line in lines:
        found = None if line.value or line.listed else _DATELINE.fullmatch(line.text)
        seen = None if found is None else first_date(found["date"])
        if found is None or seen is None or not seen.value:
            continue
        around = found["date"][: seen.begin] + found["date"][seen.end :]
        if len(around.split()) < _DATELINE_WORDS:
            return found["date"]
    return ""


def subject_of(lines: Sequence[labels.LabelledLine]) -> str | None:
    """Return the subject of a letter, a short line after or before the salutation.

    None if the text has no salutation; empty if the letter has no subject.
    """
    index = _find_salutation(lines)
    if index is None:
        return None
    for near in (index + 1, index - 1):
        line = lines[near] if 0 <= near < len(lines) else None
        if line is not None and _may_be_subject(line):
            return line.text
    return ""


def _find_salutation(lines: Sequence[labels.LabelledLine]) -> int | None:
    for index, line in enumerate(lines):
        if len(
            line.text.split()
        ) <= _SUBJECT_WORDS and f"{labels.plain_label(line.text)} ".startswith(_salutation_words()):
            return index
    return None


def _may_be_subject(line: labels.LabelledLine) -> bool:
    words = line.text.split()
    sentence = line.text.endswith((".", "!", ",", ":")) or line.text[:1].islower()
    is_plain = not line.value and not sentence and not _ADDRESS.search(line.text)
    return is_plain and 1 < len(words) <= _SUBJECT_WORDS and first_date(line.text) is None


@lru_cache(maxsize=1)  # built from the tables of all languages
def _salutation_words() -> tuple[str, ...]:
    return tuple(f"{word} " for each in known_languages().values() for word in each.salutation)


_ITEM: Final = re.compile(
    r"(?:[-*+\u2022]|\d{1,2}[.)])\s++(?:\[(?P<done>[ xX])\]\s++)?(?P<text>.+)"
)
_WHO: Final = re.compile(r"(?P<who>[^\W\d_][\w'. -]{0,40}?)\s*+:\s++(?P<what>.+)")
_DAY_MAX: Final = 30  # longer texts are no dates; bounds the search
NEXT: Final = "next_meeting"
"""The notion of the next meeting."""


def mentioned_entities(
    lines: Sequence[labels.LabelledLine], context: DocumentContext, title: str
) -> tuple[FoundEntity, ...]:
    """Return the people and tasks that a note lists, and the next meeting."""
    people = tuple(_listed_people(lines, context.language))
    names = [str(person.fields["name"]) for person in people]
    return (*people, *_listed_tasks(lines, context, names), *_next_meeting(lines, context, title))


def _next_meeting(
    lines: Sequence[labels.LabelledLine], context: DocumentContext, title: str
) -> Iterator[FoundEntity]:
    """Yield the next meeting if it has a date. Its title contains that of the note."""
    for line in lines:
        seen = context.find_date(line.value) if line.meaning == NEXT else None
        if seen is None or seen.value is None:
            continue
        name = f"{line.label}: {title}" if title else line.label
        fields = {"title": name, "start_date": seen.value}
        rest_text = f"{line.value[: seen.begin]} {line.value[seen.end :]}"
        if any(char.isalnum() for char in rest_text):
            fields["description"] = line.value
        yield FoundEntity(entity_type="event", fields=fields, reasons=(f"label:{NEXT}",))


def _listed_people(lines: Sequence[labels.LabelledLine], language: str) -> Iterator[FoundEntity]:
    for line in lines:
        if line.meaning == "attendees":
            listed = [line.value] if line.value else [e.lstrip("-*+\u2022 ") for e in line.block]
            for name in dict.fromkeys(
                name for text in listed for name in labels.parties_in(text, language)
            ):
                if labels.party_type(name) == "person":
                    yield FoundEntity(
                        entity_type="person", fields={"name": name}, reasons=("label:attendees",)
                    )


def _listed_tasks(
    lines: Sequence[labels.LabelledLine], context: DocumentContext, names: Sequence[str]
) -> Iterator[FoundEntity]:
    for line in lines:
        if line.meaning != "actions":
            continue
        for text in line.block:
            item = _ITEM.fullmatch(text)
            if item is not None:
                yield _read_task(item, context, names)


def _read_task(item: re.Match[str], context: DocumentContext, names: Sequence[str]) -> FoundEntity:
    fields: dict[str, Any] = {}
    unread: dict[str, UnreadValue] = {}
    text = item["text"]
    if (due := _find_deadline(text, context)) is not None:
        position, due_text, seen = due
        text = text[:position].rstrip().rstrip("([,;-").rstrip()
        if seen.value is None:
            unread["due_date"] = UnreadValue(value=due_text, reason=seen.reason)
        else:
            fields["due_date"] = seen.value
    if (who := _WHO.fullmatch(text.strip())) and len(who["who"].split()) <= 3:  # noqa: PLR2004
        # Use the full name of the only attendee with this first name.
        meant = [each for each in names if each.lower().split()[0] == who["who"].lower()]
        fields["assignee"] = meant[0] if len(meant) == 1 else who["who"]
        text = who["what"]
    fields["title"] = text.strip()
    if item["done"]:
        fields["status"] = "pending" if item["done"] == " " else "completed"
    return FoundEntity(entity_type="task", fields=fields, unread=unread, reasons=("label:actions",))


def _find_deadline(text: str, context: DocumentContext) -> tuple[int, str, SeenDate] | None:
    """Return the position, the text and the date of a deadline."""
    known = known_languages()
    own = known[context.language].by if context.language else ()
    lower = text.lower()
    for word in sorted({*own, *known["en"].by}, key=len, reverse=True):
        position = lower.rfind(word)
        end = position + len(word)
        if (
            position < 0
            or lower[position - 1 : position].isalnum()
            or lower[end : end + 1].isalnum()
        ):
            continue
        due_text = text[end:].strip(" :)].")
        seen = context.find_date(due_text) if len(due_text) <= _DAY_MAX else None
        if seen is not None:
            return position, due_text, seen
    return None

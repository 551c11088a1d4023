"""Meetings: who was there, and who has to do what by when."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from canonry.documents.extraction.context import DocumentContext
from canonry.records.domain.interpretations import Found, Unread
from canonry.records.notation.labels import LabelledLine
from canonry.records.notation.parties import parties_in, party_type
from canonry.values.calendar_dates import SeenDate
from canonry.values.languages import languages

_ITEM: Final = re.compile(
    r"(?:[-*+\u2022]|\d{1,2}[.)])\s++(?:\[(?P<done>[ xX])\]\s++)?(?P<text>.+)"
)
_WHO: Final = re.compile(r"(?P<who>[^\W\d_][\w'. -]{0,40}?)\s*+:\s++(?P<what>.+)")
_DAY_MAX: Final = 30
NEXT: Final = "next_meeting"
"""The notion of a meeting that is announced."""


def mentioned(
    lines: Sequence[LabelledLine], context: DocumentContext, title: str
) -> tuple[Found, ...]:
    """The people and tasks that a note of this title lists, and the meeting that it announces."""
    people = tuple(_people(lines, context.language))
    names = [str(person.fields["name"]) for person in people]
    return (*people, *_tasks(lines, context, names), *_announced(lines, context, title))


def _announced(
    lines: Sequence[LabelledLine], context: DocumentContext, title: str
) -> Iterator[Found]:
    """The next meeting, if the note says when it is; it has the note's title, as many have one."""
    for line in lines:
        seen = context.date(line.value) if line.notion == NEXT else None
        if seen is None or seen.value is None:
            continue
        name = f"{line.label}: {title}" if title else line.label
        fields = {"title": name, "start_date": seen.value}
        beside = f"{line.value[: seen.begin]} {line.value[seen.end :]}"
        if any(char.isalnum() for char in beside):
            fields["description"] = line.value
        yield Found(entity_type="event", fields=fields, reasons=(f"label:{NEXT}",))


def _people(lines: Sequence[LabelledLine], language: str) -> Iterator[Found]:
    for line in lines:
        if line.notion == "attendees":
            listed = (
                [line.value] if line.value else [each.lstrip("-*+\u2022 ") for each in line.block]
            )
            for name in dict.fromkeys(
                name for text in listed for name in parties_in(text, language)
            ):
                if party_type(name) == "person":
                    yield Found(
                        entity_type="person", fields={"name": name}, reasons=("label:attendees",)
                    )


def _tasks(
    lines: Sequence[LabelledLine], context: DocumentContext, names: Sequence[str]
) -> Iterator[Found]:
    for line in lines:
        if line.notion != "actions":
            continue
        for text in line.block:
            item = _ITEM.fullmatch(text)
            if item is not None:
                yield _task(item, context, names)


def _task(item: re.Match[str], context: DocumentContext, names: Sequence[str]) -> Found:
    fields: dict[str, Any] = {}
    unread: dict[str, Unread] = {}
    text = item["text"]
    if (due := _due(text, context)) is not None:
        place, said, seen = due
        text = text[:place].rstrip().rstrip("([,;-").rstrip()
        if seen.value is None:
            unread["due_date"] = Unread(value=said, reason=seen.reason)
        else:
            fields["due_date"] = seen.value
    if (who := _WHO.fullmatch(text.strip())) and len(who["who"].split()) <= 3:  # noqa: PLR2004
        fields["assignee"] = _full(who["who"], names)
        text = who["what"]
    fields["title"] = text.strip()
    if item["done"]:
        fields["status"] = "pending" if item["done"] == " " else "completed"
    return Found(entity_type="task", fields=fields, unread=unread, reasons=("label:actions",))


def _due(text: str, context: DocumentContext) -> tuple[int, str, SeenDate] | None:
    """By when something has to be done: where that is said, in which words, and the day."""
    known = languages()
    own = known[context.language].by if context.language else ()
    lower = text.lower()
    for word in sorted({*own, *known["en"].by}, key=len, reverse=True):
        place = lower.rfind(word)
        end = place + len(word)
        if place < 0 or lower[place - 1 : place].isalnum() or lower[end : end + 1].isalnum():
            continue
        said = text[end:].strip(" :)].")
        seen = context.date(said) if len(said) <= _DAY_MAX else None
        if seen is not None:
            return place, said, seen
    return None


def _full(name: str, names: Sequence[str]) -> str:
    """The full name of the one attendee with this first name, else the name as it stands."""
    meant = [each for each in names if each.lower().split()[0] == name.lower()]
    return meant[0] if len(meant) == 1 else name

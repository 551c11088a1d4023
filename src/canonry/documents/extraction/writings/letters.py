"""Letters: what they are about, and when they were written, where no label says it."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from canonry.records.notation.labels import LabelledLine, plain
from canonry.values.calendar_dates import date_in
from canonry.values.languages import languages

_DATELINE: Final = re.compile(r"(?:[^\W\d_][^,:\n\d]{1,40},)?(?P<date>[^,\n]{6,40}?)\.?")
_DATELINE_WORDS: Final = 3
_SUBJECT_WORDS: Final = 12
_ADDRESS: Final = re.compile(r"\d|@|,$")


def dateline_of(lines: Sequence[LabelledLine]) -> str:
    """The date in the line of a letter that says when, and perhaps where, it was written."""
    for line in lines:
        found = None if line.value or line.listed else _DATELINE.fullmatch(line.text)
        seen = None if found is None else date_in(found["date"])
        if found is None or seen is None or not seen.value:
            continue
        around = found["date"][: seen.begin] + found["date"][seen.end :]
        if len(around.split()) < _DATELINE_WORDS:
            return found["date"]
    return ""


def is_letter(lines: Sequence[LabelledLine]) -> bool:
    """Whether somebody is addressed."""
    return _salutation(lines) is not None


def subject_of(lines: Sequence[LabelledLine]) -> str:
    """What a letter is about: the short line behind its salutation, as in Britain, or before it."""
    place = _salutation(lines)
    if place is None:
        return ""
    for near in (place + 1, place - 1):
        line = lines[near] if 0 <= near < len(lines) else None
        if line is not None and _may_be_subject(line):
            return line.text
    return ""


def _salutation(lines: Sequence[LabelledLine]) -> int | None:
    for place, line in enumerate(lines):
        if len(line.text.split()) <= _SUBJECT_WORDS and f"{plain(line.text)} ".startswith(
            _greetings()
        ):
            return place
    return None


def _may_be_subject(line: LabelledLine) -> bool:
    words = line.text.split()
    sentence = line.text.endswith((".", "!", ",", ":")) or line.text[:1].islower()
    said = not line.value and not sentence and not _ADDRESS.search(line.text)
    return said and 1 < len(words) <= _SUBJECT_WORDS and date_in(line.text) is None


@lru_cache(maxsize=1)
def _greetings() -> tuple[str, ...]:
    return tuple(f"{word} " for each in languages().values() for word in each.salutation)

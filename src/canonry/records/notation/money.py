"""The kind, the state and the direction of money, by words and by the marks of formats.

`money.toml` has both. Every reader of bank files and every sum of payments uses these functions.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from canonry.records.notation.labels import plain_label
from canonry.values.calendar_dates import DayOrder
from canonry.values.data_files import read_toml

_TABLES: Final = read_toml(__package__, "money.toml")
BACK: Final = frozenset({"refund", "reversal"})
"""The kinds with which money of an earlier payment comes back."""

_SIGNS: Final = {"out": -1, "into": 1, "": 0}


class Movement(NamedTuple):
    """A movement of money by the mark of a format; `sign` is -1 for money out, 0 if unknown."""

    sign: int
    kind: str
    state: str


def movement_of(notation: str, mark: str) -> Movement:
    """Return the movement that a mark means in `mt940` or `ofx`."""
    direction, kind, state = _TABLES[notation].get(mark.upper(), ("", "", "booked"))
    return Movement(_SIGNS[direction], kind, state)


def kind_of(cell: Any) -> str:
    """Return `payment`, `repaid`, `refund`, `fee` or `reversal` if a cell names it; else empty."""
    return _read_word("kinds", cell)


def state_of(cell: Any) -> str:
    """Return `booked`, `paid`, `pending`, `denied` or `reverted` if a cell says it; else empty."""
    return _read_word("states", cell)


def is_unbooked(cell: Any) -> bool:
    """Return whether a cell says that a payment is pending, denied or reverted."""
    return state_of(cell) in {"pending", "denied", "reverted"}


def side_of(cell: Any) -> int:
    """Return -1 for debit, 1 for credit, 0 if a cell names neither."""
    return _SIGNS[_read_word("directions", cell)]


def is_reversal(purpose: str | None) -> bool:
    """Return whether a purpose says that an earlier payment was returned."""
    return _REVERSAL.search(plain_label(purpose or "")) is not None


def is_pending(purpose: str | None) -> bool:
    """Return whether a purpose begins with a word for a line that is not booked yet."""
    return _PENDING.match(plain_label(purpose or "")) is not None


def order_of_country(text: str) -> DayOrder | None:
    """Return the order of day and month in the only country whose banks use words of the text."""
    day, month = _DAY_FIRST.search(plain_label(text)), _MONTH_FIRST.search(plain_label(text))
    if bool(day) is bool(month):
        return None
    return DayOrder.DAY if day else DayOrder.MONTH


def _read_word(table: str, cell: Any) -> str:
    return _word_meanings(table).get(plain_label(cell), "") if isinstance(cell, str) else ""


@lru_cache(maxsize=5)  # built from a table once
def _word_meanings(table: str) -> Mapping[str, str]:
    every = _TABLES[table].items()
    return {" ".join(e.split()): meant for meant, words in every for e in words.split("|")}


def _any_of(table: str, name: str) -> str:
    return "|".join(each for each, meant in _word_meanings(table).items() if meant == name)


_REVERSAL: Final = re.compile(rf"\b(?:{_any_of('kinds', 'reversal')})(?!\w)")
_PENDING: Final = re.compile(rf"\b(?:{_any_of('beginnings', 'pending')})(?!\w)")
_DAY_FIRST: Final = re.compile(rf"\b(?:{_any_of('orders', 'day')})(?!\w)")
_MONTH_FIRST: Final = re.compile(rf"\b(?:{_any_of('orders', 'month')})(?!\w)")

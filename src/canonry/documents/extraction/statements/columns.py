"""Columns of bank statements: what each holds, by its title in any language and by its cells.

A title may have several meanings: Italian *Valuta* is a currency in one export and a day in the
next. What stands below it decides.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from canonry.canon.ports.files import Cell
from canonry.records.notation.labels import plain
from canonry.records.notation.numbers import currency_in, is_currency, number_in
from canonry.values.calendar_dates import date_in
from canonry.values.languages import columns_named, notion_of

HEADER_WITHIN: Final = 60
"""So many rows may stand above the titles of the columns."""

DATES: Final = ("made", "booked", "value")
SUMS: Final = ("amount", "out", "into")
_NUMBERS: Final = frozenset({*SUMS, "balance", "before", "original"})
_ORDER: Final = (
    *(*DATES, *SUMS, "balance", "before", "side", "currency", "account", "id"),
    *("original", "original_currency", "payer", "payee", "party", "purpose"),
)
_TELLING: Final = frozenset({"party", "purpose", "balance", "value", "currency", "side", "payee"})
_OTHERS: Final = frozenset({"invoice_number", "due", "vendor", "customer"})
"""What a list of bills says of each, and no bank of a movement."""

_TEXTS: Final = frozenset({"party", "purpose"})
"""What a column that says the same of every line hardly is, where another differs."""

_SAMPLE: Final = 200
_BRACKETS: Final = re.compile(r"[(\[][^()\[\]]*+[)\]]")
_EURO: Final = re.compile(r"\beuros?\b", re.IGNORECASE)
_MONEY: Final = re.compile(r"[-+\u2212()\s'\u2019.,\d]|[^\W\d_]{1,4}\.?|[^\w\s]")
_DAY: Final = re.compile(r"\s*\d{4}[01]\d[0-3]\d\s*")
_WORDY: Final = re.compile(r"[^\W\d_]{5,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Where in a row what stands; `languages` are those of the titles that say so.

    `numbered` are the places of columns that go on with the purpose.
    """

    header: int
    titles: tuple[str, ...]
    places: Mapping[str, int]
    currency: str | None = None
    languages: frozenset[str] = frozenset()
    numbered: tuple[int, ...] = ()

    def cell(self, row: Sequence[Cell], notion: str) -> Cell:
        """What a row says of a notion; None where it says nothing."""
        place = self.places.get(notion)
        cell = None if place is None or place >= len(row) else row[place]
        return None if cell == "" else cell


def columns_of(rows: Sequence[Sequence[Cell]]) -> Columns | None:
    """The columns of a statement, None where the rows are none."""
    for place, row in enumerate(rows[:HEADER_WITHIN]):
        titles = [cell.strip() if isinstance(cell, str) else "" for cell in row]
        if sum(1 for title in titles if title) > 2 and _may_be(titles):  # noqa: PLR2004
            found = _found(place, titles, rows[place + 1 : place + 1 + _SAMPLE])
            if found is not None:
                return found
    return None


def _may_be(titles: Sequence[str]) -> bool:
    notions = {notion for title in titles for notion in _notions(title)}
    labels = {notion_of(title)[0] for title in map(plain, titles) if title}
    return bool(notions & set(DATES) and notions & set(SUMS)) and not labels & _OTHERS


def _found(header: int, titles: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Columns | None:
    width = max((len(row) for row in rows), default=0)
    named = [*titles, *("" for _ in range(width - len(titles)))]
    lines = [row for row in rows if any(cell is not None and is_day(cell) for cell in row)]
    cells = [
        [row[place] for row in lines if place < len(row) and row[place] not in {None, ""}]
        for place in range(width)
    ]
    meant = [_notions(title) for title in named[:width]]
    places: dict[str, int] = {}
    languages: set[str] = set()
    for notion in _ORDER:
        ranked = sorted(
            (notion in _TEXTS and len(set(cells[i])) == 1, meant[i][notion][0], i)
            for i in range(width)
            if notion in meant[i] and i not in places.values() and _holds(notion, cells[i])
        )
        if ranked:
            best = ranked[0][-1]
            places[notion] = best
            languages.add(meant[best][notion][1])
    _side_without_title(named, cells, places)
    if not _is_statement(places):
        return None
    money = next(name for name in ("amount", "out", "into") if name in places)
    return Columns(
        header=header,
        titles=tuple(named),
        places=places,
        currency=currency_in(in_codes(named[places[money]])),
        languages=frozenset(languages),
        numbered=tuple(_going_on(named, places.get("purpose"))),
    )


def _is_statement(places: Mapping[str, int]) -> bool:
    dated = any(name in places for name in DATES)
    return dated and any(name in places for name in SUMS) and bool(_TELLING & places.keys())


def _notions(title: str) -> Mapping[str, tuple[int, str]]:
    """What a title may mean: as it is, without brackets, its currency or its number."""
    whole = plain(title).replace("# ", "").strip()
    bare = plain(_BRACKETS.sub(" ", title)).replace("# ", "").strip()
    forms = (whole, bare, _without_money(whole), _without_money(bare), whole.rstrip(" 123456789"))
    for form in dict.fromkeys(forms):
        if form and (found := columns_named(form)):
            return found
    return {}


def _without_money(title: str) -> str:
    words = title.split()
    while len(words) > 1 and (is_currency(words[-1].upper()) or words[-1] in _MONEY_WORDS):
        words.pop()
    return " ".join(words)


_MONEY_WORDS: Final = frozenset({"euro", "euros", "in", "en", "em", "w"})


def in_codes(title: str) -> str:
    """A title with its currency as a code."""
    return _EURO.sub("EUR", title).upper()


def _holds(notion: str, cells: Sequence[Cell]) -> bool:
    """Whether what stands in a column can be of a notion."""
    if not cells:
        return False
    if notion in DATES:
        return _most(cells, is_day)
    if notion in _NUMBERS:
        return _most(cells, is_sum)
    if notion == "side":
        return all(side_of(cell) for cell in cells)
    if notion in {"currency", "original_currency"}:
        return all(is_currency(str(cell).strip().upper()) for cell in cells)
    return True


def _most(cells: Sequence[Cell], is_one: Callable[[Cell], bool]) -> bool:
    return 2 * sum(1 for cell in cells if is_one(cell)) > len(cells)


def is_day(cell: Cell) -> bool:
    """Whether a cell holds a date and nothing else to speak of."""
    if isinstance(cell, int | float):
        return bool(_DAY.fullmatch(str(cell)))
    return _is_written_day(str(cell))


@lru_cache(maxsize=4_096)
def _is_written_day(text: str) -> bool:
    return bool(_DAY.fullmatch(text)) or (len(text) < 32 and date_in(text) is not None)  # noqa: PLR2004


def is_sum(cell: Cell) -> bool:
    """Whether a cell holds a number and nothing else but a currency and a sign."""
    if isinstance(cell, bool):
        return False
    if isinstance(cell, int | float):
        return True
    text = str(cell)
    return len(text) < 40 and not _WORDY.search(text) and number_in(text) is not None  # noqa: PLR2004


def side_of(cell: Cell) -> int:
    """-1 for what went out, 1 for what came in, 0 where a cell does not say so."""
    said = columns_named(plain(str(cell)))
    return ("came" in said) - ("went" in said)


def _side_without_title(
    titles: Sequence[str], cells: Sequence[Sequence[Cell]], places: dict[str, int]
) -> None:
    """A column without a title beside the amount may say which way it went."""
    beside = places.get("amount", -2) + 1
    untitled = 0 < beside < len(titles) and not titles[beside] and bool(cells[beside])
    if "side" not in places and untitled and all(map(side_of, cells[beside])):
        places["side"] = beside


def _going_on(titles: Sequence[str], purpose: int | None) -> Iterator[int]:
    """The columns behind the purpose that have its title with the next numbers."""
    if purpose is None or not titles[purpose][-1:].isdigit():
        return
    stem = titles[purpose][:-1]
    for place in range(purpose + 1, len(titles)):
        if titles[place][:-1] == stem and titles[place][-1:].isdigit():
            yield place

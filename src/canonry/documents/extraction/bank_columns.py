"""Columns of bank statements: their meaning, the notation of amounts, and proofs by balances."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, TypeAlias

from canonry.canon.ports.files import Cell
from canonry.documents.extraction.kinds import TABLES
from canonry.documents.parsers.findings import PATH
from canonry.records.domain.interpretations import Unread
from canonry.records.notation.labels import plain
from canonry.records.notation.money import BACK, is_unbooked, kind_of, side_of
from canonry.records.notation.numbers import (
    CURRENCIES,
    SeenNumber,
    currency_in,
    mark_in,
    number_in,
    unit_in,
)
from canonry.values.calendar_dates import DayOrder, SeenDate, day_in
from canonry.values.languages import columns_named, notion_of

# Columns are recognized by their titles in any language and by their cells.
#
# A title may have several meanings: Italian *Valuta* is a currency in one export and a date in
# another. The cells below it decide.

HEADER_WITHIN: Final = 60
"""The number of rows in which the titles are searched."""

DATES: Final = ("made", "booked", "value")
SUMS: Final = ("amount", "out", "into")
_NUMBERS: Final = frozenset({*SUMS, "balance", "before", "original", "fee", "net", "gross"})
_ORDER: Final = (*DATES, *SUMS, *TABLES["words"]["other_columns"].split())
_SHORT: Final = TABLES["abbreviations"]
"""Abbreviations in titles."""
_TELLING: Final = frozenset({"party", "purpose", "balance", "value", "currency", "side", "payee"})
_OTHERS: Final = frozenset({"invoice_number", "due", "vendor", "customer"})
"""Titles of lists of invoices, which no bank statement has."""

_TEXTS: Final = frozenset({"party", "purpose"})
"""Notions for which a column with different cells is preferred to a constant one."""

_SAMPLE: Final = 200
_BRACKETS: Final = re.compile(r"[(\[][^()\[\]]*+[)\]]")
_EURO: Final = re.compile(r"\beuros?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The indexes of columns by notion; `languages` are those of the titles.

    `numbered` are the indexes of columns that continue the purpose.
    """

    header: int
    titles: tuple[str, ...]
    places: Mapping[str, int]
    currency: str | None = None
    languages: frozenset[str] = frozenset()
    numbered: tuple[int, ...] = ()

    @property
    def is_net(self) -> bool:
        """Whether the amounts are net, from which fees are taken already."""
        at = self.places.get("amount")
        return at is not None and "net" in _notions(self.titles[at])

    def cell(self, row: Sequence[Cell], notion: str) -> Cell:
        """Return the cell of a notion in a row; None if it is empty."""
        place = self.places.get(notion)
        cell = None if place is None or place >= len(row) else row[place]
        return None if cell == "" else cell


def columns_of(rows: Sequence[Sequence[Cell]]) -> Columns | None:
    """Find the columns of a bank statement; None if the rows are no statement."""
    for place, row in enumerate(rows[:HEADER_WITHIN]):
        titles = [cell.strip() if isinstance(cell, str) else "" for cell in row]
        meant = [title for title in titles if title and title[0] != PATH]
        if len(meant) > 2 and _may_be(meant):  # noqa: PLR2004
            found = _found(place, titles, rows[place + 1 : place + 1 + _SAMPLE])
            if found is not None:
                return found
    return _untitled(rows)


def _untitled(rows: Sequence[Sequence[Cell]]) -> Columns | None:
    """Find the columns of lines without titles, if the balances prove which is which."""
    width = max(map(len, rows), default=0)
    columns = [[row[at] for row in rows if at < len(row)] for at in range(width)]
    days = [at for at, cells in enumerate(columns) if all(map(is_day, cells))]
    sums = [at for at, cells in enumerate(columns) if at not in days and all(map(is_sum, cells))]
    texts = [at for at in range(width) if at not in {*days, *sums}]
    if len(rows) < _LINES_MIN or not days or len(sums) != 2 or not texts:  # noqa: PLR2004
        return None
    purpose = max(texts, key=lambda at: len({str(cell) for cell in columns[at]}))
    for amount, balance in (sums, sums[::-1]):
        places = {"booked": days[0], "amount": amount, "balance": balance, "purpose": purpose}
        titles = tuple(f"column {at + 1}" for at in range(width))
        found = Columns(header=-1, titles=titles, places=places)
        if sums_of(found, rows, ())[1].whole:
            return found
    return None


def _may_be(titles: Sequence[str]) -> bool:
    notions = {notion for title in titles for notion in _notions(title)}
    # *From* may be the payer here and the vendor of a bill.
    others = (title for title in titles if title and not {*_notions(title)} - {"invoice"})
    labels = {notion_of(plain(title))[0] for title in others}
    netted = {"net", "fee"} <= notions
    paid = netted or notions & set(SUMS)
    return bool(notions & set(DATES) and paid and (netted or not labels & _OTHERS))


def _found(header: int, titles: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Columns | None:
    width = max((len(row) for row in rows), default=0)
    named = [*titles, *("" for _ in range(width - len(titles)))]
    lines = [row for row in rows if any(cell is not None and is_day(cell) for cell in row)]
    cells = [
        [row[place] for row in lines if place < len(row) and row[place] not in {None, ""}]
        if named[place][:1] != PATH
        else []
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
    _read_kinds(cells, places)
    if "amount" not in places and {"net", "fee"} <= places.keys():
        places["amount"] = places.pop("net")
    if "account" not in places and "iban" in places:
        places["account"] = places.pop("iban")
    dated, paid = set(DATES) & places.keys(), set(SUMS) & places.keys()
    told = _TELLING & places.keys() or {"out", "into"} <= places.keys()
    if not (dated and paid and told):
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


def _notions(title: str) -> Mapping[str, tuple[int, str]]:
    """Return the meanings of a title, also without brackets, currency or number."""
    whole = plain(title).replace("# ", "").strip()
    bare = plain(_BRACKETS.sub(" ", title)).replace("# ", "").strip()
    spelt = " ".join(_SHORT.get(word, word) for word in whole.split())
    forms = (whole, bare, _without_money(whole), _without_money(bare), whole.rstrip(" 123456789"))
    for form in dict.fromkeys((*forms, spelt)):
        if form and (found := columns_named(form)):
            return found
    return {}


def _without_money(title: str) -> str:
    words = title.split()
    while len(words) > 1 and (words[-1].upper() in CURRENCIES or words[-1] in _MONEY_WORDS):
        words.pop()
    return " ".join(words)


_MONEY_WORDS: Final = frozenset({"euro", "euros", "in", "en", "em", "w"})


def in_codes(title: str) -> str:
    """Write the currency in a title as a code."""
    return _EURO.sub("EUR", title).upper()


def _holds(notion: str, cells: Sequence[Cell]) -> bool:
    """Tell whether the cells of a column fit a notion."""
    if not cells:
        return False
    if notion in DATES:
        return _most(cells, is_day)
    if notion in _NUMBERS:
        return _most(cells, is_sum)
    if notion in {"side", "state", "iban"}:
        sided, unbooked = all(map(side_of, cells)), any(map(is_unbooked, cells))
        # Accounts that change from line to line are those of the other parties.
        repeated = len(cells) > 1 and 2 * len(set(cells)) <= len(cells)
        return {"side": sided, "state": unbooked, "iban": repeated}[notion]
    if notion in {"currency", "original_currency"}:
        return all(str(cell).strip().upper() in CURRENCIES for cell in cells)
    return True


def _most(cells: Sequence[Cell], is_one: Callable[[Cell], bool]) -> bool:
    return 2 * sum(1 for cell in cells if is_one(cell)) > len(cells)


@lru_cache(maxsize=4_096)
def seen_day(text: str, order: DayOrder | None = None) -> SeenDate | None:
    """Read a text that is one date; cached, because every cell is asked several times."""
    return day_in(text, order)


def is_day(cell: Cell) -> bool:
    """Tell whether a cell is a date."""
    return not isinstance(cell, bool | None) and seen_day(str(cell)) is not None


def is_sum(cell: Cell) -> bool:
    """Tell whether a cell has only a number, a currency and a sign."""
    seen = number_of(cell, None)
    return seen is not None and seen.reason != _NO_SUM


def _read_kinds(cells: Sequence[Sequence[Cell]], places: dict[str, int]) -> None:
    """Use the column with the most purchases and payments as the kind."""
    known = [sum(1 for cell in column if kind_of(cell)) for column in cells]
    if not {"side", "kind"} & places.keys() and max(known, default=0):
        places["kind"] = known.index(max(known))


def _side_without_title(
    titles: Sequence[str], cells: Sequence[Sequence[Cell]], places: dict[str, int]
) -> None:
    """Use an untitled column beside the amount as the side if its cells name sides."""
    beside = places.get("amount", -2) + 1
    untitled = 0 < beside < len(titles) and not titles[beside] and bool(cells[beside])
    if "side" not in places and untitled and all(map(side_of, cells[beside])):
        places["side"] = beside


def _going_on(titles: Sequence[str], purpose: int | None) -> Iterator[int]:
    """Yield the columns after the purpose that have its title with other numbers."""
    if purpose is None or not titles[purpose][-1:].isdigit():
        return
    stem = titles[purpose][:-1]
    for place in range(purpose + 1, len(titles)):
        if titles[place][:-1] == stem and titles[place][-1:].isdigit():
            yield place


Booked: TypeAlias = tuple[Decimal | None, Decimal | None]
"""The amount of a line and the balance after it, where they are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The number of steps between lines, and of those that the balances confirm.

    `broken` are the indexes of lines that do not follow. `newest_first` is the order of the lines.
    """

    steps: int
    held: int
    newest_first: bool
    broken: tuple[int, ...]

    @property
    def whole(self) -> bool:
        """Whether the balances confirm every step."""
        return 0 < self.held == self.steps

    @property
    def runs(self) -> bool:
        """Whether the balances confirm at least half of the steps."""
        return self.held > 0 and 2 * self.held >= self.steps


def _in(lines: Sequence[Booked], newest_first: bool) -> Proof:  # noqa: FBT001
    steps, broken = 0, []
    for place, (above, below) in enumerate(pairwise(lines), 1):
        earlier, later = (below, above) if newest_first else (above, below)
        if earlier[1] is None or later[1] is None:
            continue
        steps += 1
        if later[0] is None or earlier[1] + later[0] != later[1]:
            broken.append(place)
    return Proof(
        steps=steps, held=steps - len(broken), newest_first=newest_first, broken=tuple(broken)
    )


Cells: TypeAlias = Sequence[Cell]
_MARKS: Final = (".", ",")
_LINES_MIN: Final = 3
_WAYS: Final = {"payment": -1, "fee": -1, "refund": 1, "reversal": 1}
_THANKS: Final = re.compile(
    r"\bpayment\b.{0,20}\b(?:thank|received)|\bautopay\b|\bzahlung\b.{0,20}\b(?:dank|erhalten)"
    r"|\bpaiement\b.{0,20}\b(?:merci|recu)|\bpago recibido\b",
    re.IGNORECASE,
)
"""Texts of payments to a card."""
_SUFFIX: Final = re.compile(r"(?<=\d)\s*([A-Za-z]{1,2})\.?\s*$")
_NO_SUM: Final = "it is more than a number and its currency"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """Reads the amounts of a file with this decimal mark.

    `turned`: debits have a minus in their own column. `fee` is the sign with which fees are added.
    `card` is -1 if money out has a plus, and 0 if both directions have one.
    """

    columns: Columns
    mark: str | None
    turned: bool
    fee: int = 0
    card: int = 1

    def paid(self, row: Cells) -> SeenNumber | Unread | None:
        """Return the signed amount of a row; unread if the side is unclear."""
        cell = self.columns.cell(row, "amount")
        seen = number_of(cell, self.mark)
        if seen is None:
            return self._of_two(row)
        if seen.value is None:
            return Unread(value=cell, reason=seen.reason)
        side = self.columns.cell(row, "side")
        way = (side_of(side) if side is not None else 0) or _suffixed(cell)
        if self.card < 0:
            return SeenNumber(value=-seen.value)
        if not self.card:
            way = _WAYS.get(kind_of(self.columns.cell(row, "kind")), 0)
            if not way or seen.value < 0:
                return Unread(value=cell, reason="the file does not say in which direction it went")
        if seen.value < 0 < way:
            return Unread(value=cell, reason="its sign contradicts the side that is named")
        return _signed(seen.value, way) if way else seen

    def charged(self, row: Cells) -> Decimal:
        """Return the signed fee that is not a part of the amount."""
        fee = decimal_of(number_of(self.columns.cell(row, "fee"), self.mark))
        return (fee or Decimal()) * self.fee

    def balance(self, row: Cells) -> SeenNumber | None:
        """Return the balance after a row."""
        cell = self.columns.cell(row, "balance")
        seen = number_of(cell, self.mark)
        way = _suffixed(cell)
        return seen if not way or seen is None or seen.value is None else _signed(seen.value, way)

    def _of_two(self, row: Cells) -> SeenNumber | Unread | None:
        """Return the amount from one of two columns."""
        sides = []
        for name, way in (("out", 1 if self.turned else -1), ("into", 1)):
            cell = self.columns.cell(row, name)
            seen = number_of(cell, self.mark)
            if seen is not None and seen.value is None:
                return Unread(value=cell, reason=seen.reason)
            if seen is not None and seen.value:
                sides.append(SeenNumber(value=seen.value * way))
        if len(sides) > 1:
            both = " / ".join(str(self.columns.cell(row, name)) for name in ("out", "into"))
            return Unread(value=both, reason="it went out and came in")
        return sides[0] if sides else None


def sums_of(columns: Columns, rows: Sequence[Cells], around: Sequence[Cells]) -> tuple[Sums, Proof]:
    """Find the notation of the amounts of a file, and the proof by its running balances.

    The decimal mark is that of the amounts, else of the other rows. If the balances prove only one
    reading, that one is used.
    """
    cells = (columns.cell(row, name) for row in rows for name in (*SUMS, "balance", "before"))
    own = mark_in("\n".join(cell for cell in cells if isinstance(cell, str)))
    mark = own or mark_in("\n".join(c for row in around for c in row if isinstance(c, str)))
    card = _card_of(columns, rows[:_SAMPLE], mark)
    if card != 1 and _tried(columns, rows, mark, 1, 0)[1].whole:
        card = 1
    if "balance" not in columns.places:
        return _tried(columns, rows, mark, card, _fee_of(columns, rows, mark))
    first = _tried(columns, rows, mark, card, 0)
    if first[1].whole:
        return first
    others = (_tried(columns, rows, each, card, 0) for each in _MARKS if each != mark)
    whole = [each for each in others if each[1].whole]
    if len(whole) == 1:
        return whole[0]
    signs = (-1, 1) if "fee" in columns.places else ()
    fees = (_tried(columns, rows, mark, card, sign) for sign in signs)
    return max((first, *fees), key=lambda each: each[1].held)


def _card_of(columns: Columns, rows: Sequence[Cells], mark: str | None) -> int:
    """Return -1 if money out has a plus, as on many cards; 0 if nothing tells; else 1."""
    if "amount" not in columns.places or "side" in columns.places:
        return 1
    signs: dict[str, list[bool]] = {}
    for row in rows:
        amount = decimal_of(number_of(columns.cell(row, "amount"), mark))
        kind = kind_of(columns.cell(row, "kind"))
        if amount:
            texts = (columns.cell(row, name) for name in ("purpose", "party"))
            thanks = any(isinstance(each, str) and _THANKS.search(each) for each in texts)
            kind = "thanked" if thanks and kind != "payment" else kind
            signs.setdefault(kind, []).append(amount > 0)
    every = [plus for kind, some in signs.items() if kind != "thanked" for plus in some]
    bought, thanked = signs.get("payment", []), signs.get("thanked", [])
    back = [*thanked, *(plus for kind in ("repaid", *BACK) for plus in signs.get(kind, []))]
    if bought:
        if 2 * sum(bought) <= len(bought):
            return 1
        return -1 if back and not any(back) else 0
    holder = any("card" in _notions(title) for title in columns.titles)
    against = bool(thanked) and not any(thanked)
    if against and (holder or 2 * sum(every) == len(every)):
        return -1 if holder else 0
    if not (thanked or holder) or 2 * sum(every) <= len(every):
        return 1
    return -1 if (thanked and not any(thanked)) or (holder and not all(every)) else int(not holder)


def _fee_of(columns: Columns, rows: Sequence[Cells], mark: str | None) -> int:
    """Return the sign with which fees make the net amounts; 0 if there are none."""
    named = ("amount", "fee", "net")
    read = ([decimal_of(number_of(columns.cell(row, n), mark)) for n in named] for row in rows)
    known = [(a, fee, net) for a, fee, net in read if a is not None and fee and net is not None]
    fits = (sign for sign in (-1, 1) if all(a + sign * fee == net for a, fee, net in known))
    return next(fits, 0) if known else 0


def _tried(
    columns: Columns, rows: Sequence[Cells], mark: str | None, card: int, fee: int
) -> tuple[Sums, Proof]:
    seen = (number_of(columns.cell(row, "out"), mark) for row in rows)
    signs = {each.value > 0 for each in seen if each is not None and each.value}
    sums = Sums(columns=columns, mark=mark, turned=signs == {False}, card=card, fee=fee)
    runs: dict[Any, list[int]] = {}
    for place, row in enumerate(rows if "balance" in columns.places else ()):
        key = (columns.cell(row, "currency"), columns.cell(row, "account"))
        runs.setdefault(key, []).append(place)
    proofs = []
    for run in runs.values():  # each account has a balance of its own
        lines = []
        for row in (rows[place] for place in run):
            paid = decimal_of(sums.paid(row))
            paid = None if paid is None else paid + sums.charged(row)
            lines.append((paid, decimal_of(sums.balance(row))))
        both = (_in(lines, newest) for newest in (False, True))
        proof = max(both, key=lambda each: each.held)
        proofs.append(replace(proof, broken=tuple(run[place] for place in proof.broken)))
    return sums, Proof(
        steps=sum(each.steps for each in proofs),
        held=sum(each.held for each in proofs),
        newest_first=bool(proofs) and max(proofs, key=lambda each: each.held).newest_first,
        broken=tuple(sorted(place for each in proofs for place in each.broken)),
    )


def decimal_of(seen: SeenNumber | Unread | None) -> Decimal | None:
    """Return the number if it is clear."""
    return seen.value if isinstance(seen, SeenNumber) else None


def number_of(cell: Cell, mark: str | None) -> SeenNumber | None:
    """Return the number of a cell; unclear if it has more text, None if it has no digit."""
    if isinstance(cell, str):
        bare = cell[: -len(found[0])] if (found := _side_behind(cell)) else cell
        seen = number_in(bare, mark, whole=True)
        if seen is None and any(map(str.isdigit, cell)):
            return SeenNumber(value=None, reason=_NO_SUM)
        return seen
    return None if cell is None or isinstance(cell, bool) else SeenNumber(value=Decimal(repr(cell)))


def _side_behind(cell: Cell) -> re.Match[str] | None:
    """Return the letters behind an amount that name a side, as in `12,50 S`."""
    if not isinstance(cell, str) or unit_in(cell):
        return None
    found = _SUFFIX.search(cell)
    return found if found and side_of(found[1]) else None


def _suffixed(cell: Cell) -> int:
    found = _side_behind(cell)
    return side_of(found[1]) if found else 0


def _signed(value: Decimal, way: int) -> SeenNumber:
    return SeenNumber(value=abs(value) * way)

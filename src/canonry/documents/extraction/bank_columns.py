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
from canonry.records.domain.interpretations import UnreadValue
from canonry.records.notation.labels import plain_label
from canonry.records.notation.money import BACK, is_unbooked, kind_of, side_of
from canonry.records.notation.numbers import (
    CURRENCIES,
    SeenNumber,
    currency_in,
    mark_in,
    number_in,
    unit_in,
)
from canonry.values.calendar_dates import DayOrder, SeenDate, read_day
from canonry.values.languages import columns_named, meaning_of

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
_DISTINCTIVE: Final = frozenset(
    {"party", "purpose", "balance", "value", "currency", "side", "payee"}
)
_OTHERS: Final = frozenset({"invoice_number", "due", "vendor", "customer"})
"""Titles of lists of invoices, which no bank statement has."""

_TEXTS: Final = frozenset({"party", "purpose"})
"""Notions for which a column with different cells is preferred to a constant one."""

_SAMPLE: Final = 200  # the columns of a year's rows show in the first ones
_BRACKETS: Final = re.compile(r"[(\[][^()\[\]]*+[)\]]")
_EURO: Final = re.compile(r"\beuros?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The indexes of columns by notion; `languages` are those of the titles.

    `numbered` are the indexes of columns that continue the purpose.
    """

    header: int
    titles: tuple[str, ...]
    indexes: Mapping[str, int]
    currency: str | None = None
    languages: frozenset[str] = frozenset()
    numbered: tuple[int, ...] = ()

    @property
    def is_net(self) -> bool:
        """Return whether the amounts are net, from which fees are taken already."""
        at = self.indexes.get("amount")
        return at is not None and "net" in _title_meanings(self.titles[at])

    def cell_of(self, row: Sequence[Cell], meaning: str) -> Cell:
        """Return the cell of a notion in a row; None if it is empty."""
        index = self.indexes.get(meaning)
        cell = None if index is None or index >= len(row) else row[index]
        return None if cell == "" else cell


def columns_of(rows: Sequence[Sequence[Cell]]) -> Columns | None:
    """Find the columns of a bank statement; None if the rows are no statement."""
    for index, row in enumerate(rows[:HEADER_WITHIN]):
        titles = [cell.strip() if isinstance(cell, str) else "" for cell in row]
        meant = [title for title in titles if title and title[0] != PATH]
        if len(meant) > 2 and _may_be_statement(meant):  # noqa: PLR2004
            found = _find_columns(index, titles, rows[index + 1 : index + 1 + _SAMPLE])
            if found is not None:
                return found
    return _columns_without_titles(rows)


def _columns_without_titles(rows: Sequence[Sequence[Cell]]) -> Columns | None:
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
        indexes = {"booked": days[0], "amount": amount, "balance": balance, "purpose": purpose}
        titles = tuple(f"column {at + 1}" for at in range(width))
        found = Columns(header=-1, titles=titles, indexes=indexes)
        if sums_of(found, rows, ())[1].is_complete:
            return found
    return None


def _may_be_statement(titles: Sequence[str]) -> bool:
    meanings = {meaning for title in titles for meaning in _title_meanings(title)}
    # *From* may be the payer here and the vendor of a bill.
    others = (title for title in titles if title and not {*_title_meanings(title)} - {"invoice"})
    labels = {meaning_of(plain_label(title))[0] for title in others}
    netted = {"net", "fee"} <= meanings
    paid = netted or meanings & set(SUMS)
    return bool(meanings & set(DATES) and paid and (netted or not labels & _OTHERS))


def _find_columns(
    header: int, titles: Sequence[str], rows: Sequence[Sequence[Cell]]
) -> Columns | None:
    width = max((len(row) for row in rows), default=0)
    named = [*titles, *("" for _ in range(width - len(titles)))]
    lines = [row for row in rows if any(cell is not None and is_day(cell) for cell in row)]
    cells = [
        [row[index] for row in lines if index < len(row) and row[index] not in {None, ""}]
        if named[index][:1] != PATH
        else []
        for index in range(width)
    ]
    meant = [_title_meanings(title) for title in named[:width]]
    indexes: dict[str, int] = {}
    languages: set[str] = set()
    for meaning in _ORDER:
        ranked = sorted(
            (meaning in _TEXTS and len(set(cells[i])) == 1, meant[i][meaning][0], i)
            for i in range(width)
            if meaning in meant[i] and i not in indexes.values() and _fits_cells(meaning, cells[i])
        )
        if ranked:
            best = ranked[0][-1]
            indexes[meaning] = best
            languages.add(meant[best][meaning][1])
    _side_without_title(named, cells, indexes)
    # The column with the most purchases and payments has the kind.
    known = [sum(1 for cell in column if kind_of(cell)) for column in cells]
    if not {"side", "kind"} & indexes.keys() and max(known, default=0):
        indexes["kind"] = known.index(max(known))
    if "amount" not in indexes and {"net", "fee"} <= indexes.keys():
        indexes["amount"] = indexes.pop("net")
    if "account" not in indexes and "iban" in indexes:
        indexes["account"] = indexes.pop("iban")
    dated, paid = set(DATES) & indexes.keys(), set(SUMS) & indexes.keys()
    is_distinctive = _DISTINCTIVE & indexes.keys() or {"out", "into"} <= indexes.keys()
    if not (dated and paid and is_distinctive):
        return None
    money = next(name for name in ("amount", "out", "into") if name in indexes)
    return Columns(
        header=header,
        titles=tuple(named),
        indexes=indexes,
        currency=currency_in(in_codes(named[indexes[money]])),
        languages=frozenset(languages),
        numbered=tuple(_continued_columns(named, indexes.get("purpose"))),
    )


def _title_meanings(title: str) -> Mapping[str, tuple[int, str]]:
    """Return the meanings of a title, also without brackets, currency or number."""
    whole = plain_label(title).replace("# ", "").strip()
    bare = plain_label(_BRACKETS.sub(" ", title)).replace("# ", "").strip()
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


def _fits_cells(meaning: str, cells: Sequence[Cell]) -> bool:
    """Return whether the cells of a column fit a notion."""
    if not cells:
        return False
    if meaning in DATES:
        return _is_majority(cells, is_day)
    if meaning in _NUMBERS:
        return _is_majority(cells, is_sum)
    if meaning in {"side", "state", "iban"}:
        sided, unbooked = all(map(side_of, cells)), any(map(is_unbooked, cells))
        # Accounts that change from line to line are those of the other parties.
        repeated = len(cells) > 1 and 2 * len(set(cells)) <= len(cells)
        return {"side": sided, "state": unbooked, "iban": repeated}[meaning]
    if meaning in {"currency", "original_currency"}:
        return all(str(cell).strip().upper() in CURRENCIES for cell in cells)
    return True


def _is_majority(cells: Sequence[Cell], is_one: Callable[[Cell], bool]) -> bool:
    return 2 * sum(1 for cell in cells if is_one(cell)) > len(cells)


@lru_cache(maxsize=4_096)
def seen_day(text: str, order: DayOrder | None = None) -> SeenDate | None:
    """Read a text that is one date; cached, because every cell is asked several times."""
    return read_day(text, order)


def is_day(cell: Cell) -> bool:
    """Return whether a cell is a date."""
    return not isinstance(cell, bool | None) and seen_day(str(cell)) is not None


def is_sum(cell: Cell) -> bool:
    """Return whether a cell has only a number, a currency and a sign."""
    seen = number_of(cell, None)
    return seen is not None and seen.reason != _NO_SUM


def _side_without_title(
    titles: Sequence[str], cells: Sequence[Sequence[Cell]], indexes: dict[str, int]
) -> None:
    """Use an untitled column beside the amount as the side if its cells name sides."""
    next_index = indexes.get("amount", -2) + 1
    untitled = 0 < next_index < len(titles) and not titles[next_index] and bool(cells[next_index])
    if "side" not in indexes and untitled and all(map(side_of, cells[next_index])):
        indexes["side"] = next_index


def _continued_columns(titles: Sequence[str], purpose: int | None) -> Iterator[int]:
    """Yield the columns after the purpose that have its title with other numbers."""
    if purpose is None or not titles[purpose][-1:].isdigit():
        return
    stem = titles[purpose][:-1]
    for index in range(purpose + 1, len(titles)):
        if titles[index][:-1] == stem and titles[index][-1:].isdigit():
            yield index


BookedAmount: TypeAlias = tuple[Decimal | None, Decimal | None]
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
    def is_complete(self) -> bool:
        """Return whether the balances confirm every step."""
        return 0 < self.held == self.steps

    @property
    def is_running(self) -> bool:
        """Return whether the balances confirm at least half of the steps."""
        return self.held > 0 and 2 * self.held >= self.steps


def _proof_in_order(lines: Sequence[BookedAmount], newest_first: bool) -> Proof:  # noqa: FBT001
    steps, broken = 0, []
    for index, (above, below) in enumerate(pairwise(lines), 1):
        earlier, later = (below, above) if newest_first else (above, below)
        if earlier[1] is None or later[1] is None:
            continue
        steps += 1
        if later[0] is None or earlier[1] + later[0] != later[1]:
            broken.append(index)
    return Proof(
        steps=steps, held=steps - len(broken), newest_first=newest_first, broken=tuple(broken)
    )


Cells: TypeAlias = Sequence[Cell]
_LINES_MIN: Final = 3
_SIGN_OF_KIND: Final = {"payment": -1, "fee": -1, "refund": 1, "reversal": 1}
_THANKS: Final = re.compile(
    r"\bpayment\b.{0,20}\b(?:thank|received)|\bautopay\b|\bzahlung\b.{0,20}\b(?:dank|erhalten)"
    r"|\bpaiement\b.{0,20}\b(?:merci|recu)|\bpago recibido\b",
    re.IGNORECASE,
)
"""Texts of payments to a card."""
_SUFFIX: Final = re.compile(r"(?<=\d)\s*([A-Za-z]{1,2})\.?\s*$")
_NO_SUM: Final = "it is more than a number and its currency"


@dataclass(frozen=True, slots=True, kw_only=True)
class AmountReader:
    """Reads the amounts of a file with this decimal mark.

    `turned`: debits have a minus in their own column. `fee` is the sign with which fees are added.
    `card` is -1 if money out has a plus, and 0 if both directions have one.
    """

    columns: Columns
    mark: str | None
    turned: bool
    fee: int = 0
    card: int = 1

    def read_amount(self, row: Cells) -> SeenNumber | UnreadValue | None:
        """Return the signed amount of a row; unread if the side is unclear."""
        cell = self.columns.cell_of(row, "amount")
        seen = number_of(cell, self.mark)
        if seen is None:
            return self._amount_of_sides(row)
        if seen.value is None:
            return UnreadValue(value=cell, reason=seen.reason)
        side = self.columns.cell_of(row, "side")
        sign = (side_of(side) if side is not None else 0) or _side_sign(cell)
        if self.card < 0:
            return SeenNumber(value=-seen.value)
        if not self.card:
            sign = _SIGN_OF_KIND.get(kind_of(self.columns.cell_of(row, "kind")), 0)
            if not sign or seen.value < 0:
                return UnreadValue(
                    value=cell, reason="the file does not say in which direction it went"
                )
        if seen.value < 0 < sign:
            return UnreadValue(value=cell, reason="its sign contradicts the side that is named")
        return _with_sign(seen.value, sign) if sign else seen

    def read_fee(self, row: Cells) -> Decimal:
        """Return the signed fee that is not a part of the amount."""
        fee = decimal_of(number_of(self.columns.cell_of(row, "fee"), self.mark))
        return (fee or Decimal()) * self.fee

    def read_balance(self, row: Cells) -> SeenNumber | None:
        """Return the balance after a row."""
        cell = self.columns.cell_of(row, "balance")
        seen = number_of(cell, self.mark)
        sign = _side_sign(cell)
        return (
            seen if not sign or seen is None or seen.value is None else _with_sign(seen.value, sign)
        )

    def _amount_of_sides(self, row: Cells) -> SeenNumber | UnreadValue | None:
        """Return the amount from one of two columns."""
        sides = []
        for name, sign in (("out", 1 if self.turned else -1), ("into", 1)):
            cell = self.columns.cell_of(row, name)
            seen = number_of(cell, self.mark)
            if seen is not None and seen.value is None:
                return UnreadValue(value=cell, reason=seen.reason)
            if seen is not None and seen.value:
                sides.append(SeenNumber(value=seen.value * sign))
        if len(sides) > 1:
            both = " / ".join(str(self.columns.cell_of(row, name)) for name in ("out", "into"))
            return UnreadValue(value=both, reason="it went out and came in")
        return sides[0] if sides else None


def sums_of(
    columns: Columns, rows: Sequence[Cells], around: Sequence[Cells]
) -> tuple[AmountReader, Proof]:
    """Find the notation of the amounts of a file, and the proof by its running balances.

    The decimal mark is that of the amounts, else of the other rows. If the balances prove only one
    reading, that one is used.
    """
    cells = (columns.cell_of(row, name) for row in rows for name in (*SUMS, "balance", "before"))
    own = mark_in("\n".join(cell for cell in cells if isinstance(cell, str)))
    mark = own or mark_in("\n".join(c for row in around for c in row if isinstance(c, str)))
    card = _card_of(columns, rows[:_SAMPLE], mark)
    if card != 1 and _try_notation(columns, rows, mark, 1, 0)[1].is_complete:
        card = 1
    if "balance" not in columns.indexes:
        named = ("amount", "fee", "net")
        read = ([decimal_of(number_of(columns.cell_of(r, n), mark)) for n in named] for r in rows)
        known = [(a, fee, net) for a, fee, net in read if a is not None and fee and net is not None]
        fits = (sign for sign in (-1, 1) if all(a + sign * fee == net for a, fee, net in known))
        return _try_notation(columns, rows, mark, card, next(fits, 0) if known else 0)
    first = _try_notation(columns, rows, mark, card, 0)
    if first[1].is_complete:
        return first
    others = (_try_notation(columns, rows, each, card, 0) for each in (".", ",") if each != mark)
    whole = [each for each in others if each[1].is_complete]
    if len(whole) == 1:
        return whole[0]
    signs = (-1, 1) if "fee" in columns.indexes else ()
    fees = (_try_notation(columns, rows, mark, card, sign) for sign in signs)
    return max((first, *fees), key=lambda each: each[1].held)


def _card_of(columns: Columns, rows: Sequence[Cells], mark: str | None) -> int:
    """Return -1 if money out has a plus, as on many cards; 0 if nothing tells; else 1."""
    if "amount" not in columns.indexes or "side" in columns.indexes:
        return 1
    signs: dict[str, list[bool]] = {}
    for row in rows:
        amount = decimal_of(number_of(columns.cell_of(row, "amount"), mark))
        kind = kind_of(columns.cell_of(row, "kind"))
        if amount:
            texts = (columns.cell_of(row, name) for name in ("purpose", "party"))
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
    holder = any("card" in _title_meanings(title) for title in columns.titles)
    against = bool(thanked) and not any(thanked)
    if against and (holder or 2 * sum(every) == len(every)):
        return -1 if holder else 0
    if not (thanked or holder) or 2 * sum(every) <= len(every):
        return 1
    return -1 if (thanked and not any(thanked)) or (holder and not all(every)) else int(not holder)


def _try_notation(
    columns: Columns, rows: Sequence[Cells], mark: str | None, card: int, fee: int
) -> tuple[AmountReader, Proof]:
    seen = (number_of(columns.cell_of(row, "out"), mark) for row in rows)
    signs = {each.value > 0 for each in seen if each is not None and each.value}
    sums = AmountReader(columns=columns, mark=mark, turned=signs == {False}, card=card, fee=fee)
    runs: dict[Any, list[int]] = {}
    for index, row in enumerate(rows if "balance" in columns.indexes else ()):
        key = (columns.cell_of(row, "currency"), columns.cell_of(row, "account"))
        runs.setdefault(key, []).append(index)
    proofs = []
    for run in runs.values():  # each account has a balance of its own
        lines = []
        for row in (rows[index] for index in run):
            paid = decimal_of(sums.read_amount(row))
            paid = None if paid is None else paid + sums.read_fee(row)
            lines.append((paid, decimal_of(sums.read_balance(row))))
        both = (_proof_in_order(lines, newest) for newest in (False, True))
        proof = max(both, key=lambda each: each.held)
        proofs.append(replace(proof, broken=tuple(run[index] for index in proof.broken)))
    return sums, Proof(
        steps=sum(each.steps for each in proofs),
        held=sum(each.held for each in proofs),
        newest_first=bool(proofs) and max(proofs, key=lambda each: each.held).newest_first,
        broken=tuple(sorted(index for each in proofs for index in each.broken)),
    )


def decimal_of(seen: SeenNumber | UnreadValue | None) -> Decimal | None:
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


def _side_sign(cell: Cell) -> int:
    found = _side_behind(cell)
    return side_of(found[1]) if found else 0


def _with_sign(value: Decimal, sign: int) -> SeenNumber:
    return SeenNumber(value=abs(value) * sign)

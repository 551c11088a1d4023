"""Bank statements: the meaning of columns, the notation of amounts and dates, and proofs."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, TypeAlias

from canonry.canon.ports.files import Cell, Table
from canonry.documents.extraction.kinds import ibans_in
from canonry.documents.extraction.rows import WITH_BOTH_ORDERS, snake
from canonry.records.domain.interpretations import Found, Unread
from canonry.records.notation.labels import plain
from canonry.records.notation.numbers import (
    CURRENCIES,
    SeenNumber,
    currency_in,
    mark_in,
    number_in,
    unit_in,
)
from canonry.values.calendar_dates import DayOrder, SeenDate, date_in, order_in
from canonry.values.languages import columns_named, notion_of

# Columns of bank statements are recognized by their titles in any language and by their cells.
#
# A title may have several meanings: Italian *Valuta* is a currency in one export and a date in
# another. The cells below it decide.

HEADER_WITHIN: Final = 60
"""The number of rows in which the titles are searched."""

DATES: Final = ("made", "booked", "value")
SUMS: Final = ("amount", "out", "into")
_NUMBERS: Final = frozenset({*SUMS, "balance", "before", "original"})
_ORDER: Final = (
    *(*DATES, *SUMS, "balance", "before", "side", "currency", "account", "id"),
    *("original", "original_currency", "payer", "payee", "party", "purpose"),
)
_TELLING: Final = frozenset({"party", "purpose", "balance", "value", "currency", "side", "payee"})
_OTHERS: Final = frozenset({"invoice_number", "due", "vendor", "customer"})
"""Titles of lists of invoices, which no bank statement has."""

_TEXTS: Final = frozenset({"party", "purpose"})
"""Notions for which a column with different cells is preferred to a constant one."""

_SAMPLE: Final = 200
_BRACKETS: Final = re.compile(r"[(\[][^()\[\]]*+[)\]]")
_EURO: Final = re.compile(r"\beuros?\b", re.IGNORECASE)
_MONEY: Final = re.compile(r"[-+\u2212()\s'\u2019.,\d]|[^\W\d_]{1,4}\.?|[^\w\s]")
_DAY: Final = re.compile(r"\s*\d{4}[01]\d[0-3]\d\s*")
_WORDY: Final = re.compile(r"[^\W\d_]{5,}")


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

    def cell(self, row: Sequence[Cell], notion: str) -> Cell:
        """Return the cell of a notion in a row; None if it is empty."""
        place = self.places.get(notion)
        cell = None if place is None or place >= len(row) else row[place]
        return None if cell == "" else cell


def columns_of(rows: Sequence[Sequence[Cell]]) -> Columns | None:
    """Find the columns of a bank statement; None if the rows are no statement."""
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
    dated, paid = set(DATES) & places.keys(), set(SUMS) & places.keys()
    if not (dated and paid and _TELLING & places.keys()):
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
    forms = (whole, bare, _without_money(whole), _without_money(bare), whole.rstrip(" 123456789"))
    for form in dict.fromkeys(forms):
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
    if notion == "side":
        return all(side_of(cell) for cell in cells)
    if notion in {"currency", "original_currency"}:
        return all(str(cell).strip().upper() in CURRENCIES for cell in cells)
    return True


def _most(cells: Sequence[Cell], is_one: Callable[[Cell], bool]) -> bool:
    return 2 * sum(1 for cell in cells if is_one(cell)) > len(cells)


def is_day(cell: Cell) -> bool:
    """Tell whether a cell has a date and hardly any other text."""
    if isinstance(cell, int | float):
        return bool(_DAY.fullmatch(str(cell)))
    return _is_written_day(str(cell))


@lru_cache(maxsize=4_096)
def _is_written_day(text: str) -> bool:
    return bool(_DAY.fullmatch(text)) or (len(text) < 32 and date_in(text) is not None)  # noqa: PLR2004


def is_sum(cell: Cell) -> bool:
    """Tell whether a cell has only a number, a currency and a sign."""
    if isinstance(cell, bool):
        return False
    if isinstance(cell, int | float):
        return True
    text = str(cell)
    return len(text) < 40 and not _WORDY.search(text) and number_in(text) is not None  # noqa: PLR2004


def side_of(cell: Cell) -> int:
    """Return -1 for debit, 1 for credit, 0 if the cell names neither."""
    said = columns_named(plain(str(cell)))
    return ("came" in said) - ("went" in said)


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


def proof_of(lines: Sequence[Booked]) -> Proof:
    """Check the balances of lines in both directions and return the better proof."""
    return max((_in(lines, newest) for newest in (False, True)), key=lambda proof: proof.held)


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
_SUFFIX: Final = re.compile(r"\d\s*([A-Za-z]{1,2})\s*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """Reads the amounts of a file with this decimal mark.

    `turned`: debits have a minus in their own column.
    """

    columns: Columns
    mark: str | None
    turned: bool

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
        if seen.value < 0 < way:
            return Unread(value=cell, reason="its sign contradicts the side that is named")
        return _signed(seen.value, way) if way else seen

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
    sums, proof = _tried(columns, rows, mark)
    if proof.whole or "balance" not in columns.places:
        return sums, proof
    others = (_tried(columns, rows, each) for each in _MARKS if each != mark)
    whole = [(sums, proof) for sums, proof in others if proof.whole]
    return whole[0] if len(whole) == 1 else (sums, proof)


def _tried(columns: Columns, rows: Sequence[Cells], mark: str | None) -> tuple[Sums, Proof]:
    seen = (number_of(columns.cell(row, "out"), mark) for row in rows)
    signs = {each.value > 0 for each in seen if each is not None and each.value}
    sums = Sums(columns=columns, mark=mark, turned=signs == {False})
    if "balance" not in columns.places:
        return sums, proof_of(())
    return sums, proof_of(
        [(decimal_of(sums.paid(row)), decimal_of(sums.balance(row))) for row in rows]
    )


def decimal_of(seen: SeenNumber | Unread | None) -> Decimal | None:
    """Return the number if it is clear."""
    return seen.value if isinstance(seen, SeenNumber) else None


def number_of(cell: Cell, mark: str | None) -> SeenNumber | None:
    """Return the number of a cell if it has nothing else."""
    if cell is None or not is_sum(cell):
        return None
    if isinstance(cell, str):
        return None if unit_in(cell) else number_in(cell, mark)
    return SeenNumber(value=Decimal(repr(cell)))


def _suffixed(cell: Cell) -> int:
    """Return the side that letters after an amount name, as in `12,50 S`."""
    found = _SUFFIX.search(cell) if isinstance(cell, str) else None
    return side_of(found[1]) if found else 0


def _signed(value: Decimal, way: int) -> SeenNumber:
    return SeenNumber(value=abs(value) * way)


_BARE: Final = re.compile(r"\s*(\d{4})([01]\d)([0-3]\d)\s*")
_MONTH_FIRST: Final = re.compile(
    r"\b(?:ach|checking|routing|check or slip|check (?:number|no|#)|zelle|fdic|running bal"
    r"|summary amt)\b",
    re.IGNORECASE,
)
"""Words of banks in the United States, where the month is written first."""

_LOOKED_AT: Final = 50
_SEVERAL: Final = 3


def day_of(cell: Cell, order: DayOrder | None) -> str | Unread | None:
    """Return the date of a cell in ISO 8601; unread if it is ambiguous or no date."""
    if cell is None:
        return None
    seen = _seen(str(cell), order)
    if seen is None:
        return Unread(value=cell, reason="it is no date")
    return Unread(value=cell, reason=seen.reason) if seen.value is None else seen.value[:10]


@lru_cache(maxsize=4_096)
def _seen(text: str, order: DayOrder | None) -> SeenDate | None:
    bare = _BARE.fullmatch(text)
    return date_in("-".join(bare.groups()) if bare else text, order)


def order_of(
    columns: Columns,
    rows: Sequence[Sequence[Cell]],
    head: Sequence[Sequence[Cell]],
    currency: str | None,
    proof: Proof,
) -> DayOrder | None:
    """Find the order of day and month by the dates, the head, the lines or the country."""
    days = [str(columns.cell(row, name) or "") for row in rows for name in DATES]
    around = "\n".join(str(cell) for row in head for cell in row if cell)
    return (
        order_in("\n".join(days))
        or order_in(around)
        or _running(columns, rows, proof)
        or _local(columns, rows[:_LOOKED_AT], around, currency)
    )


def _running(columns: Columns, rows: Sequence[Sequence[Cell]], proof: Proof) -> DayOrder | None:
    """Return the only order in which the dates of the lines are sorted."""
    name = next(name for name in ("booked", "made", "value") if name in columns.places)
    cells = [columns.cell(row, name) for row in rows]
    days = {
        order: [
            date.fromisoformat(day) for cell in cells if isinstance(day := day_of(cell, order), str)
        ]
        for order in DayOrder
    }
    fitting = [order for order in DayOrder if _goes_on(days[order], proof)]
    return fitting[0] if len(fitting) == 1 else None


def _goes_on(days: Sequence[date], proof: Proof) -> bool:
    """Tell whether several dates are sorted, in the direction that the balances prove."""
    up = all(a <= b for a, b in pairwise(days))
    down = all(a >= b for a, b in pairwise(days))
    wanted = (down if proof.newest_first else up) if proof.whole else up or down
    return wanted and len(set(days)) >= _SEVERAL


def _local(
    columns: Columns, rows: Sequence[Sequence[Cell]], around: str, currency: str | None
) -> DayOrder | None:
    """Return the order of the country, judged by languages, currencies and words."""
    codes = {currency, *(columns.cell(row, "currency") for row in rows)} - {None}
    if columns.languages - {"en"} or (codes and not codes & WITH_BOTH_ORDERS):
        return DayOrder.DAY
    words = " ".join((*columns.titles, around, *(str(cell) for row in rows for cell in row)))
    return DayOrder.MONTH if _MONTH_FIRST.search(words.replace("_", " ")) else None


# Bank statements: each line of a table becomes a transaction.
#
# Ambiguous marks and dates are decided by the whole file and its running balances, or left unread.

_ACCOUNT: Final = re.compile(r"[\dA-Z][\dA-Z ./*-]{5,33}")
_TOLD_MAX: Final = 5
_OWN: Final = frozenset(
    {
        *("date", "posting_date", "value_date", "amount", "currency", "balance", "merchant_name"),
        *("description", "account_id", "transaction_id", "amount_original", "currency_original"),
        *("account", "merchant", "payee", "counterparty", "occurrence"),
    }
)
"""Fields of a transaction that columns of other meanings must not set by their titles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BankStatement:
    """The number of transactions of a table, the transactions, and notes on them."""

    total: int
    found: Iterator[Found]
    notes: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class _Booked:
    """A line of a statement: its first row, and text from the rows below."""

    number: int
    row: Cells
    more: list[str] = field(default_factory=list)


def statement_of(table: Table) -> BankStatement | None:
    """Read a table as a bank statement; None if it is none."""
    columns = columns_of(table.rows)
    if columns is None:
        return None
    lines, left = _lines(columns, table.rows)
    rows = [line.row for line in lines]
    if not rows:
        return None
    head = table.rows[: columns.header]
    around = [*head, *left]
    sums, proof = sums_of(columns, rows, around)
    currency = _currency(columns, rows, around)
    references = Counter(_text(columns.cell(row, "id")) for row in rows)
    reader = _LineReader(
        columns=columns,
        sums=sums,
        order=order_of(columns, rows, head, currency, proof),
        currency=currency,
        account=None if "account" in columns.places else _account(around),
        running=proof.runs,
        ids=frozenset(each for each, count in references.items() if each and count == 1),
    )
    found = (reader.found(line, place) for place, line in enumerate(lines, 1))
    notes = tuple(_notes(columns, table, lines, proof, left))
    return BankStatement(total=len(lines), found=found, notes=notes)


def _lines(columns: Columns, rows: Sequence[Cells]) -> tuple[list[_Booked], list[Cells]]:
    """Return the lines below the titles, and the rows that belong to no line."""
    lines: list[_Booked] = []
    left: list[Cells] = []
    for number, row in enumerate(rows[columns.header + 1 :], columns.header + 1):
        days = (columns.cell(row, name) for name in DATES)
        if any(day is not None and is_day(day) for day in days) and _is_paid(columns, row):
            lines.append(_Booked(number=number, row=row))
        elif lines and number == lines[-1].number + len(lines[-1].more) + 1 and _more(columns, row):
            lines[-1].more.append(str(columns.cell(row, "purpose")).strip())
        else:
            left.append(row)
    return lines, left


def _is_paid(columns: Columns, row: Cells) -> bool:
    cells = (columns.cell(row, name) for name in SUMS)
    return any(cell is not None and is_sum(cell) for cell in cells)


def _more(columns: Columns, row: Cells) -> bool:
    """Tell whether a row only continues the purpose of the line above."""
    said = [place for place, cell in enumerate(row) if cell not in {None, ""}]
    return said == [columns.places.get("purpose")]


def _currency(columns: Columns, rows: Sequence[Cells], around: Sequence[Cells]) -> str | None:
    """Return the currency in the titles, the amounts, or the other rows."""
    if columns.currency is not None or "currency" in columns.places:
        return columns.currency
    cells = (columns.cell(row, name) for row in rows[:_LOOKED_AT] for name in (*SUMS, "balance"))
    signs = {currency_in(cell) for cell in cells if isinstance(cell, str)} - {None}
    if not signs:
        texts = (*columns.titles, *(c for row in around for c in row if isinstance(c, str)))
        signs = {currency_in(in_codes(text)) for text in texts} - {None}
    return signs.pop() if len(signs) == 1 else None


def _account(around: Sequence[Cells]) -> str | None:
    """Return the account that the rows around the lines name, if it is the only one."""
    ibans = ibans_in("\n".join(str(cell) for row in around for cell in row if cell))
    if ibans:
        return ibans[0] if len(ibans) == 1 else None
    named = set()
    for row in around:
        cells = [str(cell).strip() for cell in row if cell not in {None, ""}]
        if len(cells) > 1 and "account" in columns_named(plain(cells[0])):
            named |= {cells[1]} if _ACCOUNT.fullmatch(cells[1]) else set()
    return named.pop() if len(named) == 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _LineReader:
    """Reads the lines of one statement."""

    columns: Columns
    sums: Sums
    order: DayOrder | None
    currency: str | None
    account: str | None
    running: bool
    ids: frozenset[str]

    def found(self, line: _Booked, place: int) -> Found:
        """Read the transaction of one line."""
        said = dict(self._said(line))
        return Found(
            entity_type="transaction",
            fields={n: v for n, v in said.items() if v is not None and not isinstance(v, Unread)},
            unread={n: v for n, v in said.items() if isinstance(v, Unread)},
            row=place,
            reasons=("columns:" + "+".join(sorted(self.columns.places)),),
        )

    def _said(self, line: _Booked) -> Iterator[tuple[str, Any]]:
        row, cell = line.row, self.columns.cell
        dates = [name for name in DATES if cell(row, name) is not None]
        for place, notion in enumerate(dates):
            # The first date of a line is that of the transaction.
            name = "value_date" if notion == "value" else "posting_date"
            yield name if place else "date", day_of(cell(row, notion), self.order)
        paid = self.sums.paid(row)
        yield "amount", paid.plain if isinstance(paid, SeenNumber) else paid
        yield "currency", _text(cell(row, "currency")) or self.currency
        yield "balance", self._balance(row)
        yield "merchant_name", self._party(row, paid)
        yield "description", self._purpose(line)
        account = _text(cell(row, "account"))
        iban = ibans_in(account) if account else ()
        yield "account_id", iban[0] if iban else account or self.account
        reference = _text(cell(row, "id"))
        yield "transaction_id" if reference in self.ids else "reference", reference
        yield from self._original(row)
        yield from self._others(row)

    def _balance(self, row: Cells) -> Any:
        seen = self.sums.balance(row)
        if seen is None or (seen.value is not None and self.running):
            return None if seen is None else seen.plain
        reason = seen.reason or "it does not run with the amounts"
        return Unread(value=self.columns.cell(row, "balance"), reason=reason)

    def _party(self, row: Cells, paid: SeenNumber | Unread | None) -> str | None:
        """Return the other party: of payer and payee the one who does not own the account."""
        party = _text(self.columns.cell(row, "party"))
        amount = decimal_of(paid)
        if party is None and amount is not None:
            return _text(self.columns.cell(row, "payee" if amount < 0 else "payer"))
        return party

    def _purpose(self, line: _Booked) -> str | None:
        numbered = (line.row[p] for p in self.columns.numbered if p < len(line.row))
        parts = [self.columns.cell(line.row, "purpose"), *numbered, *line.more]
        return " ".join(text for part in parts if (text := _text(part))) or None

    def _original(self, row: Cells) -> Iterator[tuple[str, Any]]:
        """Yield the original amount in another currency."""
        code = _text(self.columns.cell(row, "original_currency"))
        seen = number_of(self.columns.cell(row, "original"), self.sums.mark)
        if code and seen is not None and seen.value is not None:
            yield "amount_original", seen.plain
            yield "currency_original", code

    def _others(self, row: Cells) -> Iterator[tuple[str, Any]]:
        """Yield the cells of other columns by their titles."""
        taken = {*self.columns.places.values(), *self.columns.numbered}
        for place, cell in enumerate(row[: len(self.columns.titles)]):
            if place not in taken and cell not in {None, ""}:
                name = snake(self.columns.titles[place])
                if name and name not in _OWN:
                    yield name, cell


def _text(cell: Cell) -> str | None:
    return None if cell is None else " ".join(str(cell).split()) or None


def _notes(
    columns: Columns,
    table: Table,
    lines: Sequence[_Booked],
    proof: Proof,
    left: Sequence[Cells],
) -> Iterator[str]:
    if proof.whole:
        yield f"The running balances prove the amounts of {proof.steps + 1} lines."
    elif proof.runs:
        numbers = [lines[place].number for place in proof.broken[:_TOLD_MAX]]
        told = ", ".join(str(table.lines[n] if table.lines else n + 1) for n in numbers)
        yield f"The balance does not fit in line {told}. A line is missing there or was misread."
    undated = sum(1 for row in left if _is_paid(columns, row))
    if undated:
        yield f"{undated} rows with an amount but without a date were read as totals."

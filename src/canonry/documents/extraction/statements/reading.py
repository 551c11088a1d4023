"""Bank statements: each line of a table becomes a transaction, by what its columns mean.

Where a mark or a date could be read in two ways, the whole file is asked, and running balances
prove one reading; what stays open is left unread.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from canonry.canon.ports.files import Cell, Table
from canonry.documents.extraction.bills import snake
from canonry.documents.extraction.kinds import ibans_in
from canonry.documents.extraction.statements.columns import (
    DATES,
    SUMS,
    Columns,
    columns_of,
    in_codes,
    is_day,
    is_sum,
)
from canonry.documents.extraction.statements.values import (
    Cells,
    Proof,
    Sums,
    day_of,
    decimal_of,
    number_of,
    order_of,
    sums_of,
)
from canonry.records.domain.interpretations import Found, Unread
from canonry.records.notation.labels import plain
from canonry.records.notation.numbers import SeenNumber, currency_in
from canonry.values.calendar_dates import DayOrder
from canonry.values.languages import columns_named

_ACCOUNT: Final = re.compile(r"[\dA-Z][\dA-Z ./*-]{5,33}")
_TOLD_MAX: Final = 5
_LOOKED_AT: Final = 50
_OWN: Final = frozenset(
    {
        *("date", "posting_date", "value_date", "amount", "currency", "balance", "merchant_name"),
        *("description", "account_id", "transaction_id", "amount_original", "currency_original"),
        *("account", "merchant", "payee", "counterparty", "occurrence"),
    }
)
"""Fields of a transaction that no column gives by its mere title."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BankStatement:
    """How many transactions a table has, each as it is read, and what is to be known of that."""

    total: int
    found: Iterator[Found]
    notes: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class _Booked:
    """A line on its way: the row that begins it, and texts that go on below."""

    number: int
    row: Cells
    more: list[str] = field(default_factory=list)


def statement_of(table: Table) -> BankStatement | None:
    """What a table says as a bank statement; None where it is none."""
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
    reader = _LineReader(
        columns=columns,
        sums=sums,
        order=order_of(columns, rows, head, currency, proof),
        currency=currency,
        account=None if "account" in columns.places else _account(around),
        running=proof.runs,
        ids=frozenset(_once(columns, rows)),
    )
    found = (reader.found(line, place) for place, line in enumerate(lines, 1))
    notes = tuple(_notes(columns, table, lines, proof, left))
    return BankStatement(total=len(lines), found=found, notes=notes)


def _once(columns: Columns, rows: Sequence[Cells]) -> Iterator[str]:
    """The references that tell one line from all others."""
    counts = Counter(_text(columns.cell(row, "id")) for row in rows)
    return (each for each, count in counts.items() if each is not None and count == 1)


def _lines(columns: Columns, rows: Sequence[Cells]) -> tuple[list[_Booked], list[Cells]]:
    """The lines below the titles, and the rows that belong to none."""
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
    """Whether a row holds nothing but more of the text of the line above."""
    said = [place for place, cell in enumerate(row) if cell not in {None, ""}]
    return said == [columns.places.get("purpose")]


def _currency(columns: Columns, rows: Sequence[Cells], around: Sequence[Cells]) -> str | None:
    """The currency that the titles name, the amounts, or all that stands around."""
    if columns.currency is not None or "currency" in columns.places:
        return columns.currency
    cells = (columns.cell(row, name) for row in rows[:_LOOKED_AT] for name in (*SUMS, "balance"))
    signs = {currency_in(cell) for cell in cells if isinstance(cell, str)} - {None}
    if not signs:
        texts = (*columns.titles, *(c for row in around for c in row if isinstance(c, str)))
        signs = {currency_in(in_codes(text)) for text in texts} - {None}
    return signs.pop() if len(signs) == 1 else None


def _account(around: Sequence[Cells]) -> str | None:
    """The account that stands above or below the lines, where one is named and no other."""
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
        """The transaction of one line."""
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
        for name, notion in zip(_date_fields(dates), dates, strict=True):
            yield name, day_of(cell(row, notion), self.order)
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
        """Who is on the other side: of payer and payee the one who does not own the account."""
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
        """What was paid in another currency."""
        code = _text(self.columns.cell(row, "original_currency"))
        seen = number_of(self.columns.cell(row, "original"), self.sums.mark)
        if code and seen is not None and seen.value is not None:
            yield "amount_original", seen.plain
            yield "currency_original", code

    def _others(self, row: Cells) -> Iterator[tuple[str, Any]]:
        """What stands in columns that mean nothing of a statement, under their titles."""
        taken = {*self.columns.places.values(), *self.columns.numbered}
        for place, cell in enumerate(row[: len(self.columns.titles)]):
            if place not in taken and cell not in {None, ""}:
                name = snake(self.columns.titles[place])
                if name and name not in _OWN:
                    yield name, cell


def _date_fields(names: Sequence[str]) -> Sequence[str]:
    """The fields for the dates that a line has, of which the first is when it happened."""
    others = ["value_date" if name == "value" else "posting_date" for name in names[1:]]
    return ("date", *others) if names else ()


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
        yield f"the running balances prove the amounts of {proof.steps + 1} lines"
    elif proof.runs:
        numbers = [lines[place].number for place in proof.broken[:_TOLD_MAX]]
        told = ", ".join(str(table.lines[n] if table.lines else n + 1) for n in numbers)
        yield f"the balance does not follow in line {told}: one is missing there, or misread"
    undated = sum(1 for row in left if _is_paid(columns, row))
    if undated:
        yield f"{undated} rows with an amount and without a date were taken for sums"

"""Bank statements and exports of payment services: each line of a table becomes a transaction."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any, Final

from canonry.canon.ports.files import Cell, Record, Table
from canonry.documents.extraction.bank_columns import (
    DATES,
    SUMS,
    Cells,
    Columns,
    Proof,
    Sums,
    columns_of,
    decimal_of,
    in_codes,
    is_day,
    number_of,
    seen_day,
    sums_of,
)
from canonry.documents.extraction.kinds import TABLES, ibans_in
from canonry.documents.extraction.rows import WITH_BOTH_ORDERS, snake
from canonry.documents.parsers.findings import Line, keep_rest, rows_of
from canonry.records.domain.interpretations import Found, Unread
from canonry.records.notation.labels import plain
from canonry.records.notation.money import (
    is_pending,
    is_reversal,
    is_unbooked,
    kind_of,
    order_of_country,
)
from canonry.records.notation.numbers import SeenNumber, currency_in
from canonry.records.notation.settling import invoices_in
from canonry.values.calendar_dates import DayOrder, order_in
from canonry.values.data_files import read_toml
from canonry.values.languages import columns_named, notion_of
from canonry.values.texts_of_files import first_at, leaves_of, left_over, unread_beside

_LOOKED_AT: Final = 50
_SEVERAL: Final = 3


def day_of(cell: Cell, order: DayOrder | None) -> str | Unread | None:
    """Return the date of a cell in ISO 8601; unread if it is ambiguous or no date."""
    if cell is None:
        return None
    seen = seen_day(str(cell), order)
    if seen is None:
        return Unread(value=cell, reason="it is no date")
    return Unread(value=cell, reason=seen.reason) if seen.value is None else seen.value[:10]


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
    return order_of_country(words)


# Bank statements: each line of a table becomes a transaction.
#
# Ambiguous marks and dates are decided by the whole file and its running balances, or left unread.

_ACCOUNT: Final = re.compile(r"[\dA-Z][\dA-Z ./*-]{5,33}")
_TOLD_MAX: Final = 5
_OWN: Final = frozenset(TABLES["words"]["payment"].split())
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
    lines, left, unbooked = _lines(columns, table.rows)
    rows = [line.row for line in lines]
    if not rows:
        return _unbooked_only(columns, unbooked) if unbooked else None
    head = table.rows[: max(0, columns.header)]
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
    found = (each for place, line in enumerate(lines, 1) for each in reader.found(line, place))
    notes = list(_notes(columns, table, lines, proof, left))
    notes += unread_beside([_said(row) for row in around])
    if unbooked:
        notes += _unbooked_only(columns, unbooked).notes
    if "fee" in columns.places and not (sums.fee or proof.whole or columns.is_net):
        title = columns.titles[columns.places["fee"]]
        notes.append(f"The amounts are read without the column {title}.")
    return BankStatement(total=len(lines), found=found, notes=tuple(notes))


def _unbooked_only(columns: Columns, rows: Sequence[Cells]) -> BankStatement:
    """Return a statement without transactions, with notes on lines that were not booked."""
    states = {str(columns.cell(row, "state") or "pending").strip() for row in rows}
    named = ", ".join(sorted(states)[:_TOLD_MAX])
    note = f"{len(rows)} lines that are not booked were left out: {named}."
    beside = unread_beside([_said(row) for row in rows])
    return BankStatement(total=0, found=iter(()), notes=(note, *beside))


def _said(row: Cells) -> str:
    return " | ".join(str(cell) for cell in row if cell not in {None, ""})


def _lines(
    columns: Columns, rows: Sequence[Cells]
) -> tuple[list[_Booked], list[Cells], list[Cells]]:
    """Return the lines below the titles, the rows that belong to no line, and those not booked."""
    lines: list[_Booked] = []
    left: list[Cells] = []
    unbooked: list[Cells] = []
    for number, row in enumerate(rows[columns.header + 1 :], columns.header + 1):
        days = (columns.cell(row, name) for name in DATES)
        state, purpose = columns.cell(row, "state"), columns.cell(row, "purpose")
        if is_unbooked(state) or (
            not state and is_pending(_text(purpose)) and _is_paid(columns, row)
        ):
            unbooked.append(row)
        elif any(day is not None and is_day(day) for day in days) and _is_paid(columns, row):
            lines.append(_Booked(number=number, row=row))
        elif lines and number == lines[-1].number + len(lines[-1].more) + 1 and _more(columns, row):
            lines[-1].more.append(str(columns.cell(row, "purpose")).strip())
        else:
            left.append(row)
    return lines, left, unbooked


def _is_paid(columns: Columns, row: Cells) -> bool:
    cells = (columns.cell(row, name) for name in SUMS)
    return any(number_of(cell, None) is not None for cell in cells)


def _more(columns: Columns, row: Cells) -> bool:
    """Tell whether a row only continues the purpose of the line above: no total, no title."""
    said = [place for place, cell in enumerate(row) if cell not in {None, ""}]
    text = plain(str(columns.cell(row, "purpose")))
    other = notion_of(text)[0] in {"total", "subtotal"} or text in map(
        plain, filter(None, columns.titles)
    )
    return said == [columns.places.get("purpose")] and not other


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

    def found(self, line: _Booked, place: int) -> Iterator[Found]:
        """Read the transaction of one line, and its fee if that is not a part of the amount."""
        said = dict(self._said(line))
        found = Found(
            entity_type="transaction",
            fields={n: v for n, v in said.items() if v is not None and not isinstance(v, Unread)},
            unread={n: v for n, v in said.items() if isinstance(v, Unread)},
            row=place,
            reasons=("columns:" + "+".join(sorted(self.columns.places)),),
        )
        yield found
        if charged := self.sums.charged(line.row):
            kept = ("date", "posting_date", "value_date", "currency", "account_id")
            fields = {name: found.fields[name] for name in kept if name in found.fields}
            title = self.columns.titles[self.columns.places["fee"]]
            fields["amount"] = SeenNumber(value=charged).plain
            whose = found.fields.get("description") or found.fields.get("merchant_name")
            fields["description"] = f"{title}: {whose}" if whose else title
            unread = {name: found.unread[name] for name in kept if name in found.unread}
            fields |= {"category": "fee", "kind": "fee"}
            yield replace(found, fields=fields, unread=unread)

    def _said(self, line: _Booked) -> Iterator[tuple[str, Any]]:
        row, cell = line.row, self.columns.cell
        dates = [name for name in DATES if cell(row, name) is not None]
        for place, notion in enumerate(dates):
            # The first date of a line is that of the transaction.
            name = "value_date" if notion == "value" else "posting_date"
            yield name if place else "date", day_of(cell(row, notion), self.order)
        paid = self.sums.paid(row)
        yield "amount", paid.plain if isinstance(paid, SeenNumber) else paid
        yield "currency", self._code(row)
        gross = number_of(cell(row, "gross"), self.sums.mark)
        yield "amount_gross", gross and gross.plain
        yield "balance", self._balance(row)
        yield "status", _text(cell(row, "state"))
        yield "merchant_name", self._party(row, paid)
        purpose = self._purpose(line)
        yield "description", purpose
        yield "kind", self._kind(row, purpose)
        named, texts = _text(cell(row, "invoice")), "; ".join(filter(None, map(_text, row)))
        numbers = map(str.strip, named.split(";")) if named else invoices_in(texts)
        yield "invoice_reference", [*dict.fromkeys(numbers)] or None
        account = _text(cell(row, "account"))
        iban = ibans_in(account) if account else ()
        yield "account_id", iban[0] if iban else account or self.account
        reference = _text(cell(row, "id"))
        yield "transaction_id" if reference in self.ids else "reference", reference
        yield from self._original(row)
        yield from self._others(row)

    def _kind(self, row: Cells, purpose: str | None) -> str | None:
        """Return the kind of a line that is no ordinary payment."""
        kind = "reversal" if is_reversal(purpose) else kind_of(self.columns.cell(row, "kind"))
        return kind if kind not in {"", "payment", "repaid"} else None

    def _code(self, row: Cells) -> str | None:
        return str(self.columns.cell(row, "currency") or "").strip().upper() or self.currency

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
        """Yield the original amount, which may be unknown, in another currency."""
        code = _text(self.columns.cell(row, "original_currency"))
        seen = number_of(self.columns.cell(row, "original"), self.sums.mark)
        if code == self._code(row):
            return
        yield "currency_original", code
        if code and seen is not None:
            yield "amount_original", seen.plain

    def _others(self, row: Cells) -> Iterator[tuple[str, Any]]:
        """Yield the cells of other columns by their titles."""
        named = ("kind", "net", "gross", "iban", *(() if self.sums.fee else ("fee",)))
        places = (place for name, place in self.columns.places.items() if name not in named)
        taken = {*places, *self.columns.numbered}
        titles = self.columns.titles
        for place, cell in enumerate(row):
            if place not in taken and cell not in {None, ""}:
                name = snake(titles[place] if place < len(titles) else "")
                name = name or f"column_{place + 1}"
                yield f"other_{name}" if name in _OWN else name, cell


def _text(cell: Cell) -> str | None:
    return None if cell is None else " ".join(str(cell).split()) or None


def _notes(
    columns: Columns, table: Table, lines: Sequence[_Booked], proof: Proof, left: Sequence[Cells]
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


# Exports of payment services in JSON, by the declarations in `services.toml`.

_TABLES: Final = read_toml(__package__, "services.toml")
_EXPONENTS: Final = {c: int(n) for n, codes in _TABLES["minor"].items() for c in codes.split()}
"""The decimals of currencies that have not two."""

_NUMBER: Final = re.compile(r"-?\d{1,18}(?:\.\d{1,9})?")
_MINOR: Final = re.compile(r"-?\d{1,18}")
_SECONDS: Final = re.compile(r"\d{9,11}")
_TIMES: Final = frozenset(_TABLES["names"]["times"].split())
_SUMS: Final = frozenset(_TABLES["names"]["sums"].split())


def of_services(records: Sequence[Record]) -> tuple[Sequence[Table], tuple[Record, ...]]:
    """Return the payments among the objects of a service as a table, and the other objects."""
    lines: list[Line] = []
    others: list[Record] = []
    for record in records:
        own = record.fields
        fits = (each for each in _TABLES["exports"].values() if _has(own, each["has"]))
        if (export := next(fits, None)) is None:
            others.append(record)
            continue
        said = [(path, _shown(own, export, path, text)) for path, text in leaves_of(own)]
        cells: dict[str, Any] = first_at(said, export["columns"])
        if kind := export.get("type"):
            for path, text in left_over(said, tuple(cells.values())):
                keep_rest(cells, path, text)
            fields = {"entity_type": kind, **cells.pop("rest", {}), **cells}
            others.append(Record(kind=f"object:{kind}", fields=fields))
            continue
        sums = [cells.pop("Amount"), dict(said).get(export.get("minus", ""), "0")]
        if all(map(_NUMBER.fullmatch, sums)) and not isinstance(own["amount"], list):
            amount, back = map(Decimal, sums)
            cells["Amount"] = float((amount - back) * export.get("sign", 1))
        if any(_has(own, each) for each in export.get("pending", ())):
            cells["Status"] = "pending"
        lines.append((cells | export.get("always", {}), said))
    return [Table(rows=tuple(map(tuple, rows_of(lines))))] if lines else [], tuple(others)


def _has(fields: Mapping[str, Any], wanted: str) -> bool:
    """Tell whether an object has these members, some of them with a value, as `paid=True`."""
    pairs = [each.partition("=") for each in wanted.split()]
    return all(name in fields and (not sign or str(fields[name]) == v) for name, sign, v in pairs)


def _shown(fields: Mapping[str, Any], export: Mapping[str, Any], path: str, text: str) -> str:
    """Return a value as people write it: times as days, and sums in whole units."""
    name, code = path.rpartition("/")[2], str(fields.get("currency", "")).upper()
    if name in _TIMES and _SECONDS.fullmatch(text):
        return datetime.fromtimestamp(int(text), UTC).date().isoformat()
    if export.get("minor") and name in _SUMS and _MINOR.fullmatch(text):
        return str(Decimal(text).scaleb(-_EXPONENTS.get(code, 2)))
    return code if path == "currency" else text

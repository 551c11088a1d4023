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
    AmountReader,
    Cells,
    Columns,
    Proof,
    columns_of,
    decimal_of,
    in_codes,
    is_day,
    number_of,
    seen_day,
    sums_of,
)
from canonry.documents.extraction.kinds import TABLES, ibans_in
from canonry.documents.extraction.rows import WITH_BOTH_ORDERS, snake_case
from canonry.documents.parsers.findings import Line, keep_rest, rows_of
from canonry.records.domain.interpretations import FoundEntity, UnreadValue
from canonry.records.notation.labels import plain_label
from canonry.records.notation.money import (
    is_pending,
    is_reversal,
    is_unbooked,
    kind_of,
    order_of_country,
)
from canonry.records.notation.numbers import SeenNumber, currency_in
from canonry.records.notation.settlements import invoices_in
from canonry.values.calendar_dates import DayOrder, find_day_order
from canonry.values.data_files import read_toml
from canonry.values.file_texts import first_texts, leaves_of, note_unread, unused_texts
from canonry.values.languages import columns_named, meaning_of

_SAMPLED_MAX: Final = 50  # notations show in the first rows
_SEVERAL: Final = 3


def day_of(cell: Cell, order: DayOrder | None) -> str | UnreadValue | None:
    """Return the date of a cell in ISO 8601; unread if it is ambiguous or no date."""
    if cell is None:
        return None
    seen = seen_day(str(cell), order)
    if seen is None:
        return UnreadValue(value=cell, reason="it is no date")
    return UnreadValue(value=cell, reason=seen.reason) if seen.value is None else seen.value[:10]


def order_of(
    columns: Columns,
    rows: Sequence[Sequence[Cell]],
    head: Sequence[Sequence[Cell]],
    currency: str | None,
    proof: Proof,
) -> DayOrder | None:
    """Find the order of day and month by the dates, the head, the lines or the country."""
    days = [str(columns.cell_of(row, name) or "") for row in rows for name in DATES]
    around = "\n".join(str(cell) for row in head for cell in row if cell)
    return (
        find_day_order("\n".join(days))
        or find_day_order(around)
        or _sorted_order(columns, rows, proof)
        or _local_order(columns, rows[:_SAMPLED_MAX], around, currency)
    )


def _sorted_order(
    columns: Columns, rows: Sequence[Sequence[Cell]], proof: Proof
) -> DayOrder | None:
    """Return the only order in which the dates of the lines are sorted."""
    name = next(name for name in ("booked", "made", "value") if name in columns.indexes)
    cells = [columns.cell_of(row, name) for row in rows]
    days = {
        order: [date.fromisoformat(day) for c in cells if isinstance(day := day_of(c, order), str)]
        for order in DayOrder
    }
    fitting = [order for order in DayOrder if _is_sorted(days[order], proof)]
    return fitting[0] if len(fitting) == 1 else None


def _is_sorted(days: Sequence[date], proof: Proof) -> bool:
    """Return whether several dates are sorted, in the direction that the balances prove."""
    up = all(a <= b for a, b in pairwise(days))
    down = all(a >= b for a, b in pairwise(days))
    wanted = (down if proof.newest_first else up) if proof.is_complete else up or down
    return wanted and len(set(days)) >= _SEVERAL


def _local_order(
    columns: Columns, rows: Sequence[Sequence[Cell]], around: str, currency: str | None
) -> DayOrder | None:
    """Return the order of the country, judged by languages, currencies and words."""
    codes = {currency, *(columns.cell_of(row, "currency") for row in rows)} - {None}
    if columns.languages - {"en"} or (codes and not codes & WITH_BOTH_ORDERS):
        return DayOrder.DAY
    words = " ".join((*columns.titles, around, *(str(cell) for row in rows for cell in row)))
    return order_of_country(words)


# Bank statements: each line of a table becomes a transaction.
#
# Ambiguous marks and dates are decided by the whole file and its running balances, or left unread.

_ACCOUNT: Final = re.compile(r"[\dA-Z][\dA-Z ./*-]{5,33}")
_SHOWN_MAX: Final = 5  # a wrong sign breaks every balance; the first rows show it
_OWN: Final = frozenset(TABLES["words"]["payment"].split())
"""Fields of a transaction that columns of other meanings must not set by their titles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BankStatement:
    """The number of transactions of a table, the transactions, and notes on them."""

    total: int
    transactions: Iterator[FoundEntity]
    notes: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class _StatementLine:
    """A line of a statement: its first row, and text from the rows below."""

    number: int
    row: Cells
    more: list[str] = field(default_factory=list)


def statement_of(table: Table) -> BankStatement | None:
    """Read a table as a bank statement; None if it is none."""
    columns = columns_of(table.rows)
    if columns is None:
        return None
    lines, left, unbooked = _split_lines(columns, table.rows)
    rows = [line.row for line in lines]
    if not rows:
        return _unbooked_only(columns, unbooked) if unbooked else None
    head = table.rows[: max(0, columns.header)]
    around = [*head, *left]
    sums, proof = sums_of(columns, rows, around)
    currency = _find_currency(columns, rows, around)
    references = Counter(_cell_text(columns.cell_of(row, "id")) for row in rows)
    reader = _LineReader(
        columns=columns,
        sums=sums,
        order=order_of(columns, rows, head, currency, proof),
        currency=currency,
        account=None if "account" in columns.indexes else _find_account(around),
        running=proof.is_running,
        ids=frozenset(each for each, count in references.items() if each and count == 1),
    )
    found = (e for number, line in enumerate(lines, 1) for e in reader.read_line(line, number))
    notes = list(_make_notes(columns, table, lines, proof, left))
    notes += note_unread([_row_text(row) for row in around])
    if unbooked:
        notes += _unbooked_only(columns, unbooked).notes
    if "fee" in columns.indexes and not (sums.fee or proof.is_complete or columns.is_net):
        title = columns.titles[columns.indexes["fee"]]
        notes.append(f"The amounts are read without the column {title}.")
    return BankStatement(total=len(lines), transactions=found, notes=tuple(notes))


def _unbooked_only(columns: Columns, rows: Sequence[Cells]) -> BankStatement:
    """Return a statement without transactions, with notes on lines that were not booked."""
    states = {str(columns.cell_of(row, "state") or "pending").strip() for row in rows}
    named = ", ".join(sorted(states)[:_SHOWN_MAX])
    note = f"{len(rows)} lines that are not booked were left out: {named}."
    unread = note_unread([_row_text(row) for row in rows])
    return BankStatement(total=0, transactions=iter(()), notes=(note, *unread))


def _row_text(row: Cells) -> str:
    return " | ".join(str(cell) for cell in row if cell not in {None, ""})


def _split_lines(
    columns: Columns, rows: Sequence[Cells]
) -> tuple[list[_StatementLine], list[Cells], list[Cells]]:
    """Return the lines below the titles, the rows that belong to no line, and those not booked."""
    lines: list[_StatementLine] = []
    left: list[Cells] = []
    unbooked: list[Cells] = []
    for number, row in enumerate(rows[columns.header + 1 :], columns.header + 1):
        days = (columns.cell_of(row, name) for name in DATES)
        state, purpose = columns.cell_of(row, "state"), columns.cell_of(row, "purpose")
        if is_unbooked(state) or (
            not state and is_pending(_cell_text(purpose)) and _is_paid(columns, row)
        ):
            unbooked.append(row)
        elif any(day is not None and is_day(day) for day in days) and _is_paid(columns, row):
            lines.append(_StatementLine(number=number, row=row))
        elif (
            lines
            and number == lines[-1].number + len(lines[-1].more) + 1
            and _continues_purpose(columns, row)
        ):
            lines[-1].more.append(str(columns.cell_of(row, "purpose")).strip())
        else:
            left.append(row)
    return lines, left, unbooked


def _is_paid(columns: Columns, row: Cells) -> bool:
    cells = (columns.cell_of(row, name) for name in SUMS)
    return any(number_of(cell, None) is not None for cell in cells)


def _continues_purpose(columns: Columns, row: Cells) -> bool:
    """Return whether a row only continues the purpose of the line above: no total, no title."""
    filled = [index for index, cell in enumerate(row) if cell not in {None, ""}]
    text = plain_label(str(columns.cell_of(row, "purpose")))
    other = meaning_of(text)[0] in {"total", "subtotal"} or text in map(
        plain_label, filter(None, columns.titles)
    )
    return filled == [columns.indexes.get("purpose")] and not other


def _find_currency(columns: Columns, rows: Sequence[Cells], around: Sequence[Cells]) -> str | None:
    """Return the currency in the titles, the amounts, or the other rows."""
    if columns.currency is not None or "currency" in columns.indexes:
        return columns.currency
    cells = (columns.cell_of(row, n) for row in rows[:_SAMPLED_MAX] for n in (*SUMS, "balance"))
    signs = {currency_in(cell) for cell in cells if isinstance(cell, str)} - {None}
    if not signs:
        texts = (*columns.titles, *(c for row in around for c in row if isinstance(c, str)))
        signs = {currency_in(in_codes(text)) for text in texts} - {None}
    return signs.pop() if len(signs) == 1 else None


def _find_account(around: Sequence[Cells]) -> str | None:
    """Return the account that the rows around the lines name, if it is the only one."""
    ibans = ibans_in("\n".join(str(cell) for row in around for cell in row if cell))
    if ibans:
        return ibans[0] if len(ibans) == 1 else None
    named = set()
    for row in around:
        cells = [str(cell).strip() for cell in row if cell not in {None, ""}]
        if len(cells) > 1 and "account" in columns_named(plain_label(cells[0])):
            named |= {cells[1]} if _ACCOUNT.fullmatch(cells[1]) else set()
    return named.pop() if len(named) == 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _LineReader:
    """Reads the lines of one statement."""

    columns: Columns
    sums: AmountReader
    order: DayOrder | None
    currency: str | None
    account: str | None
    running: bool
    ids: frozenset[str]

    def read_line(self, line: _StatementLine, number: int) -> Iterator[FoundEntity]:
        """Read the transaction of one line, and its fee if that is not a part of the amount."""
        values = dict(self._read_values(line))
        found = FoundEntity(
            entity_type="transaction",
            fields={
                n: v for n, v in values.items() if v is not None and not isinstance(v, UnreadValue)
            },
            unread={n: v for n, v in values.items() if isinstance(v, UnreadValue)},
            row=number,
            reasons=("columns:" + "+".join(sorted(self.columns.indexes)),),
        )
        yield found
        if charged := self.sums.read_fee(line.row):
            kept = ("date", "posting_date", "value_date", "currency", "account_id")
            fields = {name: found.fields[name] for name in kept if name in found.fields}
            title = self.columns.titles[self.columns.indexes["fee"]]
            fields["amount"] = SeenNumber(value=charged).json_number
            whose = found.fields.get("description") or found.fields.get("merchant_name")
            fields["description"] = f"{title}: {whose}" if whose else title
            unread = {name: found.unread[name] for name in kept if name in found.unread}
            fields |= {"category": "fee", "kind": "fee"}
            yield replace(found, fields=fields, unread=unread)

    def _read_values(self, line: _StatementLine) -> Iterator[tuple[str, Any]]:
        row, cell = line.row, self.columns.cell_of
        dates = [name for name in DATES if cell(row, name) is not None]
        for index, meaning in enumerate(dates):
            # The first date of a line is that of the transaction.
            name = "value_date" if meaning == "value" else "posting_date"
            yield name if index else "date", day_of(cell(row, meaning), self.order)
        paid = self.sums.read_amount(row)
        yield "amount", paid.json_number if isinstance(paid, SeenNumber) else paid
        yield "currency", self._currency_code(row)
        gross = number_of(cell(row, "gross"), self.sums.mark)
        yield "amount_gross", gross and gross.json_number
        yield "balance", self._read_balance(row)
        yield "status", _cell_text(cell(row, "state"))
        yield "merchant_name", self._other_party(row, paid)
        numbered = (line.row[p] for p in self.columns.numbered if p < len(line.row))
        parts = [self.columns.cell_of(line.row, "purpose"), *numbered, *line.more]
        purpose = " ".join(text for part in parts if (text := _cell_text(part))) or None
        yield "description", purpose
        kind = "reversal" if is_reversal(purpose) else kind_of(self.columns.cell_of(row, "kind"))
        yield "kind", (kind if kind not in {"", "payment", "repaid"} else None)
        named = _cell_text(cell(row, "invoice"))
        texts = "; ".join(filter(None, map(_cell_text, row)))
        numbers = map(str.strip, named.split(";")) if named else invoices_in(texts)
        yield "invoice_reference", [*dict.fromkeys(numbers)] or None
        account = _cell_text(cell(row, "account"))
        iban = ibans_in(account) if account else ()
        yield "account_id", iban[0] if iban else account or self.account
        reference = _cell_text(cell(row, "id"))
        yield "transaction_id" if reference in self.ids else "reference", reference
        yield from self._original_amount(row)
        yield from self._other_cells(row)

    def _currency_code(self, row: Cells) -> str | None:
        return str(self.columns.cell_of(row, "currency") or "").strip().upper() or self.currency

    def _read_balance(self, row: Cells) -> Any:
        seen = self.sums.read_balance(row)
        if seen is None or (seen.value is not None and self.running):
            return None if seen is None else seen.json_number
        reason = seen.reason or "it does not run with the amounts"
        return UnreadValue(value=self.columns.cell_of(row, "balance"), reason=reason)

    def _other_party(self, row: Cells, paid: SeenNumber | UnreadValue | None) -> str | None:
        """Return the other party: of payer and payee the one who does not own the account."""
        party = _cell_text(self.columns.cell_of(row, "party"))
        amount = decimal_of(paid)
        if party is None and amount is not None:
            return _cell_text(self.columns.cell_of(row, "payee" if amount < 0 else "payer"))
        return party

    def _original_amount(self, row: Cells) -> Iterator[tuple[str, Any]]:
        """Yield the original amount, which may be unknown, in another currency."""
        code = _cell_text(self.columns.cell_of(row, "original_currency"))
        seen = number_of(self.columns.cell_of(row, "original"), self.sums.mark)
        if code == self._currency_code(row):
            return
        yield "currency_original", code
        if code and seen is not None:
            yield "amount_original", seen.json_number

    def _other_cells(self, row: Cells) -> Iterator[tuple[str, Any]]:
        """Yield the cells of other columns by their titles."""
        named = ("kind", "net", "gross", "iban", *(() if self.sums.fee else ("fee",)))
        indexes = (index for name, index in self.columns.indexes.items() if name not in named)
        taken = {*indexes, *self.columns.numbered}
        titles = self.columns.titles
        for index, cell in enumerate(row):
            if index not in taken and cell not in {None, ""}:
                name = snake_case(titles[index] if index < len(titles) else "")
                name = name or f"column_{index + 1}"
                yield f"other_{name}" if name in _OWN else name, cell


def _cell_text(cell: Cell) -> str | None:
    return None if cell is None else " ".join(str(cell).split()) or None


def _make_notes(
    columns: Columns,
    table: Table,
    lines: Sequence[_StatementLine],
    proof: Proof,
    left: Sequence[Cells],
) -> Iterator[str]:
    if proof.is_complete:
        yield f"The running balances prove the amounts of {proof.steps + 1} lines."
    elif proof.is_running:
        numbers = [lines[index].number for index in proof.broken[:_SHOWN_MAX]]
        line_numbers = ", ".join(str(table.lines[n] if table.lines else n + 1) for n in numbers)
        problem = "A line is missing there or was misread."
        yield f"The balance does not fit in line {line_numbers}. {problem}"
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
        cells: dict[str, Any] = first_texts(said, export["columns"])
        if kind := export.get("type"):
            for path, text in unused_texts(said, tuple(cells.values())):
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
    """Return whether an object has these members, some of them with a value, as `paid=True`."""
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

"""Bills: invoices that programs exchange, taken exactly, and the arithmetic of all of them."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from canonry.canon.ports.files import Record
from canonry.records.domain.interpretations import Found

EXACT: Final = "invoice"
"""The kind of a record that is an invoice, field by field."""

_CENT: Final = Decimal("0.011")
_GROSS: Final = {"invoice": ("amount", "amount_due"), "receipt": ("amount_total",)}


def of_exact(records: Sequence[Record]) -> Iterator[Found]:
    """The invoices of an exchanged file."""
    for record in records:
        if record.kind == EXACT:
            yield Found(entity_type="invoice", fields=record.fields, reasons=("exchanged",))


def mismatches(found: Found) -> Iterator[str]:
    """What in the sums of a bill does not add up, by the names of its fields."""
    if found.entity_type not in _GROSS:
        return
    said = found.fields
    grosses = {name: _sum(said.get(name)) for name in _GROSS[found.entity_type]}
    totals = [total for total in grosses.values() if total is not None]
    net, tax = _sum(said.get("subtotal")), _sum(said.get("tax_amount"))
    if net is not None and tax is not None and totals and not _any(net + tax, totals):
        yield f"subtotal and tax_amount do not make the {next(iter(grosses))}"
    lines = _of_lines(said)
    sums = [each for each in (net, *totals) if each is not None]
    if lines is not None and sums and not _any(lines, sums):
        yield "the amounts of the items do not make the subtotal or the total"


def _of_lines(said: Mapping[str, Any]) -> Decimal | None:
    """The sum of the items, where each has an amount."""
    items = said.get("items")
    if not isinstance(items, list) or not items:
        return None
    amounts = [_sum(each.get("amount")) if isinstance(each, dict) else None for each in items]
    known = [each for each in amounts if each is not None]
    return sum(known, Decimal()) if len(known) == len(amounts) else None


def _any(total: Decimal, others: Sequence[Decimal]) -> bool:
    return any(abs(total - other) < _CENT for other in others)


def _sum(value: Any) -> Decimal | None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return Decimal(str(value)) if number else None

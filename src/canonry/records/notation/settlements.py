"""Settlements: the payments that settle an invoice, what they name, and what is still due."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from operator import or_
from typing import Any, Final

from canonry.log.schemas.contradictions import forms_differ
from canonry.log.schemas.schemas import TruthRelation
from canonry.records.domain.queries import number_of, texts_in
from canonry.records.notation.labels import plain_label
from canonry.records.notation.money import BACK, is_unbooked, kind_of, state_of
from canonry.records.notation.numbers import MONEY, WORDS
from canonry.values.calendar_dates import DayOrder, dates_in
from canonry.values.ids import EntityId
from canonry.values.json_values import company_name, document_number, reference_number

INVOICE: Final = "invoice"
CREDIT_NOTE: Final = "credit_note"
PAYERS: Final = ("transaction", "receipt", "message")
"""The types whose entities settle the invoices that they name."""

REFERENCE: Final = "invoice_reference"
"""The field of a payment or paper with the number of an invoice, or a list of several."""

OWED: Final = "owed"
OWED_NAMES: Final = frozenset({OWED, "due", "open", "outstanding"})
"""The names of the sum of amounts that are still due on invoices."""

_PARTY: Final = ("merchant_name", "merchant", "vendor_name")
_CURRENCIES: Final = {
    "amount": "currency",
    "amount_gross": "currency",
    "amount_total": "currency",
    "amount_original": "currency_original",
}
_REFERS: Final = (TruthRelation.REFERS_TO,)
_Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SettlementSide:
    """A payment or an invoice, and the numbers that relate it in normal form."""

    id: EntityId
    entity_type: str
    fields: _Fields

    @property
    def reference_numbers(self) -> frozenset[str]:
        """Return the numbers of an invoice, or those that a payment names."""
        bill = self.entity_type == INVOICE
        names = ("invoice_number", "payment_reference") if bill else (REFERENCE,)
        texts = [text for name in names for text in texts_in(self.fields.get(name))]
        return frozenset(form(t) for t in texts for form in (document_number, reference_number))


def pairs_of(sides: Collection[SettlementSide]) -> Iterator[tuple[SettlementSide, SettlementSide]]:
    """Yield each payment with each invoice that has a number in common with it."""
    invoices: dict[str, dict[str, SettlementSide]] = {}
    for side in sides:
        for number in side.reference_numbers if side.entity_type == INVOICE else ():
            invoices.setdefault(number, {})[side.id] = side
    for side in sides:
        if side.entity_type != INVOICE:
            named = {i: e for n in side.reference_numbers for i, e in invoices.get(n, {}).items()}
            yield from ((side, each) for each in named.values())


def relations_between(
    payment: SettlementSide, invoice: SettlementSide, *, settled: bool
) -> Sequence[TruthRelation]:
    """Return the relations of a payment to an invoice with a number that it names.

    There are none if the parties or currencies contradict. Money that came back, a payment that
    was not booked, and an amount above that of the invoice refer to it and do not settle it. A
    payment that `settled` the invoice with its earlier amount still does with a higher one.
    """
    paid, bill = payment.fields, invoice.fields
    party = next((str(paid[name]) for name in _PARTY if paid.get(name)), "")
    vendor, customer = (str(bill.get(f"{role}_name") or "") for role in ("vendor", "customer"))
    came = payment.entity_type == PAYERS[0] and (number_of(paid.get("amount")) or 0) > 0
    # Money that comes from the vendor goes back; other money is of a customer.
    back = came and (not party or not vendor or is_same_party(party, vendor))
    other = customer if came and not back else vendor
    sums, code = dict(_sums_of(paid)), _currency_code(bill.get("currency"))
    foreign = code and sums and not {"", code} & sums.keys()
    if foreign or (party and other and not is_same_party(party, other)):
        return ()
    amount, due = _amount_in(paid, code), due_on(bill)
    judged = not settled and len([*texts_in(paid.get(REFERENCE))]) <= 1
    above = judged and amount is not None and due is not None and amount > due
    if back or above or is_unbooked(paid.get("status")) or is_back(paid):
        return _REFERS
    return (*_REFERS, TruthRelation.SETTLES)


def is_back(payment: _Fields) -> bool:
    """Return whether money of an earlier payment came back: a refund or a reversal."""
    return kind_of(payment.get("kind")) in BACK


def is_same_party(one: str, other: str) -> bool:
    """Return whether a name has all words of the other, in any order, besides legal forms."""
    words = ({*plain_label(company_name(each)).split()} for each in (one, other))
    few, many = sorted(words, key=len)
    return bool(few) and few <= many and not forms_differ(one, other)


def due_on(invoice: _Fields) -> Decimal | None:
    """Return the amount of an invoice."""
    return number_of(invoice.get("amount_due", invoice.get("amount")))


def _sums_of(payment: _Fields) -> Iterator[tuple[str, Decimal]]:
    """Yield the amounts of a payment by currency; an unknown currency is empty."""
    for name, currency in _CURRENCIES.items():
        if (amount := number_of(payment.get(name))) is not None:
            yield _currency_code(payment.get(currency)), amount


def _amount_in(payment: _Fields, code: str) -> Decimal | None:
    """Return the amount without its sign in a currency, or in one that nobody names."""
    sums = dict(_sums_of(payment))
    known = [sums[each] for each in (code, "") if each in sums] or (not code and [*sums.values()])
    return abs(known[0]) if known else None


def _currency_code(value: Any) -> str:
    return value.strip().upper() if isinstance(value, str) else ""


def shares_of(payment: _Fields, invoices: Sequence[_Fields]) -> Sequence[_Fields]:
    """Return a payment as it counts for each of its invoices.

    Of a payment for several invoices each gets its amount if the payment covers their sum, which
    a later correction may lower. Otherwise its share is unknown.
    """
    if len(invoices) == 1:
        return (payment,)
    dues = [due_on(each) for each in invoices]
    total = sum((due for due in dues if due), Decimal())
    whole = any(abs(amount) >= total for _, amount in _sums_of(payment))
    rest = {name: value for name, value in payment.items() if name not in _CURRENCIES}
    return [{**rest, "amount": float(due)} if whole and due else rest for due in dues]


def owed_on(invoice: _Fields, parts: Collection[tuple[str, _Fields]]) -> Decimal | str | None:
    """Return the amount that is still due on an invoice; a text is the reason if it is unknown.

    `parts` are the credit notes, payments and reversals with their types. One payment may be
    reported by the bank, a receipt and a mail: equal amounts of different types count once. Money
    of a reversal is due again, and a refund does not count.
    """
    due, code, less = due_on(invoice), _currency_code(invoice.get("currency")), Decimal()
    if due is None or state_of(invoice.get("status")) in {"paid", "reverted"}:
        return None if due is None else Decimal()
    paid_by_type: dict[str, Counter[Decimal | None]] = {}
    for entity_type, fields in parts:
        kind, amount = kind_of(fields.get("kind")), _amount_in(fields, code)
        if kind == "reversal" or entity_type == CREDIT_NOTE:
            less += (amount or 0) * (-1 if kind == "reversal" else 1)
        elif kind != "refund" and not is_unbooked(fields.get("status")):
            paid_by_type.setdefault(entity_type, Counter())[amount] += 1
    paid = reduce(or_, paid_by_type.values(), Counter[Decimal | None]())
    if paid.keys() == {None}:
        return "paid_amount_unknown"
    return max(Decimal(), due - less - sum(each or Decimal() for each in paid.elements()))


# The numbers of invoices that a sentence or the purpose of a payment names.

WHOLE_NUMBER: Final = (
    r"((?<![\w/-])(?:[A-Z0-9][\w/.-]{0,40}\d[\w/-]{0,40}|\d[\w/-]{0,40}))"
    rf"(?![\w/-]|[.,]\d|\s\d|\s?(?-i:{MONEY}))"
)
"""A whole number of a paper, and no amount."""

NO_NUMBER: Final = re.compile(r"(?:\d\d?[/.-])?(?:19|20)\d\d|\d+\.\d\d")
"""A year, a month, or an amount."""

_SIGN: Final = r"(?:(?:no|nr|num|number|numero|nummer)\b\.?|n\.?[\xba\xb0o]?\.?|#)"
_PREFIX: Final = r"(?-i:INV|RE|RG|FAC|FV)"
_INVOICE_NUMBER: Final = rf"(?:{_PREFIX} )?{WHOLE_NUMBER}"
INVOICES: Final = re.compile(
    rf"(?:\b(?:{WORDS['invoice']})[ :.-]{{0,3}}(?:{_SIGN}\s*:?\s*)?"
    rf"|(?<![\w/-])(?={_PREFIX}[-/ ]?\d))"
    rf"((?:{_INVOICE_NUMBER}(?:\s*(?:,|&|and|und|et|y|e)\s+)?)+)",
    re.IGNORECASE,
)
"""A word for an invoice, and the numbers behind it."""

_EACH: Final = re.compile(_INVOICE_NUMBER, re.IGNORECASE)
_DAY_MAX: Final = 14  # the most characters of a date behind its day, as in `invoice 12 May 2024`

_STATED: Final = frozenset({REFERENCE, "invoice_number", "invoice_numbers", "invoice_no"})


def invoices_in(text: str) -> Iterator[str]:
    """Yield the numbers of invoices that a sentence or a purpose names."""
    for match in INVOICES.finditer(text):
        day = is_date(text[match.start(1) : match.end(1) + _DAY_MAX]) if match[1][2:] == "" else 0
        numbers = (each[0] for each in _EACH.finditer(match[1]))
        yield from (e for e in numbers if not (day or NO_NUMBER.fullmatch(e) or is_date(e)))


def is_date(text: str) -> bool:
    """Return whether a text has a date."""
    return any(dates_in(text, DayOrder.DAY))


def with_named_invoices(entity_type: str, fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of a line of a bank with the invoices that its description names."""
    purpose = fields.get("description") if entity_type == PAYERS[0] else None
    if not isinstance(purpose, str) or _STATED & fields.keys():
        return fields
    numbers = [*dict.fromkeys(invoices_in(purpose))]
    return {**fields, REFERENCE: numbers} if numbers else fields

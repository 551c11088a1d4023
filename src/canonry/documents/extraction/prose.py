"""Fields of invoices, receipts, contracts, events and notes, from labels and prose."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
from typing import Any, Final, NamedTuple

from canonry.canon.ports.files import Table
from canonry.documents.extraction import agreements, kinds
from canonry.records.domain.interpretations import FoundEntity, UnreadValue
from canonry.records.notation.labels import LabelledLine, is_company, plain_label
from canonry.records.notation.money import state_of
from canonry.records.notation.numbers import currency_in, is_no_sum, number_in
from canonry.values.calendar_dates import dates_in
from canonry.values.languages import meaning_of

_DATES, _MONEY, _NUMBERS = (kinds.MEANINGS[name] for name in ("dates", "money", "numbers"))
_FIELDS: Final[Mapping[str, Mapping[str, Sequence[str]]]] = kinds.TABLES["fields"]
_EARNED: Final = re.compile("brut|gross|lord|deveng")
_AMOUNT_BEHIND: Final = re.compile(r"\s\S{0,20}\d[.,]\d\d(?!\d)")
_TITLE_MAX: Final = 200  # longer first lines are prose
_EXTRA_LABEL: Final = re.compile(r"[a-z][a-z0-9]*(?: [a-z0-9]+){0,3}")
_TOTALS: Final = frozenset({"amount_due", "amount_total"})
_OF_EACH: Final = re.compile(
    r"\d[^\d(]{0,6}(?:/\s?[^\W\d_]|\b(?:each|per|pro|je|p\.?\s?[amd]\.|par|por|cada|monthly"
    r"|pr\.|za sztuk\u0119|per capita|mtl|monatl\w*|j\xe4hrl\w*|mensuel\w*|mensual\w*|mensil\w*"
    r"|(?:zzgl|zuz\xfcgl\w*|abzgl|abz\xfcgl\w*|less|plus|excl\w*|exkl\w*|hors|ohne|net|netto)"
    r"(?!\s*:?\s*\d[\d.,]*\d(?!\s?%)))(?![^\W\d_]))",
    re.IGNORECASE,
)
"""An amount for one of several pieces, hours or months, or one that something is added to."""

_REFERENCE: Final = (
    r"[ -]?(?:no|number|nr|num|n[\xba\xb0o]|#)\b\.?:?\s*([A-Z0-9][\w/-]*\d[\w/-]*|\d[\w/-]*)"
)
_NUMBERED: Final = {
    kind: re.compile(rf"\b(?:{words}){_REFERENCE}", re.IGNORECASE)
    for kind, words in kinds.TABLES["numbered"].items()
}
_RATE: Final = re.compile(r"(?<!\d)\d++(?:[.,]\d+)?\s?%")
_WORD: Final = re.compile(r"[\w-]{2,}")
_EMPTY_WORDS: Final = frozenset(kinds.TABLES["words"]["empty"].split())
_WHOLE: Final = re.compile(r"[1-9]\d{0,14}")


@dataclass(slots=True)
class _EntityDraft:
    """The fields of an entity while they are read, with the document."""

    lines: Sequence[LabelledLine]
    tables: Sequence[Table]
    context: agreements.DocumentContext
    text: str
    fields: dict[str, Any] = field(default_factory=dict)
    unread: dict[str, UnreadValue] = field(default_factory=dict)


def document_of(
    kind: kinds.Kind, lines: Sequence[LabelledLine], tables: Sequence[Table], text: str
) -> tuple[FoundEntity, ...]:
    """Return the document as an entity, and the entities that it lists."""
    lines = kinds.without_item_labels(lines)
    context = agreements.context_of(list(lines))
    draft = _EntityDraft(lines, tables, context, text)
    used = set()
    paper = kind.entity_type in kinds.PAPERS
    own = {f"{kind.entity_type}_date": ("issued", "date"), **_FIELDS["paper"]}
    own["amount"] = kinds.TABLES["amounts"].get(kind.entity_type, own["amount"])
    for name, meanings in (own if paper else _FIELDS[kind.entity_type]).items():
        for meaning in meanings:
            line = _best_line(lines, meaning)
            if line is None or (
                kind.entity_type == "payslip" and _EARNED.search(plain_label(line.label))
            ):
                continue
            if name not in draft.fields and _read_value(draft, name, line):
                used.add(line)
                break
    pattern, name = _NUMBERED.get(kind.entity_type), f"{kind.entity_type}_number"
    # The number may be within a sentence.
    if pattern and name not in draft.fields and (numbered := pattern.search(text)):
        draft.fields[name] = numbered[1]
    if paper:
        _finish_paper(draft, kind.entity_type)
    else:
        _FINISH[kind.entity_type](draft)
    if kind.entity_type != "note":
        _add_extras(draft, {*used, *(line for line in lines if paper and _numbers_of(draft, line))})
    title = str(draft.fields.get("title", ""))
    mentions = (
        agreements.mentioned_entities(lines, context, title) if kind.entity_type == "note" else ()
    )
    main = FoundEntity(
        entity_type=kind.entity_type,
        fields=draft.fields,
        unread={name: each for name, each in draft.unread.items() if name not in draft.fields},
        refers_to=tuple(range(1, len(mentions) + 1)),
        reasons=kind.reasons,
    )
    return (main, *mentions)


def _best_line(lines: Sequence[LabelledLine], meaning: str) -> LabelledLine | None:
    """Return the line for a notion: of totals the last one, else the first.

    The value of a number or date must have a digit; otherwise the line is a heading.
    """
    found = [line for line in lines if line.meaning == meaning and (line.value or line.block)]
    if meaning in _NUMBERS | _DATES:
        found = [line for line in found if any(char.isdigit() for char in line.value)]
    if not found:
        return None
    return found[-1] if meaning in {"total", "amount_due"} else found[0]


def _read_value(draft: _EntityDraft, name: str, line: LabelledLine) -> bool:
    """Read the value of a line by its notion; return whether the field has a value."""
    if line.meaning in _DATES:
        return _take_date(draft, name, line.value)
    if line.meaning in _MONEY:
        return _take_money(draft, name, line)
    value = line.value or "\n".join(line.block)
    if line.meaning in _NUMBERS:
        value = value.split("  ")[0].split("|")[0].lstrip("#: ").strip()
        of_another = line.meaning == "receipt_number" and kinds.names_bill(value)
        # In a line of a list of documents an amount follows.
        value = "" if of_another or _AMOUNT_BEHIND.search(value) else value
    elif line.meaning in {"vendor", "customer", "merchant"}:
        value = (line.value or (line.block[0] if line.block else "")).strip()
    elif line.meaning == "parties":
        value = agreements.BETWEEN.join(agreements.listed_in(value, draft.context))
    elif line.meaning == "currency":
        value = draft.context.currency_of(value) or value
    elif line.meaning == "status":
        value = value.lower()
    value = agreements.tidy_blanks(value)
    if value:
        draft.fields[name] = value
    return bool(value)


def _take_date(draft: _EntityDraft, name: str, text: str) -> bool:
    seen = draft.context.find_date(text)
    if seen is not None and seen.value is not None:
        draft.fields[name] = seen.value
        return True
    if seen is not None:
        draft.unread[name] = UnreadValue(value=text, reason=seen.reason)
    return False


def _take_money(draft: _EntityDraft, name: str, line: LabelledLine) -> bool:
    text, context = line.value, draft.context
    # A rate may precede the amount: "VAT 19 %: 190.00".
    bare = _RATE.sub("", text)
    seen = context.find_number(bare)
    if seen is None:
        return False
    no_sum = is_no_sum(bare) or (name in _TOTALS and _OF_EACH.search(bare))
    if no_sum or seen.value is None:
        reason = "a number with a unit, which is no sum" if no_sum else seen.reason
        draft.unread[name] = UnreadValue(value=text, reason=reason)
        return False
    draft.fields[name] = seen.json_number
    if name == "tax_amount" and (rate := _RATE.search(f"{line.label} {text}")):
        draft.fields.setdefault("tax_rate", rate[0].replace(" ", ""))
    currency = currency_in(text, context.dollar) or line.currency or context.currency
    if currency and name in {*_TOTALS, "amount"}:
        draft.fields.setdefault("currency", currency)
    return True


def _finish_bill(draft: _EntityDraft, sender: str, receiver: str) -> None:
    """Add the currency and the items, and the sender by the letterhead if no label names it."""
    if draft.context.currency:
        draft.fields.setdefault("currency", draft.context.currency)
    if items := kinds.items_of(draft.lines, draft.tables, draft.context):
        draft.fields["items"] = items
    name = sender_in(draft.lines, draft.fields.get(receiver))
    if sender not in draft.fields and name:
        draft.fields[sender] = name


def _finish_invoice(draft: _EntityDraft) -> None:
    _finish_bill(draft, "vendor_name", "customer_name")
    if any(state_of(line.text) == "paid" for line in draft.lines):  # a stamp
        draft.fields.setdefault("status", "paid")
    identifiers = {
        "iban": kinds.ibans_in(draft.text),
        "tax_id": kinds.tax_ids_in(draft.text),
        "email": kinds.mails_in(draft.text),
        "phone": kinds.phones_in(draft.text),
    }
    for label, found in identifiers.items():  # the owner of one of several is unknown
        if len(found) == 1:
            draft.fields[label] = found[0]


def _finish_paper(draft: _EntityDraft, kind: str) -> None:
    """Add the own number of a paper, and the invoices that it names."""
    if number := kinds.own_number(kind, draft.lines):
        draft.fields[f"{kind}_number"] = number
    if invoices := kinds.invoices_named(draft.lines, number):
        draft.fields["invoice_reference"] = invoices
    _finish_bill(draft, "vendor_name", "customer_name")


def _finish_receipt(draft: _EntityDraft) -> None:
    number = str(draft.fields.get("receipt_number", ""))
    if invoices := kinds.invoices_named(draft.lines, number):
        draft.fields["invoice_reference"] = invoices
    _finish_bill(draft, "merchant_name", "")
    dated = {"date_purchased"} & (draft.fields.keys() | draft.unread.keys())
    if not dated and (day := only_date_in(draft.lines, draft.context)):
        draft.fields["date_purchased"] = day


def _finish_contract(draft: _EntityDraft) -> None:
    if "name" not in draft.fields and (heading := _find_heading(draft.lines)):
        draft.fields["name"] = heading
    own = agreements.parties_of(draft.lines, draft.text, draft.context)
    if len(own) > 1 or (own and "parties" not in draft.fields):
        draft.fields["parties"] = agreements.BETWEEN.join(own)
    named = draft.fields.get("parties", "").split(agreements.BETWEEN)
    if companies := [name for name in named if is_company(name)]:
        draft.fields.setdefault("companies", agreements.BETWEEN.join(companies))
    for name, text in agreements.days_of(draft.text):
        if name not in draft.fields and name not in draft.unread:
            _take_date(draft, name, text)


def _finish_event(draft: _EntityDraft) -> None:
    if "title" not in draft.fields and (heading := _find_heading(draft.lines)):
        draft.fields["title"] = heading


def _find_heading(lines: Sequence[LabelledLine]) -> str:
    heading = next((line.text for line in lines if not line.value), "")
    heading = heading if 0 < len(heading) <= _TITLE_MAX else ""
    return str(agreements.tidy_blanks(heading.title() if heading.isupper() else heading))


def _finish_note(draft: _EntityDraft) -> None:
    draft.fields["content"] = agreements.shorten_text(draft.text)
    for line in draft.lines:
        seen = draft.context.find_date(line.value) if line.meaning == agreements.NEXT else None
        if seen is not None and seen.value is None:
            draft.unread[agreements.NEXT] = UnreadValue(value=line.value, reason=seen.reason)
    if "created_date" not in draft.fields and (dated := agreements.dateline_of(draft.lines)):
        _take_date(draft, "created_date", dated)
    if "title" not in draft.fields:
        first = next((line.text for line in draft.lines), "")
        subject = agreements.subject_of(draft.lines)
        first = first if subject is None else subject
        if 0 < len(first) <= _TITLE_MAX:
            draft.fields["title"] = agreements.tidy_blanks(first)
    if "tags" not in draft.fields and any(line.meaning == "attendees" for line in draft.lines):
        # The words of a meeting's title become its tags.
        words = _WORD.findall(draft.fields.get("title", ""))
        draft.fields["tags"] = ", ".join(
            word if any(char.isdigit() for char in word) or word.isupper() else word.lower()
            for word in words
            if word.lower() not in _EMPTY_WORDS
        )


def _numbers_of(draft: _EntityDraft, line: LabelledLine) -> bool:
    """Return whether a line's value is the number of a paper, or of an invoice it names."""
    if line.meaning == "invoice_number":
        return bool(kinds.invoices_named([line], ""))
    return line.value in {each for name, each in draft.fields.items() if name.endswith("_number")}


def _add_extras(draft: _EntityDraft, used: set[LabelledLine]) -> None:
    """Add other labelled values; the label becomes the name of the field."""
    forms = kinds.forms_in(draft.lines)
    for index, line in enumerate(draft.lines):
        label = plain_label(line.label)
        if line in used or not line.value or not _EXTRA_LABEL.fullmatch(label):
            continue
        if line.listed and index not in forms:
            continue
        name = label.replace(" ", "_")
        if name not in draft.fields and name not in draft.unread and line.meaning not in _MONEY:
            value = (
                line.value.lower()
                if line.meaning == "status"
                else agreements.tidy_blanks(line.value)
            )
            draft.fields[name] = int(value) if _WHOLE.fullmatch(value) else value


_FINISH: Final[Mapping[str, Callable[[_EntityDraft], None]]] = {
    "invoice": _finish_invoice,
    "receipt": _finish_receipt,
    "contract": _finish_contract,
    "event": _finish_event,
    "note": _finish_note,
}


# Bills: checks of their sums, and their senders.

_GROSS: Final = {"invoice": ("amount", "amount_due"), "receipt": ("amount_total",)}


def find_mismatches(found: FoundEntity) -> Iterator[str]:
    """Yield the sums of a bill that do not add up, by the names of its fields."""
    if found.entity_type not in _GROSS:
        return
    fields = found.fields
    grosses = {name: _as_decimal(fields.get(name)) for name in _GROSS[found.entity_type]}
    totals = [total for total in grosses.values() if total is not None]
    net, tax = _as_decimal(fields.get("subtotal")), _as_decimal(fields.get("tax_amount"))
    if net is not None and tax is not None and totals and not _has_equal(net + tax, totals):
        yield f"subtotal and tax_amount do not make the {next(iter(grosses))}"
    lines = _item_total(fields)
    sums = [each for each in (net, *totals) if each is not None]
    if lines is not None and sums and not _has_equal(lines, sums):
        yield "the amounts of the items do not make the subtotal or the total"


def _item_total(fields: Mapping[str, Any]) -> Decimal | None:
    """Return the sum of the items if each has an amount."""
    items = fields.get("items")
    if not isinstance(items, list) or not items:
        return None
    amounts = [_as_decimal(e.get("amount")) if isinstance(e, dict) else None for e in items]
    known = [each for each in amounts if each is not None]
    return sum(known, Decimal()) if len(known) == len(amounts) else None


def _has_equal(total: Decimal, others: Sequence[Decimal]) -> bool:
    return any(abs(total - other) < Decimal("0.011") for other in others)


def _as_decimal(value: Any) -> Decimal | None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return Decimal(str(value)) if number else None


_HEAD: Final = 5
_NAME_MAX: Final = 60  # longer lines above an address are prose
_ADDRESS: Final = 3  # the number of lines below a name that may be its address


def sender_in(lines: Sequence[LabelledLine], taken: object) -> str | None:
    """Return the sender in a letterhead: a company's name, or a name above an address.

    `taken` is the name of the receiver.
    """
    first = [line for line in lines[:_HEAD] if not line.value and line.text != taken]
    for line in first:
        if is_company(line.text):
            whole = is_company(line.text.split(",")[-1])
            return str(agreements.tidy_blanks(line.text if whole else line.text.split(",")[0]))
    if first and first[0] is lines[0] and _above_address(lines):
        return str(agreements.tidy_blanks(first[0].text))
    return None


def _above_address(lines: Sequence[LabelledLine]) -> bool:
    """Return whether the first line is a name directly above an address."""
    name = lines[0]
    if name.meaning or len(name.text) > _NAME_MAX or any(char.isdigit() for char in name.text):
        return False
    below = [line for line in lines[1 : 1 + _ADDRESS] if not line.meaning]
    numbered = [
        line
        for line in below
        if any(map(str.isdigit, line.text)) and any(map(str.isalpha, line.text))
    ]
    return not kinds.is_document_heading(name.text) and len(numbered) > 1


def only_date_in(lines: Sequence[LabelledLine], context: agreements.DocumentContext) -> str | None:
    """Return the date of a document if it is the only one."""
    seen = [each for line in lines for each in dates_in(line.text, context.order, context.dated)]
    days = {each.value[:10] if each.value else None for each in seen}
    return days.pop() if len(days) == 1 else None


# Receipts of tills: a shop at the top, prices, and a sum that its own arithmetic proves.

_ROWS_MAX: Final = 300  # longer texts are no receipt of a till
_SHOP_MAX: Final = 60  # longer first lines are no name of a shop
_SUMS: Final = frozenset({"total", "amount_due"})
_PRICE: Final = re.compile(r"\d[.,]\d\d(?!\d)")
_CLASS: Final = re.compile(r"[A-Z]{1,2}|\*")
"""The mark of a tax rate behind a price."""

_NO_NAME: Final = re.compile(r"\d|[,:;?]$")
_CLOCK: Final = re.compile(r"(?<![\d:.,])(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?(?![\d:.,])")


class _Price(NamedTuple):
    """A line that ends with an amount of money, in cents."""

    label: str
    text: str
    cents: int
    notion: str


def till_of(lines: Sequence[LabelledLine]) -> FoundEntity | None:
    """Return the receipt in a text; None unless prices or a payment prove the sum.

    A list of expenses has a sum too, but neither a payment nor a time of the day.
    """
    context = agreements.context_of(list(lines))
    shop = next((e.text.strip() for e in lines if not kinds.is_document_heading(e.text)), "")
    prices = [each for line in lines[:_ROWS_MAX] if (each := _priced(line.text, context))]
    named = shop and len(shop) <= _SHOP_MAX and not _NO_NAME.search(shop)
    timed = named and any(_CLOCK.search(line.text) for line in lines)
    # The last sum is the one that was paid, with a tip.
    for index, price in reversed([*enumerate(prices if timed else ())]):
        goods = [each for each in prices[:index] if not each.notion]
        taxes = sum(each.cents for each in prices[:index] if each.notion == "tax")
        adds_up = goods and price.cents - sum(each.cents for each in goods) in {0, taxes}
        later = [each.cents for each in prices[index + 1 :]]
        given = (first - change for first, change in pairwise(later))
        if price.notion in _SUMS and (adds_up or price.cents in {*later[:1], *given}):
            fields = {
                "merchant_name": shop,
                "date_purchased": only_date_in(lines, context),
                "amount_total": price.cents / 100,
                "currency": context.currency_of(price.text),
                "items": [{"description": e.label, "amount": e.cents / 100} for e in goods]
                if adds_up
                else None,
            }
            reported = {name: each for name, each in fields.items() if each}
            return FoundEntity(
                entity_type="receipt", fields=reported, reasons=("the sum is proved",)
            )
    return None


def _priced(text: str, context: agreements.DocumentContext) -> _Price | None:
    """Read a line that ends with an amount; a mark of its tax may follow."""
    words = text.split()
    while len(words) > 1 and _CLASS.fullmatch(words[-1]):
        words.pop()
    for count in (1, 2):
        label, tail = " ".join(words[:-count]), " ".join(words[-count:])
        seen = number_in(tail, context.mark, context.group, whole=True)
        if label and seen is not None and seen.value is not None and _PRICE.search(tail):
            notion = meaning_of(plain_label(label))[0]
            return _Price(label, text, round(float(seen.value) * 100), notion)
    return None

"""Documents in prose and labels: invoices, receipts, contracts and notes, with their fields."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from canonry.canon.ports.files import Table
from canonry.documents.extraction.bills import only_date_in, sender_in
from canonry.documents.extraction.context import DocumentContext, context_of, shortened, tidy
from canonry.documents.extraction.items import forms_in, items_of, with_goods_unlabelled
from canonry.documents.extraction.kinds import Kind, ibans_in, mails_in, phones_in, tax_ids_in
from canonry.documents.extraction.writings import (
    BETWEEN,
    NEXT,
    dateline_of,
    days_of,
    is_letter,
    listed_in,
    mentioned,
    parties_of,
    subject_of,
)
from canonry.records.domain.interpretations import Found, Unread
from canonry.records.notation.labels import LabelledLine, plain
from canonry.records.notation.numbers import currency_in, is_no_sum
from canonry.records.notation.parties import is_company

_DATES: Final = frozenset(
    {"date", "issued", "due", "effective", "expiration", "signed", "updated", "starts"}
)
_MONEY: Final = frozenset({"amount_due", "total", "amount", "subtotal", "tax", "rent"})
_NUMBERS: Final = frozenset(
    {"invoice_number", "receipt_number", "contract_number", "number", "booking"}
)
_FIELDS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "invoice": {
        "invoice_number": ("invoice_number", "number"),
        "invoice_date": ("issued", "date"),
        "date_due": ("due",),
        "amount_due": ("amount_due", "total", "amount"),
        "subtotal": ("subtotal",),
        "tax_amount": ("tax",),
        "tax_rate": ("tax_rate",),
        "vendor_name": ("vendor",),
        "customer_name": ("customer",),
        "currency": ("currency",),
        "payment_terms": ("payment_terms",),
        "purchase_order": ("purchase_order",),
        "description": ("description",),
        "notes": ("notes",),
    },
    "receipt": {
        "receipt_number": ("receipt_number", "number"),
        "merchant_name": ("merchant", "vendor"),
        "date_purchased": ("issued", "date"),
        "amount_total": ("total", "amount_due", "amount"),
        "tax_amount": ("tax",),
        "currency": ("currency",),
        "payment_method": ("payment_method",),
        "description": ("description",),
        "notes": ("notes",),
    },
    "contract": {
        "name": ("name", "title"),
        "contract_number": ("contract_number", "number"),
        "parties": ("parties",),
        "effective_date": ("effective",),
        "expiration_date": ("expiration",),
        "signed_date": ("signed", "date"),
        "status": ("status",),
        "type": ("type",),
        "amount": ("rent", "total", "amount", "amount_due"),
        "notes": ("notes",),
    },
    "event": {
        "title": ("title", "name", "description"),
        "start_date": ("starts", "date"),
        "location": ("place",),
        "booking_reference": ("booking",),
    },
    "note": {
        "title": ("title", "name"),
        "created_date": ("date", "issued"),
        "updated_date": ("updated",),
        "tags": ("tags",),
    },
}
_NAMES: Final = frozenset({"vendor", "customer", "merchant"})
_TITLE_MAX: Final = 200
_EXTRA_LABEL: Final = re.compile(r"[a-z][a-z0-9]*(?: [a-z0-9]+){0,3}")
_REFERENCE: Final = (
    r"[ -]?(?:no|number|nr|num|n[\xba\xb0o]|#)\b\.?:?\s*([A-Z0-9][\w/-]*\d[\w/-]*|\d[\w/-]*)"
)
_NUMBERED: Final = {
    kind: re.compile(rf"\b(?:{words}){_REFERENCE}", re.IGNORECASE)
    for kind, words in {
        "invoice": "invoice|rechnungs?|factura|facture",
        "receipt": "receipt|quittungs?|recibo",
        "contract": "contract|agreement|vertrags?|contrato|contrat|contratto|umow[ay]",
    }.items()
}
_RATE: Final = re.compile(r"(?<!\d)\d++(?:[.,]\d+)?\s?%")
_WORD: Final = re.compile(r"[\w-]{2,}")
_WHOLE: Final = re.compile(r"[1-9]\d{0,14}")


@dataclass(slots=True)
class _Draft:
    """An entity on its way."""

    fields: dict[str, Any] = field(default_factory=dict)
    unread: dict[str, Unread] = field(default_factory=dict)


def document_of(
    kind: Kind, lines: Sequence[LabelledLine], tables: Sequence[Table], text: str
) -> tuple[Found, ...]:
    """The document as an entity, and the entities that it plainly lists."""
    lines = with_goods_unlabelled(lines)
    context = context_of(list(lines))
    draft = _Draft()
    used = set()
    for name, notions in _FIELDS[kind.entity_type].items():
        for notion in notions:
            line = _best(lines, notion)
            if line is not None and name not in draft.fields and _take(draft, name, line, context):
                used.add(line)
                break
    _numbered(draft, kind.entity_type, text)
    finish = _FINISH[kind.entity_type]
    finish(draft, lines, tables, context, text)
    if kind.entity_type != "note":
        _extras(draft, lines, used)
    title = str(draft.fields.get("title", ""))
    mentions = mentioned(lines, context, title) if kind.entity_type == "note" else ()
    main = Found(
        entity_type=kind.entity_type,
        fields=draft.fields,
        unread={name: each for name, each in draft.unread.items() if name not in draft.fields},
        refers_to=tuple(range(1, len(mentions) + 1)),
        reasons=kind.reasons,
    )
    return (main, *mentions)


def _numbered(draft: _Draft, entity_type: str, text: str) -> None:
    """The document's number where it stands within a sentence."""
    pattern, name = _NUMBERED.get(entity_type), f"{entity_type}_number"
    if pattern is not None and name not in draft.fields:
        found = pattern.search(text)
        if found is not None:
            draft.fields[name] = found[1]


def _best(lines: Sequence[LabelledLine], notion: str) -> LabelledLine | None:
    """The line with the notion: the last total, as sums stand below what they sum; else the first.

    A number must have a digit: the word alone is a heading.
    """
    found = [line for line in lines if line.notion == notion and (line.value or line.block)]
    if notion in _NUMBERS:
        found = [line for line in found if any(char.isdigit() for char in line.value)]
    if notion in _DATES:
        found = [line for line in found if any(char.isdigit() for char in line.value)]
    if not found:
        return None
    return found[-1] if notion in {"total", "amount_due"} else found[0]


def _take(draft: _Draft, name: str, line: LabelledLine, context: DocumentContext) -> bool:
    """Read a line's value as its notion wants it; whether it says anything of the field."""
    if line.notion in _DATES:
        return _take_date(draft, name, line.value, context)
    if line.notion in _MONEY:
        return _take_money(draft, name, line, context)
    value = line.value or "\n".join(line.block)
    if line.notion in _NUMBERS:
        value = value.split("  ")[0].split("|")[0].lstrip("#: ").strip()
    elif line.notion in _NAMES:
        value = (line.value or (line.block[0] if line.block else "")).strip()
    elif line.notion == "parties":
        value = BETWEEN.join(listed_in(value, context))
    elif line.notion == "currency":
        value = context.currency_of(value) or value
    elif line.notion == "status":
        value = value.lower()
    value = tidy(value)
    if not value:
        return False
    draft.fields[name] = value
    return True


def _take_date(draft: _Draft, name: str, text: str, context: DocumentContext) -> bool:
    seen = context.date(text)
    if seen is None:
        return False
    if seen.value is None:
        draft.unread[name] = Unread(value=text, reason=seen.reason)
        return False
    draft.fields[name] = seen.value
    return True


def _take_money(draft: _Draft, name: str, line: LabelledLine, context: DocumentContext) -> bool:
    text, label = line.value, line.label
    # A rate may stand before the amount: "VAT 19 %: 190.00".
    bare = _RATE.sub("", text)
    seen = context.number(bare)
    if seen is None:
        return False
    if is_no_sum(bare):
        draft.unread[name] = Unread(value=text, reason="a number with a unit, which is no sum")
        return False
    if seen.value is None:
        draft.unread[name] = Unread(value=text, reason=seen.reason)
        return False
    draft.fields[name] = seen.plain
    if name == "tax_amount" and (rate := _RATE.search(f"{label} {text}")):
        draft.fields.setdefault("tax_rate", rate[0].replace(" ", ""))
    currency = currency_in(text, context.dollar) or line.currency or context.currency
    if currency and name in {"amount_due", "amount_total", "amount"}:
        draft.fields.setdefault("currency", currency)
    return True


def _invoice(
    draft: _Draft,
    lines: Sequence[LabelledLine],
    tables: Sequence[Table],
    context: DocumentContext,
    text: str,
) -> None:
    if context.currency:
        draft.fields.setdefault("currency", context.currency)
    _items(draft, lines, tables, context)
    name = sender_in(lines, draft.fields.get("customer_name"))
    if "vendor_name" not in draft.fields and name:
        draft.fields["vendor_name"] = name
    identifiers = {
        "iban": ibans_in(text),
        "tax_id": tax_ids_in(text),
        "email": mails_in(text),
        "phone": phones_in(text),
    }
    for label, found in identifiers.items():  # of several it is not told whose they are
        if len(found) == 1:
            draft.fields[label] = found[0]


def _receipt(
    draft: _Draft,
    lines: Sequence[LabelledLine],
    tables: Sequence[Table],
    context: DocumentContext,
    text: str,
) -> None:
    del text
    if context.currency:
        draft.fields.setdefault("currency", context.currency)
    _items(draft, lines, tables, context)
    if "merchant_name" not in draft.fields and (name := sender_in(lines, None)):
        draft.fields["merchant_name"] = name
    dated = {"date_purchased"} & (draft.fields.keys() | draft.unread.keys())
    if not dated and (day := only_date_in(lines, context)):
        draft.fields["date_purchased"] = day


def _contract(
    draft: _Draft,
    lines: Sequence[LabelledLine],
    tables: Sequence[Table],
    context: DocumentContext,
    text: str,
) -> None:
    del tables
    if "name" not in draft.fields and (heading := _heading(lines)):
        draft.fields["name"] = heading
    own = parties_of(lines, text, context)
    if len(own) > 1 or (own and "parties" not in draft.fields):
        draft.fields["parties"] = BETWEEN.join(own)
    named = draft.fields.get("parties", "").split(BETWEEN)
    if companies := [name for name in named if is_company(name)]:
        draft.fields.setdefault("companies", BETWEEN.join(companies))
    for name, said in days_of(text):
        if name not in draft.fields and name not in draft.unread:
            _take_date(draft, name, said, context)


def _event(
    draft: _Draft,
    lines: Sequence[LabelledLine],
    tables: Sequence[Table],
    context: DocumentContext,
    text: str,
) -> None:
    del tables, context, text
    if "title" not in draft.fields and (heading := _heading(lines)):
        draft.fields["title"] = heading


def _heading(lines: Sequence[LabelledLine]) -> str:
    heading = next((line.text for line in lines if not line.value), "")
    heading = heading if 0 < len(heading) <= _TITLE_MAX else ""
    return str(tidy(heading.title() if heading.isupper() else heading))


def _note(
    draft: _Draft,
    lines: Sequence[LabelledLine],
    tables: Sequence[Table],
    context: DocumentContext,
    text: str,
) -> None:
    del tables
    draft.fields["content"] = shortened(text)
    for line in lines:
        if line.notion == NEXT and (seen := context.date(line.value)) and seen.value is None:
            draft.unread[NEXT] = Unread(value=line.value, reason=seen.reason)
    if "created_date" not in draft.fields and (dated := dateline_of(lines)):
        _take_date(draft, "created_date", dated, context)
    if "title" not in draft.fields:
        first = next((line.text for line in lines), "")
        first = subject_of(lines) if is_letter(lines) else first
        if 0 < len(first) <= _TITLE_MAX:
            draft.fields["title"] = tidy(first)
    if "tags" not in draft.fields and any(line.notion == "attendees" for line in lines):
        draft.fields["tags"] = ", ".join(_words_of(draft.fields.get("title", "")))


def _words_of(title: str) -> Iterator[str]:
    """The words of a meeting's title that say what it was about."""
    for word in _WORD.findall(title):
        if word.lower() not in {
            "the",
            "and",
            "of",
            "for",
            "und",
            "der",
            "die",
            "de",
            "la",
            "el",
            "y",
        }:
            yield word if any(char.isdigit() for char in word) or word.isupper() else word.lower()


def _items(
    draft: _Draft, lines: Sequence[LabelledLine], tables: Sequence[Table], context: DocumentContext
) -> None:
    items = items_of(lines, tables, context)
    if items:
        draft.fields["items"] = items


def _extras(draft: _Draft, lines: Sequence[LabelledLine], used: set[LabelledLine]) -> None:
    """What else the document labels, under the label as a field's name; a schema may know it."""
    forms = forms_in(lines)
    for place, line in enumerate(lines):
        label = plain(line.label)
        if line in used or not line.value or not _EXTRA_LABEL.fullmatch(label):
            continue
        if line.listed and place not in forms:
            continue
        name = label.replace(" ", "_")
        if name not in draft.fields and name not in draft.unread and line.notion not in _MONEY:
            value = line.value.lower() if line.notion == "status" else tidy(line.value)
            draft.fields[name] = int(value) if _WHOLE.fullmatch(value) else value


_Finish = Callable[[_Draft, Sequence[LabelledLine], Sequence[Table], DocumentContext, str], None]
_FINISH: Final[Mapping[str, _Finish]] = {
    "invoice": _invoice,
    "receipt": _receipt,
    "contract": _contract,
    "event": _event,
    "note": _note,
}

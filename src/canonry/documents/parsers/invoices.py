"""Parser of electronic invoices, UBL and CII: each becomes a bill or a credit note.

`invoices.json` has the places of the fields in each format.
"""

import json
from base64 import b64decode
from binascii import Error
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from importlib.resources import files
from typing import Any, Final
from xml.etree.ElementTree import Element

from canonry.documents.parsers.findings import NAMES, Fault, Findings, keep_rest
from canonry.values.texts_of_files import in_words, left_over

_CREDITS: Final = frozenset(map(str, (81, 83, 261, 262, 296, 308, 381, 396, 420, 458, 532)))
"""Codes of credit notes in UNTDID 1001."""

_SUMS: Final = frozenset({"subtotal", "tax_amount", "amount", "amount_due"})
_CREDITED: Final[dict[str, str]] = NAMES["credit_notes"]
"""The names of an invoice's fields in a credit note, which nobody has to pay."""

_DEALS: Final = ("SupplyChainTradeTransaction", "SpecifiedSupplyChainTradeTransaction")
_DAY: Final = len("20240131")
_SILENT: Final = frozenset(NAMES["xml"]["silent"].split())
"""Attributes that say in which list, unit or currency a value is."""

_Places = Mapping[str, Sequence[str]]


def read_invoice(root: Element, found: Findings) -> None:
    """Add an invoice in XML, its attached files, and its text."""
    name = "cii" if root.tag.rpartition("}")[2].startswith("CrossIndustry") else "ubl"
    written = json.loads(files(__package__).joinpath("invoices.json").read_text(encoding="utf-8"))
    places: _Places = written[name]
    if name == "cii" and not any(all_at(root, deal) for deal in _DEALS):
        raise Fault("damaged")
    fields = _fields(root, places)
    kind = "invoice"
    if root.tag.endswith("CreditNote") or said_at(root, *places["code"]) in _CREDITS:
        kind = "credit_note"
        fields = {_CREDITED.get(name, name): value for name, value in fields.items()}
    record = found.record(kind, fields)
    for each in (file for path in places["files"] for file in all_at(root, path)):
        try:
            data = b64decode(each.text or "", validate=False)
        except Error:
            found.note("A file within the invoice is damaged and was not read.")
        else:
            found.member(each.get("filename", ""), each.get("mimeCode", ""), data, record)
        each.text = None


def _fields(root: Element, places: _Places) -> dict[str, Any]:
    """Return the fields that have a value."""
    currency = said_at(root, *places["currency"])
    fields: dict[str, Any] = {}
    for name, paths in places.items():
        if name in _SUMS:
            fields[name] = _sum(root, currency, *paths)
        elif name in {"items", "code", "files"} or "." in name:
            continue
        elif name == "tax_rate":
            rates = {str(plain_number(text)) for path in paths for text in lines_at(root, path)}
            fields[name] = f"{rates.pop()}%" if len(rates) == 1 else None
        else:
            fields[name] = said_at(root, *paths)
    for name in ("invoice_date", "date_due"):
        day = fields[name]
        if len(day) == _DAY and day.isdigit():
            fields[name] = f"{day[:4]}-{day[4:6]}-{day[6:]}"
    fields["iban"] = fields["iban"].replace(" ", "")
    lines = [line for path in places["items"] for line in all_at(root, path)]
    fields["items"] = [_item(line, places) for line in lines]
    fields = _cleaned(fields)
    files_in = [file for path in places["files"] for file in all_at(root, path)]
    said = leaves_of(root, "invoice", without=[*lines, *files_in])
    for path, text in left_over(said, [*fields.values(), said_at(root, *places["code"])]):
        keep_rest(fields, path, text)
    return fields


def _item(line: Element, places: _Places) -> dict[str, Any]:
    texts = {
        name.removeprefix("items."): said_at(line, *paths)
        for name, paths in places.items()
        if name.startswith("items.")
    }
    numbers = {name: plain_number(text) for name, text in texts.items() if name != "description"}
    item = _cleaned({**texts, **numbers})
    for path, text in left_over(leaves_of(line), item.values()):
        keep_rest(item, path, text)
    return item


def _cleaned(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in (None, "", [])}


def _sum(node: Element, code: str, *paths: str) -> float | int | None:
    """Return the first amount in the currency of the document; one without a code is in it."""
    found = (each for path in paths for each in all_at(node, path))
    own = (each for each in found if each.get("currencyID", code) == code or not code)
    return plain_number(next(((each.text or "").strip() for each in own), ""))


def all_at(node: Element, path: str) -> list[Element]:
    """Return the elements at a path of names in any namespace."""
    return node.findall("/".join(f"{{*}}{name}" for name in path.split("/")))


def leaves_of(
    node: Element, path: str = "", *, without: Collection[Element] = ()
) -> Iterator[tuple[str, str]]:
    """Yield the texts and attributes below an element, except those of some, with their paths."""
    for each in node:
        tag = in_words(each.tag.rpartition("}")[2])
        name = f"{path}/{tag}" if path else tag
        if each not in without:
            yield name, " ".join((each.text or "").split())
            yield from ((f"{name}/{key}", said) for key, said in each.items() if key not in _SILENT)
            yield from leaves_of(each, name, without=without)


def lines_at(node: Element, path: str) -> Iterator[str]:
    """Yield the texts at a path that are not empty, each in one line."""
    said = (" ".join("".join(each.itertext()).split()) for each in all_at(node, path))
    return (text for text in said if text)


def said_at(node: Element, *paths: str) -> str:
    """Return the first text at these paths that is not empty."""
    return next((text for path in paths for text in lines_at(node, path)), "")


def number_at(text: str) -> Decimal:
    """Parse a number with a decimal point and without thousands."""
    try:
        return Decimal(text)
    except InvalidOperation as error:
        raise Fault("damaged") from error


def plain_number(text: str) -> float | int | None:
    """Return the number in a text; None if it is empty."""
    if not text:
        return None
    number = number_at(text)
    return int(number) if number == number.to_integral_value() else float(number)

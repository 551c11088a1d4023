"""Line items of invoices and receipts: from a list under their label, or from a table of them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from canonry.domain.extraction.context import DocumentContext
from canonry.domain.extraction.labels import NOTIONS, LabelledLine, plain
from canonry.domain.truth.files import Table

_COLUMNS: Final = {
    "description": "description item product service article beschreibung artikel leistung "
    "bezeichnung position descripcion concepto articulo producto designation",
    "quantity": "quantity qty count menge anzahl cantidad cant hours stunden quantite units",
    "unit_price": "price rate einzelpreis preis precio tarif",
    "amount": "amount total sum betrag gesamt gesamtpreis importe montant",
}
_COLUMN_OF: Final = {word: name for name, words in _COLUMNS.items() for word in words.split()}
_SUMS: Final = frozenset({"tax", "total", "subtotal", "amount_due"})
_LISTED: Final = re.compile(r"(?:[-*+\u2022]|\d{1,3}[.)])\s++(.[^:\u2013\t]*+)[:\u2013\t](.*)")
_ITEMS_MAX: Final = 1_000


def items_of(
    lines: Sequence[LabelledLine], tables: Sequence[Table], context: DocumentContext
) -> list[dict[str, Any]]:
    """The items in order; sums and taxes among them are none."""
    for table in tables:
        found = _of_table(table, context)
        if found:
            return found
    for line in lines:
        if line.notion == "items" and line.block:
            return _of_list(line.block, context)
    return []


def _of_list(block: Sequence[str], context: DocumentContext) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for text in block[:_ITEMS_MAX]:
        match = _LISTED.fullmatch(text)
        if match is None or NOTIONS.get(plain(match[1]), ("", ""))[0] in _SUMS:
            continue
        seen = context.number(match[2].strip())
        if seen is not None and seen.value is not None:
            found.append({"description": match[1].strip(), "amount": seen.plain})
    return found


def _of_table(table: Table, context: DocumentContext) -> list[dict[str, Any]]:
    if len(table.rows) < 2:  # noqa: PLR2004 - a header and a row
        return []
    columns = [_column(cell) for cell in table.rows[0]]
    if "description" not in columns or not {"amount", "unit_price"} & set(columns):
        return []
    found = []
    for row in table.rows[1 : _ITEMS_MAX + 1]:
        item = _item(dict(zip(columns, row, strict=False)), context)
        if "description" in item and len(item) > 1:
            found.append(item)
    return found


def _item(cells: Mapping[str, Any], context: DocumentContext) -> dict[str, Any]:
    item: dict[str, Any] = {}
    for name, cell in cells.items():
        if not name or cell is None or cell == "":
            continue
        if name == "description":
            if NOTIONS.get(plain(str(cell)), ("", ""))[0] in _SUMS:
                return {}
            item[name] = str(cell).strip()
        elif isinstance(cell, int | float):
            item[name] = cell
        elif (seen := context.number(str(cell))) is not None and seen.value is not None:
            item[name] = seen.plain
    return item


def _column(cell: Any) -> str:
    words = plain(str(cell or "")).split()
    if "unit" in words or "einzelpreis" in words or "unitario" in words:
        return "unit_price"
    return next((_COLUMN_OF[word] for word in words if word in _COLUMN_OF), "")

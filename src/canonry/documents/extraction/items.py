"""Items of bills, and fields of forms."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Final

from canonry.canon.ports.files import Cell, Table
from canonry.documents.extraction.context import DocumentContext
from canonry.records.notation.labels import LabelledLine, plain
from canonry.records.notation.numbers import is_no_sum, number_in, unit_in
from canonry.values.languages import notion_of

_COLUMNS: Final = {
    "description": "description item product service article beschreibung artikel leistung "
    "bezeichnung position descripcion concepto articulo producto designation descrizione prodotto "
    "omschrijving artikelomschrijving nazwa towar usluga opis descricao artigo produto libelle",
    "quantity": "quantity qty count menge anzahl cantidad cant hours stunden quantite units "
    "quantita aantal ilosc quantidade qtd qta anz",
    "unit_price": "price rate einzelpreis preis precio tarif prezzo prijs stukprijs cena preco "
    "prix",
    "amount": "amount total sum betrag gesamt gesamtpreis importe montant importo totale bedrag "
    "totaal wartosc kwota valor",
}
_COLUMN_OF: Final = {word: name for name, words in _COLUMNS.items() for word in words.split()}
_UNIT: Final = "unit einheit me unidad unite unita eenheid jednostka jm unidade uom"
_UNITS: Final = frozenset(_UNIT.split())
_SUMS: Final = frozenset({"tax", "total", "subtotal", "amount_due"})
_LISTED: Final = re.compile(r"(?:[-*+\u2022]|\d{1,3}[.)])\s++(.[^:\u2013\t]*+)[:\u2013\t](.*)")
_ITEMS_MAX: Final = 1_000
_ROWS_MAX: Final = 2_000


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
        if match is None or notion_of(plain(match[1]))[0] in _SUMS:
            continue
        seen = context.number(match[2].strip())
        if seen is not None and seen.value is not None and not is_no_sum(match[2]):
            found.append({"description": match[1].strip(), "amount": seen.plain})
    return found


def _of_table(table: Table, context: DocumentContext) -> list[dict[str, Any]]:
    """The rows below the titles of goods, wherever those stand, up to the first sum."""
    rows = iter(table.rows[:_ROWS_MAX])
    columns: list[str] = []
    for row in rows:
        columns = [_column(cell) for cell in row]
        if "description" in columns and {"amount", "unit_price"} & set(columns):
            break
    else:
        return []
    found: list[dict[str, Any]] = []
    for row in rows:
        if found and any(notion_of(plain(str(cell or "")))[0] in _SUMS for cell in row):
            break
        item = _item(_by_column(columns, row), context)
        if "description" in item and len(item) > 1:
            found.append(item)
    return found[:_ITEMS_MAX]


def _by_column(columns: Sequence[str], row: Sequence[Cell]) -> dict[str, Cell]:
    """The cells by what they mean; of two columns of one meaning the first that says something."""
    cells: dict[str, Cell] = {}
    for name, cell in zip(columns, row, strict=False):
        if cell not in {None, ""}:
            cells.setdefault(name, cell)
    return cells


def _item(cells: Mapping[str, Any], context: DocumentContext) -> dict[str, Any]:
    item: dict[str, Any] = {}
    for name, cell in cells.items():
        text = str(cell).strip()
        if not name:
            continue
        if name == "description":
            if notion_of(plain(text))[0] in _SUMS:
                return {}
            item[name] = text
        elif name == "unit" and number_in(text) is None:
            item[name] = text
        elif (number := _number(name, cell, context)) is not None:
            # Of a price by the unit the title may say no more than that.
            item["unit_price" if name == "unit" else name] = number
            if name == "quantity" and (unit := unit_in(text)):
                item.setdefault("unit", unit)
    return item


def _number(name: str, cell: Cell, context: DocumentContext) -> int | float | None:
    """The number of a cell; a sum has no unit but its currency."""
    if isinstance(cell, int | float):
        return cell
    text = str(cell)
    seen = None if name != "quantity" and is_no_sum(text) else context.number(text)
    return None if seen is None else seen.plain


def _column(cell: Any) -> str:
    words = plain(str(cell or "")).split()
    if len(words) == 1 and words[0] in _UNITS:
        return "unit"
    if "unit" in words or "einzelpreis" in words or "unitario" in words:
        return "unit_price"
    return next((_COLUMN_OF[word] for word in words if word in _COLUMN_OF), "")


# Forms: lists whose lines are labels and values, which say of the document what labels say.
#
# A list of goods looks alike; what stands above a list, and whether its labels are known, decides.

_FORMS_SUMS: Final = frozenset({"", "tax", "subtotal", "total", "amount_due"})
"""What a line of a list of goods may be that is none; `""` is no known label."""

_GOODS: Final = frozenset({"items", "actions", "agenda", "points", "attendees"})
_KNOWN_IN_A_FORM: Final = 2


def forms_in(lines: Sequence[LabelledLine]) -> frozenset[int]:
    """The places of the lines that stand in lists of labels and values, one below the other.

    A list is such a form where most of its lines are pairs and several of their labels are known,
    and where nothing above it says that it lists goods, tasks or people.
    """
    found: set[int] = set()
    for places, above in _lists(lines):
        if above in _GOODS:
            continue
        pairs = [place for place in places if lines[place].label and lines[place].value]
        known = sum(1 for place in pairs if lines[place].notion not in _FORMS_SUMS)
        if len(pairs) * 2 > len(places) and known >= _KNOWN_IN_A_FORM:
            found.update(pairs)
    return frozenset(found)


def with_goods_unlabelled(lines: Sequence[LabelledLine]) -> Sequence[LabelledLine]:
    """The lines, where those of a list of goods say nothing of the document but its sums."""
    goods = {place for places, above in _lists(lines) if above in _GOODS for place in places}
    return [
        replace(line, notion="") if place in goods and line.notion not in _FORMS_SUMS else line
        for place, line in enumerate(lines)
    ]


def _lists(lines: Sequence[LabelledLine]) -> Iterator[tuple[Sequence[int], str]]:
    """The places of the lines of each list, and the notion of the line above it."""
    for listed, group in groupby(range(len(lines)), lambda place: lines[place].listed):
        if listed:
            places = list(group)
            yield places, lines[places[0] - 1].notion if places[0] else ""

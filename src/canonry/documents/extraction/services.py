"""Exports of payment services in JSON, by the declarations in `services.toml`."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from canonry.canon.ports.files import Record, Table
from canonry.documents.parsers.findings import Line, keep_rest, rows_of
from canonry.values.data_files import read_toml
from canonry.values.texts_of_files import first_at, leaves_of, left_over

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

"""Read the arrays of a catalog file into rows, with every fault of them, by themselves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from canonry.catalog.domain.rows import CatalogRow, RowProblem, read_row
from canonry.log.schemas.catalog_tables import TABLES, CatalogTable
from canonry.values.errors import InvalidInput


@dataclass(slots=True, kw_only=True)
class CatalogRows:
    """The rows that are right by themselves, by array, and what is wrong with the others."""

    rows: dict[str, list[CatalogRow]] = field(default_factory=dict)
    problems: list[RowProblem] = field(default_factory=list)

    @property
    def total(self) -> int:
        """How many rows are right by themselves."""
        return sum(map(len, self.rows.values()))


def read_catalog_arrays(arrays: Mapping[str, Sequence[Any]]) -> CatalogRows:
    """Check every row by itself, and that none repeats another.

    Raises:
        InvalidInput: `catalog.malformed`, an array has an unknown name or is none.
    """
    for name, rows in arrays.items():
        if name not in TABLES:
            message = f"a catalog has no array {name!r:.80}; known are {', '.join(TABLES)}"
            raise InvalidInput("catalog.malformed", message, path=f"/{name}"[:80])
        if not isinstance(rows, list | tuple):
            message = f"{name} is an array of objects"
            raise InvalidInput("catalog.malformed", message, path=f"/{name}")
    found = CatalogRows()
    for name, table in TABLES.items():
        found.rows[name] = _read_table(table, arrays.get(name, ()), found.problems)
    return found


def _read_table(
    table: CatalogTable, raw: Sequence[Any], problems: list[RowProblem]
) -> list[CatalogRow]:
    seen: dict[Any, int] = {}
    rows = []
    for number, each in enumerate(raw):
        row, wrong = read_row(table, number, each)
        problems.extend(wrong)
        if row is not None and (repeats := _repeats(row, seen)) is not None:
            problems.append(repeats)
        elif row is not None:
            rows.append(row)
    return rows


def _repeats(row: CatalogRow, seen: dict[Any, int]) -> RowProblem | None:
    """What a row has in common with an earlier one of its table, and must not have."""
    own, place = (row.values.get("projectId"), row.id), row.place
    if own in seen:
        return row.problem("id", "id.repeated", f"row {seen[own]} has the same")
    if place in seen:
        name = row.table.unique or "relationType"
        code = f"{row.table.unique or 'relation'}.repeated"
        return row.problem(name, code, f"row {seen[place]} has the same")
    seen[own] = row.number
    if place is not None:
        seen[place] = row.number
    return None

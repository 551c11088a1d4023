"""Read the arrays of a catalog file into rows, with every fault of them, by themselves."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from canonry.domain.catalog.rows import CatalogRow, RowProblem, read_row
from canonry.domain.errors import InvalidInput
from canonry.domain.vocabularies.catalog_tables import TABLES, CatalogTable
from canonry.usecases.catalog.judge_catalog_relations import triple_of

Same: TypeAlias = tuple[str, str, Callable[[CatalogRow], Any]]
"""The field to blame, the code, and what no two rows of a table may have in common."""

_SAME_ID: Final[Same] = ("id", "id.repeated", lambda row: (row.values.get("projectId"), row.id))


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
    rules = _rules(table)
    seen: list[dict[Any, int]] = [{} for _ in rules]
    rows = []
    for number, each in enumerate(raw):
        row, wrong = read_row(table, number, each)
        problems.extend(wrong)
        if row is not None and (repeats := _repeats(row, rules, seen)) is not None:
            problems.append(repeats)
        elif row is not None:
            rows.append(row)
    return rows


def _rules(table: CatalogTable) -> Sequence[Same]:
    if table.array == "projects":
        return (_SAME_ID, ("slug", "slug.repeated", lambda row: row.word))
    if table.array == "relations":
        return (_SAME_ID, ("relationType", "relation.repeated", lambda row: triple_of(row.values)))
    if table.unique:
        name = table.unique
        return (_SAME_ID, (name, f"{name}.repeated", lambda row: (row.project, row.kind, row.word)))
    return (_SAME_ID,)


def _repeats(
    row: CatalogRow, rules: Sequence[Same], seen: Sequence[dict[Any, int]]
) -> RowProblem | None:
    keys = [same(row) for _, _, same in rules]
    for (name, code, _), key, known in zip(rules, keys, seen, strict=True):
        if key in known:
            reason = f"row {known[key]} has the same"
            return row.problem(name, code, reason)
    for key, known in zip(keys, seen, strict=True):
        known[key] = row.number
    return None

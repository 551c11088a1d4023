"""Files of a catalog that are written, row by row as they come: nothing is held in memory."""

import csv
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TextIO, TypeAlias

from canonry.cli.catalog_files import LIST_MARK
from canonry.cli.csv_cells import sheltered
from canonry.cli.screen import data_output
from canonry.domain.texts.visible import visible
from canonry.domain.vocabularies.catalog_tables import TABLES

TableRows: TypeAlias = AsyncIterator[tuple[str, Mapping[str, Any]]]
"""(array, row), array by array in the order of the tables."""


async def write_json(rows: TableRows, out: TextIO) -> None:
    """All arrays as one object, a row a line, so that two exports can be compared line by line."""
    names = list(TABLES)
    current, between = names.pop(0), "\n"
    out.write(f'{{\n"{current}": [')
    async for array, row in rows:
        while current != array:
            current, between = _next_array(out, names, between)
        out.write(between + visible(json.dumps(row, ensure_ascii=False)))
        between = ",\n"
    while names:
        _, between = _next_array(out, names, between)
    out.write("]\n}\n" if between == "\n" else "\n]\n}\n")


def _next_array(out: TextIO, names: list[str], between: str) -> tuple[str, str]:
    name = names.pop(0)
    end = "]" if between == "\n" else "\n]"
    out.write(f'{end},\n"{name}": [')
    return name, "\n"


async def write_csv(rows: TableRows, folder: Path) -> None:
    """Each array as a file of its own in `folder`, which is there."""
    with ExitStack() as files:
        writers = {}
        for name, table in TABLES.items():
            out = files.enter_context(data_output(folder / f"{name}.csv", newline=""))
            writers[name] = csv.writer(out)
            writers[name].writerow(column.name for column in table.columns)
        async for array, row in rows:
            writers[array].writerow([_cell(row[c.name]) for c in TABLES[array].columns])


def _cell(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return LIST_MARK.join(value)
    return sheltered(value) if isinstance(value, str) else "" if value is None else value

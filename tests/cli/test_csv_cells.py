"""Cells of a CSV file: no spreadsheet runs them, and exactly what was stored comes back."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.cli.catalog import quote_cell, unquote_cell
from tests.cli.run import run_canonry
from tests.toolsets.catalog.kit import hostile_names

FORMULAS = (
    '=HYPERLINK("https://example.org","x")', "+1+1", "-2+3", "@SUM(A1)", "\t=1", " =1", "'=1",
    "''@x", "\n=1", "\uff1d1", "=", "-",
)  # fmt: skip
DANGEROUS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
NEAR = st.text(st.sampled_from("'=+-@ \t\r\n\uff1da1"), max_size=8) | st.text()


@given(NEAR)
def test_a_cell_contains_exactly_the_stored_text(text: str) -> None:
    assert unquote_cell(quote_cell(text)) == text


@given(NEAR)
def test_no_cell_begins_like_a_formula(text: str) -> None:
    assert not quote_cell(text).lstrip(" ").startswith(DANGEROUS)


@pytest.mark.parametrize("text", ["'tis", "plain", "", "a=b", "3", "it's -1"])
def test_a_plain_text_is_written_unchanged(text: str) -> None:
    assert quote_cell(text) == text


def test_a_catalog_of_formulas_is_exported_harmless_and_imported_unchanged(
    tmp_path: Path,
) -> None:
    def on(folder: str, *words: str) -> None:
        done = run_canonry("catalog", *words, "--data", str(tmp_path / folder))
        assert done.returncode == 0, done.stderr

    arrays: dict[str, Any] = hostile_names()
    for row, text in zip(arrays["entities"], FORMULAS, strict=False):
        row |= {"title": text, "summary": text, "license": text}
    (tmp_path / "catalog.json").write_text(json.dumps(arrays), encoding="utf-8")
    tables = tmp_path / "tables"
    on("one", "import", str(tmp_path / "catalog.json"))
    on("one", "export", "--csv", str(tables))
    on("one", "export", str(tmp_path / "one.json"))
    on("two", "import", *map(str, sorted(tables.iterdir())))
    on("two", "export", str(tmp_path / "two.json"))

    assert (tmp_path / "two.json").read_bytes() == (tmp_path / "one.json").read_bytes()
    for table in tables.iterdir():
        with table.open(encoding="utf-8", newline="") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        assert not [each for each in cells if each.lstrip(" ").startswith(DANGEROUS)]
    assert "'=HYPERLINK" in (tables / "entities.csv").read_text(encoding="utf-8")

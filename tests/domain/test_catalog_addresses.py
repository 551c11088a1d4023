"""Addresses in a catalog: one that a browser would run is refused with its spot."""

import pytest

from canonry.catalog.domain.rows import read_row
from canonry.log.schemas.catalog_tables import ENTITIES, SOURCE_ITEMS, TABLES, Form
from tests.toolsets.catalog.kit import entity_row

RUN = (
    "javascript:alert(1)", "JavaScript:alert(1)", " javascript:x", "java\nscript:x",
    "\x01\tjava\r\nscript\t:x", "data:text/html,<script>", "DATA:,x", "vbscript:x", "blob:x",
)  # fmt: skip
FOLLOWED = (
    "https://example.org/a:b?c=javascript:d", "/guides/data:x", "guides/2.md",
    "mailto:a@example.org", "s3://bucket/key", "doi:10.1000/182", "urn:isbn:0", "javascript",
    "", "database:x",
)  # fmt: skip


@pytest.mark.parametrize("address", RUN)
@pytest.mark.parametrize("field", ["repoUrl", "canonicalUrl", "contentRef"])
def test_an_executable_address_is_refused_with_its_position(field: str, address: str) -> None:
    row, problems = read_row(ENTITIES, 4, entity_row(1, "project", "x", **{field: address}))
    assert row is None
    (problem,) = problems
    assert (problem.code, problem.field, problem.row) == ("field.address", field, 4)
    assert str(problem).startswith(f"entities[4].{field}: Give an address like https:")


@pytest.mark.parametrize("address", FOLLOWED)
def test_harmless_addresses_and_names_are_accepted_unchanged(address: str) -> None:
    row, problems = read_row(ENTITIES, 0, entity_row(1, "project", "x", repoUrl=address))
    assert problems == []
    assert row is not None
    assert row.values["repoUrl"] == address


def test_every_field_called_address_is_read_as_one() -> None:
    called = {
        (table.array, column.name)
        for table in TABLES.values()
        for column in table.columns
        if column.name.lower().endswith(("url", "ref"))
    }
    read = {
        (table.array, column.name)
        for table in TABLES.values()
        for column in table.columns
        if column.form is Form.ADDRESS
    }
    assert read == called
    assert ("sourceItems", "url") in {(SOURCE_ITEMS.array, name) for _, name in read}

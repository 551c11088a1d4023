"""Versions of schemas: whoever reads one knows by it which fields there are."""

from canonry.log.schemas.truth_types import TRUTH_TYPES
from tests.domain.golden_schemas import make_current, read_published


def test_a_built_in_schema_changes_fields_only_with_its_version() -> None:
    before, now = read_published(), make_current()
    grown = {name for name in before if before[name]["fields"] != now[name]["fields"]}
    assert {n for n in grown if before[n]["version"] == now[n]["version"]} == set()
    assert now == before, "write the file anew: python -m tests.domain.golden_schemas"


def test_a_schema_with_added_fields_has_a_later_version() -> None:
    for name in ("person", "company", "contact"):
        assert TRUTH_TYPES[name].version > "1.0"
        assert {"emails", "phones", "aliases"} <= set(make_current()[name]["fields"])

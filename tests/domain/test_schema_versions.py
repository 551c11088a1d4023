"""Versions of schemas: whoever reads one knows by it which fields there are."""

from canonry.log.schemas.truth_types import TRUTH_TYPES
from tests.domain.golden_schemas import current, published


def test_a_schema_that_comes_with_canonry_has_other_fields_under_another_version_only() -> None:
    before, now = published(), current()
    grown = {name for name in before if before[name]["fields"] != now[name]["fields"]}
    assert {n for n in grown if before[n]["version"] == now[n]["version"]} == set()
    assert now == before, "write the file anew: python -m tests.domain.golden_schemas"


def test_what_gained_fields_since_its_first_version_has_a_later_one() -> None:
    for name in ("person", "company", "contact"):
        assert TRUTH_TYPES[name].version > "1.0"
        assert {"emails", "phones", "aliases"} <= set(current()[name]["fields"])

"""Lists in files: names and words that commas divide become items, and nothing else does."""

import pytest

from canonry.documents.extraction.rules import items_in
from tests.domain.extraction.papers import from_objects


@pytest.mark.parametrize(
    ("name", "text", "items"),
    [
        ("parties", "Acme Corp, John Smith", ["Acme Corp", "John Smith"]),
        ("parties", "Acme Corp, Inc., John Smith", ["Acme Corp, Inc.", "John Smith"]),
        ("companies", "Acme Corp", ["Acme Corp"]),
        ("tags", '["meeting", "planning"]', ["meeting", "planning"]),
        ("tags", "meeting; planning, meeting", ["meeting", "planning"]),
        ("tags", "[draft, old]", ["draft", "old"]),
        ("files", "one.pdf,two.pdf", ["one.pdf", "two.pdf"]),
        ("dependencies", "one, two", ["one, two"]),
    ],
)
def test_a_text_is_divided_if_its_field_holds_names_or_words(
    name: str, text: str, items: list[str]
) -> None:
    assert items_in(name, text) == items


def test_a_record_in_a_file_may_have_several_parties() -> None:
    (contract,) = from_objects(
        {
            "contract_number": "C-1",
            "parties": "Property Management LLC, John Smith",
            "effective_date": "2024-01-01",
            "status": "active, for now",
        },
        name="contract.json",
    )
    assert contract.fields["parties"] == ["Property Management LLC", "John Smith"]
    assert contract.fields["status"] == "active, for now"

"""Real documents, where the shared folder is there: what their descriptions expect is found.

Each PDF has a description beside it that lists the fields to be found, in the words of an older
vocabulary; `FIELDS` says which field is meant by each.
"""

import csv
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from canonry.app.compose import compose_memory
from canonry.canon.ports.files import FileHint
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import Account
from canonry.documents.extraction.rules import interpret_reading
from canonry.documents.readers import LocalReader
from canonry.log.items.entities import Entity
from canonry.log.items.sources import account_space
from canonry.log.schemas.truth_types import TRUTH_TYPES
from canonry.records.domain.interpretations import FoundEntity
from canonry.records.usecases.files import GivenFile
from canonry.records.usecases.ingest_file import entities_of, ingest_file
from canonry.values.provenance import Actor

DOCUMENTS = Path(__file__).parents[3] / "shared" / "data" / "documents"

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not DOCUMENTS.is_dir(), reason="the shared data folder is absent"),
]

FIELDS: Mapping[str, Mapping[str, str]] = {
    "contract": {"contract_type": "type"},
    "invoice": {
        "income_date": "invoice_date",
        "source": "customer_name",
        "amount_usd": "amount_due",
    },
    "note": {"date": "created_date"},
    "receipt": {"date": "date_purchased"},
}
NOT_IN_THE_DOCUMENT = frozenset({"schema_version", "content"})
"""Fields of a description that its document does not state, or only in outline."""


def described_fields(name: str) -> Mapping[str, Any]:
    """The fields that a description expects, by the names of today."""
    text = (DOCUMENTS / f"sample_{name}.md").read_text(encoding="utf-8")
    expected = text.partition("Expected Extraction")[2].partition("\n**")[0]
    found = re.findall(r"(?m)^- `?(\w+)`?: (.+)$", expected)
    names = FIELDS[name]
    return {
        names.get(field, field): json.loads(value)
        for field, value in found
        if field not in NOT_IN_THE_DOCUMENT
    }


async def found_in(file: str) -> Sequence[FoundEntity]:
    reading = await LocalReader().examine_file((DOCUMENTS / file).read_bytes(), FileHint(name=file))
    return interpret_reading(reading, tuple(TRUTH_TYPES.values())).entities


async def ingest_document(canon: Canon, file: str) -> Sequence[Entity]:
    caller = Caller(actor=Actor(agent_id="a-1", agent_type="x"), tool="ingest")
    user = "00000000-0000-0000-0000-000000000000"
    account = Account(user_id=user, space=account_space(user))
    given = GivenFile(data=(DOCUMENTS / file).read_bytes(), hint=FileHint(name=file))
    done = await ingest_file(canon, caller, account, given)
    ids = await entities_of(canon, account, done)
    items = await canon.state.items_by_id(ids)
    return [item for each in ids if isinstance(item := items[each], Entity)]


@pytest.mark.parametrize("name", FIELDS)
async def test_a_pdf_gives_every_field_expected_by_its_description(name: str) -> None:
    document, *_ = await found_in(f"sample_{name}.pdf")
    expected = dict(described_fields(name))
    if name == "contract":
        expected["parties"] = expected["parties"].split(", ")
    found = {field: document.fields.get(field) for field in expected}
    for each in (expected, found):  # tags have no order
        if "tags" in each:
            each["tags"] = sorted(tag.lower() for tag in each["tags"] or ())

    assert document.entity_type == name
    assert found == expected
    assert not document.unread


async def test_values_left_out_of_the_descriptions_are_found_too() -> None:
    (invoice,) = await found_in("sample_invoice.pdf")
    (receipt,) = await found_in("sample_receipt.pdf")
    note, *others = await found_in("sample_note.pdf")

    assert invoice.fields["invoice_number"] == "INV-TEST-001"
    assert invoice.fields["date_due"] == "2025-01-15"
    assert receipt.fields["tax_amount"] == 5.91
    assert [item["amount"] for item in receipt.fields["items"]] == [45.5, 28.3]
    assert len(note.refers_to) == len(others) == 7
    assert [each.fields.get("due_date") for each in others if each.entity_type == "task"] == [
        "2024-12-20",
        "2024-12-22",
        "2024-12-25",
    ]
    assert others[-1].entity_type == "event"
    assert others[-1].fields["start_date"] == "2025-01-05"


async def test_the_description_of_an_invoice_is_read_as_labels() -> None:
    (invoice,) = await found_in("sample_invoice.md")
    expected = described_fields("invoice")

    assert invoice.entity_type == "invoice"
    # The label of an income does not name its source, so it stays a label.
    assert invoice.fields["source"] == expected["customer_name"]
    said = {name: value for name, value in expected.items() if name != "customer_name"}
    assert {name: invoice.fields.get(name) for name in said} == said


async def test_bank_lines_in_two_file_formats_are_the_same_payments() -> None:
    canon = compose_memory()
    table = await ingest_document(canon, "sample_transactions.csv")
    records = await ingest_document(canon, "transaction.json")

    # The third line is in dollars in the table and in euros in the records.
    assert len({each.id for each in (*table, *records)}) == 6
    assert [each.id for each in table[:2]] == [each.id for each in records[:2]]


@pytest.mark.parametrize(
    ("file", "entity_type"),
    [("sample_contacts.csv", "contact"), ("sample_transactions.csv", "transaction")],
)
async def test_each_row_of_a_table_is_its_own_entity(file: str, entity_type: str) -> None:
    with (DOCUMENTS / file).open(encoding="utf-8", newline="") as table:
        rows = [row for row in csv.DictReader(table) if any(row.values())]

    entities = await ingest_document(compose_memory(), file)

    assert [each.entity_type for each in entities] == [entity_type] * len(rows)


@pytest.mark.parametrize(
    ("file", "entity_type", "count"),
    [
        ("contact.json", "contact", 4),  # one person twice, with a newer address
        ("contract.json", "contract", 4),  # one contract twice, renewed
        ("transaction.json", "transaction", 5),
    ],
)
async def test_records_become_entities_and_only_new_values_are_joined(
    file: str, entity_type: str, count: int
) -> None:
    entities = await ingest_document(compose_memory(), file)

    assert [each.entity_type for each in entities] == [entity_type] * count


@pytest.mark.parametrize(("file", "count"), [("purchase.json", 3), ("task_comment.json", 5)])
async def test_records_of_an_unknown_kind_do_not_take_the_file_name_as_type(
    file: str, count: int
) -> None:
    """One desk in three states is three, five comments are five, each of one type by its fields."""
    entities = await ingest_document(compose_memory(), file)

    (entity_type,) = {each.entity_type for each in entities}
    assert entity_type.startswith("record_")
    assert len(entities) == count

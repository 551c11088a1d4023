"""Typed records: every member of a record ends up somewhere, whatever its schema knows."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from canonry.log.schemas.schemas import FieldType
from canonry.log.schemas.truth_types import TRUTH_TYPES
from canonry.log.schemas.typed_records import (
    RESERVED,
    RecordReader,
    TypedRecord,
    derive_schema,
    event_type_of,
)
from canonry.records.domain.assertions import assertion_of
from canonry.testing.example_items import a_schema, uuid_of
from canonry.values.ids import SpaceId
from canonry.values.moments import DAY, Instant
from canonry.values.observations import Dated, Fragment
from tests.strategies import json_values

SPACE = SpaceId(uuid_of("account"))


def make_invoice(**record: Any) -> TypedRecord:
    return RecordReader(schema=TRUTH_TYPES["invoice"]).read_record(record)


def test_fields_are_taken_by_their_names_and_aliases() -> None:
    read = make_invoice(number="INV-9", date_issued="2025-01-15", total="1,500.50", currency="USD")

    assert read.fields == {
        "amount_due": 1500.5,
        "currency": "USD",
        "invoice_date": "2025-01-15",
        "invoice_number": "INV-9",
    }
    assert (read.missing, read.fragments) == ((), {})


def test_dates_become_events_by_the_schema() -> None:
    read = RecordReader(schema=a_schema()).read_record({"number": "1", "due": "1970-01-03"})

    assert read.dates == {"due": Dated(event_type="Due", instant=Instant(2 * DAY))}


def test_values_without_a_field_are_kept_with_the_reason() -> None:
    read = make_invoice(colour="mauve", date_due="2025-02-30", total=2, amount_due=1)

    assert read.fields == {"amount_due": 1}
    assert read.fragments == {
        "colour": Fragment(value="mauve", reason="unknown_field"),
        "date_due": Fragment(value="2025-02-30", reason="not_a_date"),
        "total": Fragment(value=2, reason="said_twice"),
    }
    assert set(read.missing) == {"invoice_number", "invoice_date", "currency"}


def test_warnings_name_fields_and_never_values() -> None:
    reader = RecordReader(schema=TRUTH_TYPES["invoice"])
    record = {"invoice_number": "7", "colour": "mauve", "date_due": "2025-02-30"}

    warned = assertion_of(uuid_of("user"), reader, record, "/entities/0").warnings

    assert {(each.code, each.path.rpartition("/")[2]) for each in warned} >= {
        ("field.unknown-field", "colour"),
        ("field.not-a-date", "date_due"),
        ("field.missing", "currency"),
    }
    assert not [each for each in warned if "mauve" in repr(each) or "2025" in repr(each)]


def test_null_says_nothing_and_the_type_is_no_field() -> None:
    assert make_invoice(entity_type="invoice", schema_version="1.0", currency=None).fields == {}


@given(
    record=st.dictionaries(st.sampled_from(["number", "no", "amount", "due", "x"]), json_values())
)
def test_no_value_of_a_record_is_lost(record: dict[str, Any]) -> None:
    read = RecordReader(schema=a_schema()).read_record(record)

    taken = {"no" if n == "number" and "number" not in record else n for n in read.fields}
    said = {name for name, value in record.items() if value is not None} - RESERVED
    same = said - taken - set(read.fragments)
    assert same <= {"no"}, "an alias that says the same again adds nothing"


def test_an_unknown_type_gets_a_schema_from_its_records() -> None:
    records: list[dict[str, Any]] = [
        {"entity_type": "habit", "name": "run", "date": "2025-01-15", "km": 5, "ok": True},
        {"name": "run", "km": "far", "tags": ["a"], "more": {}, "created_at": "2025-01-15"},
    ]
    schema = derive_schema(SPACE, "habit", records)
    types = {spec.name: spec.type for spec in schema.fields}

    assert types == {
        "created_at": FieldType.DATE,
        "date": FieldType.DATE,
        "km": FieldType.STRING,
        "more": FieldType.OBJECT,
        "name": FieldType.STRING,
        "ok": FieldType.BOOLEAN,
        "tags": FieldType.ARRAY,
    }
    events = {spec.name: spec.event_type for spec in schema.fields if spec.event_type}
    assert events == {"date": "Date"}
    assert {spec.policy for spec in schema.fields} == {"last_write"}
    assert derive_schema(SPACE, "habit", reversed(records)).id == schema.id
    assert event_type_of("signed_date") == "SignedDate"


@given(records=st.lists(st.dictionaries(st.sampled_from("abc"), json_values()), max_size=4))
def test_a_derived_schema_takes_its_own_records(records: list[dict[str, Any]]) -> None:
    reader = RecordReader(schema=derive_schema(SPACE, "thing", records))

    for record in records:
        reasons = {f.reason for f in reader.read_record(record).fragments.values()}
        assert reasons <= {"not_a_string"}, "of two types one is a text"

"""Identity keys: equal for what is one, different for what is two, and never a guess."""

import unicodedata
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.log.schemas.identity_keys import (
    CONTENT,
    Identity,
    content_identity,
    fields_of_rule,
    identities_of,
)
from canonry.log.schemas.schemas import EntitySchema
from canonry.log.schemas.truth_types import TRUTH_TYPES, type_named
from canonry.log.schemas.typed_records import RecordReader, derive_schema
from canonry.testing.example_items import uuid_of
from canonry.values.ids import SpaceId
from canonry.values.merge_policies import CHOICES

SPACE = SpaceId(uuid_of("account"))


def identity_of(schema: EntitySchema, fields: Mapping[str, Any]) -> Identity:
    """By the strongest rule that fits; without one, by content."""
    return next(iter(identities_of(schema, fields)), content_identity(fields))


def identify_record(entity_type: str, /, **record: Any) -> Identity:
    schema = TRUTH_TYPES[entity_type]
    return identity_of(schema, RecordReader(schema=schema).read_record(record).everything)


def identify_custom(*records: Mapping[str, Any]) -> list[Identity]:
    schema: EntitySchema = derive_schema(SPACE, "thing", records)
    reader = RecordReader(schema=schema)
    return [identity_of(schema, reader.read_record(record).everything) for record in records]


def test_an_invoice_is_identified_by_its_number() -> None:
    one = identify_record("invoice", invoice_number="INV-9", vendor_name="Acme Corp", amount_due=1)
    again = identify_record("invoice", number=" inv-9 ", vendor="ACME, Inc.", amount_due=2)
    other = identify_record("invoice", invoice_number="INV-9", vendor_name="Umbrella")

    assert one.key == again.key == other.key
    assert one.full_key == again.full_key != other.full_key


def test_two_invoices_of_one_customer_are_two() -> None:
    first = identify_record("invoice", invoice_number="1", customer_name="Ada")
    second = identify_record("invoice", invoice_number="2", customer_name="Ada")

    assert first.key != second.key


def test_a_person_is_identified_by_address_then_number_then_name() -> None:
    everything = {"name": "Dr. Ada Lovelace", "email": "ADA@x.org", "phone": "+1 555 0100"}
    schema = TRUTH_TYPES["person"]

    rules = [each.rule for each in identities_of(schema, everything)]

    assert rules == ["email", "phone", "name"]
    assert identify_record("person", name="Lovelace, Ada").key == "name:ada lovelace"
    assert identify_record("person", first_name="Ada", last_name="Lovelace").rule == (
        "first_name+last_name"
    )


def test_a_company_is_identified_by_its_name_without_legal_form() -> None:
    keys = {
        identify_record("company", name=name).key for name in ("Acme", "ACME Corp, Inc.", "acme co")
    }

    assert len(keys) == 1
    assert (
        identify_record("company", name="Acme", website="https://www.acme.com/x").rule == "website"
    )
    assert identify_record("company", legal_name="Acme Ltd").key == next(iter(keys))


def test_two_checks_of_one_target_are_two() -> None:
    said = {"validation_type": "test", "target": "FU-061", "status": "passed"}
    first = identify_record("validation_result", timestamp="2025-01-15T10:00:00Z", **said)
    second = identify_record("validation_result", timestamp="2025-01-16T10:00:00Z", **said)
    moved = identify_record("validation_result", timestamp="2025-01-15T12:00:00+02:00", **said)

    assert first.key != second.key
    assert first.key == moved.key


def test_a_record_without_a_key_is_identified_by_its_whole_content() -> None:
    one = identify_record("receipt", merchant_name="Acme", currency="USD")
    same = identify_record("receipt", currency="usd", merchant_name="ACME")
    other = identify_record("receipt", merchant_name="Acme", currency="EUR")

    assert one.rule == CONTENT
    assert one.key == same.key != other.key


def test_records_of_an_unknown_type_are_not_collapsed() -> None:
    holdings = identify_custom(
        {"account": "X", "symbol": "AAPL"}, {"account": "X", "symbol": "TSLA"}
    )
    habits = identify_custom(
        {"name": "run", "date": "2025-01-15"}, {"name": "run", "date": "2025-01-16"}
    )
    payments = identify_custom({"wallet": "w", "tx_hash": "1"}, {"wallet": "w", "tx_hash": "2"})
    recipes = identify_custom(
        {"name": "Pancakes", "servings": 4}, {"name": "pancakes", "servings": 6}
    )

    for first, second in (holdings, habits, payments):
        assert first.key != second.key
    assert recipes[0].key == recipes[1].key
    assert payments[0].rule == "tx_hash"


@given(order=st.permutations(["invoice_number", "vendor_name", "amount_due", "colour"]))
def test_the_order_of_members_does_not_matter(order: list[str]) -> None:
    said = {"invoice_number": "7", "vendor_name": "Acme", "amount_due": 1, "colour": "red"}

    assert identify_record("invoice", **{name: said[name] for name in order}) == identify_record(
        "invoice", **said
    )


@given(name=st.text(min_size=1, max_size=20))
def test_unicode_normalization_does_not_matter(name: str) -> None:
    for entity_type in ("person", "company", "note"):
        field = "title" if entity_type == "note" else "name"
        one, other = (
            identify_record(entity_type, **{field: unicodedata.normalize(form, name)})
            for form in ("NFC", "NFD")
        )
        assert one.key == other.key


@pytest.mark.parametrize("schema", TRUTH_TYPES.values(), ids=TRUTH_TYPES)
def test_a_built_in_type_is_complete(schema: EntitySchema) -> None:
    names = [spec.name for spec in schema.fields]
    aliases = [alias for spec in schema.fields for alias in spec.aliases]
    used = [
        name for rule in schema.identity for each in rule.fields for name in fields_of_rule(each)
    ]

    assert len({*names, *aliases}) == len(names) + len(aliases), "a name means one field"
    assert schema.identity
    assert set(used) <= set(names)
    assert {name for group in schema.names for name in group} <= set(names)
    assert {schema.policy_of(spec.name).name for spec in schema.fields} <= set(CHOICES)


def test_sixteen_types_are_each_known_by_their_aliases() -> None:
    assert len(TRUTH_TYPES) == 16
    assert type_named("Factura") == "invoice"
    assert type_named("Legal Document") == "contract"
    assert type_named("person") == "person"
    assert type_named("Dragon Egg") == "dragon_egg"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Invoices", "invoice"),
        ("Bills", "invoice"),
        ("companies", "company"),
        ("Businesses", "company"),
        ("agent-decisions", "agent_decision"),
        ("In\u200bvoi\u00adce", "invoice"),
        ("news", "news"),
        ("Recipes", "recipes"),
        ("s", "s"),
    ],
)
def test_the_plural_of_a_known_type_is_no_second_type(written: str, meant: str) -> None:
    assert type_named(written) == meant


def test_no_known_type_is_the_plural_of_another() -> None:
    assert {name: type_named(name) for name in TRUTH_TYPES} == {name: name for name in TRUTH_TYPES}

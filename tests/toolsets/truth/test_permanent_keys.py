"""Every key that an entity ever bore leads to it, merges can be taken back, and doubts are told."""

from typing import Any

import pytest

from canonry.log.schemas.truth_types import TRUTH_TYPES
from tests.toolsets.truth.kit import BOB, ToolDriver, make_driver

pytestmark = pytest.mark.anyio


async def record_entity(
    driver: ToolDriver, entity_type: str, **fields: Any
) -> tuple[str, set[str]]:
    """Whom a record is about, and who may be the same."""
    reply = await driver.ingest({"entity_type": entity_type, **fields})
    (entity,) = reply["entities"]
    return entity["entity_id"], {pair["candidate_id"] for pair in reply["possible_duplicates"]}


async def possible_pairs(driver: ToolDriver) -> set[frozenset[str]]:
    """All possible duplicates."""
    found = await driver.call("list_possible_duplicates")
    return {frozenset((each["entity_id"], each["candidate_id"])) for each in found["pairs"]}


async def find_named(driver: ToolDriver, identifier: str) -> list[str]:
    """Return the entities that a text finds, the best first."""
    found = await driver.call("get_entity_by_identifier", identifier=identifier)
    return [each["id"] for each in found["entities"]]


async def name_of(driver: ToolDriver, entity_id: str) -> str:
    """The display name."""
    return str((await driver.call("get_entity_snapshot", entity_id=entity_id))["canonical_name"])


async def unmerge_entity(driver: ToolDriver, entity_id: str) -> None:
    """Take a merge back."""
    driver.wait()
    await driver.call("unmerge_entities", user_id=driver.user, entity_id=entity_id)


COMPANY = {"name": "Foo Ltd", "website": "https://foo.example"}


@pytest.mark.parametrize(
    ("entity_type", "merged", "survivor", "later"),
    [
        ("company", COMPANY, {"name": "Bar GmbH"}, {"name": "Foo Ltd"}),
        (
            "company",
            COMPANY,
            {"name": "Bar GmbH", "website": "bar.example"},
            {"website": "foo.example"},
        ),
        ("company", {"name": "Foo Ltd"}, {"name": "Bar GmbH", "tax_id": "B-1"}, {"name": "FOO"}),
        (
            "person",
            {"name": "Ann Lee", "email": "ann@lee.test"},
            {"name": "Ann Ray", "email": "ann@ray.test"},
            {"name": "Ann Lee", "email": "ann@lee.test"},
        ),
        (
            "person",
            {"name": "Ann Lee", "email": "ann@lee.test"},
            {"name": "Ann Ray", "email": "ann@ray.test"},
            {"name": "Lee, Ann", "role": "cook"},
        ),
    ],
)
async def test_a_merge_forgets_no_key(
    entity_type: str, merged: dict[str, Any], survivor: dict[str, Any], later: dict[str, Any]
) -> None:
    driver = make_driver()
    gone = await driver.entity(entity_type, **merged)
    kept = await driver.entity(entity_type, **survivor)
    assert gone != kept
    await driver.merge(gone, kept)
    assert await record_entity(driver, entity_type, **later) == (kept, set())


async def test_a_contact_that_became_a_person_is_found_by_phone_and_name() -> None:
    driver = make_driver()
    contact = await driver.entity("contact", name="Ann Lee", phone="+49 30 123456")
    person = await driver.entity("person", name="Ann Ray", email="ann@ray.test")
    await driver.merge(contact, person)
    assert await record_entity(driver, "person", phone="+4930123456", role="cook") == (
        person,
        set(),
    )
    assert await record_entity(driver, "contact", name="Ann Lee", role="chef") == (person, set())
    assert await record_entity(driver, "person", name="Ann Lee") == (person, set())


async def test_a_vendor_name_on_invoices_leads_to_its_survivor() -> None:
    driver = make_driver()
    await driver.ingest({"entity_type": "invoice", "invoice_number": "1", "vendor_name": "Foo Ltd"})
    (foo,) = await find_named(driver, "foo")
    bar = await driver.entity("company", name="Bar GmbH")
    await driver.merge(foo, bar)
    reply = await driver.ingest(
        {"entity_type": "invoice", "invoice_number": "2", "vendor_name": "FOO Limited"}
    )
    invoice = reply["entities"][0]["entity_id"]
    related = await driver.call("list_relationships", entity_id=invoice)
    assert [each["target_entity_id"] for each in related["relationships"]] == [bar]


async def test_a_former_name_leads_to_its_entity_and_is_searchable() -> None:
    driver = make_driver()
    anna = await driver.entity("person", name="Anna Smith", email="a@anna.test")
    assert await driver.entity("person", name="Anna Jones", email="a@anna.test") == anna
    await driver.correct(anna, "email", "anna@jones.test")
    assert await record_entity(driver, "person", name="Anna Smith") == (anna, set())
    assert await record_entity(driver, "person", email="a@anna.test") == (anna, set())
    assert await find_named(driver, "Anna Smith") == [anna]
    assert await find_named(driver, "a@anna.test") == [anna]


async def test_a_corrected_key_of_a_registered_type_is_not_forgotten() -> None:
    driver = make_driver()
    fields = {"serial": {"type": "string"}, "room": {"type": "string"}}
    await driver.call(
        "register_entity_schema",
        user_id=driver.user,
        entity_type="boiler",
        fields=fields,
        identity=[["serial"], ["room"]],
    )
    boiler = await driver.entity("boiler", serial="S-1", room="cellar")
    await driver.correct(boiler, "serial", "S-2")
    assert await driver.entity("boiler", serial="s-2") == boiler
    assert await driver.entity("boiler", serial="s-1") == boiler
    assert await driver.entity("boiler", room="Cellar") == boiler


async def test_a_composite_key_recorded_later_leads_to_the_entity() -> None:
    driver = make_driver()
    shop = {"date": "2025-03-01", "amount": 5, "merchant_name": "Shop", "account_id": "giro"}
    payment = await driver.entity("transaction", transaction_id="T-1", currency="EUR")
    assert await driver.entity("transaction", transaction_id="T-1", **shop) == payment
    assert await driver.entity("transaction", **shop) == payment


async def test_two_successive_owners_of_a_name_are_a_reported_ambiguity() -> None:
    driver = make_driver()
    anna = await driver.entity("person", name="Anna Smith", email="a@anna.test")
    await driver.entity("person", name="Anna Jones", email="a@anna.test")
    other = await driver.entity("person", name="Anna Smith", email="b@anna.test")
    found, doubts = await record_entity(driver, "person", name="Anna Smith")
    assert found not in {anna, other}
    assert doubts == {anna, other}
    assert frozenset((anna, other)) in await possible_pairs(driver)
    assert set(await find_named(driver, "anna smith")) == {anna, other, found}


async def test_equal_bank_lines_with_own_numbers_are_reported_and_separate() -> None:
    """Of whom a record cannot be only what they bear is read; who may be meant is read whole."""
    driver = make_driver()
    line = {"posting_date": "2025-03-01", "amount": 5, "currency": "EUR", "description": "Rent"}
    first = await driver.entity("transaction", transaction_id="T-1", **line)
    second, doubts = await record_entity(driver, "transaction", transaction_id="T-2", **line)
    assert (second != first, doubts) == (True, {first})
    other, doubts = await record_entity(driver, "transaction", transaction_id="T-3", **line)
    assert (other in {first, second}, doubts) == (False, {first, second})
    bare, doubts = await record_entity(driver, "transaction", **line)
    assert (bare in {first, second, other}, doubts) == (False, {first, second, other})
    assert await record_entity(driver, "transaction", transaction_id="T-2", status="booked") == (
        second,
        set(),
    )
    await driver.merge(first, other)
    assert await record_entity(driver, "transaction", transaction_id="T-1", **line) == (
        other,
        set(),
    )
    assert await record_entity(driver, "transaction", transaction_id="T-4", **line) == (
        bare,
        {second, other},
    )


async def test_unmerging_restores_records_addressed_to_either_side() -> None:
    driver = make_driver()
    a = await driver.entity("person", name="Ann Lee", email="ann@lee.test")
    b = await driver.entity("person", name="Ann Ray", email="ann@ray.test")
    task = await driver.entity("task", title="Call")
    await driver.merge(a, b)
    assert await record_entity(driver, "person", email="ann@lee.test", role="cook") == (b, set())
    assert await record_entity(driver, "person", name="Ann Lea", email="ann@lee.test") == (b, set())
    await driver.correct(a, "country", "FR")
    await driver.correct(b, "address", "Quay 1")
    await driver.relate(a, "REFERS_TO", task)
    assert (await driver.snapshot(b))["country"] == "FR"
    assert (await driver.snapshot(a))["role"] == "cook"
    listed = await driver.call("list_relationships", entity_id=b)
    assert [each["source_entity_id"] for each in listed["relationships"]] == [b]

    await unmerge_entity(driver, a)
    assert await driver.snapshot(a) == {
        "name": "Ann Lea",
        "email": "ann@lee.test",
        "role": "cook",
        "country": "FR",
    }
    assert await driver.snapshot(b) == {
        "name": "Ann Ray",
        "email": "ann@ray.test",
        "address": "Quay 1",
    }
    assert (await name_of(driver, a), await name_of(driver, b)) == ("Ann Lea", "Ann Ray")
    assert (await driver.call("list_relationships", entity_id=b))["relationships"] == []
    assert (await driver.call("list_relationships", entity_id=a))["total"] == 1


async def test_a_correction_equal_to_the_survivors_is_kept_for_the_other() -> None:
    driver = make_driver()
    a = await driver.entity("person", name="Ann Lee", email="ann@lee.test")
    b = await driver.entity("person", name="Ann Ray", email="ann@ray.test")
    await driver.merge(a, b)
    await driver.correct(b, "country", "FR")
    first = await driver.correct(a, "country", "FR")
    again = await driver.correct(a, "country", "FR")
    assert first["observation_id"] == again["observation_id"]
    await unmerge_entity(driver, a)
    assert (await driver.snapshot(a))["country"] == "FR"


async def test_previously_merged_entities_follow_despite_later_records() -> None:
    driver = make_driver()
    x, a, b = [await driver.entity("person", name=n, email=f"{n}@x.test") for n in ("x", "a", "b")]
    await driver.merge(x, a)
    await driver.merge(a, b)
    for number in range(120):
        await driver.ingest({"entity_type": "person", "email": "a@x.test", "role": f"r{number}"})
    await unmerge_entity(driver, a)
    reply = await driver.call("get_entity_snapshot", entity_id=x)
    assert reply["entity_id"] == a
    assert reply["snapshot"]["role"] == "r119"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_a_display_name_does_not_depend_on_the_order_of_arrival(
    order: tuple[int, int],
) -> None:
    driver = make_driver()
    records = (
        {"entity_type": "person", "name": "Ann Lee", "email": "ann@lee.test"},
        {"entity_type": "person", "email": "ann@lee.test", "role": "cook"},
    )
    for place in order:
        reply = await driver.ingest(records[place])
    assert reply["entities"][0]["canonical_name"] == "Ann Lee"
    assert await name_of(driver, reply["entities"][0]["entity_id"]) == "Ann Lee"


async def test_a_survivor_keeps_its_name_and_repetition_renames_nobody() -> None:
    driver = make_driver()
    second = {"entity_type": "invoice", "invoice_number": "K-2", "amount_due": 1}
    first = {"entity_type": "invoice", "invoice_number": "K-1", "amount_due": 2}
    kept = (await driver.ingest(second))["entities"][0]["entity_id"]
    gone = (await driver.ingest(first))["entities"][0]["entity_id"]
    await driver.merge(gone, kept)
    assert await name_of(driver, kept) == "K-2"
    for record in (first, second, first):
        again = await driver.ingest(record)
        assert again["deduplicated"]
        assert again["entities"][0]["canonical_name"] == "K-2"
        assert await name_of(driver, kept) == "K-2"


async def test_a_bare_name_joins_neither_of_two_namesakes_and_reports_both() -> None:
    driver = make_driver()
    first = await driver.entity("person", name="Dora Z")
    assert await driver.entity("person", name="Dora Z", email="a@dora.test") == first
    second = await driver.entity("person", name="Dora Z", email="b@dora.test")
    assert second != first
    third, doubts = await record_entity(driver, "person", name="Dora Z", role="cook")
    assert third not in {first, second}
    assert doubts == {first, second}
    again, doubts = await record_entity(driver, "person", name="dora  z", role="COOK")
    assert (again, doubts) == (third, {first, second})
    assert {frozenset((first, third)), frozenset((second, third))} < await possible_pairs(driver)


async def test_a_repeated_document_creates_nobody() -> None:
    driver = make_driver()
    bare = {"entity_type": "person", "name": "Dora Z"}
    first = await driver.entity(**bare)
    await driver.entity("person", name="Dora Z", email="a@dora.test")
    await driver.entity("person", name="Dora Z", email="b@dora.test")
    before = await driver.call("retrieve_entities")
    again = await driver.ingest(bare)
    assert again["entities"][0]["entity_id"] == first
    assert (await driver.call("retrieve_entities"))["total"] == before["total"] == 2


async def test_a_record_that_connects_two_entities_is_reported() -> None:
    driver = make_driver()
    a = await driver.entity("person", name="Ann Lee", email="ann@lee.test")
    b = await driver.entity("person", name="Bo Ray", phone="+4930123456", email="bo@ray.test")
    assert await record_entity(driver, "person", email="ann@lee.test", phone="+4930123456") == (
        a,
        {b},
    )
    assert frozenset((a, b)) in await possible_pairs(driver)
    assert await record_entity(driver, "person", email="ann@lee.test", phone="+4930123456") == (
        a,
        set(),
    )


async def test_a_person_and_a_contact_with_one_email_are_reported() -> None:
    driver = make_driver()
    person = await driver.entity("person", name="Ann Lee", email="ann@lee.test")
    contact, doubts = await record_entity(driver, "contact", name="A. Lee", email="ann@lee.test")
    assert contact != person
    assert doubts == {person}
    assert await possible_pairs(driver) == {frozenset((person, contact))}
    about = await driver.call("list_possible_duplicates", entity_id=person)
    assert about["total"] == 1
    assert (await driver.of(BOB).call("list_possible_duplicates"))["total"] == 0


INVOICE = TRUTH_TYPES["invoice"]
ALL_OF_IT = {spec.name: {"type": spec.type, "merge_policy": spec.policy} for spec in INVOICE.fields}


@pytest.mark.parametrize(
    ("schema", "at"),
    [
        ({"fields": {**ALL_OF_IT, "amount_due": {"type": "string"}}}, "/fields/amount_due"),
        (
            {"fields": {"status": {"type": "array", "merge_policy": "merge_array"}}},
            "/fields/status",
        ),
        (
            {"fields": {"status": {"type": "string", "merge_policy": "merge_array"}}},
            "/fields/status",
        ),
        ({"fields": {"date_due": {"type": "date", "event_type": "Due"}}}, "/fields/date_due"),
        ({"fields": {"due_date": {"type": "string"}}}, "/fields/due_date"),
        ({"fields": {"x": {"type": "string"}}, "identity": [["x"]]}, "/identity"),
    ],
)
async def test_a_built_in_type_cannot_be_replaced(schema: dict[str, Any], at: str) -> None:
    driver = make_driver()
    invoice = await driver.entity("invoice", invoice_number="K-1", amount_due=5)
    register = {"user_id": driver.user, "entity_type": "Invoice", **schema}
    error = await driver.refused("register_entity_schema", "VALIDATION_ERROR", **register)
    assert (error["details"]["path"], error["details"]["reason"]) == (at, "schema.built-in")
    assert "Omit" in error["message"] or "Choose another" in error["message"]
    assert (await driver.snapshot(invoice))["amount_due"] == 5


@pytest.mark.parametrize("repeated", [{}, ALL_OF_IT])
async def test_a_built_in_type_can_be_extended_and_stays_the_same(
    repeated: dict[str, Any],
) -> None:
    driver = make_driver()
    invoice = await driver.entity("invoice", invoice_number="K-1", amount_due=5, x="kept")
    fields = {**repeated, "x": {"type": "string"}}
    registered = await driver.call(
        "register_entity_schema", user_id=driver.user, entity_type="invoice", fields=fields
    )
    assert registered["schema"]["identity"] == [list(rule.fields) for rule in INVOICE.identity]
    shown = await driver.snapshot(invoice)
    assert (shown["invoice_number"], shown["amount_due"], shown["x"]) == ("K-1", 5, "kept")
    assert await driver.entity("invoice", invoice_no="K-1", due_date="2025-02-01") == invoice
    assert "2025-02-01" in (await driver.snapshot(invoice))["date_due"]
    assert (await driver.call("list_timeline_events"))["total"] == 1


@pytest.mark.parametrize("twin", ["\u0410nn L\u0435\u0435", "Ann L\u0435e"])
async def test_a_look_alike_name_is_reported_as_a_possible_duplicate(twin: str) -> None:
    driver = make_driver()
    ann = await driver.entity("person", name="Ann Lee", email="ann@lee.test")
    other, doubts = await record_entity(driver, "person", name=twin)
    assert other != ann
    assert doubts == {ann}
    assert await possible_pairs(driver) == {frozenset((ann, other))}
    found = await driver.call("list_possible_duplicates", entity_id=other)
    assert found["pairs"][0]["reason"] == "look_alike_name"


@pytest.mark.parametrize("twin", ["An\u200bn Lee", "Ann L\u202eee", "Ann L\u00adee"])
async def test_invisible_characters_do_not_change_a_name(twin: str) -> None:
    driver = make_driver()
    ann = await driver.entity("person", name="Ann Lee", email="ann@lee.test")
    assert await record_entity(driver, "person", name=twin) == (ann, set())

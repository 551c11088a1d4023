"""Every key that an entity ever bore leads to it, merges can be taken back, and doubts are told."""

from typing import Any

import pytest

from canonry.log.schemas.truth_types import TRUTH_TYPES
from tests.toolsets.truth.kit import BOB, Desk, a_desk

pytestmark = pytest.mark.anyio


async def told(desk: Desk, entity_type: str, **fields: Any) -> tuple[str, set[str]]:
    """Whom a record is about, and who may be the same."""
    reply = await desk.ingest({"entity_type": entity_type, **fields})
    (entity,) = reply["entities"]
    return entity["entity_id"], {pair["candidate_id"] for pair in reply["possible_duplicates"]}


async def pairs(desk: Desk) -> set[frozenset[str]]:
    """All possible duplicates."""
    found = await desk.call("list_possible_duplicates")
    return {frozenset((each["entity_id"], each["candidate_id"])) for each in found["pairs"]}


async def named(desk: Desk, identifier: str) -> list[str]:
    """Who is found under a text, the best first."""
    found = await desk.call("get_entity_by_identifier", identifier=identifier)
    return [each["id"] for each in found["entities"]]


async def name_of(desk: Desk, entity_id: str) -> str:
    """The display name."""
    return str((await desk.call("get_entity_snapshot", entity_id=entity_id))["canonical_name"])


async def unmerge(desk: Desk, entity_id: str) -> None:
    """Take a merge back."""
    desk.wait()
    await desk.call("unmerge_entities", user_id=desk.user, entity_id=entity_id)


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
async def test_t5_a_merge_forgets_no_key(
    entity_type: str, merged: dict[str, Any], survivor: dict[str, Any], later: dict[str, Any]
) -> None:
    desk = a_desk()
    gone = await desk.entity(entity_type, **merged)
    kept = await desk.entity(entity_type, **survivor)
    assert gone != kept
    await desk.merge(gone, kept)
    assert await told(desk, entity_type, **later) == (kept, set())


async def test_t5_a_contact_that_became_a_person_is_met_by_its_phone_and_name() -> None:
    desk = a_desk()
    contact = await desk.entity("contact", name="Ann Lee", phone="+49 30 123456")
    person = await desk.entity("person", name="Ann Ray", email="ann@ray.test")
    await desk.merge(contact, person)
    assert await told(desk, "person", phone="+4930123456", role="cook") == (person, set())
    assert await told(desk, "contact", name="Ann Lee", role="chef") == (person, set())
    assert await told(desk, "person", name="Ann Lee") == (person, set())


async def test_t5_a_vendor_that_invoices_name_leads_to_its_survivor() -> None:
    desk = a_desk()
    await desk.ingest({"entity_type": "invoice", "invoice_number": "1", "vendor_name": "Foo Ltd"})
    (foo,) = await named(desk, "foo")
    bar = await desk.entity("company", name="Bar GmbH")
    await desk.merge(foo, bar)
    reply = await desk.ingest(
        {"entity_type": "invoice", "invoice_number": "2", "vendor_name": "FOO Limited"}
    )
    invoice = reply["entities"][0]["entity_id"]
    related = await desk.call("list_relationships", entity_id=invoice)
    assert [each["target_entity_id"] for each in related["relationships"]] == [bar]


async def test_t6_a_former_name_leads_to_its_entity_and_is_searchable() -> None:
    desk = a_desk()
    anna = await desk.entity("person", name="Anna Smith", email="a@anna.test")
    assert await desk.entity("person", name="Anna Jones", email="a@anna.test") == anna
    await desk.correct(anna, "email", "anna@jones.test")
    assert await told(desk, "person", name="Anna Smith") == (anna, set())
    assert await told(desk, "person", email="a@anna.test") == (anna, set())
    assert await named(desk, "Anna Smith") == [anna]
    assert await named(desk, "a@anna.test") == [anna]


async def test_t6_a_key_that_a_registered_type_was_corrected_from_is_not_forgotten() -> None:
    desk = a_desk()
    fields = {"serial": {"type": "string"}, "room": {"type": "string"}}
    await desk.call(
        "register_entity_schema",
        user_id=desk.user,
        entity_type="boiler",
        fields=fields,
        identity=[["serial"], ["room"]],
    )
    boiler = await desk.entity("boiler", serial="S-1", room="cellar")
    await desk.correct(boiler, "serial", "S-2")
    assert await desk.entity("boiler", serial="s-2") == boiler
    assert await desk.entity("boiler", serial="s-1") == boiler
    assert await desk.entity("boiler", room="Cellar") == boiler


async def test_t6_a_composite_key_said_later_leads_to_the_entity() -> None:
    desk = a_desk()
    shop = {"date": "2025-03-01", "amount": 5, "merchant_name": "Shop", "account_id": "giro"}
    payment = await desk.entity("transaction", transaction_id="T-1", currency="EUR")
    assert await desk.entity("transaction", transaction_id="T-1", **shop) == payment
    assert await desk.entity("transaction", **shop) == payment


async def test_t6_two_who_bore_a_name_in_turn_are_an_ambiguity_that_is_told() -> None:
    desk = a_desk()
    anna = await desk.entity("person", name="Anna Smith", email="a@anna.test")
    await desk.entity("person", name="Anna Jones", email="a@anna.test")
    other = await desk.entity("person", name="Anna Smith", email="b@anna.test")
    found, doubts = await told(desk, "person", name="Anna Smith")
    assert found not in {anna, other}
    assert doubts == {anna, other}
    assert frozenset((anna, other)) in await pairs(desk)
    assert set(await named(desk, "anna smith")) == {anna, other, found}


async def test_t6_equal_bank_lines_with_numbers_of_their_own_are_told_and_stay_apart() -> None:
    """Of whom a record cannot be only what they bear is read; who may be meant is read whole."""
    desk = a_desk()
    line = {"posting_date": "2025-03-01", "amount": 5, "currency": "EUR", "description": "Rent"}
    first = await desk.entity("transaction", transaction_id="T-1", **line)
    second, doubts = await told(desk, "transaction", transaction_id="T-2", **line)
    assert (second != first, doubts) == (True, {first})
    other, doubts = await told(desk, "transaction", transaction_id="T-3", **line)
    assert (other in {first, second}, doubts) == (False, {first, second})
    bare, doubts = await told(desk, "transaction", **line)
    assert (bare in {first, second, other}, doubts) == (False, {first, second, other})
    assert await told(desk, "transaction", transaction_id="T-2", status="booked") == (second, set())
    await desk.merge(first, other)
    assert await told(desk, "transaction", transaction_id="T-1", **line) == (other, set())
    assert await told(desk, "transaction", transaction_id="T-4", **line) == (bare, {second, other})


async def test_t7_unmerging_gives_back_all_that_was_addressed_to_either_side() -> None:
    desk = a_desk()
    a = await desk.entity("person", name="Ann Lee", email="ann@lee.test")
    b = await desk.entity("person", name="Ann Ray", email="ann@ray.test")
    task = await desk.entity("task", title="Call")
    await desk.merge(a, b)
    assert await told(desk, "person", email="ann@lee.test", role="cook") == (b, set())
    assert await told(desk, "person", name="Ann Lea", email="ann@lee.test") == (b, set())
    await desk.correct(a, "country", "FR")
    await desk.correct(b, "address", "Quay 1")
    await desk.relate(a, "REFERS_TO", task)
    assert (await desk.snapshot(b))["country"] == "FR"
    assert (await desk.snapshot(a))["role"] == "cook"
    listed = await desk.call("list_relationships", entity_id=b)
    assert [each["source_entity_id"] for each in listed["relationships"]] == [b]

    await unmerge(desk, a)
    assert await desk.snapshot(a) == {
        "name": "Ann Lea",
        "email": "ann@lee.test",
        "role": "cook",
        "country": "FR",
    }
    assert await desk.snapshot(b) == {
        "name": "Ann Ray",
        "email": "ann@ray.test",
        "address": "Quay 1",
    }
    assert (await name_of(desk, a), await name_of(desk, b)) == ("Ann Lea", "Ann Ray")
    assert (await desk.call("list_relationships", entity_id=b))["relationships"] == []
    assert (await desk.call("list_relationships", entity_id=a))["total"] == 1


async def test_t7_a_correction_that_the_survivor_has_already_is_still_given_to_the_other() -> None:
    desk = a_desk()
    a = await desk.entity("person", name="Ann Lee", email="ann@lee.test")
    b = await desk.entity("person", name="Ann Ray", email="ann@ray.test")
    await desk.merge(a, b)
    await desk.correct(b, "country", "FR")
    first = await desk.correct(a, "country", "FR")
    again = await desk.correct(a, "country", "FR")
    assert first["observation_id"] == again["observation_id"]
    await unmerge(desk, a)
    assert (await desk.snapshot(a))["country"] == "FR"


async def test_t7_whoever_was_merged_before_goes_along_however_much_was_said_since() -> None:
    desk = a_desk()
    x, a, b = [await desk.entity("person", name=n, email=f"{n}@x.test") for n in ("x", "a", "b")]
    await desk.merge(x, a)
    await desk.merge(a, b)
    for number in range(120):
        await desk.ingest({"entity_type": "person", "email": "a@x.test", "role": f"r{number}"})
    await unmerge(desk, a)
    reply = await desk.call("get_entity_snapshot", entity_id=x)
    assert reply["entity_id"] == a
    assert reply["snapshot"]["role"] == "r119"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_t8_a_display_name_does_not_depend_on_the_order_of_arrival(
    order: tuple[int, int],
) -> None:
    desk = a_desk()
    records = (
        {"entity_type": "person", "name": "Ann Lee", "email": "ann@lee.test"},
        {"entity_type": "person", "email": "ann@lee.test", "role": "cook"},
    )
    for place in order:
        reply = await desk.ingest(records[place])
    assert reply["entities"][0]["canonical_name"] == "Ann Lee"
    assert await name_of(desk, reply["entities"][0]["entity_id"]) == "Ann Lee"


async def test_t9_a_survivor_keeps_its_own_name_and_telling_again_renames_nobody() -> None:
    desk = a_desk()
    second = {"entity_type": "invoice", "invoice_number": "K-2", "amount_due": 1}
    first = {"entity_type": "invoice", "invoice_number": "K-1", "amount_due": 2}
    kept = (await desk.ingest(second))["entities"][0]["entity_id"]
    gone = (await desk.ingest(first))["entities"][0]["entity_id"]
    await desk.merge(gone, kept)
    assert await name_of(desk, kept) == "K-2"
    for record in (first, second, first):
        again = await desk.ingest(record)
        assert again["deduplicated"]
        assert again["entities"][0]["canonical_name"] == "K-2"
        assert await name_of(desk, kept) == "K-2"


async def test_t10_of_two_namesakes_a_bare_name_joins_neither_and_both_are_told() -> None:
    desk = a_desk()
    first = await desk.entity("person", name="Dora Z")
    assert await desk.entity("person", name="Dora Z", email="a@dora.test") == first
    second = await desk.entity("person", name="Dora Z", email="b@dora.test")
    assert second != first
    third, doubts = await told(desk, "person", name="Dora Z", role="cook")
    assert third not in {first, second}
    assert doubts == {first, second}
    again, doubts = await told(desk, "person", name="dora  z", role="COOK")
    assert (again, doubts) == (third, {first, second})
    assert {frozenset((first, third)), frozenset((second, third))} < await pairs(desk)


async def test_t10_telling_a_document_again_makes_nobody_new() -> None:
    desk = a_desk()
    bare = {"entity_type": "person", "name": "Dora Z"}
    first = await desk.entity(**bare)
    await desk.entity("person", name="Dora Z", email="a@dora.test")
    await desk.entity("person", name="Dora Z", email="b@dora.test")
    before = await desk.call("retrieve_entities")
    again = await desk.ingest(bare)
    assert again["entities"][0]["entity_id"] == first
    assert (await desk.call("retrieve_entities"))["total"] == before["total"] == 2


async def test_t11_a_record_that_ties_two_together_is_told() -> None:
    desk = a_desk()
    a = await desk.entity("person", name="Ann Lee", email="ann@lee.test")
    b = await desk.entity("person", name="Bo Ray", phone="+4930123456", email="bo@ray.test")
    assert await told(desk, "person", email="ann@lee.test", phone="+4930123456") == (a, {b})
    assert frozenset((a, b)) in await pairs(desk)
    assert await told(desk, "person", email="ann@lee.test", phone="+4930123456") == (a, set())


async def test_t11_a_person_and_a_contact_with_one_email_are_told() -> None:
    desk = a_desk()
    person = await desk.entity("person", name="Ann Lee", email="ann@lee.test")
    contact, doubts = await told(desk, "contact", name="A. Lee", email="ann@lee.test")
    assert contact != person
    assert doubts == {person}
    assert await pairs(desk) == {frozenset((person, contact))}
    about = await desk.call("list_possible_duplicates", entity_id=person)
    assert about["total"] == 1
    assert (await desk.of(BOB).call("list_possible_duplicates"))["total"] == 0


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
async def test_t13_a_built_in_type_cannot_be_replaced(schema: dict[str, Any], at: str) -> None:
    desk = a_desk()
    invoice = await desk.entity("invoice", invoice_number="K-1", amount_due=5)
    register = {"user_id": desk.user, "entity_type": "Invoice", **schema}
    error = await desk.refused("register_entity_schema", "VALIDATION_ERROR", **register)
    assert (error["details"]["path"], error["details"]["reason"]) == (at, "schema.built-in")
    assert "Omit" in error["message"] or "Choose another" in error["message"]
    assert (await desk.snapshot(invoice))["amount_due"] == 5


@pytest.mark.parametrize("repeated", [{}, ALL_OF_IT])
async def test_t13_a_built_in_type_can_be_extended_and_stays_what_it_is(
    repeated: dict[str, Any],
) -> None:
    desk = a_desk()
    invoice = await desk.entity("invoice", invoice_number="K-1", amount_due=5, x="kept")
    fields = {**repeated, "x": {"type": "string"}}
    registered = await desk.call(
        "register_entity_schema", user_id=desk.user, entity_type="invoice", fields=fields
    )
    assert registered["schema"]["identity"] == [list(rule.fields) for rule in INVOICE.identity]
    shown = await desk.snapshot(invoice)
    assert (shown["invoice_number"], shown["amount_due"], shown["x"]) == ("K-1", 5, "kept")
    assert await desk.entity("invoice", invoice_no="K-1", due_date="2025-02-01") == invoice
    assert "2025-02-01" in (await desk.snapshot(invoice))["date_due"]
    assert (await desk.call("list_timeline_events"))["total"] == 1


@pytest.mark.parametrize("twin", ["\u0410nn L\u0435\u0435", "Ann L\u0435e"])
async def test_r15_a_look_alike_of_a_name_is_told_as_a_possible_duplicate(twin: str) -> None:
    desk = a_desk()
    ann = await desk.entity("person", name="Ann Lee", email="ann@lee.test")
    other, doubts = await told(desk, "person", name=twin)
    assert other != ann
    assert doubts == {ann}
    assert await pairs(desk) == {frozenset((ann, other))}
    found = await desk.call("list_possible_duplicates", entity_id=other)
    assert found["pairs"][0]["reason"] == "look_alike_name"


@pytest.mark.parametrize("twin", ["An\u200bn Lee", "Ann L\u202eee", "Ann L\u00adee"])
async def test_r15_a_name_with_invisible_characters_is_the_name(twin: str) -> None:
    desk = a_desk()
    ann = await desk.entity("person", name="Ann Lee", email="ann@lee.test")
    assert await told(desk, "person", name=twin) == (ann, set())

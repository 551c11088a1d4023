"""Every key says what it is today; names can be added and taken away; doubts have evidence."""

from typing import Any

import pytest

from tests.toolsets.truth.kit import Desk, a_desk, an_invoice

pytestmark = pytest.mark.anyio


async def keys(desk: Desk, entity_id: str) -> dict[str, str]:
    """The keys of an entity with what they are today."""
    shown = await desk.call("get_entity_snapshot", entity_id=entity_id)
    return {each["key"]: each["status"] for each in shown["keys"]}


async def met(desk: Desk, identifier: str) -> dict[str, str]:
    """Whom a text leads to, and what it is to them."""
    found = await desk.call("get_entity_by_identifier", identifier=identifier)
    return {each["id"]: each["key_status"] for each in found["entities"]}


async def edit(desk: Desk, entity_id: str, **change: Any) -> dict[str, Any]:
    """Add names or addresses, or take them away."""
    desk.wait()
    return await desk.call("edit_aliases", user_id=desk.user, entity_id=entity_id, **change)


ANN = {"entity_type": "person", "name": "Ann Lee", "email": "ann@lee.test"}
RAY = {"entity_type": "person", "name": "Ann Ray", "email": "ann@ray.test"}


async def test_t5_a_key_says_whether_it_is_current_former_or_shadowed() -> None:
    desk = a_desk()
    kept = await desk.entity(**RAY)
    gone = await desk.entity(**ANN, phone="+4930123456")
    await desk.correct(gone, "email", "lee@work.test")
    await desk.merge(gone, kept)
    told = await keys(desk, kept)
    assert told == {
        "lee@work.test": "current",
        "+4930123456": "current",
        "ann ray": "current",
        "ann lee": "current",
        "ann@ray.test": "shadowed",
        "ann@lee.test": "former",
    }
    assert told == await keys(desk, gone)
    for text, status in told.items():
        assert await met(desk, text.title()) == {kept: status}
    shown = await desk.call("get_entity_snapshot", entity_id=kept)
    (former,) = [each for each in shown["keys"] if each["status"] == "former"]
    assert former == {**former, "rule": "email", "entity_id": gone}


async def test_t6_a_former_name_says_that_it_is_one() -> None:
    desk = a_desk()
    ann = await desk.entity(**ANN)
    await desk.ingest({**RAY, "email": "ann@lee.test"})
    assert await met(desk, "Ann Lee") == {ann: "former"}
    assert await met(desk, "Ann Ray") == {ann: "current"}


async def test_a_text_that_is_no_key_says_what_it_is_too() -> None:
    desk = a_desk()
    first = await desk.entity(**an_invoice("INV-1", iban="DE89 3704 0044 0532 0130 00"))
    await desk.correct(first, "iban", "DE02 1203 0000 0000 2020 51")
    assert await met(desk, "de89 3704 0044 0532 0130 00") == {first: "former"}
    assert await met(desk, "INV-1") == {first: "current"}
    found = await desk.call("get_entity_by_identifier", identifier="INV")
    assert "key_status" not in found["entities"][0]


async def test_several_addresses_and_names_lead_to_one_from_the_first_record_on() -> None:
    desk = a_desk()
    record: dict[str, Any] = {
        "entity_type": "person",
        "name": ["Ann Lee", "Ann Ray"],
        "email": ["ann@lee.test", "lee@work.test"],
        "phone": ["+49 30 123456", "+49 171 123456"],
    }
    ann = await desk.entity(**record)
    shown = await desk.snapshot(ann)
    assert (shown["name"], shown["email"], shown["phone"]) == (
        "Ann Lee",
        "ann@lee.test",
        "+49 30 123456",
    )
    assert sorted(shown["emails"]) == ["ann@lee.test", "lee@work.test"]
    assert sorted(shown["aliases"]) == ["Ann Lee", "Ann Ray"]
    assert set((await keys(desk, ann)).values()) == {"current"}
    for later in (
        {"email": "LEE@work.test"},
        {"phone": "0049171123456"},
        {"name": "Ann Ray"},
        {"email": ["new@lee.test", "lee@work.test"]},
        {"email": "new@lee.test", "name": "A. L."},
    ):
        assert await desk.entity("person", **later) == ann
    assert (await desk.call("retrieve_entities"))["total"] == 1
    assert (await keys(desk, ann))["lee@work.test"] == "current"


async def test_several_addresses_that_lead_to_two_are_told() -> None:
    desk = a_desk()
    ann, ray = await desk.entity(**ANN), await desk.entity(**RAY)
    record = {"entity_type": "person", "email": ["ann@ray.test", "ann@lee.test"], "role": "cook"}
    reply = await desk.ingest(record)
    told = {each["candidate_id"] for each in reply["possible_duplicates"]}
    assert told | {reply["entities"][0]["entity_id"]} >= {ann, ray}
    assert told
    again = await desk.ingest({**record, "email": record["email"][::-1], "role": "chef"})
    assert again["possible_duplicates"]


async def test_a_company_is_met_by_its_legal_name_too() -> None:
    desk = a_desk()
    acme = await desk.entity("company", name="Acme", legal_name="Roadrunner Holding GmbH")
    assert await desk.entity("company", name="Roadrunner Holding") == acme
    named = await desk.entity(**an_invoice(vendor_name="Roadrunner Holding GmbH"))
    edges = await desk.call("list_relationships", entity_id=named)
    assert [each["target_entity_id"] for each in edges["relationships"]] == [acme]


async def test_an_alias_is_added_shown_met_and_taken_away_again() -> None:
    desk = a_desk()
    ann = await desk.entity(**ANN)
    done = await edit(desk, ann, add=["Annie", "Lee A."])
    assert (done["entity_id"], sorted(done["values"])) == (ann, ["Annie", "Lee A."])
    assert sorted((await desk.snapshot(ann))["aliases"]) == ["Annie", "Lee A."]
    assert await met(desk, "annie") == {ann: "current"}
    assert {each["key"] for each in done["keys"]} >= {"annie", "lee a.", "ann lee"}
    gone = await edit(desk, ann, remove=["ANNIE"])
    assert gone["values"] == ["Lee A."]
    assert await met(desk, "Annie") == {}
    assert "annie" not in await keys(desk, ann)
    assert await desk.entity("person", name="Annie") != ann
    assert (await edit(desk, ann, add=["Lea"]))["values"] == ["Lee A.", "Lea"]
    assert (await edit(desk, ann))["values"] == ["Lee A.", "Lea"]


async def test_a_record_meets_an_alias_or_address_that_was_added() -> None:
    desk = a_desk()
    ann = await desk.entity(**ANN)
    await edit(desk, ann, add=["Annie"])
    await edit(desk, ann, field="emails", add=["Lee@Work.test"])
    assert await desk.entity("person", name="annie", role="cook") == ann
    assert await desk.entity("person", email="lee@work.test") == ann


async def test_a_wrong_former_key_is_taken_away_from_whoever_bears_it() -> None:
    desk = a_desk()
    kept, gone = await desk.entity(**RAY), await desk.entity(**ANN)
    await desk.correct(gone, "email", "lee@work.test")
    await desk.merge(gone, kept)
    await edit(desk, kept, remove=["ann@lee.test"])
    assert await met(desk, "ann@lee.test") == {}
    assert await desk.entity("person", email="ann@lee.test") not in {kept, gone}
    desk.wait()
    await desk.call("unmerge_entities", user_id=desk.user, entity_id=gone)
    assert "ann@lee.test" not in await keys(desk, gone)
    assert (await desk.snapshot(gone))["email"] == "lee@work.test"


async def test_addresses_are_edited_in_the_same_way() -> None:
    desk = a_desk()
    ann = await desk.entity(**ANN)
    await edit(desk, ann, field="emails", add=["lee@work.test"])
    assert (await desk.snapshot(ann))["emails"] == ["lee@work.test"]
    await edit(desk, ann, field="emails", add=["a@b.test"], remove=["lee@work.test"])
    assert (await desk.snapshot(ann))["emails"] == ["a@b.test"]
    assert await met(desk, "lee@work.test") == {}


async def test_a_key_that_was_taken_away_is_borne_again_once_it_is_said_again() -> None:
    desk = a_desk()
    ann = await desk.entity(**ANN)
    await edit(desk, ann, add=["Annie"])
    await edit(desk, ann, remove=["Annie"])
    await desk.ingest({**ANN, "aliases": ["Annie", "Nan"]})
    assert set(await met(desk, "Annie")) == {ann}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"remove": ["Ann Lee"]}, "alias.current"),
        ({"remove": ["Nobody"]}, "alias.unknown"),
        ({"add": [" "]}, "alias.empty"),
        ({"add": ["x" * 201]}, "alias.too-long"),
        ({"remove": ["x"] * 101}, "alias.too-many"),
    ],
)
async def test_what_cannot_be_edited_is_refused(change: dict[str, Any], reason: str) -> None:
    desk = a_desk()
    ann = await desk.entity(**ANN)
    arguments = {"user_id": desk.user, "entity_id": ann, **change}
    error = await desk.refused("edit_aliases", "VALIDATION_ERROR", **arguments)
    assert error["details"]["reason"] == reason


async def test_what_has_no_aliases_can_lose_a_wrong_key_and_gain_none() -> None:
    desk = a_desk()
    first = await desk.entity(**an_invoice("INV-1", iban="DE89"))
    await desk.correct(first, "iban", "DE02")
    error = await desk.refused(
        "edit_aliases", "VALIDATION_ERROR", user_id=desk.user, entity_id=first, add=["Bill"]
    )
    assert error["details"]["reason"] == "alias.field"
    await edit(desk, first, remove=["DE89"])
    assert await met(desk, "DE89") == {}


async def test_unmerging_gives_an_alias_back_to_whom_it_was_given() -> None:
    desk = a_desk()
    kept, gone = await desk.entity(**RAY), await desk.entity(**ANN)
    await desk.merge(gone, kept)
    await edit(desk, gone, add=["Annie"])
    await edit(desk, kept, add=["Rayette"])
    assert await met(desk, "Annie") == {kept: "current"}
    desk.wait()
    await desk.call("unmerge_entities", user_id=desk.user, entity_id=gone)
    assert await met(desk, "Annie") == {gone: "current"}
    assert await met(desk, "Rayette") == {kept: "current"}


async def test_t11_what_ties_two_together_is_told_with_the_evidence_of_both() -> None:
    desk = a_desk()
    first = await desk.ingest(
        {"entity_type": "person", "name": "Ann Lee", "email": "Ann@lee.test", "role": "cook"}
    )
    person = first["entities"][0]["entity_id"]
    await desk.ingest({"entity_type": "person", "email": "ann@lee.test", "name": "Ann Ray"})
    second = await desk.ingest({"entity_type": "contact", "name": "ANN LEE", "phone": "+4930123"})
    (pair,) = second["possible_duplicates"]
    contact = second["entities"][0]["entity_id"]
    assert (pair["entity_id"], pair["candidate_id"], pair["reason"]) == (
        contact,
        person,
        "same_name",
    )
    assert [(e["entity_id"], e["fields"], e["source_id"]) for e in pair["evidence"]] == [
        (contact, {"name": "ANN LEE"}, second["source_id"]),
        (person, {"name": "Ann Lee"}, first["source_id"]),
    ]
    (listed,) = (await desk.call("list_possible_duplicates", entity_id=person))["pairs"]
    told = {e["entity_id"]: e["fields"] for e in listed["evidence"]}
    assert told == {contact: {"name": "ANN LEE"}, person: {"name": "Ann Lee"}}
    traced = {e["observation_id"] for e in listed["evidence"]}
    seen = await desk.call("list_observations", entity_id=contact)
    assert {each["id"] for each in seen["observations"]} < traced


async def test_t11_keys_of_several_fields_and_looks_have_evidence_too() -> None:
    desk = a_desk()
    line = {"date": "2025-01-15", "amount": 5, "description": "Tea"}
    await desk.entity("transaction", transaction_id="T-1", **line)
    await desk.entity("transaction", transaction_id="T-2", **line)
    await desk.entity("person", name="Ann Lee", email="ann@lee.test")
    await desk.entity("person", name="\u0410nn Lee")
    found = (await desk.call("list_possible_duplicates"))["pairs"]
    told = {pair["reason"]: [e["fields"] for e in pair["evidence"]] for pair in found}
    assert told["same_date_amount_merchant_name"] == [line, line]
    assert {each["name"] for each in told["look_alike_name"]} == {"Ann Lee", "\u0410nn Lee"}


@pytest.mark.parametrize(
    ("one", "other"),
    [("Tom Jonés", "Tom Jones"), ("Eva Muller", "Eva Müller"), ("Ole S\u00f8rby", "Ole Sorby")],
)
@pytest.mark.parametrize("entity_type", ["person", "contact"])
async def test_t11_accent_twins_are_two_and_told_with_the_reason_and_the_evidence_of_both(
    one: str, other: str, entity_type: str
) -> None:
    desk = a_desk()
    first = await desk.entity("person", name=one, email="one@twins.test")
    reply = await desk.ingest({"entity_type": entity_type, "name": other, "role": "cook"})
    (second,) = (each["entity_id"] for each in reply["entities"])
    assert second != first, "an accent tells names apart until somebody says otherwise"
    (pair,) = reply["possible_duplicates"]
    assert (pair["candidate_id"], pair["reason"]) == (first, "look_alike_name")
    assert [each["fields"] for each in pair["evidence"]] == [{"name": other}, {"name": one}]
    (listed,) = (await desk.call("list_possible_duplicates"))["pairs"]
    assert listed["reason"] == "look_alike_name"
    told = {each["entity_id"]: each["fields"]["name"] for each in listed["evidence"]}
    assert told == {first: one, second: other}
    (near,) = (await desk.call("list_possible_duplicates", entity_id=first))["pairs"]
    assert near["reason"] == "look_alike_name"


async def test_t11_evidence_that_is_far_back_is_told_by_whose_it_is_alone() -> None:
    desk = a_desk()
    first = await desk.entity("person", name="Ann Lee", email="ann@lee.test")
    for number in range(60):
        await desk.entity("person", email="ann@lee.test", name="Ann Ray", role=f"r{number}")
    reply = await desk.ingest({"entity_type": "contact", "name": "Ann Lee"})
    (pair,) = reply["possible_duplicates"]
    assert pair["evidence"][1] == {"entity_id": first, "fields": {}}


@pytest.mark.parametrize("sign", ["'", "\u2019", "\u02bc", "\u00b4", "`"])
async def test_r6_a_record_is_met_by_its_title_in_any_signs(sign: str) -> None:
    desk = a_desk()
    task = await desk.entity(entity_type="task", title="Call O\u2019Brien about 10\u201111")

    assert list(await met(desk, f"call o{sign}brien about 10-11")) == [task]

"""Every key says what it is today; names can be added and taken away; doubts have evidence."""

from typing import Any

import pytest

from tests.toolsets.truth.kit import ToolDriver, an_invoice, make_driver

pytestmark = pytest.mark.anyio


async def list_keys(driver: ToolDriver, entity_id: str) -> dict[str, str]:
    """The keys of an entity with what they are today."""
    shown = await driver.call("get_entity_snapshot", entity_id=entity_id)
    return {each["key"]: each["status"] for each in shown["keys"]}


async def find_owner(driver: ToolDriver, identifier: str) -> dict[str, str]:
    """Whom a text leads to, and what it is to them."""
    found = await driver.call("get_entity_by_identifier", identifier=identifier)
    return {each["id"]: each["key_status"] for each in found["entities"]}


async def edit_keys(driver: ToolDriver, entity_id: str, **change: Any) -> dict[str, Any]:
    """Add names or addresses, or take them away."""
    driver.wait()
    return await driver.call("edit_aliases", user_id=driver.user, entity_id=entity_id, **change)


ANN = {"entity_type": "person", "name": "Ann Lee", "email": "ann@lee.test"}
RAY = {"entity_type": "person", "name": "Ann Ray", "email": "ann@ray.test"}


async def test_a_key_is_listed_as_current_former_or_shadowed() -> None:
    driver = make_driver()
    kept = await driver.entity(**RAY)
    gone = await driver.entity(**ANN, phone="+4930123456")
    await driver.correct(gone, "email", "lee@work.test")
    await driver.merge(gone, kept)
    answer = await list_keys(driver, kept)
    assert answer == {
        "lee@work.test": "current",
        "+4930123456": "current",
        "ann ray": "current",
        "ann lee": "current",
        "ann@ray.test": "shadowed",
        "ann@lee.test": "former",
    }
    assert answer == await list_keys(driver, gone)
    for text, status in answer.items():
        assert await find_owner(driver, text.title()) == {kept: status}
    shown = await driver.call("get_entity_snapshot", entity_id=kept)
    (former,) = [each for each in shown["keys"] if each["status"] == "former"]
    assert former == {**former, "rule": "email", "entity_id": gone}


async def test_a_former_name_is_marked_as_one() -> None:
    driver = make_driver()
    ann = await driver.entity(**ANN)
    await driver.ingest({**RAY, "email": "ann@lee.test"})
    assert await find_owner(driver, "Ann Lee") == {ann: "former"}
    assert await find_owner(driver, "Ann Ray") == {ann: "current"}


async def test_a_text_that_is_no_key_is_explained_too() -> None:
    driver = make_driver()
    first = await driver.entity(**an_invoice("INV-1", iban="DE89 3704 0044 0532 0130 00"))
    await driver.correct(first, "iban", "DE02 1203 0000 0000 2020 51")
    assert await find_owner(driver, "de89 3704 0044 0532 0130 00") == {first: "former"}
    assert await find_owner(driver, "INV-1") == {first: "current"}
    found = await driver.call("get_entity_by_identifier", identifier="INV")
    assert "key_status" not in found["entities"][0]


async def test_several_addresses_and_names_of_one_record_find_the_entity() -> None:
    driver = make_driver()
    record: dict[str, Any] = {
        "entity_type": "person",
        "name": ["Ann Lee", "Ann Ray"],
        "email": ["ann@lee.test", "lee@work.test"],
        "phone": ["+49 30 123456", "+49 171 123456"],
    }
    ann = await driver.entity(**record)
    shown = await driver.snapshot(ann)
    assert (shown["name"], shown["email"], shown["phone"]) == (
        "Ann Lee",
        "ann@lee.test",
        "+49 30 123456",
    )
    assert sorted(shown["emails"]) == ["ann@lee.test", "lee@work.test"]
    assert sorted(shown["aliases"]) == ["Ann Lee", "Ann Ray"]
    assert set((await list_keys(driver, ann)).values()) == {"current"}
    for later in (
        {"email": "LEE@work.test"},
        {"phone": "0049171123456"},
        {"name": "Ann Ray"},
        {"email": ["new@lee.test", "lee@work.test"]},
        {"email": "new@lee.test", "name": "A. L."},
    ):
        assert await driver.entity("person", **later) == ann
    assert (await driver.call("retrieve_entities"))["total"] == 1
    assert (await list_keys(driver, ann))["lee@work.test"] == "current"


async def test_several_addresses_that_lead_to_two_are_reported() -> None:
    driver = make_driver()
    ann, ray = await driver.entity(**ANN), await driver.entity(**RAY)
    record = {"entity_type": "person", "email": ["ann@ray.test", "ann@lee.test"], "role": "cook"}
    reply = await driver.ingest(record)
    found = {each["candidate_id"] for each in reply["possible_duplicates"]}
    assert found | {reply["entities"][0]["entity_id"]} >= {ann, ray}
    assert found
    again = await driver.ingest({**record, "email": record["email"][::-1], "role": "chef"})
    assert again["possible_duplicates"]


async def test_a_company_is_found_by_its_legal_name_too() -> None:
    driver = make_driver()
    acme = await driver.entity("company", name="Acme", legal_name="Roadrunner Holding GmbH")
    assert await driver.entity("company", name="Roadrunner Holding") == acme
    named = await driver.entity(**an_invoice(vendor_name="Roadrunner Holding GmbH"))
    edges = await driver.call("list_relationships", entity_id=named)
    assert [each["target_entity_id"] for each in edges["relationships"]] == [acme]


async def test_an_alias_is_added_shown_found_and_removed() -> None:
    driver = make_driver()
    ann = await driver.entity(**ANN)
    done = await edit_keys(driver, ann, add=["Annie", "Lee A."])
    assert (done["entity_id"], sorted(done["values"])) == (ann, ["Annie", "Lee A."])
    assert sorted((await driver.snapshot(ann))["aliases"]) == ["Annie", "Lee A."]
    assert await find_owner(driver, "annie") == {ann: "current"}
    assert {each["key"] for each in done["keys"]} >= {"annie", "lee a.", "ann lee"}
    gone = await edit_keys(driver, ann, remove=["ANNIE"])
    assert gone["values"] == ["Lee A."]
    assert await find_owner(driver, "Annie") == {}
    assert "annie" not in await list_keys(driver, ann)
    assert await driver.entity("person", name="Annie") != ann
    assert (await edit_keys(driver, ann, add=["Lea"]))["values"] == ["Lee A.", "Lea"]
    assert (await edit_keys(driver, ann))["values"] == ["Lee A.", "Lea"]


async def test_a_record_matches_an_added_alias_or_address() -> None:
    driver = make_driver()
    ann = await driver.entity(**ANN)
    await edit_keys(driver, ann, add=["Annie"])
    await edit_keys(driver, ann, field="emails", add=["Lee@Work.test"])
    assert await driver.entity("person", name="annie", role="cook") == ann
    assert await driver.entity("person", email="lee@work.test") == ann


async def test_a_wrong_former_key_is_removed_from_its_owner() -> None:
    driver = make_driver()
    kept, gone = await driver.entity(**RAY), await driver.entity(**ANN)
    await driver.correct(gone, "email", "lee@work.test")
    await driver.merge(gone, kept)
    await edit_keys(driver, kept, remove=["ann@lee.test"])
    assert await find_owner(driver, "ann@lee.test") == {}
    assert await driver.entity("person", email="ann@lee.test") not in {kept, gone}
    driver.wait()
    await driver.call("unmerge_entities", user_id=driver.user, entity_id=gone)
    assert "ann@lee.test" not in await list_keys(driver, gone)
    assert (await driver.snapshot(gone))["email"] == "lee@work.test"


async def test_addresses_are_edited_in_the_same_way() -> None:
    driver = make_driver()
    ann = await driver.entity(**ANN)
    await edit_keys(driver, ann, field="emails", add=["lee@work.test"])
    assert (await driver.snapshot(ann))["emails"] == ["lee@work.test"]
    await edit_keys(driver, ann, field="emails", add=["a@b.test"], remove=["lee@work.test"])
    assert (await driver.snapshot(ann))["emails"] == ["a@b.test"]
    assert await find_owner(driver, "lee@work.test") == {}


async def test_a_removed_key_returns_once_recorded_again() -> None:
    driver = make_driver()
    ann = await driver.entity(**ANN)
    await edit_keys(driver, ann, add=["Annie"])
    await edit_keys(driver, ann, remove=["Annie"])
    await driver.ingest({**ANN, "aliases": ["Annie", "Nan"]})
    assert set(await find_owner(driver, "Annie")) == {ann}


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
async def test_uneditable_keys_are_refused(change: dict[str, Any], reason: str) -> None:
    driver = make_driver()
    ann = await driver.entity(**ANN)
    arguments = {"user_id": driver.user, "entity_id": ann, **change}
    error = await driver.refused("edit_aliases", "VALIDATION_ERROR", **arguments)
    assert error["details"]["reason"] == reason


async def test_an_entity_without_aliases_can_lose_a_wrong_key_and_gain_none() -> None:
    driver = make_driver()
    first = await driver.entity(**an_invoice("INV-1", iban="DE89"))
    await driver.correct(first, "iban", "DE02")
    error = await driver.refused(
        "edit_aliases", "VALIDATION_ERROR", user_id=driver.user, entity_id=first, add=["Bill"]
    )
    assert error["details"]["reason"] == "alias.field"
    await edit_keys(driver, first, remove=["DE89"])
    assert await find_owner(driver, "DE89") == {}


async def test_unmerging_returns_an_alias_to_its_original_owner() -> None:
    driver = make_driver()
    kept, gone = await driver.entity(**RAY), await driver.entity(**ANN)
    await driver.merge(gone, kept)
    await edit_keys(driver, gone, add=["Annie"])
    await edit_keys(driver, kept, add=["Rayette"])
    assert await find_owner(driver, "Annie") == {kept: "current"}
    driver.wait()
    await driver.call("unmerge_entities", user_id=driver.user, entity_id=gone)
    assert await find_owner(driver, "Annie") == {gone: "current"}
    assert await find_owner(driver, "Rayette") == {kept: "current"}


async def test_connected_entities_are_reported_with_evidence_of_both() -> None:
    driver = make_driver()
    first = await driver.ingest(
        {"entity_type": "person", "name": "Ann Lee", "email": "Ann@lee.test", "role": "cook"}
    )
    person = first["entities"][0]["entity_id"]
    await driver.ingest({"entity_type": "person", "email": "ann@lee.test", "name": "Ann Ray"})
    second = await driver.ingest({"entity_type": "contact", "name": "ANN LEE", "phone": "+4930123"})
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
    (listed,) = (await driver.call("list_possible_duplicates", entity_id=person))["pairs"]
    found = {e["entity_id"]: e["fields"] for e in listed["evidence"]}
    assert found == {contact: {"name": "ANN LEE"}, person: {"name": "Ann Lee"}}
    traced = {e["observation_id"] for e in listed["evidence"]}
    seen = await driver.call("list_observations", entity_id=contact)
    assert {each["id"] for each in seen["observations"]} < traced


async def test_composite_keys_and_look_alikes_have_evidence_too() -> None:
    driver = make_driver()
    line = {"date": "2025-01-15", "amount": 5, "description": "Tea"}
    await driver.entity("transaction", transaction_id="T-1", **line)
    await driver.entity("transaction", transaction_id="T-2", **line)
    await driver.entity("person", name="Ann Lee", email="ann@lee.test")
    await driver.entity("person", name="\u0410nn Lee")
    found = (await driver.call("list_possible_duplicates"))["pairs"]
    listed = {pair["reason"]: [e["fields"] for e in pair["evidence"]] for pair in found}
    assert listed["same_date_amount_merchant_name"] == [line, line]
    assert {each["name"] for each in listed["look_alike_name"]} == {"Ann Lee", "\u0410nn Lee"}


@pytest.mark.parametrize(
    ("one", "other"),
    [("Tom Jonés", "Tom Jones"), ("Eva Muller", "Eva Müller"), ("Ole S\u00f8rby", "Ole Sorby")],
)
@pytest.mark.parametrize("entity_type", ["person", "contact"])
async def test_names_differing_in_accents_are_two_and_reported_with_evidence(
    one: str, other: str, entity_type: str
) -> None:
    driver = make_driver()
    first = await driver.entity("person", name=one, email="one@twins.test")
    reply = await driver.ingest({"entity_type": entity_type, "name": other, "role": "cook"})
    (second,) = (each["entity_id"] for each in reply["entities"])
    assert second != first, "an accent tells names apart until somebody says otherwise"
    (pair,) = reply["possible_duplicates"]
    assert (pair["candidate_id"], pair["reason"]) == (first, "look_alike_name")
    assert [each["fields"] for each in pair["evidence"]] == [{"name": other}, {"name": one}]
    (listed,) = (await driver.call("list_possible_duplicates"))["pairs"]
    assert listed["reason"] == "look_alike_name"
    found = {each["entity_id"]: each["fields"]["name"] for each in listed["evidence"]}
    assert found == {first: one, second: other}
    (near,) = (await driver.call("list_possible_duplicates", entity_id=first))["pairs"]
    assert near["reason"] == "look_alike_name"


async def test_distant_evidence_is_reported_only_by_its_source() -> None:
    driver = make_driver()
    first = await driver.entity("person", name="Ann Lee", email="ann@lee.test")
    for number in range(60):
        await driver.entity("person", email="ann@lee.test", name="Ann Ray", role=f"r{number}")
    reply = await driver.ingest({"entity_type": "contact", "name": "Ann Lee"})
    (pair,) = reply["possible_duplicates"]
    assert pair["evidence"][1] == {"entity_id": first, "fields": {}}


@pytest.mark.parametrize("sign", ["'", "\u2019", "\u02bc", "\u00b4", "`"])
async def test_a_record_is_matched_by_its_title_whatever_the_signs(sign: str) -> None:
    driver = make_driver()
    task = await driver.entity(entity_type="task", title="Call O\u2019Brien about 10\u201111")

    assert list(await find_owner(driver, f"call o{sign}brien about 10-11")) == [task]

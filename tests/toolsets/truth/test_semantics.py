"""Actions have a fixed meaning where the contract leaves it open."""

import asyncio
import base64
from dataclasses import replace
from typing import Any

import pytest

from canonry.app.compose import compose_memory
from canonry.gateway.call import Gateway
from canonry.records.toolset import TRUTH
from canonry.records.usecases.files import RecordServices
from canonry.testing.clocks import CountingIdentities, HandClock
from canonry.values.policy import Policy, TruthPolicy
from tests.toolsets.truth.filled_account import NOTE
from tests.toolsets.truth.kit import NOWHERE, ToolDriver, an_invoice, make_driver

pytestmark = pytest.mark.anyio


def encode_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


async def test_a_repeated_correction_is_one_and_a_return_to_it_is_new() -> None:
    driver = make_driver()
    invoice = await driver.entity("invoice", invoice_number="INV-9", amount_due=1)
    first = await driver.correct(invoice, "amount_due", 500)
    same = await driver.correct(invoice, "amount_due", 500)
    assert (same["observation_id"], same["existing"]) == (first["observation_id"], True)
    await driver.correct(invoice, "amount_due", 600)
    back = await driver.correct(invoice, "amount_due", 500)
    assert back["observation_id"] != first["observation_id"]
    assert (await driver.snapshot(invoice))["amount_due"] == 500


async def test_repeating_a_corrected_value_changes_nothing() -> None:
    driver = make_driver()
    first = await driver.ingest(an_invoice(amount_due=1))
    invoice = first["entities"][0]["entity_id"]
    await driver.correct(invoice, "amount_due", 500)
    heads = await driver.heads()
    again = await driver.ingest(an_invoice(amount_due=1))
    assert (again["deduplicated"], again["observations_added"]) == (True, 0)
    assert await driver.heads() == heads
    await driver.ingest(an_invoice(amount_due=2))
    back = await driver.ingest(an_invoice(amount_due=1))
    assert back["observations_added"] == 1
    assert (await driver.snapshot(invoice))["amount_due"] == 500


@pytest.mark.parametrize(
    ("entity_type", "field", "old", "new"),
    [
        ("task", "status", "a", "b"),
        ("task", "description", "a", "b"),
        ("contract", "files", ["a"], ["b"]),
    ],
)
async def test_a_correction_wins_under_every_policy(
    entity_type: str, field: str, old: Any, new: Any
) -> None:
    driver = make_driver()
    keys = {"title": "T", "contract_number": "C-1"}
    entity = await driver.entity(entity_type, **keys, **{field: old})
    await driver.correct(entity, field, new)
    await driver.ingest({"entity_type": entity_type, **keys, field: old}, source_priority=999)
    assert (await driver.snapshot(entity))[field] == new


async def test_a_field_by_priority_does_not_go_by_time() -> None:
    driver = make_driver()
    person = {"entity_type": "person", "email": "ada@example.test"}
    first = await driver.ingest({**person, "name": "Ada Lovelace"}, source_priority=500)
    await driver.ingest({**person, "name": "A. Lovelace"}, source_priority=100)
    snapshot = await driver.snapshot(first["entities"][0]["entity_id"])
    assert snapshot["name"] == "Ada Lovelace"


async def test_a_snapshot_before_the_first_observation_is_empty() -> None:
    driver = make_driver()
    invoice = await driver.entity("invoice", invoice_number="INV-9", amount_due=1)
    then = await driver.call("get_entity_snapshot", entity_id=invoice, at="2001-01-01")
    assert (then["snapshot"], then["observation_count"]) == ({}, 0)
    assert then["last_observation_at"] is None
    assert then["first_observed_at"] is not None


async def test_a_merge_counts_from_its_time() -> None:
    driver = make_driver()
    kept = await driver.entity("company", name="One", tax_id="1")
    gone = await driver.entity("company", name="Two", tax_id="2", industry="tools")
    before = "2025-01-15T00:03:30Z"
    driver.wait(120)
    await driver.merge(gone, kept)
    now = await driver.call("get_entity_snapshot", entity_id=gone)
    then = await driver.call("get_entity_snapshot", entity_id=gone, at=before)
    assert (now["entity_id"], now["snapshot"]["industry"]) == (kept, "tools")
    assert (then["entity_id"], then["snapshot"]["name"]) == (gone, "Two")
    kept_then = await driver.call("get_entity_snapshot", entity_id=kept, at=before)
    assert "industry" not in kept_then["snapshot"]


async def test_known_state_differs_from_valid_state() -> None:
    driver = make_driver()
    early = {"extracted_at": "2020-01-01T00:00:00Z", "extractor_version": "1"}
    invoice = await driver.entity("invoice", invoice_number="INV-9", amount_due=1)
    driver.wait(3600)
    await driver.ingest(an_invoice(notes="found later"), provenance=early)
    so = await driver.call("get_entity_snapshot", entity_id=invoice, at="2020-06-01")
    assert so["snapshot"]["notes"] == "found later"
    known = await driver.call(
        "get_entity_snapshot",
        entity_id=invoice,
        at="2020-06-01",
        as_known_at="2025-01-15T00:10:00Z",
    )
    assert known["snapshot"] == {}


async def test_a_name_alone_extends_its_only_owner() -> None:
    driver = make_driver()
    ada = await driver.entity("person", name="Ada Lovelace", email="ada@example.test")
    assert await driver.entity("person", name="Lovelace, Ada", role="analyst") == ada
    other = await driver.ingest(
        {"entity_type": "person", "name": "Ada Lovelace", "email": "other@example.test"}
    )
    assert other["entities"][0]["entity_id"] != ada
    assert other["possible_duplicates"][0]["candidate_id"] == ada
    third = await driver.ingest({"entity_type": "person", "name": "Ada Lovelace", "country": "UK"})
    assert third["entities"][0]["entity_id"] != ada
    assert len(third["possible_duplicates"]) == 2
    pairs = await driver.call("list_possible_duplicates", entity_type="person")
    assert pairs["total"] >= 1


async def test_another_vendor_makes_an_equal_number_another_invoice() -> None:
    driver = make_driver()
    one = await driver.ingest(an_invoice(vendor_name="Acme"))
    two = await driver.ingest(an_invoice(vendor_name="Beta"))
    again = await driver.ingest(an_invoice(vendor_name="Beta", notes="x"))
    ids = [reply["entities"][0]["entity_id"] for reply in (one, two, again)]
    assert ids[0] != ids[1] == ids[2]
    assert two["possible_duplicates"][0]["candidate_id"] == ids[0]


async def test_an_unknown_field_is_kept_and_shown_once_a_schema_has_it() -> None:
    driver = make_driver()
    reply = await driver.ingest(an_invoice(colour="blue"))
    invoice = reply["entities"][0]["entity_id"]
    kept = await driver.call("get_entity_snapshot", entity_id=invoice)
    assert "colour" not in kept["snapshot"]
    assert kept["raw_fragments"]["colour"]["reason"] == "unknown_field"
    fields = {name: {"type": "string"} for name in ("invoice_number", "colour")}
    fields["amount_due"] = {"type": "number"}
    driver.wait()
    done = await driver.call(
        "register_entity_schema", user_id=driver.user, entity_type="invoice", fields=fields
    )
    assert (done["schema_version"], done["registered"]) == ("1.2", True)
    known = await driver.call("get_entity_snapshot", entity_id=invoice)
    assert known["snapshot"]["colour"] == "blue"
    assert known["schema_version"] == "1.2"
    then = await driver.call("get_entity_snapshot", entity_id=invoice, at="2025-01-15T00:01:30Z")
    assert (then["schema_version"], "colour" in then["snapshot"]) == ("1.1", False)


async def test_an_unknown_type_gets_a_growing_schema() -> None:
    driver = make_driver()
    habit = await driver.entity("habit", name="Running", day="2025-01-01", minutes=30)
    other = await driver.entity("habit", name="Running", day="2025-01-02", minutes=20, mood="good")
    assert habit != other
    assert (await driver.snapshot(other))["mood"] == "good"
    versions = await driver.call("list_entity_schemas", entity_type="habit")
    assert [each["schema_version"] for each in versions["schemas"]] == ["1.1", "1.0"]
    types = await driver.call("list_entity_types")
    counts = {each["entity_type"]: each["entity_count"] for each in types["entity_types"]}
    assert counts["habit"] == 2
    assert len(counts) == 17


async def test_the_short_alias_is_returned_and_accepted() -> None:
    driver = make_driver()
    reply = await driver.ingest(an_invoice())
    alias = reply["entities"][0]["entity_alias"]
    assert alias.startswith("ent_")
    assert len(alias) == len("ent_") + 24
    snapshot = await driver.call("get_entity_snapshot", entity_id=alias)
    assert snapshot["entity_id"] == reply["entities"][0]["entity_id"]


async def test_identifiers_are_found_in_any_form_and_by_prefix() -> None:
    driver = make_driver()
    acme = await driver.entity("company", name="Acme Corp", email="Info@Acme.test", phone="+34 600")
    for identifier in ("ACME, Inc.", "acme", "info@acme.test", "Acm", " acme  corp "):
        found = await driver.call("get_entity_by_identifier", identifier=identifier)
        assert [each["id"] for each in found["entities"]] == [acme], identifier
    none = await driver.call("get_entity_by_identifier", identifier="acme", entity_type="person")
    assert none["total"] == 0


async def test_a_file_is_interpreted_once_per_configuration() -> None:
    driver = make_driver()
    said = {"user_id": driver.user, "file_content": NOTE, "mime_type": "text/markdown"}
    first = await driver.call("ingest", **said)
    again = await driver.call("ingest", **said)
    assert again["deduplicated"] is True
    assert again["interpretation"] == first["interpretation"]
    config = {"provider": "rules"}
    same = await driver.call(
        "reinterpret", source_id=first["source_id"], interpretation_config=config
    )
    assert same["run_id"] == first["interpretation"]["run_id"]
    assert same["deduplicated"] is True


async def test_an_exhausted_quota_keeps_the_source_and_charges_once() -> None:
    clock = HandClock()
    policy = Policy(truth=TruthPolicy(interpretations=1))
    canon = compose_memory(clock=clock, identities=CountingIdentities(), policy=policy)
    driver = ToolDriver(canon=canon, gateway=Gateway(canon, (TRUTH,)), clock=clock)
    said = {"user_id": driver.user, "mime_type": "text/markdown"}
    await driver.call("ingest", **said, file_content=NOTE)
    await driver.call("ingest", **said, file_content=NOTE)
    await driver.ingest(an_invoice())
    more = encode_base64("# Another\n\nInvoice INV-78 of Acme Corp.\n")
    outcome = await driver.outcome("ingest", {**said, "file_content": more})
    error = outcome.body["error"]
    assert error["code"] == "QUOTA_EXCEEDED"
    assert error["details"]["retry_after_seconds"] > 0
    source = error["details"]["source_id"]
    around = await driver.call("get_graph_neighborhood", node_id=source, node_type="source")
    assert around["source_material"]["id"] == source
    driver.wait(31 * 86_400)
    done = await driver.call("ingest", **said, file_content=more)
    assert done["source_id"] == source


async def test_a_stored_file_has_a_link_that_reveals_no_machine_detail() -> None:
    driver = make_driver()
    reply = await driver.call(
        "ingest", user_id=driver.user, file_content=NOTE, mime_type="text/markdown"
    )
    link = await driver.call(
        "get_file_url", file_path=f"files/{driver.user}/{reply['content_hash']}", expires_in=60
    )
    assert link["signed_url"].startswith("/files/")
    assert "file:" not in link["signed_url"]
    for seconds in (0, 604_801):
        arguments = {"file_path": "files/x", "expires_in": seconds}
        await driver.refused("get_file_url", "VALIDATION_ERROR", **arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"entities": []},
        {"entities": [an_invoice()], "file_content": "YQ=="},
        {"file_content": "YQ=="},
        {"entities": [{"invoice_number": "INV-1"}]},
        {"entities": [an_invoice()], "source_priority": 1000},
        {"entities": [an_invoice()], "provenance": {"extracted_at": "soon"}},
    ],
)
async def test_input_in_neither_form_of_ingest_is_refused(arguments: dict[str, Any]) -> None:
    driver = make_driver()
    await driver.refused("ingest", "VALIDATION_ERROR", user_id=driver.user, **arguments)


async def test_pages_follow_the_order_of_first_observation() -> None:
    driver = make_driver()
    for number in range(7):
        await driver.ingest(an_invoice(f"INV-{number}"))
    pages = [
        await driver.call("retrieve_entities", entity_type="invoice", limit=3, offset=offset)
        for offset in (0, 3, 6)
    ]
    names = [each["canonical_name"] for page in pages for each in page["entities"]]
    assert names == [f"INV-{number}" for number in range(7)]
    assert {page["total"] for page in pages} == {7}


async def test_merged_entities_are_listed_only_on_request() -> None:
    driver = make_driver()
    kept = await driver.entity("company", name="One", tax_id="1")
    gone = await driver.entity("company", name="Two", tax_id="2")
    await driver.merge(gone, kept)
    without = await driver.call("retrieve_entities", entity_type="company")
    assert [each["id"] for each in without["entities"]] == [kept]
    assert without["excluded_merged"] is True
    every = await driver.call("retrieve_entities", entity_type="company", include_merged=True)
    merged = next(each for each in every["entities"] if each["id"] == gone)
    assert merged["merged_to"] == kept


async def test_a_world_entity_is_indistinguishable_from_a_missing_one() -> None:
    driver = make_driver()
    arguments = {"user_id": driver.user, "from_entity_id": NOWHERE, "to_entity_id": NOWHERE}
    await driver.refused("merge_entities", "ENTITY_NOT_FOUND", **arguments)


async def test_records_of_one_call_match_one_entity() -> None:
    driver = make_driver()
    said = [
        {"user_id": driver.user, "entities": [an_invoice(notes=f"note {n}", vendor_name="Acme")]}
        for n in range(8)
    ]
    replies = await asyncio.gather(*(driver.call("ingest", **each) for each in said))
    assert len({reply["entities"][0]["entity_id"] for reply in replies}) == 1
    assert sum(reply["interpretation"]["entities_created"] for reply in replies) == 2
    invoice = replies[0]["entities"][0]["entity_id"]
    assert (await driver.call("list_observations", entity_id=invoice))["total"] == 8


async def test_a_schema_that_contradicts_itself_is_refused() -> None:
    driver = make_driver()
    said = {"user_id": driver.user, "entity_type": "gadget"}
    for fields, more in (
        ({}, {}),
        ({"a": {"type": "string", "event_type": "X"}}, {}),
        ({"a": {"type": "string", "aliases": ["b"]}, "b": {"type": "string"}}, {}),
        ({"a": {"type": "string"}}, {"identity": [["b"]]}),
        ({"entity_type": {"type": "string"}}, {}),
    ):
        arguments = {**said, "fields": fields, **more}
        await driver.refused("register_entity_schema", "VALIDATION_ERROR", **arguments)


async def test_a_canon_without_file_storage_says_so() -> None:
    driver = make_driver()
    canon = driver.canon.revise_service(RecordServices, filing=None)
    bare = replace(driver, canon=canon, gateway=Gateway(canon, (TRUTH,)))
    said = {"user_id": driver.user, "mime_type": "text/plain", "file_content": "YQ=="}
    await bare.refused("ingest", "VALIDATION_ERROR", **said)


async def test_undoing_a_merge_restores_all_merged_entities() -> None:
    driver = make_driver()
    ids = [await driver.entity("company", name=f"Firm {n}x", industry=n) for n in "abcd"]
    first, second, third, fourth = ids

    async def read() -> list[dict[str, Any]]:
        return [await driver.call("get_entity_snapshot", entity_id=each) for each in ids]

    async def merge(gone: str, kept: str) -> None:
        driver.wait()
        await driver.call(
            "merge_entities", user_id=driver.user, from_entity_id=gone, to_entity_id=kept
        )

    await merge(third, second)
    before = await read()
    await merge(second, first)
    await merge(first, fourth)
    assert {each["entity_id"] for each in await read()} == {fourth}
    driver.wait()
    done = await driver.call("unmerge_entities", user_id=driver.user, entity_id=second)
    assert done["observations_returned"] == 2
    after = await read()
    assert [each["entity_id"] for each in after] == [fourth, second, second, fourth]
    assert after[1] == before[1]
    driver.wait()
    await driver.call("unmerge_entities", user_id=driver.user, entity_id=first)
    assert await read() == before
    driver.wait()
    await driver.call("unmerge_entities", user_id=driver.user, entity_id=third)
    assert [each["entity_id"] for each in await read()] == ids


async def test_an_edge_between_merged_entities_is_hidden_until_unmerged() -> None:
    driver = make_driver()
    one, other, vendor = [await driver.entity("company", name=f"Firm {n}x") for n in "abc"]
    for rel_type, source, target in (
        ("DUPLICATE_OF", one, other),
        ("REFERS_TO", other, vendor),
        ("PART_OF", one, vendor),
    ):
        await driver.call(
            "create_relationship",
            relationship_type=rel_type,
            source_entity_id=source,
            target_entity_id=target,
        )
    await driver.call("merge_entities", user_id=driver.user, from_entity_id=one, to_entity_id=other)
    listed = await driver.call("list_relationships", entity_id=one)
    page = await driver.call("list_relationships", entity_id=one, limit=1, offset=1)
    assert (listed["total"], page["total"]) == (2, 2)
    assert {e["relationship_type"] for e in listed["relationships"]} == {"REFERS_TO", "PART_OF"}
    assert page["relationships"] == listed["relationships"][1:]
    driver.wait()
    await driver.call("unmerge_entities", user_id=driver.user, entity_id=one)
    assert (await driver.call("list_relationships", entity_id=one))["total"] == 2

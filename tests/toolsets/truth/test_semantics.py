"""What the actions mean where the contract leaves it open."""

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
from tests.toolsets.truth.furnished import NOTE
from tests.toolsets.truth.kit import NOWHERE, Desk, a_desk, an_invoice

pytestmark = pytest.mark.anyio


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


async def test_a_correction_said_twice_is_one_and_a_return_to_it_is_new() -> None:
    desk = a_desk()
    invoice = await desk.entity("invoice", invoice_number="INV-9", amount_due=1)
    first = await desk.correct(invoice, "amount_due", 500)
    same = await desk.correct(invoice, "amount_due", 500)
    assert (same["observation_id"], same["existing"]) == (first["observation_id"], True)
    await desk.correct(invoice, "amount_due", 600)
    back = await desk.correct(invoice, "amount_due", 500)
    assert back["observation_id"] != first["observation_id"]
    assert (await desk.snapshot(invoice))["amount_due"] == 500


async def test_telling_again_what_was_corrected_changes_nothing() -> None:
    desk = a_desk()
    first = await desk.ingest(an_invoice(amount_due=1))
    invoice = first["entities"][0]["entity_id"]
    await desk.correct(invoice, "amount_due", 500)
    heads = await desk.heads()
    again = await desk.ingest(an_invoice(amount_due=1))
    assert (again["deduplicated"], again["observations_added"]) == (True, 0)
    assert await desk.heads() == heads
    await desk.ingest(an_invoice(amount_due=2))
    back = await desk.ingest(an_invoice(amount_due=1))
    assert back["observations_added"] == 1
    assert (await desk.snapshot(invoice))["amount_due"] == 500


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
    desk = a_desk()
    keys = {"title": "T", "contract_number": "C-1"}
    entity = await desk.entity(entity_type, **keys, **{field: old})
    await desk.correct(entity, field, new)
    await desk.ingest({"entity_type": entity_type, **keys, field: old}, source_priority=999)
    assert (await desk.snapshot(entity))[field] == new


async def test_a_field_by_priority_does_not_go_by_time() -> None:
    desk = a_desk()
    person = {"entity_type": "person", "email": "ada@example.test"}
    first = await desk.ingest({**person, "name": "Ada Lovelace"}, source_priority=500)
    await desk.ingest({**person, "name": "A. Lovelace"}, source_priority=100)
    snapshot = await desk.snapshot(first["entities"][0]["entity_id"])
    assert snapshot["name"] == "Ada Lovelace"


async def test_a_snapshot_before_the_first_observation_is_empty() -> None:
    desk = a_desk()
    invoice = await desk.entity("invoice", invoice_number="INV-9", amount_due=1)
    then = await desk.call("get_entity_snapshot", entity_id=invoice, at="2001-01-01")
    assert (then["snapshot"], then["observation_count"]) == ({}, 0)
    assert then["last_observation_at"] is None
    assert then["first_observed_at"] is not None


async def test_a_merge_counts_from_when_it_was_made() -> None:
    desk = a_desk()
    kept = await desk.entity("company", name="One", tax_id="1")
    gone = await desk.entity("company", name="Two", tax_id="2", industry="tools")
    before = "2025-01-15T00:03:30Z"
    desk.wait(120)
    await desk.merge(gone, kept)
    now = await desk.call("get_entity_snapshot", entity_id=gone)
    then = await desk.call("get_entity_snapshot", entity_id=gone, at=before)
    assert (now["entity_id"], now["snapshot"]["industry"]) == (kept, "tools")
    assert (then["entity_id"], then["snapshot"]["name"]) == (gone, "Two")
    kept_then = await desk.call("get_entity_snapshot", entity_id=kept, at=before)
    assert "industry" not in kept_then["snapshot"]


async def test_what_was_known_is_another_question_than_what_was_so() -> None:
    desk = a_desk()
    early = {"extracted_at": "2020-01-01T00:00:00Z", "extractor_version": "1"}
    invoice = await desk.entity("invoice", invoice_number="INV-9", amount_due=1)
    desk.wait(3600)
    await desk.ingest(an_invoice(notes="found later"), provenance=early)
    so = await desk.call("get_entity_snapshot", entity_id=invoice, at="2020-06-01")
    assert so["snapshot"]["notes"] == "found later"
    known = await desk.call(
        "get_entity_snapshot",
        entity_id=invoice,
        at="2020-06-01",
        as_known_at="2025-01-15T00:10:00Z",
    )
    assert known["snapshot"] == {}


async def test_a_name_alone_extends_the_only_one_of_that_name() -> None:
    desk = a_desk()
    ada = await desk.entity("person", name="Ada Lovelace", email="ada@example.test")
    assert await desk.entity("person", name="Lovelace, Ada", role="analyst") == ada
    other = await desk.ingest(
        {"entity_type": "person", "name": "Ada Lovelace", "email": "other@example.test"}
    )
    assert other["entities"][0]["entity_id"] != ada
    assert other["possible_duplicates"][0]["candidate_id"] == ada
    third = await desk.ingest({"entity_type": "person", "name": "Ada Lovelace", "country": "UK"})
    assert third["entities"][0]["entity_id"] != ada
    assert len(third["possible_duplicates"]) == 2
    pairs = await desk.call("list_possible_duplicates", entity_type="person")
    assert pairs["total"] >= 1


async def test_another_vendor_makes_another_invoice_of_the_same_number() -> None:
    desk = a_desk()
    one = await desk.ingest(an_invoice(vendor_name="Acme"))
    two = await desk.ingest(an_invoice(vendor_name="Beta"))
    again = await desk.ingest(an_invoice(vendor_name="Beta", notes="x"))
    ids = [reply["entities"][0]["entity_id"] for reply in (one, two, again)]
    assert ids[0] != ids[1] == ids[2]
    assert two["possible_duplicates"][0]["candidate_id"] == ids[0]


async def test_an_unknown_field_is_kept_and_shows_once_a_schema_knows_it() -> None:
    desk = a_desk()
    reply = await desk.ingest(an_invoice(colour="blue"))
    invoice = reply["entities"][0]["entity_id"]
    kept = await desk.call("get_entity_snapshot", entity_id=invoice)
    assert "colour" not in kept["snapshot"]
    assert kept["raw_fragments"]["colour"]["reason"] == "unknown_field"
    fields = {name: {"type": "string"} for name in ("invoice_number", "colour")}
    fields["amount_due"] = {"type": "number"}
    desk.wait()
    done = await desk.call(
        "register_entity_schema", user_id=desk.user, entity_type="invoice", fields=fields
    )
    assert (done["schema_version"], done["registered"]) == ("1.2", True)
    known = await desk.call("get_entity_snapshot", entity_id=invoice)
    assert known["snapshot"]["colour"] == "blue"
    assert known["schema_version"] == "1.2"
    then = await desk.call("get_entity_snapshot", entity_id=invoice, at="2025-01-15T00:01:30Z")
    assert (then["schema_version"], "colour" in then["snapshot"]) == ("1.1", False)


async def test_an_unknown_type_gets_a_schema_that_grows() -> None:
    desk = a_desk()
    habit = await desk.entity("habit", name="Running", day="2025-01-01", minutes=30)
    other = await desk.entity("habit", name="Running", day="2025-01-02", minutes=20, mood="good")
    assert habit != other
    assert (await desk.snapshot(other))["mood"] == "good"
    versions = await desk.call("list_entity_schemas", entity_type="habit")
    assert [each["schema_version"] for each in versions["schemas"]] == ["1.1", "1.0"]
    types = await desk.call("list_entity_types")
    counts = {each["entity_type"]: each["entity_count"] for each in types["entity_types"]}
    assert counts["habit"] == 2
    assert len(counts) == 17


async def test_the_short_alias_is_emitted_and_taken() -> None:
    desk = a_desk()
    reply = await desk.ingest(an_invoice())
    alias = reply["entities"][0]["entity_alias"]
    assert alias.startswith("ent_")
    assert len(alias) == len("ent_") + 24
    snapshot = await desk.call("get_entity_snapshot", entity_id=alias)
    assert snapshot["entity_id"] == reply["entities"][0]["entity_id"]


async def test_identifiers_are_found_in_any_form_and_by_their_beginning() -> None:
    desk = a_desk()
    acme = await desk.entity("company", name="Acme Corp", email="Info@Acme.test", phone="+34 600")
    for identifier in ("ACME, Inc.", "acme", "info@acme.test", "Acm", " acme  corp "):
        found = await desk.call("get_entity_by_identifier", identifier=identifier)
        assert [each["id"] for each in found["entities"]] == [acme], identifier
    none = await desk.call("get_entity_by_identifier", identifier="acme", entity_type="person")
    assert none["total"] == 0


async def test_a_file_is_interpreted_once_for_each_configuration() -> None:
    desk = a_desk()
    said = {"user_id": desk.user, "file_content": NOTE, "mime_type": "text/markdown"}
    first = await desk.call("ingest", **said)
    again = await desk.call("ingest", **said)
    assert again["deduplicated"] is True
    assert again["interpretation"] == first["interpretation"]
    config = {"provider": "rules"}
    same = await desk.call(
        "reinterpret", source_id=first["source_id"], interpretation_config=config
    )
    assert same["run_id"] == first["interpretation"]["run_id"]
    assert same["deduplicated"] is True


async def test_a_used_up_quota_keeps_the_source_and_is_not_charged_twice() -> None:
    clock = HandClock()
    policy = Policy(truth=TruthPolicy(interpretations=1))
    canon = compose_memory(clock=clock, identities=CountingIdentities(), policy=policy)
    desk = Desk(canon=canon, gateway=Gateway(canon, (TRUTH,)), clock=clock)
    said = {"user_id": desk.user, "mime_type": "text/markdown"}
    await desk.call("ingest", **said, file_content=NOTE)
    await desk.call("ingest", **said, file_content=NOTE)
    await desk.ingest(an_invoice())
    more = encoded("# Another\n\nInvoice INV-78 of Acme Corp.\n")
    outcome = await desk.outcome("ingest", {**said, "file_content": more})
    error = outcome.body["error"]
    assert error["code"] == "QUOTA_EXCEEDED"
    assert error["details"]["retry_after_seconds"] > 0
    source = error["details"]["source_id"]
    around = await desk.call("get_graph_neighborhood", node_id=source, node_type="source")
    assert around["source_material"]["id"] == source
    desk.wait(31 * 86_400)
    done = await desk.call("ingest", **said, file_content=more)
    assert done["source_id"] == source


async def test_a_stored_file_has_a_link_that_says_nothing_of_the_machine() -> None:
    desk = a_desk()
    reply = await desk.call(
        "ingest", user_id=desk.user, file_content=NOTE, mime_type="text/markdown"
    )
    link = await desk.call(
        "get_file_url", file_path=f"files/{desk.user}/{reply['content_hash']}", expires_in=60
    )
    assert link["signed_url"].startswith("/files/")
    assert "file:" not in link["signed_url"]
    for seconds in (0, 604_801):
        arguments = {"file_path": "files/x", "expires_in": seconds}
        await desk.refused("get_file_url", "VALIDATION_ERROR", **arguments)


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
async def test_what_fits_neither_form_of_ingest_is_refused(arguments: dict[str, Any]) -> None:
    desk = a_desk()
    await desk.refused("ingest", "VALIDATION_ERROR", user_id=desk.user, **arguments)


async def test_pages_follow_the_order_in_which_entities_were_first_seen() -> None:
    desk = a_desk()
    for number in range(7):
        await desk.ingest(an_invoice(f"INV-{number}"))
    pages = [
        await desk.call("retrieve_entities", entity_type="invoice", limit=3, offset=offset)
        for offset in (0, 3, 6)
    ]
    names = [each["canonical_name"] for page in pages for each in page["entities"]]
    assert names == [f"INV-{number}" for number in range(7)]
    assert {page["total"] for page in pages} == {7}


async def test_merged_entities_are_listed_only_when_asked_for() -> None:
    desk = a_desk()
    kept = await desk.entity("company", name="One", tax_id="1")
    gone = await desk.entity("company", name="Two", tax_id="2")
    await desk.merge(gone, kept)
    without = await desk.call("retrieve_entities", entity_type="company")
    assert [each["id"] for each in without["entities"]] == [kept]
    assert without["excluded_merged"] is True
    every = await desk.call("retrieve_entities", entity_type="company", include_merged=True)
    merged = next(each for each in every["entities"] if each["id"] == gone)
    assert merged["merged_to"] == kept


async def test_an_entity_of_a_world_is_no_different_from_one_that_is_not_there() -> None:
    desk = a_desk()
    arguments = {"user_id": desk.user, "from_entity_id": NOWHERE, "to_entity_id": NOWHERE}
    await desk.refused("merge_entities", "ENTITY_NOT_FOUND", **arguments)


async def test_records_that_come_together_meet_in_one_entity() -> None:
    desk = a_desk()
    said = [
        {"user_id": desk.user, "entities": [an_invoice(notes=f"note {n}", vendor_name="Acme")]}
        for n in range(8)
    ]
    replies = await asyncio.gather(*(desk.call("ingest", **each) for each in said))
    assert len({reply["entities"][0]["entity_id"] for reply in replies}) == 1
    assert sum(reply["interpretation"]["entities_created"] for reply in replies) == 2
    invoice = replies[0]["entities"][0]["entity_id"]
    assert (await desk.call("list_observations", entity_id=invoice))["total"] == 8


async def test_a_schema_that_contradicts_itself_is_refused() -> None:
    desk = a_desk()
    said = {"user_id": desk.user, "entity_type": "gadget"}
    for fields, more in (
        ({}, {}),
        ({"a": {"type": "string", "event_type": "X"}}, {}),
        ({"a": {"type": "string", "aliases": ["b"]}, "b": {"type": "string"}}, {}),
        ({"a": {"type": "string"}}, {"identity": [["b"]]}),
        ({"entity_type": {"type": "string"}}, {}),
    ):
        arguments = {**said, "fields": fields, **more}
        await desk.refused("register_entity_schema", "VALIDATION_ERROR", **arguments)


async def test_a_canon_without_filing_says_so() -> None:
    desk = a_desk()
    canon = desk.canon.revise_service(RecordServices, filing=None)
    bare = replace(desk, canon=canon, gateway=Gateway(canon, (TRUTH,)))
    said = {"user_id": desk.user, "mime_type": "text/plain", "file_content": "YQ=="}
    await bare.refused("ingest", "VALIDATION_ERROR", **said)


async def test_taking_a_merge_back_gives_back_whoever_came_along() -> None:
    desk = a_desk()
    ids = [await desk.entity("company", name=f"Firm {n}x", industry=n) for n in "abcd"]
    first, second, third, fourth = ids

    async def read() -> list[dict[str, Any]]:
        return [await desk.call("get_entity_snapshot", entity_id=each) for each in ids]

    async def merge(gone: str, kept: str) -> None:
        desk.wait()
        await desk.call("merge_entities", user_id=desk.user, from_entity_id=gone, to_entity_id=kept)

    await merge(third, second)
    before = await read()
    await merge(second, first)
    await merge(first, fourth)
    assert {each["entity_id"] for each in await read()} == {fourth}
    desk.wait()
    done = await desk.call("unmerge_entities", user_id=desk.user, entity_id=second)
    assert done["observations_returned"] == 2
    after = await read()
    assert [each["entity_id"] for each in after] == [fourth, second, second, fourth]
    assert after[1] == before[1]
    desk.wait()
    await desk.call("unmerge_entities", user_id=desk.user, entity_id=first)
    assert await read() == before
    desk.wait()
    await desk.call("unmerge_entities", user_id=desk.user, entity_id=third)
    assert [each["entity_id"] for each in await read()] == ids


async def test_an_edge_between_two_that_were_merged_is_hidden_until_that_is_taken_back() -> None:
    desk = a_desk()
    one, other, vendor = [await desk.entity("company", name=f"Firm {n}x") for n in "abc"]
    for rel_type, source, target in (
        ("DUPLICATE_OF", one, other),
        ("REFERS_TO", other, vendor),
        ("PART_OF", one, vendor),
    ):
        await desk.call(
            "create_relationship",
            relationship_type=rel_type,
            source_entity_id=source,
            target_entity_id=target,
        )
    await desk.call("merge_entities", user_id=desk.user, from_entity_id=one, to_entity_id=other)
    listed = await desk.call("list_relationships", entity_id=one)
    page = await desk.call("list_relationships", entity_id=one, limit=1, offset=1)
    assert (listed["total"], page["total"]) == (2, 2)
    assert {e["relationship_type"] for e in listed["relationships"]} == {"REFERS_TO", "PART_OF"}
    assert page["relationships"] == listed["relationships"][1:]
    desk.wait()
    await desk.call("unmerge_entities", user_id=desk.user, entity_id=one)
    assert (await desk.call("list_relationships", entity_id=one))["total"] == 2

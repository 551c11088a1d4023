"""Withdrawing a source: everything is as if it had never been brought, but for what came later."""

import asyncio
import base64
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from canonry.log.commits import ORIGIN
from canonry.log.entries import Tombstone, Withdrawn
from canonry.log.items.sources import account_space
from tests.toolsets.truth.kit import BOB, NOWHERE, ToolDriver, an_invoice, make_driver
from tests.toolsets.truth.test_identity_model import a_canon, read_account

pytestmark = pytest.mark.anyio


async def withdraw_source(driver: ToolDriver, source: str, **more: Any) -> dict[str, Any]:
    driver.wait()
    return await driver.call("withdraw_source", user_id=driver.user, source_id=source, **more)


async def the_whole(driver: ToolDriver) -> object:
    """All that the tools tell, with the timeline, the types and what can be found by words."""
    types = (await driver.call("list_entity_types", limit=500))["entity_types"]
    used = {t["entity_type"] for t in types if t.get("entity_count")}
    dates = (await driver.call("list_timeline_events", limit=500))["events"]
    found = await driver.call("search_records", limit=100)
    rows = {each["id"]: each["snapshot"] for each in found["entities"]}
    result = sorted((e["event_type"], e["event_timestamp"], str(e["entity_ids"])) for e in dates)
    return await read_account(driver), used, result, rows


async def test_a_withdrawn_ingest_leaves_the_state_without_it() -> None:
    one, other = make_driver(), make_driver()
    for driver in (one, other):
        await driver.ingest(
            an_invoice("INV-1", vendor_name="Acme Ltd", invoice_date="2025-01-15"),
            {"entity_type": "person", "name": "Ann Lee", "email": "ann@x.test"},
        )
    wrong = await one.ingest(
        an_invoice("INV-1", vendor_name="Beta Ltd", amount_due=7),
        an_invoice("INV-2", vendor_name="Gamma Ltd", invoice_date="2025-02-01"),
        {"entity_type": "person", "name": "Ann Li", "email": "ann@x.test", "phone": "+4930100001"},
        {"entity_type": "habit", "name": "Running"},
    )
    done = await withdraw_source(one, wrong["source_id"], reason="the wrong file")

    assert await the_whole(one) == await the_whole(other)
    assert done["withdrawn"] is True
    assert done["sources"] == [wrong["source_id"]]
    assert (len(done["gone"]), len(done["changed"]), done["total_entities"]) == (5, 1, 6)


async def test_a_dry_run_reports_the_same_and_writes_nothing() -> None:
    driver = make_driver()
    wrong = await driver.ingest(an_invoice(vendor_name="Acme Ltd"))
    before, heads = await the_whole(driver), await driver.heads()
    answer = await withdraw_source(driver, wrong["source_id"], dry_run=True)

    assert (await the_whole(driver), await driver.heads()) == (before, heads)
    done = await withdraw_source(driver, wrong["source_id"])
    assert answer == {**done, "withdrawn": False}


async def test_a_withdrawn_source_stays_only_in_the_log_with_the_reason() -> None:
    driver = make_driver()
    wrong = await driver.ingest(an_invoice(vendor_name="Acme Ltd"))
    source = wrong["source_id"]
    await withdraw_source(driver, source, reason="the wrong account")

    log = await driver.canon.ledger.read_commits(
        account_space(driver.user), after=ORIGIN, limit=100
    )
    entries = [e for commit in log for e in commit.entries if isinstance(e, Withdrawn)]
    assert [each.reason for each in entries] == ["the wrong account"]
    assert source in entries[0].targets
    items = await driver.canon.state.items_by_id(entries[0].targets)
    assert all(isinstance(each, Tombstone) for each in items.values())
    await driver.refused(
        "get_entity_snapshot", "ENTITY_NOT_FOUND", entity_id=wrong["entities"][0]["entity_id"]
    )
    error = await driver.refused("withdraw_source", "SOURCE_NOT_FOUND", source_id=source)
    assert "source" in error["message"]


async def test_importing_a_withdrawn_source_again_is_a_first_import() -> None:
    one, other = make_driver(), make_driver()
    records = (
        an_invoice(vendor_name="Acme Ltd", invoice_date="2025-01-15"),
        {"entity_type": "habit", "name": "Running"},
    )
    wrong = await one.ingest(*records)
    await withdraw_source(one, wrong["source_id"])
    again = await one.ingest(*records)
    await other.ingest(*records)

    assert again["deduplicated"] is False
    assert all(each["created"] for each in again["entities"])
    assert await the_whole(one) == await the_whole(other)


async def test_an_entity_named_only_by_others_keeps_name_and_edges() -> None:
    driver = make_driver()
    first = await driver.ingest(an_invoice("INV-1", vendor_name="Acme Ltd"))
    second = await driver.ingest(an_invoice("INV-2", vendor_name="ACME Ltd"))
    await withdraw_source(driver, first["source_id"])

    found = await driver.call("get_entity_by_identifier", identifier="Acme Ltd")
    (acme,) = found["entities"]
    assert acme["canonical_name"] == "ACME Ltd"
    edges = await driver.call("list_relationships", entity_id=acme["id"])
    invoice = second["entities"][0]["entity_id"]
    assert [each["source_entity_id"] for each in edges["relationships"]] == [invoice]
    reply = await driver.call("get_field_provenance", entity_id=acme["id"], field="name")
    assert reply["source_material"]["id"] == second["source_id"]


async def test_an_edge_ended_by_a_withdrawn_field_holds_again() -> None:
    driver = make_driver()
    ann = {"entity_type": "contact", "name": "Ann Lee", "email": "ann@x.test"}
    await driver.ingest({**ann, "organization": "Alpha Ltd"})
    moved = await driver.ingest({**ann, "organization": "Beta Ltd"})
    who = moved["entities"][0]["entity_id"]
    await withdraw_source(driver, moved["source_id"])

    edges = (await driver.call("list_relationships", entity_id=who))["relationships"]
    ends = [await driver.snapshot(each["target_entity_id"]) for each in edges]
    assert ends == [{"name": "Alpha Ltd"}]


async def test_an_edge_also_stated_by_another_source_stays() -> None:
    driver = make_driver()
    ann = {"entity_type": "contact", "name": "Ann Lee", "organization": "Alpha Ltd"}
    first = await driver.ingest({**ann, "email": "ann@x.test"})
    await driver.ingest({**ann, "email": "ann@x.test", "role": "cook"})
    who = first["entities"][0]["entity_id"]
    before = await driver.call("list_relationships", entity_id=who)
    await withdraw_source(driver, first["source_id"])

    after = await driver.call("list_relationships", entity_id=who)
    assert [e["id"] for e in after["relationships"]] == [e["id"] for e in before["relationships"]]
    (edge,) = after["relationships"]
    assert await driver.snapshot(edge["target_entity_id"]) == {"name": "Alpha Ltd"}


async def test_a_correction_is_withdrawn_like_any_source() -> None:
    driver = make_driver()
    invoice = await driver.entity("invoice", invoice_number="INV-9", amount_due=100)
    await driver.correct(invoice, "amount_due", 7)
    reply = await driver.call("get_field_provenance", entity_id=invoice, field="amount_due")
    await withdraw_source(driver, reply["source_material"]["id"])

    assert (await driver.snapshot(invoice))["amount_due"] == 100


async def test_a_correction_of_a_withdrawn_value_stays_with_its_entity() -> None:
    driver = make_driver()
    wrong = await driver.ingest(an_invoice(vendor_name="Acme Ltd"))
    invoice = wrong["entities"][0]["entity_id"]
    await driver.correct(invoice, "amount_due", 7)
    done = await withdraw_source(driver, wrong["source_id"])

    assert await driver.snapshot(invoice) == {"amount_due": 7}
    assert done["changed"] == [invoice]


async def test_a_removed_merged_entity_leaves_its_survivor() -> None:
    driver = make_driver()
    kept = await driver.entity("company", name="Acme Ltd", tax_id="A-1")
    wrong = await driver.ingest({"entity_type": "company", "name": "Acne Ltd", "tax_id": "A-2"})
    await driver.merge(wrong["entities"][0]["entity_id"], kept)
    await withdraw_source(driver, wrong["source_id"])

    read = await driver.call("get_entity_snapshot", entity_id=kept)
    assert read["snapshot"] == {"name": "Acme Ltd", "tax_id": "A-1"}
    assert read["merged_entity_ids"] == []
    assert [each["key"] for each in read["keys"]] == ["acme", "a-1", "acme ltd"]


async def test_a_survivor_stays_for_its_merged_entities() -> None:
    driver = make_driver()
    wrong = await driver.ingest({"entity_type": "company", "name": "Acne Ltd", "tax_id": "A-2"})
    kept = wrong["entities"][0]["entity_id"]
    other = await driver.entity("company", name="Acme Ltd", tax_id="A-1")
    await driver.merge(other, kept)
    await withdraw_source(driver, wrong["source_id"])

    read = await driver.call("get_entity_snapshot", entity_id=other)
    assert (read["entity_id"], read["snapshot"]["name"]) == (kept, "Acme Ltd")


async def test_entities_merged_with_each_other_are_removed_together() -> None:
    one, other = make_driver(), make_driver()
    wrong = await one.ingest(
        *({"entity_type": "company", "name": n, "tax_id": n} for n in ("Acme", "Acne", "Akme"))
    )
    first, second, third = (each["entity_id"] for each in wrong["entities"])
    await one.merge(first, second)
    await one.merge(third, second)
    done = await withdraw_source(one, wrong["source_id"])

    assert set(done["gone"]) == {first, second, third}
    await other.ingest({"entity_type": "company", "name": "Beta"})
    await one.ingest({"entity_type": "company", "name": "Beta"})
    assert await the_whole(one) == await the_whole(other)


async def test_an_edge_also_requested_by_a_user_stays_and_is_readable() -> None:
    driver = make_driver()
    kept = await driver.entity("company", name="Alpha Ltd")
    ann = {"entity_type": "contact", "name": "Ann Lee", "email": "ann@x.test"}
    who = await driver.entity(**ann)
    wrong = await driver.ingest({**ann, "organization": "Alpha Ltd"})
    await driver.relate(who, "REFERS_TO", kept)
    await withdraw_source(driver, wrong["source_id"])

    edges = (await driver.call("list_relationships", entity_id=who))["relationships"]
    assert [each["target_entity_id"] for each in edges] == [kept]
    ends = {"source_entity_id": who, "target_entity_id": kept}
    await driver.call("get_relationship_snapshot", relationship_type="REFERS_TO", **ends)
    await driver.call("get_graph_neighborhood", node_id=who, include_observations=True)


async def test_member_files_are_withdrawn_unless_shared_with_another_file() -> None:
    driver = make_driver()
    first = await driver.call(
        "ingest", user_id=driver.user, **a_mail("Monday", "one.txt", "two.txt")
    )
    driver.wait()
    second = await driver.call("ingest", user_id=driver.user, **a_mail("Tuesday", "two.txt"))
    parts = {each["name"]: each["source_id"] for each in first["members"]}
    assert parts["two.txt"] == second["members"][0]["source_id"]
    done = await withdraw_source(driver, first["source_id"])

    assert set(done["sources"]) == {first["source_id"], parts["one.txt"]}


def a_mail(subject: str, *attached: str) -> dict[str, Any]:
    """A message with attachments, as a file that is handed over."""
    lines = [
        "From: ann@x.test",
        "To: bo@x.test",
        f"Subject: {subject}",
        "MIME-Version: 1.0",
        'Content-Type: multipart/mixed; boundary="b"',
        "",
        "--b",
        "Content-Type: text/plain",
        "",
        f"See you on {subject}.",
    ]
    for name in attached:
        lines += [
            "--b",
            f'Content-Type: text/plain; name="{name}"',
            f'Content-Disposition: attachment; filename="{name}"',
            "",
            f"This is a longer note in the file {name}.",
        ]
    text = "\r\n".join([*lines, "--b--", ""])
    return {"file_content": base64.b64encode(text.encode()).decode(), "mime_type": "message/rfc822"}


async def test_no_user_withdraws_another_users_source() -> None:
    driver = make_driver()
    wrong = await driver.ingest(an_invoice())
    await driver.of(BOB).refused(
        "withdraw_source", "SOURCE_NOT_FOUND", source_id=wrong["source_id"]
    )
    await driver.refused("withdraw_source", "SOURCE_NOT_FOUND", source_id=NOWHERE)
    await driver.refused("withdraw_source", "VALIDATION_ERROR", source_id="INV-9")


PEOPLE = ("ada@x.test", "bo@x.test", "cy@x.test")
COMPANIES = ("Alpha Ltd", "Beta Ltd")
RECORD = st.one_of(
    st.fixed_dictionaries(
        {"entity_type": st.just("contact"), "email": st.sampled_from(PEOPLE)},
        optional={
            "name": st.sampled_from(("Ada Aal", "Bo Berg")),
            "organization": st.sampled_from(COMPANIES),
            "role": st.sampled_from(("cook", "clerk")),
        },
    ),
    st.fixed_dictionaries(
        {
            "entity_type": st.just("invoice"),
            "invoice_number": st.sampled_from(("A-1", "A-2")),
            "vendor_name": st.just("Alpha Ltd"),
        },
        optional={
            "amount_due": st.sampled_from((7, 9)),
            "due_date": st.sampled_from(("2025-03-01", "2025-04-01")),
        },
    ),
    st.fixed_dictionaries(
        {"entity_type": st.just("company"), "name": st.sampled_from(COMPANIES)},
        optional={"industry": st.sampled_from(("bakery", "brewery"))},
    ),
)
# Each record states the key by which it is meant. A withdrawn one then decides no later record,
# unless it gives the same address another name: then a record of that name stays apart.
BROUGHT = st.lists(RECORD, min_size=1, max_size=3)
WHO = st.sampled_from(PEOPLE)
STEP = st.one_of(
    BROUGHT,
    BROUGHT,
    st.tuples(st.just("correct"), WHO, st.sampled_from(("Alpha Ltd", "Beta Ltd", "Gamma Ltd"))),
    st.tuples(st.just("merge"), WHO, WHO),
    st.tuples(st.just("relate"), WHO, WHO),
)
HISTORY = st.lists(STEP, min_size=1, max_size=5)


async def withdrawn_and_never_brought(
    before: list[Any], wrong: list[Any], after: list[Any], engine: str
) -> None:
    """Live through the steps with one more that is withdrawn, and without it; compare all."""
    async with a_canon(engine) as one, a_canon("memory") as other:
        for number, step in enumerate(before):
            await take_step(step, number, one, other)
        taken = await one.ingest(*mark_records(wrong, 100))
        other.wait()
        for number, step in enumerate(after, 200):
            await take_step(step, number, one, other)
        await withdraw_source(one, taken["source_id"])
        assert await the_whole(one) == await the_whole(other)


async def take_step(step: Any, number: int, one: ToolDriver, other: ToolDriver) -> None:
    """Let both do the same, to those whom also the one without the wrong source knows."""
    if isinstance(step, list):
        await one.ingest(*mark_records(step, number))
        await other.ingest(*mark_records(step, number))
        return
    what, *words = step
    found = [await other.call("get_entity_by_identifier", identifier=w) for w in words[:2]]
    ids = [str(each["entities"][0]["id"]) for each in found if each["total"]]
    two = len(set(ids)) == len(words) == 2
    for driver in (one, other):
        if what == "correct" and found[0]["total"]:
            await driver.correct(ids[0], "organization", words[1])
        elif what == "merge" and two:
            await driver.merge(ids[0], ids[1])
        elif what == "relate" and two:
            await driver.relate(ids[0], "REFERS_TO", ids[1])


def mark_records(records: list[Any], number: int) -> list[Any]:
    """The records as a source of their own."""
    return [{**each, "notes": f"note {number}"} for each in records]


def names_of(*steps: Any) -> set[tuple[str, str]]:
    """The names that records give to addresses."""
    records = (each for step in steps if isinstance(step, list) for each in step)
    return {(e["email"], e["name"]) for e in records if "email" in e and "name" in e}


def is_contradicted(wrong: list[Any], others: list[Any]) -> bool:
    """Return whether a source gives an address another name than itself or one of the others."""
    named = names_of(wrong)
    every = named | names_of(*others)
    return any(a == mail and b != name for a, b in every for mail, name in named)


async def test_a_differently_named_entity_keeps_its_own_id() -> None:
    one, other = make_driver(), make_driver()
    ada = {"entity_type": "contact", "email": PEOPLE[0], "name": "Ada Aal", "role": "cook"}
    wrong = await one.ingest({**ada, "name": "Bo Berg"})
    other.wait()
    mine, theirs = [await driver.entity(**ada) for driver in (one, other)]
    await withdraw_source(one, wrong["source_id"])

    assert mine != theirs
    assert str(await the_whole(one)).replace(mine, theirs) == str(await the_whole(other))
    assert await one.entity(**{**ada, "role": "clerk"}) == mine


@settings(max_examples=60, deadline=None)
@given(HISTORY, BROUGHT, HISTORY)
@example(
    [[{"entity_type": "contact", "email": PEOPLE[0], "organization": "Alpha Ltd"}]],
    [{"entity_type": "contact", "email": PEOPLE[0], "organization": "Beta Ltd"}],
    [[{"entity_type": "contact", "email": PEOPLE[0], "organization": "Alpha Ltd"}]],
)
def test_withdrawing_is_the_inverse_of_ingest(
    before: list[Any], wrong: list[Any], after: list[Any]
) -> None:
    """Compare a history with and without a withdrawn source that contradicts no name.

    A record with another name than the wrong one gets an id of its own when it comes. Other
    records and users name that id, so it stays after the withdrawal.
    """
    assume(not is_contradicted(wrong, before + after))
    asyncio.run(withdrawn_and_never_brought(before, wrong, after, "memory"))


@settings(max_examples=10, deadline=None)
@given(HISTORY, BROUGHT, HISTORY)
def test_a_store_on_disk_withdraws_like_memory(
    before: list[Any], wrong: list[Any], after: list[Any]
) -> None:
    assume(not is_contradicted(wrong, before + after))
    asyncio.run(withdrawn_and_never_brought(before, wrong, after, "sqlite"))

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
from tests.toolsets.truth.kit import BOB, NOWHERE, Desk, a_desk, an_invoice
from tests.toolsets.truth.test_identity_model import a_canon, everything

pytestmark = pytest.mark.anyio


async def withdraw(desk: Desk, source: str, **more: Any) -> dict[str, Any]:
    desk.wait()
    return await desk.call("withdraw_source", user_id=desk.user, source_id=source, **more)


async def the_whole(desk: Desk) -> object:
    """All that the tools tell, with the timeline, the types and what can be found by words."""
    types = (await desk.call("list_entity_types", limit=500))["entity_types"]
    used = {t["entity_type"] for t in types if t.get("entity_count")}
    dates = (await desk.call("list_timeline_events", limit=500))["events"]
    found = await desk.call("search_records", limit=100)
    rows = {each["id"]: each["snapshot"] for each in found["entities"]}
    told = sorted((e["event_type"], e["event_timestamp"], str(e["entity_ids"])) for e in dates)
    return await everything(desk), used, told, rows


async def test_a_withdrawn_ingest_leaves_what_would_be_without_it() -> None:
    one, other = a_desk(), a_desk()
    for desk in (one, other):
        await desk.ingest(
            an_invoice("INV-1", vendor_name="Acme Ltd", invoice_date="2025-01-15"),
            {"entity_type": "person", "name": "Ann Lee", "email": "ann@x.test"},
        )
    wrong = await one.ingest(
        an_invoice("INV-1", vendor_name="Beta Ltd", amount_due=7),
        an_invoice("INV-2", vendor_name="Gamma Ltd", invoice_date="2025-02-01"),
        {"entity_type": "person", "name": "Ann Li", "email": "ann@x.test", "phone": "+4930100001"},
        {"entity_type": "habit", "name": "Running"},
    )
    done = await withdraw(one, wrong["source_id"], reason="the wrong file")

    assert await the_whole(one) == await the_whole(other)
    assert done["withdrawn"] is True
    assert done["sources"] == [wrong["source_id"]]
    assert (len(done["gone"]), len(done["changed"]), done["total_entities"]) == (5, 1, 6)


async def test_a_dry_run_tells_the_same_and_writes_nothing() -> None:
    desk = a_desk()
    wrong = await desk.ingest(an_invoice(vendor_name="Acme Ltd"))
    before, heads = await the_whole(desk), await desk.heads()
    told = await withdraw(desk, wrong["source_id"], dry_run=True)

    assert (await the_whole(desk), await desk.heads()) == (before, heads)
    done = await withdraw(desk, wrong["source_id"])
    assert told == {**done, "withdrawn": False}


async def test_what_is_withdrawn_stays_in_the_log_with_the_reason_and_is_gone_from_reading() -> (
    None
):
    desk = a_desk()
    wrong = await desk.ingest(an_invoice(vendor_name="Acme Ltd"))
    source = wrong["source_id"]
    await withdraw(desk, source, reason="the wrong account")

    log = await desk.canon.ledger.read_commits(account_space(desk.user), after=ORIGIN, limit=100)
    entries = [e for commit in log for e in commit.entries if isinstance(e, Withdrawn)]
    assert [each.reason for each in entries] == ["the wrong account"]
    assert source in entries[0].targets
    things = await desk.canon.state.items_by_id(entries[0].targets)
    assert all(isinstance(each, Tombstone) for each in things.values())
    await desk.refused(
        "get_entity_snapshot", "ENTITY_NOT_FOUND", entity_id=wrong["entities"][0]["entity_id"]
    )
    error = await desk.refused("withdraw_source", "SOURCE_NOT_FOUND", source_id=source)
    assert "source" in error["message"]


async def test_bringing_the_same_again_is_bringing_it_for_the_first_time() -> None:
    one, other = a_desk(), a_desk()
    records = (
        an_invoice(vendor_name="Acme Ltd", invoice_date="2025-01-15"),
        {"entity_type": "habit", "name": "Running"},
    )
    wrong = await one.ingest(*records)
    await withdraw(one, wrong["source_id"])
    again = await one.ingest(*records)
    await other.ingest(*records)

    assert again["deduplicated"] is False
    assert all(each["created"] for each in again["entities"])
    assert await the_whole(one) == await the_whole(other)


async def test_whom_others_only_named_keeps_its_name_and_their_edges() -> None:
    desk = a_desk()
    first = await desk.ingest(an_invoice("INV-1", vendor_name="Acme Ltd"))
    second = await desk.ingest(an_invoice("INV-2", vendor_name="ACME Ltd"))
    await withdraw(desk, first["source_id"])

    found = await desk.call("get_entity_by_identifier", identifier="Acme Ltd")
    (acme,) = found["entities"]
    assert acme["canonical_name"] == "ACME Ltd"
    edges = await desk.call("list_relationships", entity_id=acme["id"])
    invoice = second["entities"][0]["entity_id"]
    assert [each["source_entity_id"] for each in edges["relationships"]] == [invoice]
    told = await desk.call("get_field_provenance", entity_id=acme["id"], field="name")
    assert told["source_material"]["id"] == second["source_id"]


async def test_an_edge_that_a_withdrawn_field_had_ended_stands_again() -> None:
    desk = a_desk()
    ann = {"entity_type": "contact", "name": "Ann Lee", "email": "ann@x.test"}
    await desk.ingest({**ann, "organization": "Alpha Ltd"})
    moved = await desk.ingest({**ann, "organization": "Beta Ltd"})
    who = moved["entities"][0]["entity_id"]
    await withdraw(desk, moved["source_id"])

    edges = (await desk.call("list_relationships", entity_id=who))["relationships"]
    ends = [await desk.snapshot(each["target_entity_id"]) for each in edges]
    assert ends == [{"name": "Alpha Ltd"}]


async def test_an_edge_that_another_source_says_too_rests_on_that_one() -> None:
    desk = a_desk()
    ann = {"entity_type": "contact", "name": "Ann Lee", "organization": "Alpha Ltd"}
    first = await desk.ingest({**ann, "email": "ann@x.test"})
    await desk.ingest({**ann, "email": "ann@x.test", "role": "cook"})
    who = first["entities"][0]["entity_id"]
    before = await desk.call("list_relationships", entity_id=who)
    await withdraw(desk, first["source_id"])

    after = await desk.call("list_relationships", entity_id=who)
    assert [e["id"] for e in after["relationships"]] == [e["id"] for e in before["relationships"]]
    (edge,) = after["relationships"]
    assert await desk.snapshot(edge["target_entity_id"]) == {"name": "Alpha Ltd"}


async def test_a_correction_is_withdrawn_like_any_source() -> None:
    desk = a_desk()
    invoice = await desk.entity("invoice", invoice_number="INV-9", amount_due=100)
    await desk.correct(invoice, "amount_due", 7)
    told = await desk.call("get_field_provenance", entity_id=invoice, field="amount_due")
    await withdraw(desk, told["source_material"]["id"])

    assert (await desk.snapshot(invoice))["amount_due"] == 100


async def test_a_correction_of_what_is_withdrawn_stays_with_its_entity() -> None:
    desk = a_desk()
    wrong = await desk.ingest(an_invoice(vendor_name="Acme Ltd"))
    invoice = wrong["entities"][0]["entity_id"]
    await desk.correct(invoice, "amount_due", 7)
    done = await withdraw(desk, wrong["source_id"])

    assert await desk.snapshot(invoice) == {"amount_due": 7}
    assert done["changed"] == [invoice]


async def test_a_merged_entity_that_goes_leaves_the_one_that_answered_for_it() -> None:
    desk = a_desk()
    kept = await desk.entity("company", name="Acme Ltd", tax_id="A-1")
    wrong = await desk.ingest({"entity_type": "company", "name": "Acne Ltd", "tax_id": "A-2"})
    await desk.merge(wrong["entities"][0]["entity_id"], kept)
    await withdraw(desk, wrong["source_id"])

    read = await desk.call("get_entity_snapshot", entity_id=kept)
    assert read["snapshot"] == {"name": "Acme Ltd", "tax_id": "A-1"}
    assert read["merged_entity_ids"] == []
    assert [each["key"] for each in read["keys"]] == ["acme", "a-1", "acme ltd"]


async def test_one_that_answers_for_others_stays_for_them() -> None:
    desk = a_desk()
    wrong = await desk.ingest({"entity_type": "company", "name": "Acne Ltd", "tax_id": "A-2"})
    kept = wrong["entities"][0]["entity_id"]
    other = await desk.entity("company", name="Acme Ltd", tax_id="A-1")
    await desk.merge(other, kept)
    await withdraw(desk, wrong["source_id"])

    read = await desk.call("get_entity_snapshot", entity_id=other)
    assert (read["entity_id"], read["snapshot"]["name"]) == (kept, "Acme Ltd")


async def test_those_that_were_merged_with_each_other_go_together() -> None:
    one, other = a_desk(), a_desk()
    wrong = await one.ingest(
        *({"entity_type": "company", "name": n, "tax_id": n} for n in ("Acme", "Acne", "Akme"))
    )
    first, second, third = (each["entity_id"] for each in wrong["entities"])
    await one.merge(first, second)
    await one.merge(third, second)
    done = await withdraw(one, wrong["source_id"])

    assert set(done["gone"]) == {first, second, third}
    await other.ingest({"entity_type": "company", "name": "Beta"})
    await one.ingest({"entity_type": "company", "name": "Beta"})
    assert await the_whole(one) == await the_whole(other)


async def test_an_edge_that_a_user_asked_for_too_stays_and_can_be_read() -> None:
    desk = a_desk()
    kept = await desk.entity("company", name="Alpha Ltd")
    ann = {"entity_type": "contact", "name": "Ann Lee", "email": "ann@x.test"}
    who = await desk.entity(**ann)
    wrong = await desk.ingest({**ann, "organization": "Alpha Ltd"})
    await desk.relate(who, "REFERS_TO", kept)
    await withdraw(desk, wrong["source_id"])

    edges = (await desk.call("list_relationships", entity_id=who))["relationships"]
    assert [each["target_entity_id"] for each in edges] == [kept]
    ends = {"source_entity_id": who, "target_entity_id": kept}
    await desk.call("get_relationship_snapshot", relationship_type="REFERS_TO", **ends)
    await desk.call("get_graph_neighborhood", node_id=who, include_observations=True)


async def test_the_files_within_a_file_go_with_it_but_not_those_that_came_with_another_too() -> (
    None
):
    desk = a_desk()
    first = await desk.call("ingest", user_id=desk.user, **a_mail("Monday", "one.txt", "two.txt"))
    desk.wait()
    second = await desk.call("ingest", user_id=desk.user, **a_mail("Tuesday", "two.txt"))
    parts = {each["name"]: each["source_id"] for each in first["members"]}
    assert parts["two.txt"] == second["members"][0]["source_id"]
    done = await withdraw(desk, first["source_id"])

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


async def test_nobody_withdraws_what_another_user_brought() -> None:
    desk = a_desk()
    wrong = await desk.ingest(an_invoice())
    await desk.of(BOB).refused("withdraw_source", "SOURCE_NOT_FOUND", source_id=wrong["source_id"])
    await desk.refused("withdraw_source", "SOURCE_NOT_FOUND", source_id=NOWHERE)
    await desk.refused("withdraw_source", "VALIDATION_ERROR", source_id="INV-9")


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
# Each says by which key it is meant. What is withdrawn then decides nothing that comes later,
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
            await take(step, number, one, other)
        taken = await one.ingest(*marked(wrong, 100))
        other.wait()
        for number, step in enumerate(after, 200):
            await take(step, number, one, other)
        await withdraw(one, taken["source_id"])
        assert await the_whole(one) == await the_whole(other)


async def take(step: Any, number: int, one: Desk, other: Desk) -> None:
    """Let both do the same, to those whom also the one without the wrong source knows."""
    if isinstance(step, list):
        await one.ingest(*marked(step, number))
        await other.ingest(*marked(step, number))
        return
    what, *words = step
    found = [await other.call("get_entity_by_identifier", identifier=w) for w in words[:2]]
    ids = [str(each["entities"][0]["id"]) for each in found if each["total"]]
    two = len(set(ids)) == len(words) == 2
    for desk in (one, other):
        if what == "correct" and found[0]["total"]:
            await desk.correct(ids[0], "organization", words[1])
        elif what == "merge" and two:
            await desk.merge(ids[0], ids[1])
        elif what == "relate" and two:
            await desk.relate(ids[0], "REFERS_TO", ids[1])


def marked(records: list[Any], number: int) -> list[Any]:
    """The records as a source of their own."""
    return [{**each, "notes": f"note {number}"} for each in records]


def names_of(*steps: Any) -> set[tuple[str, str]]:
    """The names that records give to addresses."""
    records = (each for step in steps if isinstance(step, list) for each in step)
    return {(e["email"], e["name"]) for e in records if "email" in e and "name" in e}


def contradicted(wrong: list[Any], others: list[Any]) -> bool:
    """Tell whether a source gives an address another name than itself or one of the others."""
    named = names_of(wrong)
    every = named | names_of(*others)
    return any(a == mail and b != name for a, b in every for mail, name in named)


async def test_who_came_under_another_name_than_the_withdrawn_one_keeps_an_id_of_their_own() -> (
    None
):
    one, other = a_desk(), a_desk()
    ada = {"entity_type": "contact", "email": PEOPLE[0], "name": "Ada Aal", "role": "cook"}
    wrong = await one.ingest({**ada, "name": "Bo Berg"})
    other.wait()
    mine, theirs = [await desk.entity(**ada) for desk in (one, other)]
    await withdraw(one, wrong["source_id"])

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
    assume(not contradicted(wrong, before + after))
    asyncio.run(withdrawn_and_never_brought(before, wrong, after, "memory"))


@settings(max_examples=10, deadline=None)
@given(HISTORY, BROUGHT, HISTORY)
def test_a_store_on_disk_withdraws_as_the_memory_does(
    before: list[Any], wrong: list[Any], after: list[Any]
) -> None:
    assume(not contradicted(wrong, before + after))
    asyncio.run(withdrawn_and_never_brought(before, wrong, after, "sqlite"))

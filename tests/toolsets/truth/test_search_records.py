"""Search: a record is found by any word in it and by its fields; each hit says where."""

import base64
from pathlib import Path
from typing import Any, cast

import pytest

from canonry.app.embedded import open_embedded
from canonry.canon.maintenance.erase import erase_items, plan_erasure
from canonry.gateway.call import Gateway
from canonry.records.toolset import TRUTH
from canonry.records.usecases import queries as own_records
from canonry.records.usecases import record_source
from canonry.records.usecases.files import RecordTables
from canonry.testing.clocks import HandClock, a_caller
from tests.toolsets.truth.kit import BOB, ToolDriver, an_invoice, make_driver

pytestmark = pytest.mark.anyio


async def find_names(driver: ToolDriver, query: str | None = None, **more: Any) -> list[str]:
    asked = more if query is None else {"query": query, **more}
    found = await driver.call("search_records", **asked)
    return [each["canonical_name"] for each in found["entities"]]


async def ingest_invoices(driver: ToolDriver) -> None:
    rows = (
        ("A-1", "2025-01-31", 100, "EUR", "Müller Bau GmbH", "Roof of the garden shed"),
        ("A-2", "2025-03-01", 250.5, "EUR", "Müller Bau GmbH", "Windows"),
        ("A-3", "2025-03-31", 90, "USD", "Acme Corp", "Rope and anvils"),
        ("A-4", "2026-03-15", 1000, "EUR", "Acme Corp", "Rocket"),
    )
    await driver.ingest(
        *(
            an_invoice(n, invoice_date=d, amount_due=a, currency=c, vendor_name=v, notes=w)
            for n, d, a, c, v, w in rows
        )
    )


INVOICES = {"entity_type": "invoice"}


async def test_a_word_in_any_field_finds_the_record_its_field_and_source() -> None:
    driver = make_driver()
    await ingest_invoices(driver)
    found = await driver.call("search_records", query="garden shed")
    (hit,) = (each for each in found["entities"] if each["by"] == "words")
    (match,) = hit["matches"]
    assert (hit["canonical_name"], match["field"]) == ("A-1", "notes")
    assert "garden shed" in match["excerpt"]
    traced = await driver.call("get_field_provenance", entity_id=hit["id"], field="notes")
    assert match["observation_id"] == traced["source_observation"]["id"]


async def test_words_match_regardless_of_case_accents_and_endings() -> None:
    driver = make_driver()
    await ingest_invoices(driver)
    assert sorted(await find_names(driver, "MULLER ba", **INVOICES)) == ["A-1", "A-2"]
    within = await driver.call("search_records", query="uller", **INVOICES)
    assert {each["by"] for each in within["entities"]} <= {"likeness"}


async def test_all_words_score_higher_than_some() -> None:
    driver = make_driver()
    await ingest_invoices(driver)
    found = await driver.call("search_records", query="rope anvils rocket", entity_type="invoice")
    assert {each["by"] for each in found["entities"]} <= {"likeness"}
    first, *_ = (await driver.call("search_records", query="acme rope"))["entities"]
    assert (first["canonical_name"], first["by"]) == ("A-3", "words")


async def test_fields_dates_and_amounts_filter_with_and_without_words() -> None:
    driver = make_driver()
    await ingest_invoices(driver)
    march = [{"field": "invoice_date", "from": "2025-03", "to": "2025-03"}]
    assert await find_names(driver, filters=march, **INVOICES) == ["A-2", "A-3"]
    assert await find_names(driver, after_date="2025-03-02", before_date="2025") == ["A-3"]
    assert await find_names(driver, min_amount=100, max_amount=250.5) == ["A-1", "A-2"]
    big = [{"field": "total", "from": "250.50"}, {"field": "vendor", "contains": "BAU g"}]
    assert await find_names(driver, filters=big, **INVOICES) == ["A-2"]
    dollars = [{"field": "currency", "equals": "usd"}]
    assert await find_names(driver, "rope", filters=dollars, **INVOICES) == ["A-3"]
    assert await find_names(driver, "windows", filters=dollars, **INVOICES) == []
    exact = [{"field": "amount_due", "equals": 250.5}]
    assert await find_names(driver, filters=exact, **INVOICES) == ["A-2"]
    found = await driver.call("search_records", filters=dollars)
    (hit,) = found["entities"]
    assert (hit["by"], [m["field"] for m in hit["matches"]]) == ("fields", ["currency"])


async def test_list_items_booleans_and_numeric_texts_are_compared() -> None:
    driver = make_driver()
    await driver.ingest(
        {"entity_type": "gadget", "name": "Lamp", "tags": ["old", "blue"], "lit": True, "watts": 7}
    )
    for condition, expected in (
        ({"field": "tags", "equals": "Blue"}, ["Lamp"]),
        ({"field": "tags", "contains": "ol"}, ["Lamp"]),
        ({"field": "tags", "equals": "green"}, []),
        ({"field": "lit", "equals": True}, ["Lamp"]),
        ({"field": "lit", "equals": "yes"}, []),
        ({"field": "lit", "from": "a"}, []),
        ({"field": "watts", "equals": "7.0"}, ["Lamp"]),
        ({"field": "watts", "equals": "seven"}, []),
        ({"field": "watts", "to": "low"}, []),
        ({"field": "watts", "from": 8}, []),
        ({"field": "name", "from": 3}, []),
        ({"field": "nothing", "equals": 3}, []),
    ):
        assert await find_names(driver, filters=[condition]) == expected, condition


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        ({"query": "?!"}, "VALIDATION_ERROR", "search.words"),
        ({"after_date": "March"}, "VALIDATION_ERROR", "filter.date"),
        ({"after_date": "2025-02", "before_date": "2025-01"}, "VALIDATION_ERROR", "filter.order"),
        ({"min_amount": 2, "max_amount": 1}, "VALIDATION_ERROR", "filter.order"),
        (
            {"filters": [{"field": "colour", "equals": "red"}], **INVOICES},
            "FIELD_NOT_FOUND",
            "field.unknown",
        ),
        (
            {"filters": [{"field": "amount_due", "from": 3, "to": 2.5}]},
            "VALIDATION_ERROR",
            "filter.order",
        ),
    ],
)
async def test_a_meaningless_query_is_refused_with_the_reason(
    arguments: dict[str, Any], code: str, reason: str
) -> None:
    driver = make_driver()
    error = await driver.refused("search_records", code, **arguments)
    assert error["details"]["reason"] == reason


async def test_search_pages_contain_each_record_once_and_stay_short() -> None:
    driver = make_driver()
    await driver.ingest(
        *({"entity_type": "person", "name": f"Ada {n}", "email": f"a{n}@x.test"} for n in range(35))
    )
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        outcome = await driver.outcome("search_records", {"query": "ada", "offset": offset})
        assert len(outcome.text.encode()) <= 10_000
        seen += [each["id"] for each in outcome.body["entities"]]
        offset = outcome.body.get("next_offset")
    assert len(seen) == len(set(seen)) == outcome.body["total"] == 35


async def test_an_unplaced_value_is_found_too() -> None:
    driver = make_driver()
    await driver.ingest(an_invoice("B-1", mascot="Walrus"))
    found = await driver.call("search_records", query="walrus")
    (hit,) = found["entities"]
    (match,) = hit["matches"]
    assert match["field"] == "mascot"
    assert match["observation_id"]


async def test_another_users_records_are_never_found() -> None:
    driver = make_driver()
    await ingest_invoices(driver)
    stranger = driver.of(BOB)
    await stranger.ingest(an_invoice("Z-1", notes="garden"))
    assert await find_names(stranger, "garden") == ["Z-1"]
    assert await find_names(stranger, "acme") == []
    assert "Z-1" not in await find_names(driver, "garden")
    assert (await driver.call("search_records", **INVOICES))["total"] == 4


async def test_changes_are_found_at_once() -> None:
    driver = make_driver()
    one = await driver.entity("company", name="Alpha", tax_id="T-1", notes="granite")
    other = await driver.entity("company", name="Beta", tax_id="T-2", notes="marble")
    assert await find_names(driver, "granite") == ["Alpha"]
    await driver.correct(one, "notes", "basalt")
    assert await find_names(driver, "granite") == []
    assert await find_names(driver, "basalt") == ["Alpha"]
    await driver.merge(other, one)
    assert await find_names(driver, entity_type="company") == ["Alpha"]
    await driver.call("unmerge_entities", user_id=driver.user, entity_id=other)
    assert await find_names(driver, entity_type="company") == ["Alpha", "Beta"]
    assert await find_names(driver, "marble") == ["Beta"]
    await driver.call(
        "register_entity_schema",
        user_id=driver.user,
        entity_type="company",
        fields={"seats": {"type": "number"}},
    )
    await driver.ingest({"entity_type": "company", "tax_id": "T-2", "name": "Beta", "seats": 12})
    seats = [{"field": "seats", "from": 10}]
    assert await find_names(driver, filters=seats, entity_type="company") == ["Beta"]


async def test_a_table_that_missed_many_changes_is_reread(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = make_driver()
    await ingest_invoices(driver)
    assert await find_names(driver, "rocket") == ["A-4"]
    monkeypatch.setattr(own_records, "_COMMITS", 1)
    monkeypatch.setattr(own_records, "_READ_ON_MAX", 2)
    for number in range(3):
        await driver.ingest(an_invoice(f"C-{number}", notes="zebra"))
    assert sorted(await find_names(driver, "zebra")) == ["C-0", "C-1", "C-2"]


async def test_erased_records_are_neither_found_nor_summed(tmp_path: Path) -> None:
    store = await open_embedded(tmp_path, clock=HandClock())
    try:
        clock = cast("HandClock", store.canon.clock)
        driver = ToolDriver(canon=store.canon, gateway=Gateway(store.canon, (TRUTH,)), clock=clock)
        await ingest_invoices(driver)
        (hit,) = (await driver.call("search_records", query="rocket"))["entities"]
        plan = await plan_erasure(store.canon, "entity", hit["id"])

        await erase_items(store.canon, store.maintenance, a_caller(), plan, reason="asked for")

        assert await find_names(driver, "rocket") == []
        counted = await driver.call("summarise_records", **INVOICES)
        assert [each["count"] for each in counted["groups"]] == [3]
    finally:
        await store.close()


async def test_more_records_than_one_read_takes_are_all_in_the_table() -> None:
    driver = make_driver()
    await driver.ingest(*(an_invoice(f"D-{n:03}", notes="zebra") for n in range(205)))
    assert (await driver.call("search_records", query="zebra"))["total"] == 205
    await driver.ingest(*(an_invoice(f"E-{n:03}", notes="zebra") for n in range(205)))
    assert (await driver.call("search_records", query="zebra"))["total"] == 410


async def test_a_record_described_only_by_its_type_is_found_by_it() -> None:
    driver = make_driver()
    await driver.ingest({"entity_type": "gadget", "watts": 7})
    (row,) = (await driver.call("retrieve_entities"))["entities"]
    found = await driver.call("search_records", query=row["canonical_name"])
    (match,) = found["entities"][0]["matches"]
    assert (match["field"], match["excerpt"]) == ("canonical_name", row["canonical_name"])


async def test_tables_that_do_not_fit_are_dropped_oldest_first() -> None:
    tables = RecordTables()
    first, second, third = (tables.of(space) for space in ("a", "b", "c"))  # type: ignore[arg-type]
    for table, count in ((first, 20_000), (second, 20_000), (third, 20_000)):
        table.rows = dict.fromkeys(map(str, range(count)))  # type: ignore[assignment]
    assert tables.of("b") is second  # type: ignore[arg-type]
    tables.let_go()
    assert tables.of("b") is second  # type: ignore[arg-type]
    assert tables.of("c") is third  # type: ignore[arg-type]
    assert tables.of("a") is not first  # type: ignore[arg-type]


LEASE = (
    "# Lease\n\nThe flat in Hafenstrasse 7 is let to Ann Lee.\n\n"
    "## Pets\n\nA tortoise may be kept, dogs and cats may not.\n\n"
    "## Heating\n\nThe boiler is serviced every October by the landlord.\n"
)


async def ingest_text(
    driver: ToolDriver, text: str, name: str = "lease.md", kind: str = "text/markdown"
) -> str:
    driver.wait()
    data = base64.b64encode(text.encode()).decode()
    given = {"file_content": data, "mime_type": kind, "original_filename": name}
    return str((await driver.call("ingest", user_id=driver.user, **given))["source_id"])


async def test_a_passage_in_a_file_is_found_with_source_position_and_quote() -> None:
    driver = make_driver()
    source = await ingest_text(driver, LEASE)
    found = await driver.call("search_records", query="tortoise")

    passage = found["passages"][0]
    assert (passage["source_id"], passage["title"], passage["by"]) == (source, "lease.md", "words")
    assert passage["section"] == "Lease > Pets"
    assert "tortoise may be kept" in passage["quote"]
    assert passage["entity_ids"]
    other = await driver.of(BOB).call("search_records", query="tortoise")
    assert "passages" not in other


async def test_passages_are_left_out_of_field_searches_and_later_pages() -> None:
    driver = make_driver()
    await ingest_text(driver, LEASE)
    for more in ({"entity_type": "contract"}, {"offset": 1}, {"min_amount": 1}):
        assert "passages" not in await driver.call("search_records", query="tortoise", **more)


async def test_table_rows_are_found_as_records_and_not_as_text() -> None:
    driver = make_driver()
    rows = "Date,Payee,Amount\n2024-04-03,Alder Tortoise,12.50\n2024-04-05,Birch,2.75\n"
    await ingest_text(driver, rows, "april.csv", "text/csv")
    found = await driver.call("search_records", query="tortoise")
    assert found["total"] > 0
    assert "passages" not in found


async def test_the_text_of_a_withdrawn_file_returns_with_a_new_import() -> None:
    driver = make_driver()
    source = await ingest_text(driver, LEASE)
    await driver.call("withdraw_source", user_id=driver.user, source_id=source)
    assert "passages" not in await driver.call("search_records", query="tortoise")
    await ingest_text(driver, LEASE)
    assert (await driver.call("search_records", query="tortoise"))["passages"]


async def test_an_overlong_text_is_searched_partially_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(record_source, "EXCERPTS_MAX", 1)
    driver = make_driver()
    driver.wait()
    data = base64.b64encode(LEASE.encode()).decode()
    reply = await driver.call(
        "ingest", user_id=driver.user, file_content=data, mime_type="text/markdown"
    )
    assert "text.too-long" in [each["code"] for each in reply["warnings"]]
    assert "passages" not in await driver.call("search_records", query="boiler")

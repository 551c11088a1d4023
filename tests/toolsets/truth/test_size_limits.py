"""More than one call can walk or fold is refused with what helps, and never cut silently."""

from itertools import pairwise
from typing import Any

import pytest

from canonry.canon.session import paging
from canonry.records.domain import interpretations as record_bounds
from canonry.records.usecases import relationships as read_relationships
from canonry.records.usecases import relationships as relate_entities
from canonry.records.usecases import snapshots as read_snapshot
from tests.toolsets.truth.kit import ToolDriver, an_invoice, make_driver

pytestmark = pytest.mark.anyio


async def reason_of(driver: ToolDriver, tool: str, **arguments: Any) -> tuple[str, str]:
    before = await driver.heads()
    outcome = await driver.outcome(tool, arguments)
    assert outcome.error is not None, outcome.text
    assert await driver.heads() == before
    error = outcome.body["error"]
    return error["details"]["reason"], error["message"]


async def add_companies(driver: ToolDriver, count: int) -> list[str]:
    return [
        await driver.entity("company", name=f"Company {n}", tax_id=f"T-{n}") for n in range(count)
    ]


async def test_a_merge_with_a_possible_cycle_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver = make_driver()
    chain = await add_companies(driver, 5)
    for one, other in pairwise(chain[1:]):
        await driver.relate(one, "PART_OF", other)
    ends = {"source_entity_id": chain[0], "target_entity_id": chain[1]}
    monkeypatch.setattr(relate_entities, "_WALKED_MAX", 2)

    code, _ = await reason_of(driver, "create_relationship", relationship_type="PART_OF", **ends)
    monkeypatch.setattr(relate_entities, "_WALKED_MAX", 4)
    await driver.relate(chain[0], "PART_OF", chain[1])

    assert code == "relationship.too-far"


async def test_relationships_of_merged_entities_are_counted_exactly_or_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver = make_driver()
    kept, gone, *others = await add_companies(driver, 6)
    await driver.relate(kept, "REFERS_TO", gone)
    for other in others:
        await driver.relate(kept, "REFERS_TO", other)
    await driver.merge(gone, kept)
    whole = await driver.call("list_relationships", entity_id=kept)
    monkeypatch.setattr(read_relationships, "PAGE_MAX", 2)
    in_pages = await driver.call("list_relationships", entity_id=kept)
    monkeypatch.setattr(read_relationships, "SEARCHED_MAX", 4)

    code, message = await reason_of(driver, "list_relationships", entity_id=kept)

    assert in_pages == whole
    assert len(whole["relationships"]) == 4, "the one between the two has become none"
    assert (code, "Ask for one" in message) == ("relationship.too-far", True)


async def test_too_many_relationships_are_listed_by_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver = make_driver()
    hub, *others = await add_companies(driver, 6)
    for other in others:
        await driver.relate(hub, "REFERS_TO", other)
    whole = await driver.call("list_relationships", entity_id=hub)
    monkeypatch.setattr(read_relationships, "PAGE_MAX", 2)
    monkeypatch.setattr(read_relationships, "WHOLE_MAX", 4)
    page = await driver.call("list_relationships", entity_id=hub, limit=2, offset=3)
    assert (page["relationships"], page["total"]) == (whole["relationships"][3:], 5)


async def test_an_overlong_past_is_refused_with_an_alternative(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver = make_driver()
    for number in range(5):
        invoice = await driver.entity(**an_invoice(notes=f"note {number}"))
    asked = {"entity_id": invoice, "at": "2025-01-15T00:03:30Z"}
    known = {**asked, "as_known_at": "2025-01-15T01:00:00Z"}
    monkeypatch.setattr(paging, "PAGE_MAX", 2)
    in_pages = await driver.call("get_entity_snapshot", **known)
    monkeypatch.setattr(read_snapshot, "_PAGES_MAX", 2)

    code, message = await reason_of(driver, "get_entity_snapshot", **known)
    by_one = await driver.call("get_entity_snapshot", **asked)

    assert (code, "only one of" in message) == ("entity.too-long", True)
    assert by_one["snapshot"] == in_pages["snapshot"]
    assert by_one["snapshot"]["notes"] == "note 2"


async def test_too_many_records_of_one_source_are_split_by_the_importer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver = make_driver()
    monkeypatch.setattr(record_bounds, "RECORDS_MAX", 2)
    records = [an_invoice(f"INV-{number}") for number in range(3)]

    _, message = await reason_of(driver, "ingest", user_id=driver.user, entities=records)
    await driver.ingest(*records[:2])

    assert "Split it" in message

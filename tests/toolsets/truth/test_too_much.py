"""More than one call can walk or fold is refused with what helps, and never cut silently."""

from itertools import pairwise
from typing import Any

import pytest

from canonry.canon.session import paging
from canonry.records.domain import interpretations as record_bounds
from canonry.records.usecases import relationships as read_relationships
from canonry.records.usecases import relationships as relate_entities
from canonry.records.usecases import snapshots as read_snapshot
from tests.toolsets.truth.kit import Desk, a_desk, an_invoice

pytestmark = pytest.mark.anyio


async def reason(desk: Desk, tool: str, **arguments: Any) -> tuple[str, str]:
    before = await desk.heads()
    outcome = await desk.outcome(tool, arguments)
    assert outcome.error is not None, outcome.text
    assert await desk.heads() == before
    error = outcome.body["error"]
    return error["details"]["reason"], error["message"]


async def companies(desk: Desk, count: int) -> list[str]:
    return [
        await desk.entity("company", name=f"Company {n}", tax_id=f"T-{n}") for n in range(count)
    ]


async def test_a_cycle_that_cannot_be_ruled_out_is_not_risked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = a_desk()
    chain = await companies(desk, 5)
    for one, other in pairwise(chain[1:]):
        await desk.relate(one, "PART_OF", other)
    ends = {"source_entity_id": chain[0], "target_entity_id": chain[1]}
    monkeypatch.setattr(relate_entities, "_WALKED_MAX", 2)

    code, _ = await reason(desk, "create_relationship", relationship_type="PART_OF", **ends)
    monkeypatch.setattr(relate_entities, "_WALKED_MAX", 4)
    await desk.relate(chain[0], "PART_OF", chain[1])

    assert code == "relationship.too-far"


async def test_relationships_of_the_merged_are_counted_whole_or_not_at_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = a_desk()
    kept, gone, *others = await companies(desk, 6)
    await desk.relate(kept, "REFERS_TO", gone)
    for other in others:
        await desk.relate(kept, "REFERS_TO", other)
    await desk.merge(gone, kept)
    whole = await desk.call("list_relationships", entity_id=kept)
    monkeypatch.setattr(read_relationships, "PAGE_MAX", 2)
    in_pages = await desk.call("list_relationships", entity_id=kept)
    monkeypatch.setattr(read_relationships, "SEARCHED_MAX", 4)

    code, message = await reason(desk, "list_relationships", entity_id=kept)

    assert in_pages == whole
    assert len(whole["relationships"]) == 4, "the one between the two has become none"
    assert (code, "Ask for one" in message) == ("relationship.too-far", True)


async def test_relationships_beyond_what_is_looked_at_together_are_told_by_pages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = a_desk()
    hub, *others = await companies(desk, 6)
    for other in others:
        await desk.relate(hub, "REFERS_TO", other)
    whole = await desk.call("list_relationships", entity_id=hub)
    monkeypatch.setattr(read_relationships, "PAGE_MAX", 2)
    monkeypatch.setattr(read_relationships, "WHOLE_MAX", 4)
    page = await desk.call("list_relationships", entity_id=hub, limit=2, offset=3)
    assert (page["relationships"], page["total"]) == (whole["relationships"][3:], 5)


async def test_a_past_that_is_too_long_to_fold_is_asked_for_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = a_desk()
    for number in range(5):
        invoice = await desk.entity(**an_invoice(notes=f"note {number}"))
    asked = {"entity_id": invoice, "at": "2025-01-15T00:03:30Z"}
    known = {**asked, "as_known_at": "2025-01-15T01:00:00Z"}
    monkeypatch.setattr(paging, "PAGE_MAX", 2)
    in_pages = await desk.call("get_entity_snapshot", **known)
    monkeypatch.setattr(read_snapshot, "_PAGES_MAX", 2)

    code, message = await reason(desk, "get_entity_snapshot", **known)
    by_one = await desk.call("get_entity_snapshot", **asked)

    assert (code, "only one of" in message) == ("entity.too-long", True)
    assert by_one["snapshot"] == in_pages["snapshot"]
    assert by_one["snapshot"]["notes"] == "note 2"


async def test_more_records_than_one_source_tells_of_are_split_by_their_bringer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = a_desk()
    monkeypatch.setattr(record_bounds, "RECORDS_MAX", 2)
    records = [an_invoice(f"INV-{number}") for number in range(3)]

    _, message = await reason(desk, "ingest", user_id=desk.user, entities=records)
    await desk.ingest(*records[:2])

    assert "Split it" in message

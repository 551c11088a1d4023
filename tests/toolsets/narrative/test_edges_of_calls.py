"""Answers of the narrative tools are cut and marked if there is more than fits."""

from typing import Any

import pytest

from canonry.canon.queries import explain as read_timeline
from canonry.canon.session import paging
from tests.toolsets.narrative.kit import a_world

pytestmark = pytest.mark.anyio


async def test_an_overlong_timeline_says_that_it_was_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    for number in range(5):
        when = f"1970-01-0{number + 1}T00:00:00Z"
        await world.event(f"Event {number}", ann, time_ref=when)
        await world.fact(f"Fact {number}", ann, time_ref=when)
    asked: dict[str, Any] = {"universe_id": world.universe_id, "entity_ids": [ann], "limit": 50}
    whole = await world.call("neo4j_get_timeline", **asked)
    monkeypatch.setattr(paging, "PAGE_MAX", 2)
    in_pages = await world.call("neo4j_get_timeline", **asked)
    monkeypatch.setattr(read_timeline, "PAGES_MAX", 2)
    cut = await world.call("neo4j_get_timeline", **asked)

    assert (whole["total"], whole["truncated"]) == (10, False)
    assert in_pages == whole
    assert (cut["total"], cut["truncated"]) == (8, True)

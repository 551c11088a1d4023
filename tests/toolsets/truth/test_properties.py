"""Properties: what holds of snapshots, ids and merges whatever is said in whatever order."""

import asyncio
import random
import unicodedata
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from canonry.log.items.entities import Entity
from canonry.log.schemas.narrative import policy_of
from canonry.values.merge_policies import accumulator_of, join_accumulators
from canonry.values.observations import Accumulator
from tests.toolsets.truth.kit import Desk, a_desk

QUICK = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
HOURS = st.integers(0, 23)
RECORDS = st.lists(
    st.fixed_dictionaries(
        {
            "hour": HOURS,
            "priority": st.sampled_from([0, 50, 100, 500]),
            "fields": st.dictionaries(
                st.sampled_from(["status", "notes", "description", "tags", "priority"]),
                st.sampled_from(["a", "b", "c"]),
                min_size=1,
                max_size=3,
            ),
        }
    ),
    min_size=1,
    max_size=6,
    unique_by=lambda record: record["hour"],
)


def run(work: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(work())  # type: ignore[arg-type]


async def told(desk: Desk, records: Sequence[dict[str, Any]]) -> str:
    """Hand the records over in this order, each seen at its hour; the task that they are about."""
    entity = ""
    for record in records:
        seen = f"2025-01-01T{record['hour']:02d}:00:00Z"
        reply = await desk.ingest(
            {
                "entity_type": "task",
                "title": "Work",
                "due_context": f"as of hour {record['hour']}",
                **record["fields"],
            },
            source_priority=record["priority"],
            provenance={"extracted_at": seen, "extractor_version": "1"},
        )
        entity = reply["entities"][0]["entity_id"]
    return entity


@QUICK
@given(RECORDS, st.randoms(use_true_random=False))
def test_a_snapshot_does_not_depend_on_the_order_of_arrival(
    records: list[dict[str, Any]], rand: random.Random
) -> None:
    async def compare() -> None:
        shuffled = list(records)
        rand.shuffle(shuffled)
        one, other = a_desk(), a_desk()
        here, there = await told(one, records), await told(other, shuffled)
        assert here == there
        assert await one.snapshot(here) == await other.snapshot(there)

    run(compare)


@QUICK
@given(RECORDS)
def test_telling_everything_again_changes_nothing(records: list[dict[str, Any]]) -> None:
    async def compare() -> None:
        desk = a_desk()
        entity = await told(desk, records)
        before = await desk.call("get_entity_snapshot", entity_id=entity)
        heads = await desk.heads()
        await told(desk, records)
        assert await desk.call("get_entity_snapshot", entity_id=entity) == before
        assert await desk.heads() == heads

    run(compare)


@QUICK
@given(RECORDS, st.lists(HOURS, min_size=2, max_size=4))
def test_the_past_only_grows(records: list[dict[str, Any]], hours: list[int]) -> None:
    async def compare() -> None:
        desk = a_desk()
        entity = await told(desk, records)
        counts = []
        for hour in sorted(hours):
            at = f"2025-01-01T{hour:02d}:00:00Z"
            then = await desk.call("get_entity_snapshot", entity_id=entity, at=at)
            seen = [record for record in records if record["hour"] <= hour]
            assert then["observation_count"] == len(seen)
            if seen:
                alone = a_desk()
                assert await alone.snapshot(await told(alone, seen)) == then["snapshot"]
            else:
                assert then["snapshot"] == {}
            counts.append(then["observation_count"])
        assert counts == sorted(counts)

    run(compare)


@QUICK
@given(RECORDS, RECORDS)
def test_a_merge_that_is_taken_back_leaves_nothing(
    ours: list[dict[str, Any]], theirs: list[dict[str, Any]]
) -> None:
    async def compare() -> None:
        desk = a_desk()
        one = await told(desk, ours)
        reply = await desk.ingest({"entity_type": "task", "title": "Other", "status": "x"})
        other = reply["entities"][0]["entity_id"]
        for record in theirs:
            await desk.ingest({"entity_type": "task", "title": "Other", **record["fields"]})
        before = [await desk.call("get_entity_snapshot", entity_id=each) for each in (one, other)]
        await desk.merge(other, one)
        both = await desk.call("get_entity_snapshot", entity_id=other)
        assert both["entity_id"] == one
        assert both["observation_count"] == sum(each["observation_count"] for each in before)
        await desk.call("unmerge_entities", user_id=desk.user, entity_id=other)
        after = [await desk.call("get_entity_snapshot", entity_id=each) for each in (one, other)]
        assert after == before

    run(compare)


NAMES = st.text(st.characters(codec="utf-8", categories=["L", "Nd", "Zs"]), min_size=1).filter(
    lambda name: name.strip() != ""
)


@QUICK
@given(NAMES, st.randoms(use_true_random=False))
def test_ids_do_not_depend_on_the_form_of_letters_or_the_order_of_keys(
    name: str, rand: random.Random
) -> None:
    async def compare() -> None:
        desk = a_desk()
        fields = list({"entity_type": "company", "name": name, "industry": "x"}.items())
        rand.shuffle(fields)
        composed = await desk.ingest({k: unicodedata.normalize("NFC", v) for k, v in fields})
        fields.reverse()
        split = await desk.ingest({k: unicodedata.normalize("NFD", v) for k, v in fields})
        assert composed["source_id"] == split["source_id"]
        assert composed["entities"][0]["entity_id"] == split["entities"][0]["entity_id"]

    run(compare)


@QUICK
@given(RECORDS)
def test_what_is_kept_up_to_date_equals_what_is_folded_anew(records: list[dict[str, Any]]) -> None:
    async def compare() -> None:
        desk = a_desk()
        entity_id = await told(desk, records)
        await desk.correct(entity_id, "status", "right")
        entity = (await desk.canon.state.items_by_id((entity_id,)))[entity_id]
        assert isinstance(entity, Entity)
        page = await desk.canon.state.observations_newest((entity.id,), limit=500, offset=0)
        whole: Accumulator = {}
        for each in page.items:
            whole = join_accumulators(whole, accumulator_of(each, policy_of), policy_of)
        assert whole == entity.snapshot

    run(compare)

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
from tests.toolsets.truth.kit import ToolDriver, make_driver

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


def run_work(work: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(work())  # type: ignore[arg-type]


async def record_in_order(driver: ToolDriver, records: Sequence[dict[str, Any]]) -> str:
    """Hand the records over in this order, each seen at its hour; the task that they are about."""
    entity = ""
    for record in records:
        seen = f"2025-01-01T{record['hour']:02d}:00:00Z"
        reply = await driver.ingest(
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
        one, other = make_driver(), make_driver()
        here, there = await record_in_order(one, records), await record_in_order(other, shuffled)
        assert here == there
        assert await one.snapshot(here) == await other.snapshot(there)

    run_work(compare)


@QUICK
@given(RECORDS)
def test_repeating_every_record_changes_nothing(records: list[dict[str, Any]]) -> None:
    async def compare() -> None:
        driver = make_driver()
        entity = await record_in_order(driver, records)
        before = await driver.call("get_entity_snapshot", entity_id=entity)
        heads = await driver.heads()
        await record_in_order(driver, records)
        assert await driver.call("get_entity_snapshot", entity_id=entity) == before
        assert await driver.heads() == heads

    run_work(compare)


@QUICK
@given(RECORDS, st.lists(HOURS, min_size=2, max_size=4))
def test_the_past_only_grows(records: list[dict[str, Any]], hours: list[int]) -> None:
    async def compare() -> None:
        driver = make_driver()
        entity = await record_in_order(driver, records)
        counts = []
        for hour in sorted(hours):
            at = f"2025-01-01T{hour:02d}:00:00Z"
            then = await driver.call("get_entity_snapshot", entity_id=entity, at=at)
            seen = [record for record in records if record["hour"] <= hour]
            assert then["observation_count"] == len(seen)
            if seen:
                alone = make_driver()
                assert await alone.snapshot(await record_in_order(alone, seen)) == then["snapshot"]
            else:
                assert then["snapshot"] == {}
            counts.append(then["observation_count"])
        assert counts == sorted(counts)

    run_work(compare)


@QUICK
@given(RECORDS, RECORDS)
def test_an_undone_merge_leaves_nothing(
    ours: list[dict[str, Any]], theirs: list[dict[str, Any]]
) -> None:
    async def compare() -> None:
        driver = make_driver()
        one = await record_in_order(driver, ours)
        reply = await driver.ingest({"entity_type": "task", "title": "Other", "status": "x"})
        other = reply["entities"][0]["entity_id"]
        for record in theirs:
            await driver.ingest({"entity_type": "task", "title": "Other", **record["fields"]})
        before = [await driver.call("get_entity_snapshot", entity_id=each) for each in (one, other)]
        await driver.merge(other, one)
        both = await driver.call("get_entity_snapshot", entity_id=other)
        assert both["entity_id"] == one
        assert both["observation_count"] == sum(each["observation_count"] for each in before)
        await driver.call("unmerge_entities", user_id=driver.user, entity_id=other)
        after = [await driver.call("get_entity_snapshot", entity_id=each) for each in (one, other)]
        assert after == before

    run_work(compare)


NAMES = st.text(st.characters(codec="utf-8", categories=["L", "Nd", "Zs"]), min_size=1).filter(
    lambda name: name.strip() != ""
)


@QUICK
@given(NAMES, st.randoms(use_true_random=False))
def test_ids_do_not_depend_on_normalization_or_key_order(name: str, rand: random.Random) -> None:
    async def compare() -> None:
        driver = make_driver()
        fields = list({"entity_type": "company", "name": name, "industry": "x"}.items())
        rand.shuffle(fields)
        composed = await driver.ingest({k: unicodedata.normalize("NFC", v) for k, v in fields})
        fields.reverse()
        split = await driver.ingest({k: unicodedata.normalize("NFD", v) for k, v in fields})
        assert composed["source_id"] == split["source_id"]
        assert composed["entities"][0]["entity_id"] == split["entities"][0]["entity_id"]

    run_work(compare)


@QUICK
@given(RECORDS)
def test_an_incremental_view_equals_a_refolded_one(records: list[dict[str, Any]]) -> None:
    async def compare() -> None:
        driver = make_driver()
        entity_id = await record_in_order(driver, records)
        await driver.correct(entity_id, "status", "right")
        entity = (await driver.canon.state.items_by_id((entity_id,)))[entity_id]
        assert isinstance(entity, Entity)
        page = await driver.canon.state.observations_newest((entity.id,), limit=500, offset=0)
        whole: Accumulator = {}
        for each in page.items:
            whole = join_accumulators(whole, accumulator_of(each, policy_of), policy_of)
        assert whole == entity.snapshot

    run_work(compare)

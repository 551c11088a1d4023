"""Very many records of one file become canon in batches, and go on where they were interrupted."""

import base64
from typing import Any

import pytest

from canonry.records.domain import interpretations as record_bounds
from canonry.records.usecases import record_source as record_batches
from canonry.records.usecases.record_source import RecordOutcome, record_source
from tests.toolsets.truth.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten records are very many here, and three make a batch."""
    monkeypatch.setattr(record_batches, "RECORDS_MAX", 5)
    monkeypatch.setattr(record_bounds, "RECORDS_MAX", 5)
    monkeypatch.setattr(record_batches, "TOGETHER", 3)


def a_table(rows: int, amount: str = "5.00") -> bytes:
    lines = [f"T-{n},2024-05-{n + 1:02},Shop {n},-{amount}" for n in range(rows)]
    return "\n".join(["transaction_id,date,payee,amount", *lines, ""]).encode()


async def ingest_table(driver: ToolDriver, table: bytes) -> dict[str, Any]:
    content = base64.b64encode(table).decode()
    return await driver.call(
        "ingest", user_id=driver.user, file_content=content, mime_type="text/csv"
    )


async def held_records(driver: ToolDriver) -> list[tuple[str, Any]]:
    listed = await driver.call("retrieve_entities", entity_type="transaction", limit=100)
    return sorted(
        (each["snapshot"]["transaction_id"], each["snapshot"]["amount"])
        for each in listed["entities"]
    )


async def test_more_records_than_a_commit_takes_are_stored_in_batches() -> None:
    driver = make_driver()

    reply = await ingest_table(driver, a_table(10))

    assert reply["entities_total"] == 10
    assert reply["observations_added"] >= 10
    assert [number for number, _ in await held_records(driver)] == [f"T-{n}" for n in range(10)]
    runs = await driver.canon.state.runs_newest(None, limit=100, offset=0)
    assert [run.config.get("batch") for run in runs.items] == [None, 3, 2, 1]


async def test_an_interrupted_import_continues_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    driver, table = make_driver(), a_table(10)
    left = [2]

    async def interrupted(*arguments: Any) -> RecordOutcome:
        if not left[0]:
            raise KeyError
        left[0] -= 1
        return await record_source(*arguments)

    monkeypatch.setattr(record_batches, "record_source", interrupted)
    with pytest.raises(Exception):  # noqa: B017, PT011 - whatever the gateway makes of it
        await ingest_table(driver, table)
    half = await held_records(driver)
    left[0] = 100
    reply = await ingest_table(driver, table)

    assert len(half) == 6
    assert left[0] == 98
    assert reply["entities_total"] == 10
    assert len(await held_records(driver)) == 10


async def test_a_repeated_batch_file_has_the_latest_values() -> None:
    driver, table = make_driver(), a_table(10)
    await ingest_table(driver, table)
    untouched = await ingest_table(driver, table)
    await ingest_table(driver, a_table(10, amount="7.00"))
    others = await held_records(driver)

    again = await ingest_table(driver, table)

    assert untouched["observations_added"] == 0
    assert {amount for _, amount in others} == {-7.0}
    assert again["observations_added"] == 10
    assert {amount for _, amount in await held_records(driver)} == {-5.0}


async def test_a_file_of_batches_is_undone_as_one() -> None:
    driver = make_driver()
    reply = await ingest_table(driver, a_table(10))

    await driver.call("withdraw_source", source_id=reply["source_id"])

    assert await held_records(driver) == []


async def test_the_types_of_unknown_fields_fit_the_records_of_all_batches() -> None:
    driver = make_driver()
    lines = [f"{n},{n if n < 9 else 'nine'}" for n in range(10)]
    reply = await ingest_table(driver, "\n".join(["gizmo_id,shelf", *lines, ""]).encode())

    kind = reply["entities"][0]["entity_type"]
    listed = await driver.call("retrieve_entities", entity_type=kind, limit=100)
    found = sorted(str(each["snapshot"]["shelf"]) for each in listed["entities"])
    assert found == [*map(str, range(9)), "nine"]

"""The order of records within one source: a later record stands over an earlier one."""

import pytest

from tests.toolsets.truth.kit import an_invoice, make_driver

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("count", [2, 3, 7, 20])
async def test_the_last_of_several_records_of_one_entity_wins(count: int) -> None:
    driver = make_driver()
    records = [an_invoice(amount_due=number, notes=f"Note {number}") for number in range(count)]
    reply = await driver.ingest(*records)
    (entity_id,) = {each["entity_id"] for each in reply["entities"]}
    shown = await driver.snapshot(entity_id)
    assert (shown["amount_due"], shown["notes"]) == (count - 1, f"Note {count - 1}")
    traced = await driver.call("get_field_provenance", entity_id=entity_id, field="notes")
    assert traced["source_observation"]["id"] == reply["entities"][-1]["observation_id"]

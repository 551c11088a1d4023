"""Possible duplicates: what is found is reported, and so is that not everything was looked at."""

from dataclasses import replace
from functools import partial

import pytest

from canonry.canon.session.caller import Caller
from canonry.canon.session.lookup import account_of
from canonry.log.items.sources import DEFAULT_USER
from canonry.records.usecases import identity as module
from canonry.records.usecases.identity import duplicates_within
from canonry.testing.clocks import a_caller
from canonry.values.provenance import Actor
from tests.toolsets.truth.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio


async def people_of_one_name(driver: ToolDriver, count: int) -> list[str]:
    records = [
        {"entity_type": "person", "name": "Ada", "email": f"a{n}@ada.test"} for n in range(count)
    ]
    reply = await driver.ingest(*records)
    return [each["entity_id"] for each in reply["entities"]]


def the_caller() -> Caller:
    actor = Actor(agent_id="a-1", agent_type="x", user=DEFAULT_USER)
    return replace(a_caller(), actor=actor)


async def test_all_pairs_are_listed_by_default() -> None:
    driver = make_driver()
    await people_of_one_name(driver, 4)
    found = await driver.call("list_possible_duplicates", limit=2, offset=4)
    assert (len(found["pairs"]), found["total"], found["truncated"]) == (2, 6, False)


async def test_an_incomplete_comparison_is_reported() -> None:
    driver = make_driver()
    ids = await people_of_one_name(driver, 6)
    result = partial(duplicates_within, driver.canon, the_caller(), account_of(the_caller()))
    few = await result(compared=3)
    assert (few.total, few.truncated) == (3, True)
    all_of_them = await result(compared=6)
    assert (all_of_them.total, all_of_them.truncated) == (15, False)
    of_the_last = await result(entity_id=ids[-1], compared=3)
    assert of_the_last.total == 5, "an entity is compared with all that bear its keys"


async def test_very_many_namesakes_delay_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "PAIRS_MAX", 10)
    driver = make_driver()
    await people_of_one_name(driver, 30)
    found = await driver.call("list_possible_duplicates")
    assert (found["total"], found["truncated"]) == (10, True)

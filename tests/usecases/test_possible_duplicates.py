"""Possible duplicates: what is found is told, and so is that not everything was looked at."""

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
from tests.toolsets.truth.kit import Desk, a_desk

pytestmark = pytest.mark.anyio


async def people_of_one_name(desk: Desk, count: int) -> list[str]:
    records = [
        {"entity_type": "person", "name": "Ada", "email": f"a{n}@ada.test"} for n in range(count)
    ]
    reply = await desk.ingest(*records)
    return [each["entity_id"] for each in reply["entities"]]


def the_caller() -> Caller:
    actor = Actor(agent_id="a-1", agent_type="x", user=DEFAULT_USER)
    return replace(a_caller(), actor=actor)


async def test_all_pairs_are_told_by_default() -> None:
    desk = a_desk()
    await people_of_one_name(desk, 4)
    found = await desk.call("list_possible_duplicates", limit=2, offset=4)
    assert (len(found["pairs"]), found["total"], found["truncated"]) == (2, 6, False)


async def test_it_is_told_when_not_all_entities_were_compared() -> None:
    desk = a_desk()
    ids = await people_of_one_name(desk, 6)
    told = partial(duplicates_within, desk.canon, the_caller(), account_of(the_caller()))
    few = await told(compared=3)
    assert (few.total, few.truncated) == (3, True)
    all_of_them = await told(compared=6)
    assert (all_of_them.total, all_of_them.truncated) == (15, False)
    of_the_last = await told(entity_id=ids[-1], compared=3)
    assert of_the_last.total == 5, "an entity is compared with all that bear its keys"


async def test_very_many_of_one_name_do_not_hold_up_everybody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "PAIRS_MAX", 10)
    desk = a_desk()
    await people_of_one_name(desk, 30)
    found = await desk.call("list_possible_duplicates")
    assert (found["total"], found["truncated"]) == (10, True)

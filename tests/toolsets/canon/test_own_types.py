"""Entities of any type: kept and shown as given, and judged as the nearest known type."""

import pytest

from canonry.log.schemas.narrative import EntityType, narrative_type
from tests.toolsets.canon.kit import make_driver

pytestmark = pytest.mark.anyio
TYPES = {
    "person": EntityType.CHARACTER,
    "NPC": EntityType.CHARACTER,
    "village": EntityType.LOCATION,
    "billing service": EntityType.OBJECT,
    "teams": EntityType.ORGANIZATION,
    "guild": EntityType.FACTION,
    "decision": EntityType.CONCEPT,
    "character": EntityType.CHARACTER,
}


@pytest.mark.parametrize(("given", "nearest"), TYPES.items())
def test_a_type_is_judged_as_the_nearest_of_the_six(given: str, nearest: EntityType) -> None:
    assert narrative_type(given) is nearest


async def test_a_space_takes_any_type_and_shows_it_as_given() -> None:
    driver = make_driver()
    await driver.call("open", name="Team")
    names = {f"Thing {n}": kind for n, kind in enumerate(TYPES)}
    claims = [{"kind": "entity", "name": name, "type": kind} for name, kind in names.items()]

    reply = await driver.call("propose", said="So it is.", space="Team", claims=claims)

    assert reply["accepted"] == len(TYPES)
    for name, kind in names.items():
        assert (await driver.call("get", of=name))["type"] == kind
    found = await driver.call("find", type="person", space="Team")
    assert [row["type"] for row in found["found"]] == ["person", "NPC", "character"]
    error = await driver.refused("get", of="Thing")
    assert "Thing 3 (billing service " in str(error["details"])


async def test_a_person_is_found_by_a_part_of_the_name() -> None:
    driver = make_driver()
    await driver.call("open", name="Team")
    priya = {"kind": "entity", "name": "Priya Rao", "type": "person"}
    fact = {"kind": "fact", "says": "Priya owns billing"}
    await driver.call("propose", said="So it is.", space="Team", claims=[priya, fact])

    dog = {"kind": "entity", "name": "Priya Rao", "type": "dog"}
    reply = await driver.call("propose", said="The dog.", space="Team", claims=[dog])

    got = await driver.call("get", of="Priya Rao", space="Team")
    assert [row["says"] for row in got["facts"]] == ["Priya owns billing"]
    assert "fields" not in got
    assert reply["verdicts"][0]["verdict"] == "needs review"
    assert "the person Priya Rao" in reply["verdicts"][0]["because"]

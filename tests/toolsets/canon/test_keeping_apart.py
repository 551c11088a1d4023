"""Two that look like one are kept apart by a word, which stands until it is ended."""

from typing import Any

import pytest

from tests.toolsets.canon.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio


async def two_of_one_name(space: str) -> tuple[ToolDriver, list[str]]:
    driver = make_driver()
    if space == "account":
        records = [
            {"type": "person", "name": name, "email": f"ann@example.{end}"}
            for name, end in (("Ann Lee", "org"), ("Ann L\u0435e", "net"))
        ]
        for record in records:
            await driver.call("tell", records=[record], space="account")
        rows = (await driver.call("find", space="account", kinds=["entity"]))["found"]
    else:
        await driver.saltmere()
        rows = [{"id": await add_person(driver, name)} for name in ("Ann Lee", "Ann L\u0435e")]
    return driver, [row["id"] for row in rows]


async def add_person(driver: ToolDriver, name: str) -> str:
    claim = {"kind": "entity", "name": name, "type": "character"}
    said = await driver.call("propose", claims=[claim], space="Saltmere")
    of = [said["verdicts"][0]["proposal"]]
    made = await driver.call("decide", verdict="accept", of=of, reason="So.", space="Saltmere")
    return str(made["verdicts"][0]["id"])


async def list_pairs(driver: ToolDriver, space: str) -> list[set[str]]:
    listed = (await driver.call("review", what="duplicates", space=space))["duplicates"]
    return [{row["id"], row["and"]} for row in listed]


@pytest.mark.parametrize("space", ["account", "Saltmere"])
async def test_separated_entities_are_no_duplicates_until_that_ends(space: str) -> None:
    driver, two = await two_of_one_name(space)
    assert set(two) in await list_pairs(driver, space)
    asked: dict[str, Any] = {"verdict": "separate", "reason": "Cousins.", "space": space}

    said = await driver.call("decide", of=two, **asked)
    assert set(two) not in await list_pairs(driver, space)
    again = await driver.call("decide", of=two[::-1], **asked)
    assert again["id"] == said["id"], "it is said once"
    why = await driver.call("get", of=said["id"], space=space)
    assert why["properties"] == {"reason": "Cousins."}

    await driver.call("decide", verdict="end", of=[said["id"]], space=space)
    assert set(two) in await list_pairs(driver, space)
    anew = await driver.call("decide", of=two, **asked)
    assert anew["id"] != said["id"]


async def test_a_merged_entity_is_not_separated_from_itself() -> None:
    driver, two = await two_of_one_name("Saltmere")
    await driver.call("decide", verdict="merge", of=two, space="Saltmere")
    error = await driver.refused("decide", verdict="separate", of=two, space="Saltmere")
    assert error["details"]["reason"] == "entity.already-merged"


async def test_entities_merged_with_one_side_are_separated_too() -> None:
    driver, two = await two_of_one_name("Saltmere")
    cousin = await add_person(driver, "The Cousin")
    await driver.call("decide", verdict="separate", of=two, space="Saltmere")
    await driver.call("decide", verdict="merge", of=[cousin, two[0]], space="Saltmere")

    assert {cousin, two[1]} not in await list_pairs(driver, "Saltmere")


async def test_a_text_does_not_end_other_relations_of_an_account() -> None:
    driver, two = await two_of_one_name("account")
    claim = {"kind": "relation", "from": two[0], "to": two[1], "type": "DEPENDS_ON"}
    await driver.call("propose", claims=[claim], space="account")
    (tie,) = (await driver.call("find", kinds=["relation"], space="account"))["found"]
    error = await driver.refused("decide", verdict="end", of=[tie["id"]], space="account")
    assert error["details"]["reason"] == "space.not-told"


async def test_a_separation_does_not_affect_a_third_entity() -> None:
    driver, two = await two_of_one_name("Saltmere")
    third = await add_person(driver, "Ann L\u0435\u0435")
    asked: dict[str, Any] = {"verdict": "separate", "reason": "Cousins.", "space": "Saltmere"}

    first = await driver.call("decide", of=two, **asked)
    other = await driver.call("decide", of=[two[0], third], **asked)

    assert first["id"] != other["id"]
    left = await list_pairs(driver, "Saltmere")
    assert {two[1], third} in left
    assert set(two) not in left


async def test_account_claims_are_refused_before_any_is_written() -> None:
    driver = make_driver()
    ann = {"kind": "entity", "name": "Ann", "type": "person"}
    works = {"kind": "relation", "from": "Ann", "type": "works for", "to": "Ann"}
    wrong = {"kind": "correction", "of": "nobody", "field": "phone", "value": "1"}
    nameless = {"kind": "entity", "name": " ", "type": "person"}

    refused = [
        await driver.refused("propose", claims=[ann, claim], space="account")
        for claim in (works, wrong, nameless)
    ]

    found = [error["details"]["path"] for error in refused]
    assert found == ["/claims/1/to", "/claims/1/of", "/claims/1/name"]
    assert (await driver.call("find", space="account"))["found"] == []


async def test_an_unsupported_account_claim_is_reported_beside_accepted_ones() -> None:
    driver = make_driver()
    people = [{"kind": "entity", "name": name, "type": "person"} for name in ("Ann", "Bo")]
    tie = {"kind": "relation", "from": "Ann", "type": "refers to", "to": "Bo"}
    wrong = {"kind": "correction", "of": "Ann", "field": "birthday", "value": "soon"}

    reply = await driver.call("propose", claims=[tie, *people, wrong], space="account")

    assert (reply["accepted"], reply["of"]) == (3, 4)
    assert [row["verdict"] for row in reply["verdicts"]] == [*["accepted"] * 3, "rejected"]
    assert reply["verdicts"][3]["rule"] == "correction.value"

"""Two that look like one are kept apart by a word, which stands until it is ended."""

from typing import Any

import pytest

from tests.toolsets.canon.kit import Desk, a_desk

pytestmark = pytest.mark.anyio


async def two_of_one_name(space: str) -> tuple[Desk, list[str]]:
    desk = a_desk()
    if space == "account":
        records = [
            {"type": "person", "name": name, "email": f"ann@example.{end}"}
            for name, end in (("Ann Lee", "org"), ("Ann L\u0435e", "net"))
        ]
        for record in records:
            await desk.call("tell", records=[record], space="account")
        rows = (await desk.call("find", space="account", kinds=["entity"]))["found"]
    else:
        await desk.saltmere()
        rows = [{"id": await somebody(desk, name)} for name in ("Ann Lee", "Ann L\u0435e")]
    return desk, [row["id"] for row in rows]


async def somebody(desk: Desk, name: str) -> str:
    claim = {"kind": "entity", "name": name, "type": "character"}
    said = await desk.call("propose", claims=[claim], space="Saltmere")
    of = [said["verdicts"][0]["proposal"]]
    made = await desk.call("decide", verdict="accept", of=of, reason="So.", space="Saltmere")
    return str(made["verdicts"][0]["id"])


async def pairs(desk: Desk, space: str) -> list[set[str]]:
    listed = (await desk.call("review", what="duplicates", space=space))["duplicates"]
    return [{row["id"], row["and"]} for row in listed]


@pytest.mark.parametrize("space", ["account", "Saltmere"])
async def test_two_that_are_kept_apart_are_no_duplicates_until_that_is_ended(space: str) -> None:
    desk, two = await two_of_one_name(space)
    assert set(two) in await pairs(desk, space)
    asked: dict[str, Any] = {"verdict": "separate", "reason": "Cousins.", "space": space}

    said = await desk.call("decide", of=two, **asked)
    assert set(two) not in await pairs(desk, space)
    again = await desk.call("decide", of=two[::-1], **asked)
    assert again["id"] == said["id"], "it is said once"
    why = await desk.call("get", of=said["id"], space=space)
    assert why["properties"] == {"reason": "Cousins."}

    await desk.call("decide", verdict="end", of=[said["id"]], space=space)
    assert set(two) in await pairs(desk, space)
    anew = await desk.call("decide", of=two, **asked)
    assert anew["id"] != said["id"]


async def test_who_is_one_already_is_not_kept_apart_from_itself() -> None:
    desk, two = await two_of_one_name("Saltmere")
    await desk.call("decide", verdict="merge", of=two, space="Saltmere")
    error = await desk.refused("decide", verdict="separate", of=two, space="Saltmere")
    assert error["details"]["reason"] == "entity.already-merged"


async def test_those_who_were_merged_with_one_of_the_two_are_kept_apart_with_it() -> None:
    desk, two = await two_of_one_name("Saltmere")
    cousin = await somebody(desk, "The Cousin")
    await desk.call("decide", verdict="separate", of=two, space="Saltmere")
    await desk.call("decide", verdict="merge", of=[cousin, two[0]], space="Saltmere")

    assert {cousin, two[1]} not in await pairs(desk, "Saltmere")


async def test_other_relations_of_an_account_are_not_ended_by_a_word() -> None:
    desk, two = await two_of_one_name("account")
    claim = {"kind": "relation", "from": two[0], "to": two[1], "type": "DEPENDS_ON"}
    await desk.call("propose", claims=[claim], space="account")
    (tie,) = (await desk.call("find", kinds=["relation"], space="account"))["found"]
    error = await desk.refused("decide", verdict="end", of=[tie["id"]], space="account")
    assert error["details"]["reason"] == "space.not-told"


async def test_whom_one_is_kept_apart_from_says_nothing_of_a_third() -> None:
    desk, two = await two_of_one_name("Saltmere")
    third = await somebody(desk, "Ann L\u0435\u0435")
    asked: dict[str, Any] = {"verdict": "separate", "reason": "Cousins.", "space": "Saltmere"}

    first = await desk.call("decide", of=two, **asked)
    other = await desk.call("decide", of=[two[0], third], **asked)

    assert first["id"] != other["id"]
    left = await pairs(desk, "Saltmere")
    assert {two[1], third} in left
    assert set(two) not in left


async def test_claims_of_an_account_are_refused_before_any_of_them_is_written() -> None:
    desk = a_desk()
    ann = {"kind": "entity", "name": "Ann", "type": "person"}
    works = {"kind": "relation", "from": "Ann", "type": "works for", "to": "Ann"}
    wrong = {"kind": "correction", "of": "nobody", "field": "phone", "value": "1"}
    nameless = {"kind": "entity", "name": " ", "type": "person"}

    refused = [
        await desk.refused("propose", claims=[ann, claim], space="account")
        for claim in (works, wrong, nameless)
    ]

    told = [error["details"]["path"] for error in refused]
    assert told == ["/claims/1/to", "/claims/1/of", "/claims/1/name"]
    assert (await desk.call("find", space="account"))["found"] == []


async def test_a_claim_that_an_account_cannot_take_is_told_beside_those_that_it_took() -> None:
    desk = a_desk()
    people = [{"kind": "entity", "name": name, "type": "person"} for name in ("Ann", "Bo")]
    tie = {"kind": "relation", "from": "Ann", "type": "refers to", "to": "Bo"}
    wrong = {"kind": "correction", "of": "Ann", "field": "birthday", "value": "soon"}

    told = await desk.call("propose", claims=[tie, *people, wrong], space="account")

    assert (told["accepted"], told["of"]) == (3, 4)
    assert [row["verdict"] for row in told["verdicts"]] == [*["accepted"] * 3, "rejected"]
    assert told["verdicts"][3]["rule"] == "correction.value"

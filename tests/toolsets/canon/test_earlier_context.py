"""Context and find at a time: what held and who people were then, and nothing that never was."""

from typing import Any

import pytest

from tests.toolsets.canon.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio
PEOPLE = [
    {"kind": "entity", "name": name, "type": kind}
    for name, kind in (
        ("Ana", "character"),
        ("Bo", "character"),
        ("Ashford", "location"),
        ("Birch", "location"),
    )
]


async def a_town() -> ToolDriver:
    driver = make_driver()
    await driver.call("open", name="Vale", about="A valley")
    await driver.call("propose", said="They live there.", claims=PEOPLE)
    return driver


async def relate_entities(driver: ToolDriver, rel_type: str, to: str, **more: Any) -> str:
    claim = {"kind": "relation", "from": "Ana", "type": rel_type, "to": to, **more}
    reply = await driver.call("propose", said=f"Ana {rel_type} {to}.", claims=[claim])
    return str(reply["verdicts"][0]["id"])


async def ids_from_reads(driver: ToolDriver, at: str | None) -> list[set[str]]:
    """The ids that each way to read about Ana shows at a time."""
    when = {} if at is None else {"at": at}
    found = await driver.call("find", about="Ana", **when)
    by_words = await driver.call("find", text="where is Ana", kinds=["relation"], **when)
    briefs = [
        (await driver.call("context", **ask, **when))["brief"]
        for ask in ({"of": "Ana"}, {"question": "where is Ana"})
    ]
    standing = [row for row in by_words["found"] if row.get("level") != "retconned"]
    rows = [{row["id"] for row in each} for each in (found["found"], standing)]
    return [*rows, *({part.partition("}")[0] for part in b.split("{")[1:]} for b in briefs)]


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("dated", [False, True])
@pytest.mark.parametrize("rel_type", ["LOCATED_IN", "MEMBER_OF", "OWNS"])
async def test_a_retconned_relation_holds_at_no_time(
    rel_type: str, dated: bool, repeated: bool
) -> None:
    driver = await a_town()
    when = {"when": "1410-01-01"} if dated else {}
    wrong = await relate_entities(driver, rel_type, "Ashford", **when)
    if repeated:
        assert wrong == await relate_entities(driver, rel_type, "Ashford", when="1412-01-01")
    kept = await relate_entities(driver, "KNOWS", "Bo")
    for each in await ids_from_reads(driver, "1415-01-01"):
        assert wrong in each

    await driver.call("decide", verdict="retcon", of=[wrong], reason="It was another Ana.")

    for at in (None, "1411-01-01", "1415-01-01"):
        for each in await ids_from_reads(driver, at):
            assert wrong not in each
            assert kept in each


async def test_a_relation_ended_by_a_retconned_one_holds_again() -> None:
    driver = await a_town()
    home = await relate_entities(driver, "LIVES_IN", "Ashford", when="1400-01-01")
    wrong = await relate_entities(driver, "LIVES_IN", "Birch", when="1410-01-01")
    await driver.call("decide", verdict="retcon", of=[wrong], reason="She never moved.")

    for each in await ids_from_reads(driver, "1415-01-01"):
        assert home in each
        assert wrong not in each


@pytest.mark.parametrize("ask", [{"of": "Ana"}, {"question": "Ana of the valley"}])
async def test_a_context_in_the_past_uses_names_and_states_of_then(ask: dict[str, str]) -> None:
    driver = await a_town()
    for tag, when in (("alive", "1400-01-01"), ("dead", "1420-01-01")):
        state = {"kind": "state", "of": "Ana", "tags": [tag], "when": when}
        await driver.call("propose", said=f"Ana is {tag}.", claims=[state])

    heads = {}
    for at in (None, "1395-01-01", "1405-01-01", "1425-01-01"):
        brief = (await driver.call("context", **ask, **({} if at is None else {"at": at})))["brief"]
        line = next(line for line in brief.splitlines() if line.startswith("- Ana (char"))
        heads[at] = line.partition(" {")[0]

    assert heads == {
        None: "- Ana (character) [dead]",
        "1395-01-01": "- Ana (character)",
        "1405-01-01": "- Ana (character) [alive]",
        "1425-01-01": "- Ana (character) [dead]",
    }


async def test_the_brief_of_each_scene_names_one_place() -> None:
    driver = await a_town()
    towns = {"One": "Ashford", "Two": "Birch", "Three": "Ashford"}
    for scene, town in towns.items():
        turns = [{"by": "Ana", "text": f"I go to {town}."}]
        reply = await driver.call("tell", scene=scene, turns=turns)
        move = {"kind": "relation", "from": "Ana", "type": "LOCATED_IN", "to": town}
        await driver.call("propose", claims=[move], evidence=[reply["turns"][0]["id"]])

    briefs = {scene: (await driver.call("context", of=scene))["brief"] for scene in towns}

    for scene, town in towns.items():
        lines = [line for line in briefs[scene].splitlines() if "located in" in line]
        assert [line.partition(" {")[0] for line in lines] == [f"- Ana located in {town}"]


async def test_the_brief_of_a_scene_names_no_later_place() -> None:
    driver = await a_town()
    for scene in ("One", "Two", "Three"):
        turns = [{"by": "gm", "text": f"It is scene {scene}."}]
        await driver.call("tell", scene=scene, turns=turns, end_scene=f"{scene} is over.")

    briefs = [(await driver.call("context", of=each))["brief"] for each in ("One", "Two", "Three")]

    found = [
        [name for name in ("One", "Two", "Three") if f"{name} is over" in brief.partition("##")[2]]
        for brief in briefs
    ]
    assert found == [[], ["One"], ["One", "Two"]]

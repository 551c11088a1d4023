"""A new entity that may be a known one waits for one answer; an obvious one does not."""

from typing import Any

import pytest

from tests.toolsets.canon.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio

JOHN = {"name": "John", "type": "character", "says": "a smith", "tags": ["alive"]}
MONK = {"name": "John", "type": "character", "says": "a monk who died long ago", "tags": ["dead"]}


async def propose_entities(
    driver: ToolDriver, *claims: dict[str, Any], **more: Any
) -> dict[str, Any]:
    """Propose entities, and other claims that have a kind, in one call."""
    full = [{"kind": "entity", **each} for each in claims]
    return await driver.call("propose", said="So it is.", claims=full, space="Game", **more)


async def a_game(*claims: dict[str, Any]) -> ToolDriver:
    driver = make_driver()
    await driver.call("open", name="Game")
    for claim in claims:
        assert (await propose_entities(driver, claim))["accepted"] == 1
    return driver


async def first_question(driver: ToolDriver, *claims: dict[str, Any]) -> dict[str, Any]:
    """The row of the first claim, which waits for an answer."""
    reply = await propose_entities(driver, *claims)
    row: dict[str, Any] = reply["verdicts"][0]
    assert (row["verdict"], row["rule"]) == ("needs review", "gate:entity-known"), reply
    assert row["against"][0]["grade"] == "possible"
    assert row["proposal"] in reply["hint"]
    return row


async def find_called(driver: ToolDriver, name: str) -> list[dict[str, Any]]:
    found = await driver.call("find", text=name, kinds=["entity"], space="Game")
    return [each for each in found["found"] if each["name"] == name]


async def test_a_namesake_waits_and_another_person_is_one_answer() -> None:
    driver = await a_game(JOHN)

    row = await first_question(driver, MONK, {"kind": "fact", "says": "John wore a grey habit"})
    (smith,) = await find_called(driver, "John")
    done = await driver.call("decide", verdict="separate", of=[row["proposal"]])

    assert smith["tags"] == ["alive"]
    assert [each["verdict"] for each in done["verdicts"]] == ["accepted", "accepted"]
    both = {each["says"]: each["tags"] for each in await find_called(driver, "John")}
    assert both == {"a smith": ["alive"], "a monk who died long ago": ["dead"]}
    monk = await driver.call("get", of=done["verdicts"][0]["id"])
    assert [each["says"] for each in monk["facts"]] == ["John wore a grey habit"]
    assert (await driver.call("review", space="Game"))["waiting"] == []


async def test_choosing_the_known_entity_is_one_answer() -> None:
    driver = await a_game(JOHN)

    row = await first_question(driver, MONK)
    known = row["against"][0]["id"]
    done = await driver.call("decide", verdict="merge", of=[known, row["proposal"]])

    assert done["verdicts"] == [{"proposal": row["proposal"], "verdict": "accepted", "id": known}]
    (john,) = await find_called(driver, "John")
    assert (john["tags"], john["says"]) == (["dead"], "a monk who died long ago")


async def test_a_former_name_alone_identifies_nobody() -> None:
    driver = await a_game({"name": "Hall", "type": "location", "says": "a hall of stone"})
    renamed = {"kind": "correction", "of": "Hall", "field": "name", "value": "Palace"}
    await driver.call("propose", claims=[{**renamed, "says": "It was renamed."}], space="Game")

    row = await first_question(driver, {"name": "Hall", "type": "location", "says": "a barn"})
    await driver.call("decide", verdict="separate", of=["Palace", row["proposal"]])

    assert (await driver.call("get", of="Palace"))["says"] == "a hall of stone"
    assert (await driver.call("get", of="Hall"))["says"] == "a barn"


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ({"name": "Mercury", "type": "concept"}, {"name": "Mercury", "type": "character"}),
        ({"name": "Red Band", "type": "faction"}, {"name": "red band", "type": "organization"}),
        (
            {"name": "Door", "type": "object", "tags": ["open"]},
            {"name": "Door", "type": "object", "tags": ["closed"]},
        ),
        (
            {"name": "Ana", "type": "character", "fields": {"birthplace": "Ostmark"}},
            {"name": "Ana", "type": "character", "fields": {"birthplace": "Torland"}},
        ),
        (
            {"name": "Ilse", "type": "character", "says": "die Tochter des Müllers"},
            {"name": "Ilse", "type": "character", "says": "eine alte Hexe"},
        ),
        ({"name": "Anna Berg", "type": "character"}, {"name": "Anna", "type": "character"}),
        ({"name": "Roke", "type": "character"}, {"name": "Captain Roke", "type": "character"}),
        ({"name": "Zo\u00eb", "type": "character"}, {"name": "Zoe", "type": "character"}),
        (
            {"name": "anna@berg.example", "type": "character"},
            {"name": "Anna", "type": "character", "fields": {"email": "Anna@Berg.example"}},
        ),
        (
            {"name": "Ana", "type": "character", "fields": {"email": "ana@sea.example"}},
            {"name": "Bea", "type": "character", "fields": {"email": "ana@sea.example"}},
        ),
        (
            {"name": "Ana", "type": "character", "fields": {"aliases": ["The Fox"]}},
            {"name": "The Fox", "type": "character", "says": "a thief"},
        ),
    ],
)
async def test_contradictory_details_make_a_new_entity_wait(
    known: dict[str, Any], new: dict[str, Any]
) -> None:
    driver = await a_game(known)
    before = await driver.call("get", of=known["name"])

    await first_question(driver, new)

    assert await driver.call("get", of=known["name"]) == before


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"says": "a smith of great strength"},
        {"says": "The best smith"},
        {"tags": ["wounded"]},
        {"tags": ["alive"]},
        {"fields": {"hp": 3}},
    ],
)
async def test_an_obvious_repetition_restates_the_entity_without_question(
    more: dict[str, Any],
) -> None:
    driver = await a_game(JOHN | {"fields": {"hp": 9}})

    reply = await propose_entities(driver, {"name": "john", "type": "character", **more})

    assert reply["verdicts"][0]["verdict"] == "accepted", reply
    assert len(await find_called(driver, "John")) == 1


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (("Anna Berg", "Karl Berg"), "character"),
        (("Anna", "Annabel"), "character"),
        (("Old Tom", "Old Mary"), "character"),
        (("Berg House", "Berg"), "location"),
    ],
)
async def test_partially_shared_names_are_no_question(names: tuple[str, str], kind: str) -> None:
    driver = await a_game(*({"name": each, "type": kind} for each in names))

    assert [len(await find_called(driver, each)) for each in names] == [1, 1]


async def test_names_of_one_call_belong_to_several_entities() -> None:
    driver = await a_game()

    reply = await propose_entities(
        driver, *({"name": each, "type": "character"} for each in ("Anna Berg", "Anna", "Berg"))
    )

    assert reply["accepted"] == 3


async def test_a_claim_can_name_the_intended_entity_at_once() -> None:
    driver = await a_game(JOHN)

    other = await propose_entities(driver, MONK | {"same_as": "nobody"})
    same = await propose_entities(
        driver, MONK | {"says": "a smith, slain", "same_as": other["verdicts"][0]["id"]}
    )

    assert (other["accepted"], same["accepted"]) == (1, 1)
    assert {each["says"] for each in await find_called(driver, "John")} == {
        "a smith",
        "a smith, slain",
    }
    error = await driver.refused(
        "propose", claims=[{"kind": "entity", **MONK, "same_as": "Jonas"}], space="Game"
    )
    assert error["details"]["reason"] == "name.unknown"


async def test_the_fitting_namesake_is_meant_and_a_bare_name_is_questioned() -> None:
    driver = await a_game(JOHN)
    await propose_entities(driver, MONK | {"same_as": "nobody"})

    fits = await propose_entities(
        driver, {"name": "John", "type": "character", "says": "a monk of Ford"}
    )
    row = await first_question(driver, {"name": "John", "type": "character"})

    assert fits["accepted"] == 1
    assert len(row["against"]) == 2


async def test_a_dead_namesake_who_acts_may_be_another_person() -> None:
    driver = await a_game(JOHN | {"tags": ["dead"]})

    row = await first_question(
        driver,
        {"name": "John", "type": "character"},
        {"kind": "event", "says": "John opens the gate", "who": ["John"]},
    )
    done = await driver.call("decide", verdict="separate", of=[row["proposal"]])

    assert [each["verdict"] for each in done["verdicts"]] == ["accepted", "accepted"]


async def test_a_later_judging_keeper_is_asked_about_acting_dead_too() -> None:
    driver = await a_game(JOHN | {"tags": ["dead"]})
    guest = make_driver("Contributor", beside=driver)
    opens = {"kind": "event", "says": "John opens the gate", "who": ["John"]}

    kept = await propose_entities(guest, {"name": "John", "type": "character"}, opens)
    of = [row["proposal"] for row in kept["verdicts"]]
    done = await driver.call("decide", verdict="judge", of=of)

    assert [each["rule"] for each in done["verdicts"]] == [
        each["rule"] for each in kept["verdicts"]
    ]
    assert done["verdicts"][0]["rule"] == "gate:entity-known"


async def test_facts_about_the_known_entity_can_contradict_identity() -> None:
    driver = await a_game(JOHN)
    await propose_entities(driver, {"kind": "fact", "says": "John was born in Torland"})

    row = await first_question(
        driver, {"name": "John", "type": "character", "says": "born in Ostmark"}
    )

    assert "born in Torland" in row["because"]


async def test_a_contributor_learns_the_form_and_a_keeper_answers() -> None:
    driver = await a_game(JOHN)
    guest = make_driver("Contributor", beside=driver)

    row = (await propose_entities(guest, MONK))["verdicts"][0]
    sure = await propose_entities(guest, MONK | {"same_as": "nobody"})
    done = await driver.call("decide", verdict="separate", of=[row["proposal"]])

    assert row["rule"] == "gate:entity-known"
    assert sure["verdicts"][0]["verdict"] == "accepted"
    assert done["verdicts"][0]["verdict"] == "accepted"


async def test_a_waived_namesake_is_another_entity() -> None:
    driver = await a_game(JOHN)
    row = await first_question(driver, MONK)
    (smith,) = (each["id"] for each in row["against"])

    await driver.call("decide", verdict="waive", of=[row["proposal"]], other=smith, reason="Two.")
    done = await driver.call("decide", verdict="judge", of=[row["proposal"]])

    assert done["verdicts"][0]["verdict"] == "accepted"
    assert len(await find_called(driver, "John")) == 2


async def test_only_a_proposed_entity_can_equal_a_known_one() -> None:
    driver = await a_game(JOHN)
    wrong = {"kind": "fact", "says": "John sings", "confidence": 0.1}
    row = (await driver.call("propose", claims=[wrong], space="Game"))["verdicts"][0]

    error = await driver.refused("decide", verdict="merge", of=["John", row["proposal"]])

    assert error["details"]["reason"] == "decide.no-entity"


async def test_a_secret_namesake_asks_no_question() -> None:
    driver = await a_game()
    await propose_entities(driver, JOHN | {"for": ["gm"]})
    guest = make_driver("Contributor", beside=driver)

    reply = await propose_entities(guest, MONK)

    assert reply["verdicts"][0]["verdict"] == "accepted"

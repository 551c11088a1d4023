"""A new entity that may be a known one waits for one answer; an obvious one does not."""

from typing import Any

import pytest

from tests.toolsets.canon.kit import Desk, a_desk

pytestmark = pytest.mark.anyio

JOHN = {"name": "John", "type": "character", "says": "a smith", "tags": ["alive"]}
MONK = {"name": "John", "type": "character", "says": "a monk who died long ago", "tags": ["dead"]}


async def told(desk: Desk, *claims: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Propose entities, and other claims that have a kind, in one call."""
    full = [{"kind": "entity", **each} for each in claims]
    return await desk.call("propose", said="So it is.", claims=full, space="Game", **more)


async def a_game(*claims: dict[str, Any]) -> Desk:
    desk = a_desk()
    await desk.call("open", name="Game")
    for claim in claims:
        assert (await told(desk, claim))["accepted"] == 1
    return desk


async def asked(desk: Desk, *claims: dict[str, Any]) -> dict[str, Any]:
    """The row of the first claim, which waits for an answer."""
    reply = await told(desk, *claims)
    row: dict[str, Any] = reply["verdicts"][0]
    assert (row["verdict"], row["rule"]) == ("needs review", "gate:entity-known"), reply
    assert row["against"][0]["grade"] == "possible"
    assert row["proposal"] in reply["hint"]
    return row


async def called(desk: Desk, name: str) -> list[dict[str, Any]]:
    found = await desk.call("find", text=name, kinds=["entity"], space="Game")
    return [each for each in found["found"] if each["name"] == name]


async def test_r4_a_namesake_waits_and_another_one_is_one_answer() -> None:
    desk = await a_game(JOHN)

    row = await asked(desk, MONK, {"kind": "fact", "says": "John wore a grey habit"})
    (smith,) = await called(desk, "John")
    done = await desk.call("decide", verdict="separate", of=[row["proposal"]])

    assert smith["tags"] == ["alive"]
    assert [each["verdict"] for each in done["verdicts"]] == ["accepted", "accepted"]
    both = {each["says"]: each["tags"] for each in await called(desk, "John")}
    assert both == {"a smith": ["alive"], "a monk who died long ago": ["dead"]}
    monk = await desk.call("get", of=done["verdicts"][0]["id"])
    assert [each["says"] for each in monk["facts"]] == ["John wore a grey habit"]
    assert (await desk.call("review", space="Game"))["waiting"] == []


async def test_r4_the_known_one_is_one_answer_and_then_what_is_said_of_it_holds() -> None:
    desk = await a_game(JOHN)

    row = await asked(desk, MONK)
    known = row["against"][0]["id"]
    done = await desk.call("decide", verdict="merge", of=[known, row["proposal"]])

    assert done["verdicts"] == [{"proposal": row["proposal"], "verdict": "accepted", "id": known}]
    (john,) = await called(desk, "John")
    assert (john["tags"], john["says"]) == (["dead"], "a monk who died long ago")


async def test_r4_a_former_name_alone_restates_nobody() -> None:
    desk = await a_game({"name": "Hall", "type": "location", "says": "a hall of stone"})
    renamed = {"kind": "correction", "of": "Hall", "field": "name", "value": "Palace"}
    await desk.call("propose", claims=[{**renamed, "says": "It was renamed."}], space="Game")

    row = await asked(desk, {"name": "Hall", "type": "location", "says": "a barn"})
    await desk.call("decide", verdict="separate", of=["Palace", row["proposal"]])

    assert (await desk.call("get", of="Palace"))["says"] == "a hall of stone"
    assert (await desk.call("get", of="Hall"))["says"] == "a barn"


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
async def test_r4_what_speaks_against_one_entity_makes_the_new_one_wait(
    known: dict[str, Any], new: dict[str, Any]
) -> None:
    desk = await a_game(known)
    before = await desk.call("get", of=known["name"])

    await asked(desk, new)

    assert await desk.call("get", of=known["name"]) == before


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
async def test_r4_what_is_obviously_the_same_restates_it_without_a_question(
    more: dict[str, Any],
) -> None:
    desk = await a_game(JOHN | {"fields": {"hp": 9}})

    reply = await told(desk, {"name": "john", "type": "character", **more})

    assert reply["verdicts"][0]["verdict"] == "accepted", reply
    assert len(await called(desk, "John")) == 1


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (("Anna Berg", "Karl Berg"), "character"),
        (("Anna", "Annabel"), "character"),
        (("Old Tom", "Old Mary"), "character"),
        (("Berg House", "Berg"), "location"),
    ],
)
async def test_r4_names_that_only_share_something_are_no_question(
    names: tuple[str, str], kind: str
) -> None:
    desk = await a_game(*({"name": each, "type": kind} for each in names))

    assert [len(await called(desk, each)) for each in names] == [1, 1]


async def test_r4_names_of_one_call_are_names_of_several() -> None:
    desk = await a_game()

    reply = await told(
        desk, *({"name": each, "type": "character"} for each in ("Anna Berg", "Anna", "Berg"))
    )

    assert reply["accepted"] == 3


async def test_r4_a_claim_can_say_at_once_which_one_it_is() -> None:
    desk = await a_game(JOHN)

    other = await told(desk, MONK | {"same_as": "nobody"})
    same = await told(
        desk, MONK | {"says": "a smith, slain", "same_as": other["verdicts"][0]["id"]}
    )

    assert (other["accepted"], same["accepted"]) == (1, 1)
    assert {each["says"] for each in await called(desk, "John")} == {"a smith", "a smith, slain"}
    error = await desk.refused(
        "propose", claims=[{"kind": "entity", **MONK, "same_as": "Jonas"}], space="Game"
    )
    assert error["details"]["reason"] == "name.unknown"


async def test_r4_of_two_namesakes_the_one_that_fits_is_meant_and_a_bare_name_is_a_question() -> (
    None
):
    desk = await a_game(JOHN)
    await told(desk, MONK | {"same_as": "nobody"})

    fits = await told(desk, {"name": "John", "type": "character", "says": "a monk of Ford"})
    row = await asked(desk, {"name": "John", "type": "character"})

    assert fits["accepted"] == 1
    assert len(row["against"]) == 2


async def test_r4_a_dead_one_who_acts_may_be_another_one() -> None:
    desk = await a_game(JOHN | {"tags": ["dead"]})

    row = await asked(
        desk,
        {"name": "John", "type": "character"},
        {"kind": "event", "says": "John opens the gate", "who": ["John"]},
    )
    done = await desk.call("decide", verdict="separate", of=[row["proposal"]])

    assert [each["verdict"] for each in done["verdicts"]] == ["accepted", "accepted"]


async def test_r4_a_keeper_who_judges_later_is_asked_about_a_dead_one_who_acts_too() -> None:
    desk = await a_game(JOHN | {"tags": ["dead"]})
    guest = a_desk("Contributor", beside=desk)
    opens = {"kind": "event", "says": "John opens the gate", "who": ["John"]}

    kept = await told(guest, {"name": "John", "type": "character"}, opens)
    of = [row["proposal"] for row in kept["verdicts"]]
    done = await desk.call("decide", verdict="judge", of=of)

    assert [each["rule"] for each in done["verdicts"]] == [
        each["rule"] for each in kept["verdicts"]
    ]
    assert done["verdicts"][0]["rule"] == "gate:entity-known"


async def test_r4_facts_told_of_the_known_one_speak_against_it() -> None:
    desk = await a_game(JOHN)
    await told(desk, {"kind": "fact", "says": "John was born in Torland"})

    row = await asked(desk, {"name": "John", "type": "character", "says": "born in Ostmark"})

    assert "born in Torland" in row["because"]


async def test_r4_a_contributor_learns_how_to_say_it_and_a_keeper_answers() -> None:
    desk = await a_game(JOHN)
    guest = a_desk("Contributor", beside=desk)

    row = (await told(guest, MONK))["verdicts"][0]
    sure = await told(guest, MONK | {"same_as": "nobody"})
    done = await desk.call("decide", verdict="separate", of=[row["proposal"]])

    assert row["rule"] == "gate:entity-known"
    assert sure["verdicts"][0]["verdict"] == "accepted"
    assert done["verdicts"][0]["verdict"] == "accepted"


async def test_r4_a_waived_namesake_is_another_one() -> None:
    desk = await a_game(JOHN)
    row = await asked(desk, MONK)
    (smith,) = (each["id"] for each in row["against"])

    await desk.call("decide", verdict="waive", of=[row["proposal"]], other=smith, reason="Two.")
    done = await desk.call("decide", verdict="judge", of=[row["proposal"]])

    assert done["verdicts"][0]["verdict"] == "accepted"
    assert len(await called(desk, "John")) == 2


async def test_r4_only_a_proposed_entity_is_the_same_as_a_known_one() -> None:
    desk = await a_game(JOHN)
    wrong = {"kind": "fact", "says": "John sings", "confidence": 0.1}
    row = (await desk.call("propose", claims=[wrong], space="Game"))["verdicts"][0]

    error = await desk.refused("decide", verdict="merge", of=["John", row["proposal"]])

    assert error["details"]["reason"] == "decide.no-entity"


async def test_r4_a_secret_namesake_asks_no_question() -> None:
    desk = await a_game()
    await told(desk, JOHN | {"for": ["gm"]})
    guest = a_desk("Contributor", beside=desk)

    reply = await told(guest, MONK)

    assert reply["verdicts"][0]["verdict"] == "accepted"

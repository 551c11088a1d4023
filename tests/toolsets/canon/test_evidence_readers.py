"""The words behind a secret: whoever may not see a claim reads none of what proves it."""

import json
from typing import Any

import pytest

from canonry.recall.usecases.passage_parts import passage_changes
from tests.toolsets.canon.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio
SECRET = "The crown is zyxophant glass"
WORDS = "The master whispers that the crown is zyxophant glass."
OUTSIDERS = ("Reader", "Contributor")
READS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("find", {"text": "what does the master whisper of the crown"}),
    ("find", {"text": "crown", "limit": 50}),
    ("find", {"kinds": ["document"]}),
    ("find", {"about": "Ana"}),
    ("changes", {}),
    ("review", {}),
    ("context", {"of": "Ana"}),
    ("context", {"question": "What does the master say of the crown?"}),
    ("get", {"of": "Ana", "full": True}),
    ("timeline", {"about": "Ana"}),
    ("spaces", {}),
)


async def a_game() -> ToolDriver:
    """A space in which Ana, Bo and the crown are known to everybody."""
    driver = make_driver()
    await driver.call("open", name="Saltmere", about="A harbour in a game")
    claims = [
        {"kind": "entity", "name": "Ana", "type": "character"},
        {"kind": "entity", "name": "Bo", "type": "character"},
        {"kind": "entity", "name": "Crown", "type": "object"},
    ]
    await driver.call("propose", said="Ana and Bo look at the crown.", claims=claims)
    return driver


def a_secret(*readers: str, **more: Any) -> dict[str, Any]:
    return {"kind": "fact", "says": SECRET, "about": ["Crown"], "for": [*readers], **more}


async def list_informed(driver: ToolDriver, *, known: str = "zyxophant") -> dict[str, bool]:
    """For each agent type whether any reading tool tells the secret word."""
    reported = {}
    for agent in (*OUTSIDERS, "Keeper"):
        asking = make_driver(agent, driver)
        results = [await asking.outcome(tool, given) for tool, given in READS]
        assert [each.error for each in results] == [None] * len(READS)
        answers = [each.text for each in results]
        reported[agent] = any(known in answer for answer in answers)
    return reported


HIDDEN = {"Reader": False, "Contributor": False, "Keeper": True}


async def test_evidence_has_the_readers_of_its_claim() -> None:
    driver = await a_game()
    reply = await driver.call("propose", said=WORDS, claims=[a_secret("gm")])

    assert reply["accepted"] == 1
    assert await list_informed(driver) == HIDDEN


async def test_a_character_in_the_audience_reads_the_evidence() -> None:
    driver = await a_game()
    ana = (await driver.call("get", of="Ana"))["id"]
    await driver.call("propose", said=WORDS, claims=[a_secret("Ana")])

    asked = {"text": "what does the master whisper of the crown", "full": True}
    inside = await make_driver("Reader", driver, characters=frozenset((ana,))).call("find", **asked)
    outside = await make_driver("Reader", driver).call("find", **asked)

    assert WORDS in json.dumps(inside)
    assert "zyxophant" not in json.dumps(outside)


async def test_evidence_of_public_and_secret_claims_is_for_the_fewer_readers() -> None:
    driver = await a_game()
    public = {"kind": "fact", "says": "The crown is heavy", "about": ["Crown"]}
    reply = await driver.call("propose", said=WORDS, claims=[public, a_secret("gm")])

    assert reply["accepted"] == 2
    assert await list_informed(driver) == HIDDEN
    assert "The crown is heavy" in json.dumps(
        await make_driver("Reader", driver).call("get", of="Crown")
    )


async def test_evidence_of_secrets_with_different_readers_is_for_the_keeper() -> None:
    driver = await a_game()
    ids = [(await driver.call("get", of=name))["id"] for name in ("Ana", "Bo")]
    other = {"kind": "fact", "says": "The crown is cursed", "about": ["Crown"], "for": ["Bo"]}
    reply = await driver.call("propose", said=WORDS, claims=[a_secret("Ana"), other])
    asked = {"text": "what does the master whisper", "full": True, "kinds": ["passage"]}
    found = [
        json.dumps(
            await make_driver("Reader", driver, characters=frozenset((one,))).call("find", **asked)
        )
        for one in ids
    ]

    assert reply["accepted"] == 2
    assert [WORDS in one for one in found] == [False, False]
    assert SECRET in json.dumps(
        await make_driver("Reader", driver, characters=frozenset((ids[0],))).call("get", of="Crown")
    )
    assert WORDS in json.dumps(await make_driver("Keeper", driver).call("find", **asked))


async def test_text_about_a_secret_entity_is_secret_without_for() -> None:
    driver = await a_game()
    spy = {"kind": "entity", "name": "Zed zyxophant", "type": "character", "for": ["gm"]}
    acts = {"kind": "event", "says": "Zed zyxophant steals in", "about": ["Zed zyxophant"]}
    together = await driver.call("propose", said="Zed zyxophant steals in.", claims=[spy, acts])
    later = await driver.call(
        "propose",
        said="Zed zyxophant sneers.",
        claims=[{"kind": "state", "of": "Zed zyxophant", "tags": ["smug"]}],
    )
    gone = await driver.call(
        "propose",
        said="Zed zyxophant never was.",
        claims=[{"kind": "retcon", "of": "Zed zyxophant", "says": "no zyxophant"}],
    )

    assert (together["accepted"], later["accepted"], gone["accepted"]) == (2, 1, 1)
    assert "Claim 0 has a limited audience" in later["hint"]
    assert await list_informed(driver) == HIDDEN


async def test_a_public_repetition_of_secret_text_stays_public() -> None:
    driver = await a_game()
    await driver.call("propose", said=WORDS, claims=[a_secret("gm")])
    heavy = {"kind": "fact", "says": "The crown is heavy", "about": ["Crown"]}
    reply = await driver.call("propose", said=WORDS, claims=[heavy])

    assert reply["accepted"] == 1
    assert (await list_informed(driver, known="crown is heavy"))["Reader"]


async def test_documents_and_turns_take_for() -> None:
    driver = await a_game()
    note = await driver.call("tell", text=WORDS, title="A zyxophant note", **{"for": ["gm"]})
    public = await driver.call("tell", scene="Hall", turns=[{"by": "gm", "text": "You enter."}])
    turns = [{"by": "gm", "text": WORDS}]
    whispered = await driver.call("tell", scene="Hall", turns=turns, **{"for": ["gm"]})
    secret = await driver.call("tell", scene="Zyxophant cellar", turns=turns, **{"for": ["gm"]})
    await driver.call("tell", scene="Hall", turns=[{"by": "gm", "text": "You leave."}])

    assert note["passages"][0]["says"].startswith("The master whispers")
    assert (whispered["scene"], "opened" in whispered) == (public["scene"], False)
    assert "more readers" in whispered["hint"]
    assert await list_informed(driver) == HIDDEN
    room = await make_driver("Reader", driver).call("get", of="Hall")
    assert [turn["says"] for turn in room["turns_said"]] == ["You enter.", "You leave."]
    for gone in (secret["scene"], note["document"], whispered["turns"][0]["id"]):
        error = await make_driver("Reader", driver).refused("get", of=gone)
        assert "zyxophant" not in json.dumps(error).lower()


async def test_only_the_summary_of_a_secret_scene_is_secret() -> None:
    driver = await a_game()
    turns = [{"by": "gm", "text": "It is dark."}]
    await driver.call("tell", scene="Cellar", turns=turns, **{"for": ["gm"]})
    await driver.call("tell", scene="Cellar", end_scene=WORDS)
    await driver.call("tell", scene="Hall", turns=turns)
    error = await driver.refused("tell", scene="Hall", end_scene=WORDS, **{"for": ["gm"]})

    assert error["code"] == "tell.summary-readers" or "summary" in error["message"]
    assert await list_informed(driver) == HIDDEN


async def test_public_evidence_stays_public_and_the_reply_says_so() -> None:
    driver = await a_game()
    room = await driver.call("tell", scene="Hall", turns=[{"by": "gm", "text": "Crowns glitter."}])
    turn = room["turns"][0]["id"]
    reply = await driver.call("propose", claims=[a_secret("gm", evidence=[turn])])

    assert reply["accepted"] == 1
    assert f"turn:{turn} (public)" in reply["hint"]
    assert await list_informed(driver) == HIDDEN
    assert "Crowns glitter" in json.dumps(
        await make_driver("Reader", driver).call("get", of="Hall")
    )


async def test_a_claim_based_on_a_whisper_is_for_its_hearers() -> None:
    driver = await a_game()
    room = await driver.call("tell", scene="Hall", turns=[{"by": "gm", "text": "You enter."}])
    assert room["opened"]
    arguments = {"turns": [{"by": "gm", "text": WORDS}], "for": ["gm"]}
    turn = (await driver.call("tell", scene="Hall", **arguments))["turns"][0]["id"]
    claim = {"kind": "fact", "says": SECRET, "about": ["Crown"], "evidence": [turn]}
    reply = await driver.call("propose", claims=[claim])

    assert reply["accepted"] == 1
    assert "Claim 0 has a limited audience" in reply["hint"]
    assert await list_informed(driver) == HIDDEN


async def test_nobody_records_text_that_they_may_not_read() -> None:
    driver = await a_game()
    asking = make_driver("Contributor", driver)
    for given in (
        {"text": WORDS, "title": "Note", "for": ["gm"]},
        {"scene": "Hall", "turns": [{"by": "gm", "text": WORDS}], "for": ["Bo"]},
    ):
        error = await asking.refused("tell", **given)
        assert "a character whom you play" in error["message"]
    error = await asking.refused("propose", said=WORDS, claims=[a_secret("gm")])
    assert "a character whom you play" in error["message"]


async def test_a_public_claim_against_a_secret_quotes_nothing_of_it() -> None:
    driver = await a_game()
    await driver.call("propose", said=WORDS, claims=[a_secret("gm")])
    denied = {"kind": "fact", "says": "The crown is not zyxophant glass", "about": ["Crown"]}
    reply = await make_driver("Contributor", driver).call(
        "propose", said="Bo says so.", claims=[denied]
    )

    assert "whispers" not in json.dumps(reply)
    assert "against" not in reply["verdicts"][0]


async def test_decide_reveals_a_whisper_and_a_scene() -> None:
    driver = await a_game()
    await driver.call("tell", scene="Hall", turns=[{"by": "gm", "text": "You enter."}])
    whispered = {"turns": [{"by": "gm", "text": WORDS}], "for": ["gm"]}
    turn = (await driver.call("tell", scene="Hall", **whispered))["turns"][0]["id"]
    cellar = (await driver.call("tell", scene="Cellar", **whispered))["scene"]
    reader = make_driver("Reader", driver)

    assert "zyxophant" not in json.dumps(await reader.call("get", of="Hall"))
    for one in (turn, cellar):
        await driver.call("decide", verdict="reveal", of=[one], reason="Bo overhears it")

    assert WORDS in json.dumps(await reader.call("get", of="Hall"))
    assert WORDS in json.dumps(await reader.call("get", of=cellar))


async def test_a_turn_is_not_embedded_with_a_preceding_whisper() -> None:
    driver = await a_game()
    said = [{"by": "gm", "text": "You enter."}]
    await driver.call("tell", scene="Hall", turns=said)
    whispered = {"turns": [{"by": "gm", "text": WORDS}], "for": ["gm"]}
    whisper = await driver.call("tell", scene="Hall", **whispered)
    loud = await driver.call("tell", scene="Hall", turns=[{"by": "gm", "text": "You leave."}])
    ids = [one["turns"][0]["id"] for one in (whisper, loud)]
    changes = await passage_changes(driver.canon.state, driver.canon.documents, ids)
    texts = {part.passage.id: part.text for part in changes.parts}

    assert "You enter." in texts[ids[0]]
    assert "zyxophant" not in texts[ids[1]]


async def test_a_game_master_sees_the_readers_of_a_secret() -> None:
    driver = await a_game()
    ana = (await driver.call("get", of="Ana"))["id"]
    await driver.call("propose", said=WORDS, claims=[a_secret("Ana")])
    brief = await driver.call("context", question="What does Bo know of the crown?")
    (row,) = (await driver.call("find", about="Crown", kinds=["fact"]))["found"]
    own = await make_driver("Reader", driver, characters=frozenset((ana,))).call(
        "find", about="Crown"
    )

    assert row["for"] == ["Ana"]
    assert f"{SECRET} (only for Ana)" in json.dumps(brief)
    assert "for" not in own["found"][0]

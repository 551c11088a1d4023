"""The words behind a secret: whoever may not see a claim reads none of what proves it."""

import json
from typing import Any

import pytest

from canonry.recall.usecases.passage_parts import passage_changes
from tests.toolsets.canon.kit import Desk, a_desk

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


async def a_game() -> Desk:
    """A space in which Ana, Bo and the crown are known to everybody."""
    desk = a_desk()
    await desk.call("open", name="Saltmere", about="A harbour in a game")
    claims = [
        {"kind": "entity", "name": "Ana", "type": "character"},
        {"kind": "entity", "name": "Bo", "type": "character"},
        {"kind": "entity", "name": "Crown", "type": "object"},
    ]
    await desk.call("propose", said="Ana and Bo look at the crown.", claims=claims)
    return desk


def a_secret(*readers: str, **more: Any) -> dict[str, Any]:
    return {"kind": "fact", "says": SECRET, "about": ["Crown"], "for": [*readers], **more}


async def told_to(desk: Desk, *, known: str = "zyxophant") -> dict[str, bool]:
    """For each agent type whether any reading tool tells the secret word."""
    told = {}
    for agent in (*OUTSIDERS, "Keeper"):
        asking = a_desk(agent, desk)
        results = [await asking.outcome(tool, given) for tool, given in READS]
        assert [each.error for each in results] == [None] * len(READS)
        answers = [each.text for each in results]
        told[agent] = any(known in answer for answer in answers)
    return told


HIDDEN = {"Reader": False, "Contributor": False, "Keeper": True}


async def test_r1_what_was_said_has_the_readers_of_its_claim() -> None:
    desk = await a_game()
    reply = await desk.call("propose", said=WORDS, claims=[a_secret("gm")])

    assert reply["accepted"] == 1
    assert await told_to(desk) == HIDDEN


async def test_r1_a_character_in_the_audience_reads_the_words() -> None:
    desk = await a_game()
    ana = (await desk.call("get", of="Ana"))["id"]
    await desk.call("propose", said=WORDS, claims=[a_secret("Ana")])

    asked = {"text": "what does the master whisper of the crown", "full": True}
    inside = await a_desk("Reader", desk, characters=frozenset((ana,))).call("find", **asked)
    outside = await a_desk("Reader", desk).call("find", **asked)

    assert WORDS in json.dumps(inside)
    assert "zyxophant" not in json.dumps(outside)


async def test_r1_words_behind_a_public_and_a_secret_claim_are_for_the_fewer() -> None:
    desk = await a_game()
    public = {"kind": "fact", "says": "The crown is heavy", "about": ["Crown"]}
    reply = await desk.call("propose", said=WORDS, claims=[public, a_secret("gm")])

    assert reply["accepted"] == 2
    assert await told_to(desk) == HIDDEN
    assert "The crown is heavy" in json.dumps(await a_desk("Reader", desk).call("get", of="Crown"))


async def test_r1_words_behind_secrets_of_different_readers_are_for_the_keeper_alone() -> None:
    desk = await a_game()
    ids = [(await desk.call("get", of=name))["id"] for name in ("Ana", "Bo")]
    other = {"kind": "fact", "says": "The crown is cursed", "about": ["Crown"], "for": ["Bo"]}
    reply = await desk.call("propose", said=WORDS, claims=[a_secret("Ana"), other])
    asked = {"text": "what does the master whisper", "full": True, "kinds": ["passage"]}
    found = [
        json.dumps(await a_desk("Reader", desk, characters=frozenset((one,))).call("find", **asked))
        for one in ids
    ]

    assert reply["accepted"] == 2
    assert [WORDS in one for one in found] == [False, False]
    assert SECRET in json.dumps(
        await a_desk("Reader", desk, characters=frozenset((ids[0],))).call("get", of="Crown")
    )
    assert WORDS in json.dumps(await a_desk("Keeper", desk).call("find", **asked))


async def test_r1_words_about_somebody_secret_are_secret_without_for() -> None:
    desk = await a_game()
    spy = {"kind": "entity", "name": "Zed zyxophant", "type": "character", "for": ["gm"]}
    acts = {"kind": "event", "says": "Zed zyxophant steals in", "about": ["Zed zyxophant"]}
    together = await desk.call("propose", said="Zed zyxophant steals in.", claims=[spy, acts])
    later = await desk.call(
        "propose",
        said="Zed zyxophant sneers.",
        claims=[{"kind": "state", "of": "Zed zyxophant", "tags": ["smug"]}],
    )
    gone = await desk.call(
        "propose",
        said="Zed zyxophant never was.",
        claims=[{"kind": "retcon", "of": "Zed zyxophant", "says": "no zyxophant"}],
    )

    assert (together["accepted"], later["accepted"], gone["accepted"]) == (2, 1, 1)
    assert "Claim 0 has a limited audience" in later["hint"]
    assert await told_to(desk) == HIDDEN


async def test_r1_a_public_repetition_of_secret_words_stays_public() -> None:
    desk = await a_game()
    await desk.call("propose", said=WORDS, claims=[a_secret("gm")])
    heavy = {"kind": "fact", "says": "The crown is heavy", "about": ["Crown"]}
    reply = await desk.call("propose", said=WORDS, claims=[heavy])

    assert reply["accepted"] == 1
    assert (await told_to(desk, known="crown is heavy"))["Reader"]


async def test_r1_documents_and_turns_take_for() -> None:
    desk = await a_game()
    note = await desk.call("tell", text=WORDS, title="A zyxophant note", **{"for": ["gm"]})
    public = await desk.call("tell", scene="Hall", turns=[{"by": "gm", "text": "You enter."}])
    turns = [{"by": "gm", "text": WORDS}]
    whispered = await desk.call("tell", scene="Hall", turns=turns, **{"for": ["gm"]})
    secret = await desk.call("tell", scene="Zyxophant cellar", turns=turns, **{"for": ["gm"]})
    await desk.call("tell", scene="Hall", turns=[{"by": "gm", "text": "You leave."}])

    assert note["passages"][0]["says"].startswith("The master whispers")
    assert (whispered["scene"], "opened" in whispered) == (public["scene"], False)
    assert "more readers" in whispered["hint"]
    assert await told_to(desk) == HIDDEN
    hall = await a_desk("Reader", desk).call("get", of="Hall")
    assert [turn["says"] for turn in hall["turns_said"]] == ["You enter.", "You leave."]
    for gone in (secret["scene"], note["document"], whispered["turns"][0]["id"]):
        error = await a_desk("Reader", desk).refused("get", of=gone)
        assert "zyxophant" not in json.dumps(error).lower()


async def test_r1_the_summary_of_a_secret_scene_is_secret_and_of_a_public_one_is_not_for_few() -> (
    None
):
    desk = await a_game()
    turns = [{"by": "gm", "text": "It is dark."}]
    await desk.call("tell", scene="Cellar", turns=turns, **{"for": ["gm"]})
    await desk.call("tell", scene="Cellar", end_scene=WORDS)
    await desk.call("tell", scene="Hall", turns=turns)
    error = await desk.refused("tell", scene="Hall", end_scene=WORDS, **{"for": ["gm"]})

    assert error["code"] == "tell.summary-readers" or "summary" in error["message"]
    assert await told_to(desk) == HIDDEN


async def test_r1_evidence_that_was_public_stays_so_and_the_reply_says_it() -> None:
    desk = await a_game()
    hall = await desk.call("tell", scene="Hall", turns=[{"by": "gm", "text": "Crowns glitter."}])
    turn = hall["turns"][0]["id"]
    reply = await desk.call("propose", claims=[a_secret("gm", evidence=[turn])])

    assert reply["accepted"] == 1
    assert f"turn:{turn} (public)" in reply["hint"]
    assert await told_to(desk) == HIDDEN
    assert "Crowns glitter" in json.dumps(await a_desk("Reader", desk).call("get", of="Hall"))


async def test_r1_a_claim_that_rests_on_a_whisper_is_for_those_who_heard_it() -> None:
    desk = await a_game()
    hall = await desk.call("tell", scene="Hall", turns=[{"by": "gm", "text": "You enter."}])
    assert hall["opened"]
    told = {"turns": [{"by": "gm", "text": WORDS}], "for": ["gm"]}
    turn = (await desk.call("tell", scene="Hall", **told))["turns"][0]["id"]
    claim = {"kind": "fact", "says": SECRET, "about": ["Crown"], "evidence": [turn]}
    reply = await desk.call("propose", claims=[claim])

    assert reply["accepted"] == 1
    assert "Claim 0 has a limited audience" in reply["hint"]
    assert await told_to(desk) == HIDDEN


async def test_r1_nobody_keeps_words_that_they_may_not_read() -> None:
    desk = await a_game()
    asking = a_desk("Contributor", desk)
    for given in (
        {"text": WORDS, "title": "Note", "for": ["gm"]},
        {"scene": "Hall", "turns": [{"by": "gm", "text": WORDS}], "for": ["Bo"]},
    ):
        error = await asking.refused("tell", **given)
        assert "a character whom you play" in error["message"]
    error = await asking.refused("propose", said=WORDS, claims=[a_secret("gm")])
    assert "a character whom you play" in error["message"]


async def test_r1_a_public_claim_against_a_secret_quotes_nothing_of_it() -> None:
    desk = await a_game()
    await desk.call("propose", said=WORDS, claims=[a_secret("gm")])
    denied = {"kind": "fact", "says": "The crown is not zyxophant glass", "about": ["Crown"]}
    reply = await a_desk("Contributor", desk).call("propose", said="Bo says so.", claims=[denied])

    assert "whispers" not in json.dumps(reply)
    assert "against" not in reply["verdicts"][0]


async def test_r1_a_whisper_and_a_scene_come_out_by_decide_reveal() -> None:
    desk = await a_game()
    await desk.call("tell", scene="Hall", turns=[{"by": "gm", "text": "You enter."}])
    whispered = {"turns": [{"by": "gm", "text": WORDS}], "for": ["gm"]}
    turn = (await desk.call("tell", scene="Hall", **whispered))["turns"][0]["id"]
    cellar = (await desk.call("tell", scene="Cellar", **whispered))["scene"]
    reader = a_desk("Reader", desk)

    assert "zyxophant" not in json.dumps(await reader.call("get", of="Hall"))
    for one in (turn, cellar):
        await desk.call("decide", verdict="reveal", of=[one], reason="Bo overhears it")

    assert WORDS in json.dumps(await reader.call("get", of="Hall"))
    assert WORDS in json.dumps(await reader.call("get", of=cellar))


async def test_r1_a_turn_is_not_embedded_with_a_whisper_before_it() -> None:
    desk = await a_game()
    said = [{"by": "gm", "text": "You enter."}]
    await desk.call("tell", scene="Hall", turns=said)
    whispered = {"turns": [{"by": "gm", "text": WORDS}], "for": ["gm"]}
    whisper = await desk.call("tell", scene="Hall", **whispered)
    loud = await desk.call("tell", scene="Hall", turns=[{"by": "gm", "text": "You leave."}])
    ids = [one["turns"][0]["id"] for one in (whisper, loud)]
    changes = await passage_changes(desk.canon.state, desk.canon.documents, ids)
    texts = {part.passage.id: part.text for part in changes.parts}

    assert "You enter." in texts[ids[0]]
    assert "zyxophant" not in texts[ids[1]]


async def test_r1_a_game_master_reads_for_whom_a_secret_is() -> None:
    desk = await a_game()
    ana = (await desk.call("get", of="Ana"))["id"]
    await desk.call("propose", said=WORDS, claims=[a_secret("Ana")])
    brief = await desk.call("context", question="What does Bo know of the crown?")
    (row,) = (await desk.call("find", about="Crown", kinds=["fact"]))["found"]
    own = await a_desk("Reader", desk, characters=frozenset((ana,))).call("find", about="Crown")

    assert row["for"] == ["Ana"]
    assert f"{SECRET} (only for Ana)" in json.dumps(brief)
    assert "for" not in own["found"][0]

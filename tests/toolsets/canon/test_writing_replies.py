"""Replies of the writing verbs say what happened, who stated what, and what to do next."""

import base64
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from canonry.assistant.wording import HINTS
from canonry.canon.judging.gates import GATES
from canonry.canon.session.caller import LastUsed
from tests.toolsets.canon.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio

API = "The public API allows {} requests per second."
_DECIDED = re.compile(r"decide (\w+), of=(\[[^]]*\])")
_SETTLED = re.compile(r'(accept|reject|waive)(?:, other="([^"]+)")?')


async def a_dispute() -> tuple[ToolDriver, dict[str, Any]]:
    driver = make_driver(last_used=LastUsed())
    await driver.call("open", name="Platform", about="What the team runs.")
    for title, figure in (("Wiki", 100), ("Runbook", 150)):
        await driver.call("tell", title=title, text=API.format(figure))
        claims = [{"kind": "fact", "says": API.format(figure)}]
        reply = await driver.call("propose", claims=claims, evidence=title)
    return driver, reply


async def test_each_reply_about_a_dispute_names_both_sides() -> None:
    driver, reply = await a_dispute()

    review = await driver.call("review")
    item = await driver.call("get", of=API.format(150))
    other = await driver.call("get", of=API.format(100))

    assert reply["note"].startswith(f"May stand against it: Wiki says: {API.format(100)}")
    (row,) = reply["verdicts"]
    assert row["against"] == [{"id": other["id"], "grade": "possible"}]
    (row,) = review["waiting"]
    assert (row["said_by"], row["perhaps_against"][0]["said_by"]) == ("Runbook", "Wiki")
    assert [each["said_by"] for each in item["disputed"]] == ["Wiki"]
    assert [each["said_by"] for each in other["disputed"]] == ["Runbook"]


@pytest.mark.parametrize(
    ("verdict", "left"), [("accept", [150]), ("reject", [100]), ("waive", [100, 150])]
)
@pytest.mark.parametrize("expected", ["propose", "review"])
async def test_one_suggested_call_settles_a_dispute(
    verdict: str, left: list[int], expected: str
) -> None:
    driver, reply = await a_dispute()
    hint = (reply if expected == "propose" else await driver.call("review"))["hint"]
    of = json.loads(_DECIDED.search(hint)[2])  # type: ignore[index]
    others = {one[1]: one[2] for one in _SETTLED.finditer(hint) if one[2]}
    other = {"other": others[verdict]} if verdict in others else {}

    done = await driver.call("decide", verdict=verdict, of=of, reason="I asked.", **other)

    if verdict == "accept":
        assert done["note"].startswith(f"Retracted: {API.format(100)} Accepted: ")
    assert (await driver.call("review"))["waiting"] == []
    found = (await driver.call("find", text="requests", kinds=["fact"]))["found"]
    said = {row["says"] for row in found if "level" not in row}
    assert said == {API.format(figure) for figure in left}


@pytest.mark.parametrize(("verdict", "left"), [("accept", 2), ("waive", 2), ("reject", 1)])
async def test_accepting_keeps_compatible_values(verdict: str, left: int) -> None:
    driver = make_driver(last_used=LastUsed())
    await driver.call("open", name="Home", about="Our household.")
    sheds = ["The shed is 10 m long.", "The shed is about 11 m long."]
    listed = [await driver.call("propose", said=f"{e} So?", claims=[e]) for e in sheds]
    hints = [str(each.get("hint")) for each in listed]
    of, other = re.findall(r'"([0-9a-f-]{36})"', hints[1])

    hint = (await driver.call("review"))["hint"]
    named = {"other": other} if verdict == "waive" else {}
    done = await driver.call("decide", verdict=verdict, of=[of], reason="I measured.", **named)

    for each in (hints[1], hint):
        assert "keeps both; reject retracts this one" in each
        assert "retracts the other" not in each
    assert (await driver.call("review"))["waiting"] == []
    if verdict == "accept":
        assert "fallen" not in done["verdicts"][0]
        assert done["note"].endswith(f"Both stand, for both may be true; the other one: {sheds[0]}")
    found = (await driver.call("find", text="shed", kinds=["fact"]))["found"]
    assert len([row for row in found if "level" not in row]) == left


async def test_two_speakers_are_named_once_and_quotes_are_not_repeated() -> None:
    driver = make_driver()
    await driver.call("open", name="Home")
    await driver.call("propose", said="At eight.", claims=["Max's bedtime is 8 pm."])

    reply = await driver.call("propose", said="Dad says nine.", claims=["Max's bedtime is 9 pm."])

    (row,) = reply["verdicts"]
    assert row["because"] == "Contradicts: Max's bedtime is 8 pm."
    assert [{*each} for each in row["against"]] == [{"id", "grade"}]


def _calls_in(reply: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the calls in the hint of a reply, or in an error."""
    text = f"{reply.get('hint', '')} {reply.get('message', '')}"
    for one in _DECIDED.finditer(text):
        yield "decide", {"verdict": one[1], "of": json.loads(one[2]), "reason": "So it is."}
    for tool in ("propose", "decide"):
        for one in re.finditer(rf"{tool} (?={{)", text):
            yield tool, json.JSONDecoder().raw_decode(text[one.end() :])[0]
    details = reply.get("details", {})
    for call in (*details.get("calls", ()), *filter(None, (details.get("call"),))):
        yield call["tool"], call["arguments"]


ANA = {"kind": "entity", "name": "Ana Berg", "type": "person"}
TWIN = {"kind": "entity", "name": "Ana Lund", "type": "person"}


def claim_call(**claim: Any) -> tuple[str, dict[str, Any]]:
    return "propose", {"said": "So they say.", "claims": [claim]}


LETTER = ("tell", {"title": "Letter", "text": "Ana Berg is ill."})
ILL = {"kind": "fact", "says": "Ana Berg is ill.", "evidence": "Letter"}
FORGET = ("decide", {"verdict": "forget", "of": "Letter"})
HINTED: list[list[tuple[str, dict[str, Any]]]] = [
    [claim_call(kind="fact", says="Ana is well.")],
    [claim_call(kind="fact", says="Berg sleeps.", about="Ana")],
    [claim_call(kind="relation", type="KNOWS", to="Ana Berg", **{"from": "Bo"})],
    [claim_call(**{**ANA, "type": "village"})],
    [
        claim_call(kind="fact", says="Ana Berg weighs 60 kg."),
        claim_call(kind="fact", says="Ana Berg weighs 70 kg."),
    ],
    [LETTER, ("propose", {"claims": [ILL]}), FORGET],
    [LETTER, FORGET],
    [
        claim_call(kind="state", of="Ana Berg", tags=["dead"]),
        claim_call(kind="event", says="Ana Berg sings", who=["Ana Berg"]),
        ("decide", {"verdict": "undo"}),
    ],
    [("get", {"of": "Ana"})],
    [("get", {"of": "Ana Bergg"})],
]


@pytest.mark.parametrize("steps", HINTED)
async def test_each_call_in_a_hint_or_error_works(
    steps: list[tuple[str, dict[str, Any]]],
) -> None:
    driver = make_driver(last_used=LastUsed())
    await driver.call("open", name="Home")
    await driver.call("propose", said="Two.", claims=[ANA, TWIN])
    for tool, arguments in steps:
        body = (await driver.outcome(tool, arguments)).body
    calls = list(_calls_in(body.get("error", body)))

    assert calls, body
    for tool, arguments in calls:
        await driver.call(tool, **arguments)


@pytest.mark.parametrize(
    ("claims", "start"),
    [
        (
            ["Cy's bedtime is 8 pm."],
            'No entity is linked to "Cy\'s bedtime is 8 pm.": find shows it by',
        ),
        (
            [{"kind": "event", "says": "Cy sings"}],
            'No entity is linked to "Cy sings": find shows it by',
        ),
        (
            ["The blue room seats 8.", "The blue room is warm."],
            'No entity is linked to "The blue room seats 8." and "The blue room is warm.": find',
        ),
    ],
)
async def test_claims_about_nobody_known_are_named_once(claims: list[Any], start: str) -> None:
    driver = make_driver()
    await driver.call("open", name="Home")

    reply = await driver.call("propose", said="So.", claims=claims)

    assert reply["hint"].startswith(start)
    assert reply["hint"].count("No entity is linked") == 1


async def test_a_time_in_words_is_shown_as_it_was_read() -> None:
    driver = make_driver()
    await driver.call("open", name="Home", about="Our household.")
    await driver.call("propose", said="Two.", claims=[ANA, TWIN])
    claims = [
        {"kind": "fact", "says": "Ana Berg is ill.", "when": "yesterday"},
        {"kind": "event", "says": "Ana Lund moved", "when": "in March 2024"},
        {"kind": "fact", "says": "Ana Lund has a dog.", "when": "2024-03-01"},
        {"kind": "fact", "says": "Ana Lund sings."},
    ]

    rows = (await driver.call("propose", said="So.", claims=claims))["verdicts"]

    times = [{one: row[one] for one in ("from", "when") if one in row} for row in rows]
    assert times == [
        {"from": "14 January 2025"},
        {"when": "March 2024"},
        {},
        {},
    ]


@pytest.mark.parametrize(
    ("stands", "claim", "can_change"),
    [
        ("Ana Berg weighs 60 kg.", "Ana Berg weighs 70 kg.", True),
        ("Ana Berg has two dogs.", "Ana Berg has three dogs.", True),
        ("Ana Lund is the mother of Ana Berg.", "Mia is the mother of Ana Berg.", False),
        ("Ana Berg has green eyes.", "Ana Berg has blue eyes.", False),
        ("Ana Berg was born in 1990.", "Ana Berg was born in 1991.", False),
    ],
)
async def test_another_time_is_advised_only_for_values_that_change(
    stands: str, claim: str, can_change: bool
) -> None:
    driver = make_driver(last_used=LastUsed())
    await driver.call("open", name="Home")
    await driver.call("propose", said="Two.", claims=[ANA, TWIN, stands])

    reply = await driver.call("propose", said="No.", claims=[claim])

    assert reply["note"] == "Refused 1 of 1."
    assert ("`when`" in reply["hint"]) is can_change
    assert "No entity is linked" not in reply["hint"]


async def test_an_undo_says_what_a_call_without_effect_left() -> None:
    driver = make_driver(last_used=LastUsed())
    await driver.call("open", name="Home")
    await driver.call("propose", said="Two.", claims=[ANA, "Ana Berg has green eyes."])
    await driver.call("propose", said="They are blue.", claims=["Ana Berg has blue eyes."])

    note = (await driver.call("decide", verdict="undo"))["note"]

    assert "changed no canon. Its refused claim and words stay: " in note
    assert "Ana Berg has blue eyes" in note
    assert "They are blue" in note


async def test_advice_on_rules_that_nobody_overrules_names_no_acceptance() -> None:
    driver = make_driver(last_used=LastUsed())
    await driver.call("open", name="Home")
    inside = {"kind": "relation", "from": "Ana Berg", "type": "located in", "to": "Ana Lund"}

    reply = await driver.call("propose", said="In her.", claims=[ANA, TWIN, inside])

    assert reply["hint"] == HINTS["gate:references-fit"]
    assert {one for one in HINTS if one.startswith("gate:")} <= {gate.id for gate in GATES}


async def test_words_for_arguments_are_read_as_their_values() -> None:
    driver = make_driver(last_used=LastUsed())
    await driver.call("open", name="Home", about="A fantasy game.")
    turns = [{"by": "gm", "text": "Rain."}]
    claim = {"kind": "fact", "says": "Ana Berg is tall.", "confidence": "high"}

    await driver.call("tell", scene="Tea", turns=turns)
    sure = await driver.call("propose", said="So.", claims=[ANA, claim], dry_run=True)
    kept = await driver.call("tell", scene="Tea", turns=turns, end_scene=False)
    dated = {"kind": "fact", "says": "Ana Lund is tall.", "when": "today"}
    error = await driver.refused("propose", said="So.", claims=[TWIN, dated])
    since = await driver.refused("changes", since="last session")
    closed = await driver.call("tell", scene="Tea", end_scene=True)

    assert sure["accepted"] == 2
    assert since["message"].endswith("Write a date, such as 2026-11-30, or words: an hour ago.")
    assert "closed" not in kept
    assert (closed["note"], closed["closed"]) == ("Closed: Tea.", True)
    assert "says" not in await driver.call("get", of="Tea")
    assert "Omit it for now, write a date, like" in error["message"]
    _, _, call = error["message"].partition("For example: tell ")
    assert json.loads(call)["scene"] == "Tea"


async def test_the_first_sentence_states_the_outcome() -> None:
    driver = make_driver(last_used=LastUsed())
    calls: list[tuple[str, dict[str, Any], str]] = [
        ("open", {"name": "Home"}, "Opened the space Home."),
        ("open", {"name": "home"}, "Nothing was opened"),
        ("tell", {"title": "Letter", "text": "Hello."}, "Recorded: Letter."),
        ("tell", {"title": "Letter", "text": "Hello."}, "Nothing new was recorded"),
        (
            "tell",
            {"scene": "Tea", "turns": [{"by": "user", "text": "Hi."}]},
            "Recorded: 1 turn.",
        ),
        ("tell", {"scene": "Tea", "end_scene": "Over."}, "Closed: Tea."),
        ("propose", {"said": "x", "claims": [ANA, TWIN]}, "Accepted 2 of 2."),
        ("propose", {"said": "x", "claims": [ANA], "dry_run": True}, "Would accept 1 of 1"),
        ("decide", {"verdict": "merge", "of": ["Ana Berg", "Ana Lund"]}, "Merged into: Ana Berg."),
        ("decide", {"verdict": "separate", "of": "Ana Lund"}, "Separated: Ana Lund."),
        ("decide", {"verdict": "retcon", "of": "Ana Lund", "reason": "x"}, "Retracted: Ana Lund."),
    ]
    for tool, arguments, note in calls:
        reply = await driver.call(tool, **arguments)
        assert reply["note"].startswith(note), reply


@pytest.mark.parametrize("readers", ["GM", "the game master", ["secret"]])
async def test_words_for_a_reader_are_read_and_the_first_sentence_names_the_reader(
    readers: Any,
) -> None:
    driver = make_driver()
    await driver.saltmere()
    secret = {"kind": "fact", "says": "Odo Brand owes Ilsa Vane", "for": readers}
    claims = [secret, {"kind": "fact", "says": "Odo Brand likes rum"}]

    told = await driver.call("tell", title="Whisper", text="Odo owes Ilsa.", **{"for": readers})
    both = await driver.call("propose", said="Two things.", claims=claims)

    assert told["note"] == "Recorded only for gm: Whisper."
    assert both["note"] == "Accepted 2 of 2, 1 of them only for gm."


@pytest.mark.parametrize(("about", "plain"), [("Our household.", True), ("A fantasy game.", False)])
async def test_game_words_are_used_only_for_games(about: str, plain: bool) -> None:
    driver = make_driver(last_used=LastUsed())
    await driver.call("open", name="Home", about=about)
    secret = {"kind": "fact", "says": "Ana Berg saves for a boat.", "for": ["owner"]}
    claims = [ANA, secret]
    await driver.call("propose", said="Hush.", claims=claims, authority="owner")
    replies = [
        await driver.call("get", of="Ana Berg"),
        await driver.call("get", of=secret["says"]),
        await driver.call("why", of=secret["says"]),
        await driver.call("context", of="Ana Berg"),
        await driver.refused("propose", claims=[secret], authority="nobody"),
    ]

    result = json.dumps(replies[:4])

    words = [word for word in ("gm", "keeper") if re.search(rf"\b{word}\b", result)]
    assert words == ([] if plain else ["gm"])


async def test_a_bank_line_is_named_by_its_counterparty() -> None:
    driver = make_driver(last_used=LastUsed())
    table = b"Date,Payee,Amount,Currency\n2026-11-03,Netflix,-12.99,EUR\n"
    file = {"file": base64.b64encode(table).decode(), "mime_type": "text/csv"}

    reply = await driver.call("tell", title="November", space="account", **file)

    (line,) = reply["entities"]
    assert (line["name"], line["fields"]) == ("Netflix", {"date": "2026-11-03", "amount": -12.99})
    found = (await driver.call("find", text="netflix", kinds=["entity"]))["found"]
    assert {row["name"] for row in found} == {"Netflix"}


async def test_a_recorded_text_is_named_as_found_and_account_secrets_are_kept() -> None:
    driver = make_driver(last_used=LastUsed())
    words = await driver.call("tell", text="Greta takes metformin.", space="account")
    claim = {"kind": "fact", "says": "Greta takes metformin.", "for": ["me"]}
    kept = await driver.call(
        "propose", claims=[claim], evidence=[words["document"]], space="account"
    )
    await driver.call("open", name="Bellmere", about="A fantasy game.")
    first = await driver.call("tell", title="Bell lore.txt", text="Dwarves cast the bell.")
    again = await driver.call("tell", title="Bell lore", text="Dwarves cast the bell.")

    assert "entities" not in words
    assert "as evidence in propose" in words["hint"]
    assert kept["note"] == "Accepted 1 of 1, only for the owner."
    assert "more readers" not in kept.get("hint", "")
    assert first["title"] == again["title"] == "Bell lore.txt"


@pytest.mark.parametrize(
    ("says", "idle"),
    [
        ("Tamar no longer keeps the lamp book", True),
        ("Tamar keeps the oil book instead of the lamp book", True),
        ("The lamp book is now kept by Tamar", True),
        ("Tamar keeps the lamp book", False),
        ("Tamar no longer lives in Ostry", False),
    ],
)
async def test_a_reply_says_that_a_change_ended_nothing(says: str, idle: bool) -> None:
    driver = make_driver()
    await driver.call("open", name="Lamps")
    claims = [{"kind": "entity", "name": "Tamar", "type": "person"}]
    claims.append({"kind": "fact", "says": "Tamar lives in Ostry"})
    await driver.call("propose", said="Tamar lives in Ostry.", claims=claims)

    reply = await driver.call("propose", said=says, claims=[{"kind": "fact", "says": says}])

    assert (f"Ended nothing that was told: {says}." in reply["note"]) is idle, reply["note"]

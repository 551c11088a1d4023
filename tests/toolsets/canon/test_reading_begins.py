"""What reading replies begin with, and what they list: the newest, open, and fitting items."""

from typing import Any

import pytest

from tests.toolsets.canon.kit import Desk, a_desk

pytestmark = pytest.mark.anyio

LIGHT = "Odo Brand keeps the light at Marrow"
BEGINNINGS: list[tuple[str, dict[str, Any], str]] = [
    ("find", {"text": "who keeps the light"}, "Found 1 passage and 1 fact."),
    ("find", {"text": "zebra"}, "Nothing is known about it here."),
    ("find", {"limit": 2}, "The list has 2 entities of "),
    ("find", {"kinds": ["event"]}, "Nothing that holds now of this kind is known here."),
    ("get", {"of": "Odo"}, "Odo Brand is known as character with "),
    ("get", {"of": LIGHT}, "This fact is canon."),
    ("why", {"of": LIGHT}, "This fact is canon; 1 piece of evidence is recorded for it."),
    ("timeline", {}, "Nothing with a time is known about it here."),
    ("review", {}, "Nothing needs a decision."),
    ("changes", {}, "Listed: the newest "),
    ("changes", {"since": "2100-01-01"}, "Nothing was recorded since then."),
    ("context", {"of": "Odo"}, "The brief has "),
    ("context", {"question": "zebra"}, "Nothing is known about it here."),
]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def desk() -> Desk:
    desk = a_desk()
    await desk.saltmere()
    return desk


@pytest.mark.parametrize(("tool", "asked", "first"), BEGINNINGS)
async def test_a_reading_reply_begins_with_what_was_found(
    desk: Desk, tool: str, asked: dict[str, Any], first: str
) -> None:
    reply = await desk.call(tool, **asked)

    assert next(iter(reply)) == "note"
    assert reply["note"].startswith(first)


async def test_what_was_retracted_and_what_ended_say_so_first() -> None:
    desk = a_desk()
    await desk.saltmere()
    for when, value in (("1900-01-01", "Roke"), ("1910-01-01", "Ilsa")):
        claim = {"kind": "fact", "says": f"The captain of the Petrel is {value}", "when": when}
        done = await desk.call("propose", said="So it is.", claims=[claim])
    roke = done["verdicts"][0]["ends"][0]

    ended = await desk.call("get", of=roke)
    await desk.call(
        "decide", verdict="retcon", of=["The captain of the Petrel is Ilsa"], reason="?"
    )
    again = await desk.call("why", of=roke)
    gone = await desk.call("get", of=done["verdicts"][0]["id"])

    assert ended["note"] == "This fact holds until 1910-01-01."
    assert again["note"].startswith("This fact is canon;")
    assert gone["note"] == "This fact was retracted and does not hold."


async def test_of_what_only_ended_a_search_says_so_without_listing_it() -> None:
    desk = a_desk()
    await desk.saltmere()
    owns = {"kind": "relation", "from": "Odo", "type": "owns", "to": "Marrow Lighthouse"}
    made = await desk.call("propose", said="His.", claims=[{**owns, "when": "1900-01-01"}])
    await desk.call("decide", verdict="end", of=[made["verdicts"][0]["id"]], when="1910-01-01")

    asked = {"kinds": ["relation"], "about": "Marrow Lighthouse"}
    now = await desk.call("find", text="who owns it", **asked)
    past, then = [
        (await desk.call("find", text="who owned it", **asked, **at))["found"]
        for at in ({}, {"at": "1905-01-01"})
    ]

    assert [row for row in now["found"] if "owns" in row["says"]] == []
    assert "1 item that ended" in now["note"]
    owned = "Odo Brand owns Marrow Lighthouse"
    assert [row["until"] for row in past if row["says"] == owned] == ["1910-01-01"]
    assert owned in [row["says"] for row in then]
    assert (await desk.call("get", of=owned))["id"] == made["verdicts"][0]["id"]


async def test_the_page_of_the_newest_changes_ends_with_the_newest() -> None:
    desk = a_desk()
    await desk.saltmere()
    for n in range(12):
        await desk.call("tell", title=f"Letter {n}", text=f"Letter {n}. " + 200 * "The sea. ")

    reply = await desk.call("changes")

    assert "Letter 11" in str(reply["changes"][-1])
    assert (reply["cursor"], reply["left"]) == (str(reply["changes"][-1]["at"]), 0)
    assert (await desk.call("changes", since=reply["cursor"]))["changes"] == []


async def test_documents_are_found_by_their_contents() -> None:
    desk = a_desk()
    await desk.saltmere()
    await desk.call("tell", title="ADR-3", text="We decided against RabbitMQ as the broker.")

    for text in ("broker decision", "which broker was decided against?"):
        found = await desk.call("find", text=text, kinds=["document"])
        assert [(row["kind"], row["name"]) for row in found["found"]] == [("document", "ADR-3")]
    every = await desk.call("find", text="broker")
    assert [row["kind"] for row in every["found"]] == ["passage"]


async def test_an_account_lists_refused_claims_until_their_contradiction_is_settled() -> None:
    desk = a_desk()
    first = {"kind": "fact", "says": "Rex weighs 12 kg"}
    other = {"kind": "fact", "says": "Rex weighs 15 kg"}
    for claim in (first, other):
        said = await desk.call("propose", said=claim["says"], claims=[claim], space="account")

    (row,) = (await desk.call("review", space="account"))["waiting"]
    assert (row["id"], row["status"]) == (said["verdicts"][0]["proposal"], "rejected")
    assert "12 kg" in row["because"]

    of = {"of": [row["id"]], "reason": "It was weighed again.", "space": "account"}
    await desk.call("decide", verdict="accept", **of)
    assert (await desk.call("review", space="account"))["waiting"] == []


SHOWN: list[tuple[dict[str, Any], str, str]] = [
    ({"kind": "relation", "from": "Odo", "type": "OWNS", "to": "Marrow"}, "why", "relation"),
    ({"kind": "event", "says": "The light of Odo Brand went out"}, "why", "event"),
    ({"kind": "state", "of": "Odo", "tags": ["calm"]}, "get", "fact"),
    ({"kind": "entity", "name": "Wim Haas", "type": "character"}, "get", "proposal"),
    ({"kind": "fact", "says": "Odo Brand was never born"}, "get", "proposal"),
]


@pytest.mark.parametrize(("claim", "tool", "kind"), SHOWN)
async def test_an_item_is_found_by_the_words_in_which_it_is_shown(
    claim: dict[str, Any], tool: str, kind: str
) -> None:
    desk = a_desk("Contributor" if kind == "proposal" else "Solo")
    keeper = a_desk("Keeper", beside=desk) if kind == "proposal" else desk
    await keeper.saltmere()
    evidence = {} if kind == "proposal" else {"said": "So it is."}
    await desk.call("propose", claims=[claim], space="Saltmere", **evidence)
    row = (
        (await keeper.call("review"))["waiting"][0]
        if kind == "proposal"
        else (await keeper.call("find", kinds=[kind], text="Odo Brand"))["found"][0]
    )

    for text in {row["says"], row["says"].partition(": ")[2] or row["says"].upper()}:
        assert (await keeper.call(tool, of=text))["id"] == row["id"]
    assert (await keeper.refused(tool, of=f"{row['says']} not"))["code"] == "NOT_FOUND"


@pytest.mark.parametrize("named", ["Emil", "emil", "Lorenz", "Emil Lorenz"])
async def test_notes_that_begin_with_a_name_are_not_meant_by_it(named: str) -> None:
    desk = a_desk()
    person = {"kind": "entity", "name": "Emil Lorenz", "type": "person"}
    await desk.call("propose", said="Emil Lorenz is my brother.", claims=[person], space="account")
    for text in ("Emil called.", "Emil and Mrs Lorenz came\nat noon"):
        await desk.call("tell", text=text, space="account")

    assert (await desk.call("get", of=named, space="account"))["name"] == "Emil Lorenz"
    assert (await desk.call("get", of="Emil called.", space="account"))["type"] == "note"
    claim = {"kind": "fact", "says": "Emil called."}
    made = await desk.call("propose", said="He called.", claims=[claim], space="account")
    fact = await desk.call("get", of=made["verdicts"][0]["id"], space="account")
    assert fact["about"] == ["Emil Lorenz"]


@pytest.mark.parametrize("says", ["She takes 850 mg of metformin a day", "The metformin is gone"])
async def test_a_fact_of_the_account_is_linked_to_the_small_names_in_it(says: str) -> None:
    desk = a_desk()
    drug = {"kind": "entity", "name": "metformin", "type": "medication"}
    await desk.call("propose", said="A drug.", claims=[drug], space="account")

    await desk.call("propose", said=says, claims=[{"kind": "fact", "says": says}], space="account")

    facts = (await desk.call("get", of="metformin", space="account"))["facts"]
    assert [row["says"] for row in facts] == [says]


CONFESSION = "Ida confesses to the fire at the tavern."
OTHER = "Odo Brand mended the well of the tavern."


@pytest.mark.parametrize("cited", ["document", "passage", "scene", "turn"])
async def test_words_that_tell_only_what_was_forgotten_are_no_answer_until_it_is_undone(
    cited: str,
) -> None:
    desk = a_desk()
    await desk.saltmere()
    if cited in {"document", "passage"}:
        told = await desk.call("tell", title="Cut", text=CONFESSION)
        await desk.call("tell", title="Well", text=OTHER)
        ids = {"document": told["document"], "passage": told["passages"][0]["id"]}
    else:
        turns = [{"by": "gm", "text": text} for text in (CONFESSION, OTHER)]
        told = await desk.call("tell", scene="Cut", turns=turns)
        ids = {"scene": told["scene"], "turn": told["turns"][0]["id"]}
    kept = {"kind": "fact", "says": OTHER}
    await desk.call("propose", claims=[kept], evidence=[ids.get("scene", "Well")])
    burnt = {"kind": "fact", "says": "Ida Vane set fire to the tavern."}
    await desk.call("propose", claims=[burnt], evidence=[ids[cited]])

    async def answers() -> str:
        found = await desk.call("find", text="who set fire to the tavern", limit=20)
        brief = await desk.call("context", question="who mended or set fire to the tavern")
        return f"{found} {brief['brief']}"

    before = await answers()
    await desk.call("decide", verdict="forget", of=["Ida Vane set fire to the tavern."])
    after = await answers()
    await desk.call("decide", verdict="undo")
    again = await answers()

    assert "confesses" in before
    assert "confesses" not in after
    assert burnt["says"] not in after
    assert OTHER in after
    assert "confesses" in again
    assert burnt["says"] in again

"""Replies to readers begin with a summary and list the newest, open and fitting items."""

from typing import Any

import pytest

from tests.toolsets.canon.kit import ToolDriver, make_driver

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
async def driver() -> ToolDriver:
    driver = make_driver()
    await driver.saltmere()
    return driver


@pytest.mark.parametrize(("tool", "asked", "first"), BEGINNINGS)
async def test_a_read_reply_begins_with_the_result(
    driver: ToolDriver, tool: str, asked: dict[str, Any], first: str
) -> None:
    reply = await driver.call(tool, **asked)

    assert next(iter(reply)) == "note"
    assert reply["note"].startswith(first)


async def test_retracted_and_ended_items_say_so_first() -> None:
    driver = make_driver()
    await driver.saltmere()
    for when, value in (("1900-01-01", "Roke"), ("1910-01-01", "Ilsa")):
        claim = {"kind": "fact", "says": f"The captain of the Petrel is {value}", "when": when}
        done = await driver.call("propose", said="So it is.", claims=[claim])
    roke = done["verdicts"][0]["ends"][0]

    ended = await driver.call("get", of=roke)
    await driver.call(
        "decide", verdict="retcon", of=["The captain of the Petrel is Ilsa"], reason="?"
    )
    again = await driver.call("why", of=roke)
    gone = await driver.call("get", of=done["verdicts"][0]["id"])

    assert ended["note"] == "This fact holds until 1 January 1910."
    assert again["note"].startswith("This fact is canon;")
    assert gone["note"] == "This fact was retracted and does not hold."


async def test_a_search_mentions_ended_items_without_listing_them() -> None:
    driver = make_driver()
    await driver.saltmere()
    owns = {"kind": "relation", "from": "Odo", "type": "owns", "to": "Marrow Lighthouse"}
    made = await driver.call("propose", said="His.", claims=[{**owns, "when": "1900-01-01"}])
    await driver.call("decide", verdict="end", of=[made["verdicts"][0]["id"]], when="1910-01-01")

    asked = {"kinds": ["relation"], "about": "Marrow Lighthouse"}
    now = await driver.call("find", text="who owns it", **asked)
    past, then = [
        (await driver.call("find", text="who owned it", **asked, **at))["found"]
        for at in ({}, {"at": "1905-01-01"})
    ]

    assert [row for row in now["found"] if "owns" in row["says"]] == []
    assert "1 item that ended" in now["note"]
    owned = "Odo Brand owns Marrow Lighthouse"
    assert [row["until"] for row in past if row["says"] == owned] == ["1 January 1910"]
    assert owned in [row["says"] for row in then]
    assert (await driver.call("get", of=owned))["id"] == made["verdicts"][0]["id"]


async def test_the_page_of_newest_changes_ends_with_the_newest() -> None:
    driver = make_driver()
    await driver.saltmere()
    for n in range(12):
        await driver.call("tell", title=f"Letter {n}", text=f"Letter {n}. " + 200 * "The sea. ")

    reply = await driver.call("changes")

    assert "Letter 11" in str(reply["changes"][-1])
    assert (reply["cursor"], reply["left"]) == (str(reply["changes"][-1]["at"]), 18)
    assert (await driver.call("changes", since=reply["cursor"]))["changes"] == []


async def test_documents_are_found_by_their_contents() -> None:
    driver = make_driver()
    await driver.saltmere()
    await driver.call("tell", title="ADR-3", text="We decided against RabbitMQ as the broker.")

    for text in ("broker decision", "which broker was decided against?"):
        found = await driver.call("find", text=text, kinds=["document"])
        assert [(row["kind"], row["name"]) for row in found["found"]] == [("document", "ADR-3")]
    every = await driver.call("find", text="broker")
    assert [row["kind"] for row in every["found"]] == ["passage"]


async def test_an_account_lists_refused_claims_until_settled() -> None:
    driver = make_driver()
    first = {"kind": "fact", "says": "Rex weighs 12 kg"}
    other = {"kind": "fact", "says": "Rex weighs 15 kg"}
    for claim in (first, other):
        said = await driver.call("propose", said=claim["says"], claims=[claim], space="account")

    (row,) = (await driver.call("review", space="account"))["waiting"]
    assert (row["id"], row["status"]) == (said["verdicts"][0]["proposal"], "refused")
    assert "12 kg" in row["because"]

    of = {"of": [row["id"]], "reason": "It was weighed again.", "space": "account"}
    await driver.call("decide", verdict="accept", **of)
    assert (await driver.call("review", space="account"))["waiting"] == []


SHOWN: list[tuple[dict[str, Any], str, str]] = [
    ({"kind": "relation", "from": "Odo", "type": "OWNS", "to": "Marrow"}, "why", "relation"),
    ({"kind": "event", "says": "The bell rang for Odo Brand"}, "why", "event"),
    ({"kind": "state", "of": "Odo", "tags": ["calm"]}, "get", "fact"),
    ({"kind": "entity", "name": "Wim Haas", "type": "character"}, "get", "proposal"),
    ({"kind": "fact", "says": "Odo Brand was never born"}, "get", "proposal"),
]


@pytest.mark.parametrize(("claim", "tool", "kind"), SHOWN)
async def test_an_item_is_found_by_its_displayed_words(
    claim: dict[str, Any], tool: str, kind: str
) -> None:
    driver = make_driver("Contributor" if kind == "proposal" else "Solo")
    keeper = make_driver("Keeper", beside=driver) if kind == "proposal" else driver
    await keeper.saltmere()
    evidence = {} if kind == "proposal" else {"said": "So it is."}
    await driver.call("propose", claims=[claim], space="Saltmere", **evidence)
    row = (
        (await keeper.call("review"))["waiting"][0]
        if kind == "proposal"
        else (await keeper.call("find", kinds=[kind], text="Odo Brand"))["found"][0]
    )

    for text in {row["says"], row["says"].partition(": ")[2] or row["says"].upper()}:
        assert (await keeper.call(tool, of=text))["id"] == row["id"]
    assert (await keeper.refused(tool, of=f"{row['says']} not"))["code"] == "NOT_FOUND"


@pytest.mark.parametrize("named", ["Emil", "emil", "Lorenz", "Emil Lorenz"])
async def test_notes_beginning_with_a_name_are_not_matched_by_it(named: str) -> None:
    driver = make_driver()
    person = {"kind": "entity", "name": "Emil Lorenz", "type": "person"}
    await driver.call(
        "propose", said="Emil Lorenz is my brother.", claims=[person], space="account"
    )
    for text in ("Emil called.", "Emil and Mrs Lorenz came\nat noon"):
        await driver.call("tell", text=text, space="account")

    assert (await driver.call("get", of=named, space="account"))["name"] == "Emil Lorenz"
    assert (await driver.call("get", of="Emil called.", space="account"))["type"] == "note"
    claim = {"kind": "fact", "says": "Emil called."}
    made = await driver.call("propose", said="He called.", claims=[claim], space="account")
    fact = await driver.call("get", of=made["verdicts"][0]["id"], space="account")
    assert fact["about"] == ["Emil Lorenz"]


@pytest.mark.parametrize("says", ["She takes 850 mg of metformin a day", "The metformin is gone"])
async def test_an_account_fact_links_to_lower_case_names_in_it(says: str) -> None:
    driver = make_driver()
    drug = {"kind": "entity", "name": "metformin", "type": "medication"}
    await driver.call("propose", said="A drug.", claims=[drug], space="account")

    await driver.call(
        "propose", said=says, claims=[{"kind": "fact", "says": says}], space="account"
    )

    facts = (await driver.call("get", of="metformin", space="account"))["facts"]
    assert [row["says"] for row in facts] == [says]


CONFESSION = "Ida confesses to the fire at the tavern."
OTHER = "Odo Brand mended the well of the tavern."


@pytest.mark.parametrize("cited", ["document", "passage", "scene", "turn"])
async def test_forgotten_words_are_no_answer_until_undone(
    cited: str,
) -> None:
    driver = make_driver()
    await driver.saltmere()
    if cited in {"document", "passage"}:
        reply = await driver.call("tell", title="Cut", text=CONFESSION)
        await driver.call("tell", title="Well", text=OTHER)
        ids = {"document": reply["document"], "passage": reply["passages"][0]["id"]}
    else:
        turns = [{"by": "gm", "text": text} for text in (CONFESSION, OTHER)]
        reply = await driver.call("tell", scene="Cut", turns=turns)
        ids = {"scene": reply["scene"], "turn": reply["turns"][0]["id"]}
    kept = {"kind": "fact", "says": OTHER}
    await driver.call("propose", claims=[kept], evidence=[ids.get("scene", "Well")])
    burnt = {"kind": "fact", "says": "Ida Vane set fire to the tavern."}
    await driver.call("propose", claims=[burnt], evidence=[ids[cited]])

    async def answers() -> str:
        found = await driver.call("find", text="who set fire to the tavern", limit=20)
        brief = await driver.call("context", question="who mended or set fire to the tavern")
        return f"{found} {brief['brief']}"

    before = await answers()
    await driver.call("decide", verdict="forget", of=["Ida Vane set fire to the tavern."])
    after = await answers()
    await driver.call("decide", verdict="undo")
    again = await answers()

    assert "confesses" in before
    assert "confesses" not in after
    assert burnt["says"] not in after
    assert OTHER in after
    assert "confesses" in again
    assert burnt["says"] in again

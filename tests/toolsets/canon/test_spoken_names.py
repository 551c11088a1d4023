"""People name items with an article, by an office, by a title or by words of their own."""

from typing import Any

import pytest

from tests.toolsets.canon.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio

TOWN = [
    {"kind": "entity", "name": "Ana Berg", "type": "person"},
    {"kind": "entity", "name": "Bo Lind", "type": "innkeeper"},
    {"kind": "entity", "name": "Cy Marr", "type": "sailor"},
    {"kind": "entity", "name": "Saltmere", "type": "town"},
    {"kind": "entity", "name": "The Petrel", "type": "ship"},
    {"kind": "entity", "name": "Petrel Rock", "type": "island"},
    {"kind": "fact", "says": "Ana Berg is the mayor of Saltmere."},
    {"kind": "fact", "says": "Bo Lind is our landlord."},
    {"kind": "fact", "says": "Cy Marr is my dentist."},
    {"kind": "relation", "from": "Bo Lind", "type": "captain of", "to": "The Petrel"},
]


async def a_town() -> ToolDriver:
    driver = make_driver()
    await driver.call("open", name="The Salt Road")
    await driver.call("propose", said="So it is.", claims=TOWN)
    return driver


async def test_names_match_with_articles_and_offices_by_their_holders() -> None:
    driver = await a_town()
    meant = {
        "Petrel": "The Petrel",
        "die Petrel": "The Petrel",
        "the Saltmere": "Saltmere",
        "the mayor": "Ana Berg",
        "the Mayor of Saltmere": "Ana Berg",
        "our landlord": "Bo Lind",
        "my dentist": "Cy Marr",
        "the innkeeper": "Bo Lind",
        "the captain of the Petrel": "Bo Lind",
    }

    found = {named: (await driver.call("get", of=named))["name"] for named in meant}

    assert found == meant
    assert (await driver.call("find", text="mayor", space="salt road"))["found"]
    assert (await driver.refused("get", of="the queen"))["details"]["reason"] == "name.unknown"
    assert (await driver.refused("get", of="landlord"))["details"]["reason"] == "name.unknown"


async def test_an_office_depends_on_time_and_two_holders_are_offered() -> None:
    driver = await a_town()
    await driver.call(
        "decide", verdict="end", of="Bo Lind captain of The Petrel", when="2024-03-01"
    )
    later = {"kind": "relation", "from": "Cy Marr", "type": "captain of", "to": "The Petrel"}
    await driver.call("propose", said="Cy.", claims=[{**later, "when": "2024-03-01"}])
    knows = {"kind": "relation", "from": "the captain", "type": "KNOWS", "to": "our landlord"}
    await driver.call("propose", said="They know each other.", claims=[knows])

    assert (await driver.call("get", of="the captain of the Petrel"))["name"] == "Cy Marr"
    assert await driver.call("get", of="Cy Marr knows Bo Lind")
    await driver.call("propose", said="Ana, too.", claims=[{**later, "from": "Ana Berg"}])
    claims = [{**knows, "type": "TRUSTS"}]
    error = await driver.refused("propose", said="Trust.", claims=claims)
    assert len(error["details"]["candidates"]) == 2
    calls = error["details"]["calls"]
    assert len(calls) == 2
    for call in calls:
        assert (await driver.call(call["tool"], **call["arguments"]))["accepted"] == 1


async def test_a_secret_office_names_nobody_for_others() -> None:
    driver = await a_town()
    secret = {"kind": "fact", "says": "Cy Marr is the spymaster of Saltmere.", "for": ["gm"]}
    await driver.call("propose", said="Hush.", claims=[secret])
    player = make_driver("Contributor", beside=driver)

    assert (await driver.call("get", of="the spymaster"))["name"] == "Cy Marr"
    error = await player.refused("get", of="the spymaster", space="The Salt Road")
    assert error["details"]["reason"] == "name.unknown"
    assert "Cy Marr" not in str(error)


async def test_the_error_for_an_unknown_end_shows_a_call_that_adds_it() -> None:
    driver = await a_town()
    wed = {"kind": "relation", "from": "Bo Lind", "type": "MARRIED_TO", "to": "Isa Lind"}

    error = await driver.refused("propose", said="Bo is married.", claims=[wed])

    assert "candidates" not in error["details"]  # Bo Lind himself is none
    call = error["details"]["call"]
    assert (await driver.call(call["tool"], **call["arguments"]))["accepted"] == 2


async def test_a_document_is_an_end_of_a_relation_by_its_title() -> None:
    driver = make_driver()
    await driver.call("open", name="Platform")
    for title in ("ADR-3", "ADR-9"):
        await driver.call("tell", title=title, text=f"{title} is about brokers.")
    claims = [{"kind": "relation", "from": "adr-9", "type": "supersedes", "to": "ADR-3"}]

    reply = await driver.call("propose", claims=claims, evidence="ADR-9")

    assert reply["accepted"] == reply["of"] == 1
    assert "Linked to documents recorded before: ADR-9, ADR-3." in reply["note"]
    assert (await driver.call("get", of="ADR-9 supersedes ADR-3"))["kind"] == "relation"
    assert (await driver.call("get", of="ADR-3"))["kind"] == "document"
    assert (await driver.call("propose", claims=claims, evidence="ADR-9"))["of"] == 1


@pytest.mark.parametrize(
    "claim",
    [
        {"kind": "relation", "from": "ADR-9", "type": "obsoletes", "to": "ADR-3"},
        {"kind": "relation", "from": "ADR-3", "type": "replaced by", "to": "ADR-9"},
        {"kind": "fact", "says": "ADR-9 replaces ADR-3."},
        {"kind": "fact", "says": "ADR-3 was overturned by ADR-9."},
    ],
)
async def test_statements_of_a_superseded_document_end_or_are_named(claim: dict[str, Any]) -> None:
    driver = make_driver()
    await driver.call("open", name="Platform")
    for title, used in (("ADR-3", "Redpanda"), ("ADR-9", "Pulsar")):
        await driver.call("tell", title=title, text=f"{title}. The pipeline uses {used}.")
    said = ("The pipeline uses Redpanda.", "We decided against Kafka.")
    claims = [{"kind": "fact", "says": each} for each in said]
    ids = [
        e["id"] for e in (await driver.call("propose", claims=claims, evidence="ADR-3"))["verdicts"]
    ]
    other = [{"kind": "fact", "says": "We use Kafka for the pipeline."}]
    (used,) = (await driver.call("propose", claims=other, said="We do."))["verdicts"]
    new = {"kind": "fact", "says": "The pipeline uses Pulsar.", "when": "2024-11-30"}

    reply = await driver.call("propose", claims=[claim, new], evidence="ADR-9")

    assert reply["note"].startswith("Ended: ADR-3 says: The pipeline uses Redpanda. Linked")
    doubted = f'"We decided against Kafka." ({ids[1]}); "{other[0]["says"]}" ({used["id"]}).'
    assert reply["note"].endswith(f"May no longer hold: {doubted}")
    assert "Where one does not hold, propose what holds instead, or call decide" in reply["hint"]
    assert "ADR-9 supersedes it" in (await driver.call("get", of="ADR-3"))["note"]
    assert "superseded_by" not in await driver.call("get", of="ADR-9")
    back = await driver.call("decide", verdict="undo")
    assert back["note"].endswith("Holds again: The pipeline uses Redpanda.")
    assert "superseded_by" not in await driver.call("get", of="ADR-3")


async def test_a_replaced_person_is_no_superseded_document() -> None:
    driver = await a_town()
    says = "Cy Marr replaces Ana Berg as captain."
    await driver.call("propose", said=says, claims=[{"kind": "fact", "says": says}])

    assert (await driver.call("get", of="Ana Berg")).keys().isdisjoint({"tags", "superseded_by"})


@pytest.mark.parametrize("space", ["account", "Platform"])
async def test_a_text_is_forgotten_by_its_title_and_restored(space: str) -> None:
    driver = make_driver()
    await driver.call("open", name="Platform")
    await driver.call("tell", title="Deploy key", text="It is hunter2.", space=space)
    before = (await driver.call("find", text="hunter2", space=space))["found"]

    forgotten = await driver.call("decide", verdict="forget", of="deploy key", space=space)
    gone = (await driver.call("find", text="hunter2", space=space))["found"]
    undone = await driver.call("decide", verdict="undo", space=space)

    assert (forgotten["note"], gone) == ("Forgotten: Deploy key.", [])
    assert undone["note"] == "Holds again: Deploy key."
    assert (await driver.call("find", text="hunter2", space=space))["found"] == before
    assert (await driver.call("get", of="Deploy key", space=space))["kind"] == "document"


async def test_a_document_is_forgotten_with_its_statements() -> None:
    driver = await a_town()
    await driver.call("tell", title="Cut scene", text="Ana confesses.")
    fire = {"kind": "fact", "says": "Ana Berg set fire to the inn."}
    await driver.call("propose", claims=[fire], evidence="Cut scene")

    error = await driver.refused("decide", verdict="forget", of="Cut scene")
    both = {"verdict": "forget", "of": ["Cut scene", fire["says"]]}
    await driver.call("decide", **both)

    assert "Ana Berg set fire to the inn" in error["message"]
    assert (await driver.call("find", text="confesses fire"))["found"] == []
    await driver.call("decide", verdict="undo")
    assert (await driver.call("why", of=fire["says"]))["because"][0]["name"] == "Cut scene"


async def test_undo_reports_an_unchanging_last_call_and_the_one_before() -> None:
    driver = await a_town()
    dies: dict[str, Any] = {"kind": "state", "of": "Cy Marr", "tags": ["dead"]}
    await driver.call("propose", said="Cy drowns.", claims=[dies])
    acts = {"kind": "event", "says": "Cy Marr sings", "who": ["Cy Marr"]}
    assert (await driver.call("propose", said="Cy sings.", claims=[acts]))["accepted"] == 0
    heads = await driver.heads()

    idle = await driver.call("decide", verdict="undo")

    assert await driver.heads() == heads
    assert "Cy Marr sings" in idle["note"]
    assert "Cy Marr is dead" in idle["hint"]
    call = idle["hint"].rpartition('of=["')[2].removesuffix('"].')
    assert "Cy Marr is dead" in (await driver.call("decide", verdict="undo", of=[call]))["note"]


async def test_a_relation_and_an_equal_fact_are_evidence_for_each_other() -> None:
    driver = await a_town()
    words = "Bo Lind is married to Isa Lind."
    await driver.call("propose", said="Bo is married.", claims=[{"kind": "fact", "says": words}])
    isa = {"kind": "entity", "name": "Isa Lind", "type": "person"}
    wed = {"kind": "relation", "from": "Bo Lind", "type": "MARRIED_TO", "to": "Isa Lind"}

    reply = await driver.call("propose", said="To Isa.", claims=[isa, wed])

    assert reply["accepted"] == 2
    assert len((await driver.call("why", of=words))["because"]) == 2
    owns = {"kind": "relation", "from": "Ana Berg", "type": "OWNS", "to": "The Petrel"}
    await driver.call("propose", said="She owns it.", claims=[owns])
    fact = {"kind": "fact", "says": "The Petrel belongs to Ana Berg."}
    await driver.call("propose", said="It is hers.", claims=[fact])
    assert len((await driver.call("why", of="Ana Berg owns The Petrel"))["because"]) == 2
    other = {"kind": "fact", "says": "Bo Lind is married to Peg Tully."}
    assert (await driver.call("propose", said="To Peg.", claims=[other]))["accepted"] == 0


async def test_a_kept_entity_keeps_its_type_and_a_titled_note_its_title() -> None:
    driver = await a_town()
    twin = {"kind": "entity", "name": "Robert Lind", "type": "villager"}
    await driver.call("propose", said="Robert.", claims=[twin])

    await driver.call("decide", verdict="merge", of=["Bo Lind", "Robert Lind"])
    reply = await driver.call("tell", title="Call with Bo", text="Bo is well.", space="account")

    assert (await driver.call("get", of="Robert Lind"))["type"] == "innkeeper"
    assert reply["title"] == "Call with Bo"
    assert (await driver.call("get", of="Call with Bo", space="account"))["name"] == "Call with Bo"

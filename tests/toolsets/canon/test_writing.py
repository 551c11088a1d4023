"""Telling, proposing, deciding: what is kept, what is judged, and what each kind of space takes."""

import base64
from pathlib import Path
from typing import Any

import pytest

from canonry.gateway.principal import KEY_META, Principal
from tests.toolsets.canon.kit import WHO, ToolDriver, make_driver

pytestmark = pytest.mark.anyio
CORRECTION = {"kind": "correction", "of": "Odo", "field": "age", "value": 61}


async def propose_claim(driver: ToolDriver, **claim: Any) -> dict[str, Any]:
    reply = await driver.call("propose", said="Somebody says so.", claims=[claim])
    (verdict,) = reply["verdicts"]
    return dict(verdict)


async def test_items_written_here_are_read_by_narrative_tools_and_vice_versa() -> None:
    driver = make_driver()
    space = await driver.saltmere()
    keeper = Principal(agent_id="k", agent_type="CanonKeeper", authorities=None)
    odo = (await driver.call("get", of="Odo"))["id"]

    read = await driver.gateway.call("neo4j_get_entity", {"entity_id": odo}, keeper)
    book = (await driver.call("get", of="Harbour book"))["id"]
    new = {
        "universe_id": space,
        "statement": "Marrow is haunted",
        "involved_entity_ids": [odo],
        "confidence": 1.0,
        "authority": "source",
        "evidence_refs": [f"source:{book}"],
    }
    written = await driver.gateway.call("neo4j_create_fact", new, keeper)

    assert read.body["name"] == "Odo Brand"
    assert written.error is None, written.text
    found = await driver.call("find", text="haunted", kinds=["fact"])
    assert found["found"][0]["id"] == written.body["fact_id"]


async def test_a_contradiction_is_refused_and_ends_nothing_unless_intended() -> None:
    driver = make_driver()
    await driver.saltmere()
    assert (await propose_claim(driver, kind="state", of="Odo", tags=["dead"]))[
        "verdict"
    ] == "accepted"
    late = {"kind": "fact", "says": "Odo Brand kicks in the door", "who": ["Odo"]}

    refused = await propose_claim(driver, **late)
    assert (refused["verdict"], refused["rule"]) == ("rejected", "gate:actor-alive")
    assert refused["against"][0]["grade"] == "contradiction"
    assert (await driver.call("get", of="Odo"))["tags"] == ["dead"]

    meant = await driver.call("propose", said="He lives.", claims=[late], authority="gm")
    assert meant["accepted"] == 1
    assert (await driver.call("get", of="Odo"))["tags"] == ["alive"]


async def test_a_claim_without_evidence_is_not_enough() -> None:
    driver = make_driver()
    await driver.saltmere()

    reply = await driver.call("propose", claims=[{"kind": "fact", "says": "Odo is brave"}])

    assert reply["accepted"] == 0
    assert "score" in reply["verdicts"][0]["because"]


async def test_a_dry_run_predicts_and_writes_nothing() -> None:
    driver = make_driver()
    await driver.saltmere()
    before = await driver.heads()
    claims = [
        {"kind": "entity", "name": "Tam", "type": "character"},
        {"kind": "relation", "from": "Tam", "type": "KNOWS", "to": "Odo"},
        {"kind": "fact", "says": "Odo Brand does not keep the light at Marrow", "about": ["Odo"]},
    ]

    foretold = await driver.call("propose", claims=claims, evidence=["Harbour book"], dry_run=True)
    spoken = await driver.call("propose", claims=claims, said="So they say.", dry_run=True)
    assert await driver.heads() == before
    assert [v["verdict"] for v in spoken["verdicts"]] == ["accepted", "accepted", "rejected"]
    done = await driver.call("propose", claims=claims, evidence=["Harbour book"])

    assert foretold["written"] is False
    assert [v["verdict"] for v in foretold["verdicts"]] == ["accepted", "accepted", "rejected"]
    assert [v["verdict"] for v in done["verdicts"]] == ["accepted", "accepted", "rejected"]


async def test_a_contributors_claims_wait_for_a_keeper_with_a_preview() -> None:
    solo = make_driver()
    await solo.saltmere()
    ann = make_driver("Contributor", beside=solo)
    bob = make_driver("Keeper", beside=solo)

    kept = await ann.call(
        "propose",
        said="A bell rings.",
        claims=[{"kind": "fact", "says": "The bell of Marrow rings"}],
    )
    assert kept["kept"] is True
    assert kept["verdicts"][0]["verdict"] == "accepted"
    assert (await ann.call("find", text="bell", kinds=["fact"]))["found"] == []
    (waiting,) = (await bob.call("review", what="pending"))["waiting"]
    assert waiting["says"] == "fact: The bell of Marrow rings"
    assert waiting["by"] == "contributor"

    assert (await ann.refused("decide", verdict="judge", of=[waiting["id"]]))[
        "code"
    ] == "NOT_ALLOWED"
    judged = await bob.call("decide", verdict="judge", of=[waiting["id"]])
    assert judged["verdicts"][0]["verdict"] == "accepted"
    assert len((await ann.call("find", text="bell", kinds=["fact"]))["found"]) == 1
    claimed = await ann.refused("propose", claims=[WHO[4]], authority="gm")
    assert claimed["details"]["reason"] == "authority.claim-refused"


async def test_a_keeper_overrules_rejects_and_waives_with_a_reason() -> None:
    solo = make_driver()
    await solo.saltmere()
    ann, bob = make_driver("Contributor", beside=solo), make_driver("Keeper", beside=solo)
    claims = [{"kind": "fact", "says": f"The bell rings {n} times"} for n in (1, 2)]
    ids = [
        (await ann.call("propose", claims=[claim], said="Heard."))["verdicts"][0]
        for claim in claims
    ]
    del ids
    one, two = (each["id"] for each in (await bob.call("review"))["waiting"])

    assert (await bob.refused("decide", verdict="accept", of=[one]))["details"]["path"] == "/reason"
    accepted = await bob.call("decide", verdict="accept", of=[one], reason="I heard it.")
    rejected = await bob.call("decide", verdict="reject", of=[two], reason="Nobody did.")

    assert accepted["verdicts"][0]["id"]
    assert rejected["verdicts"][0]["verdict"] == "rejected"
    assert (await bob.call("review"))["hint"].startswith("No proposal waits.")
    error = await bob.refused("decide", verdict="waive", of=[one], reason="Fine.")
    assert error["details"]["path"] == "/other"


async def test_a_possible_conflict_is_reviewed_and_waived() -> None:
    driver = make_driver()
    await driver.saltmere()
    await propose_claim(driver, kind="state", of="Odo", tags=["dead"])
    await propose_claim(driver, kind="event", says="They mourn Odo", about=["Odo"])

    (row,) = (await driver.call("review", what="conflicts"))["waiting"]
    against = row["perhaps_against"][0]["id"]
    await driver.call("decide", verdict="waive", of=[row["id"]], other=against, reason="A funeral.")

    assert (await driver.call("review", what="conflicts"))["waiting"] == []


async def test_entities_are_merged_separated_and_retracted() -> None:
    driver = make_driver()
    await driver.saltmere()
    await propose_claim(driver, kind="entity", name="The Keeper", type="character")
    keeper = (await driver.call("get", of="The Keeper"))["id"]

    merged = await driver.call(
        "decide", verdict="merge", of=["Odo", "The Keeper"], reason="One man."
    )
    assert merged == {
        "note": "Merged into: Odo Brand.",
        "verdict": "merge",
        "id": merged["id"],
        "name": "Odo Brand",
        "merged": "The Keeper",
    }
    assert (await driver.call("get", of=keeper))["name"] == "Odo Brand"
    await driver.call("decide", verdict="separate", of=["the keeper"], reason="Two men.")
    assert (await driver.call("get", of=keeper))["name"] == "The Keeper"
    (tie,) = (await driver.call("find", kinds=["relation"]))["found"]
    await driver.call("decide", verdict="end", of=[tie["id"]], reason="He left.")
    assert (await driver.call("find", kinds=["relation"]))["found"] == []
    retracted = await driver.call(
        "decide", verdict="retcon", of=["Odo"], along=True, reason="A tale."
    )
    assert {one["how"] for one in retracted["items"]} == {"retracted"}
    assert len(retracted["items"]) > 1
    assert retracted.keys().isdisjoint({"fallen", "holds_again"})
    error = await driver.refused("decide", verdict="merge", of=["Odo"])
    assert error["details"]["reason"] == "decide.how-many"


async def test_a_field_is_corrected_by_its_keeper_and_a_fact_by_another() -> None:
    driver = make_driver()
    await driver.saltmere()
    for field, value in (("name", "Odo Brandt"), ("description", "Old."), ("age", 61)):
        claim = {"kind": "correction", "of": "Odo", "field": field, "value": value}
        await driver.call("propose", claims=[claim], said="So.", authority="source")
    odo = await driver.call("get", of="Odo Brand")
    (row,) = (await driver.call("find", text="keeps the light", kinds=["fact"]))["found"]
    await driver.call(
        "propose",
        said="It is his brother.",
        authority="gm",
        claims=[{"kind": "fact", "says": "Olaf keeps the light at Marrow", "replaces": row["id"]}],
    )

    assert (odo["name"], odo["says"], odo["fields"]) == ("Odo Brandt", "Old.", {"age": 61})
    assert odo["also_called"] == ["Odo Brand"]
    light = await driver.call("find", text="keeps the light", kinds=["fact"])
    assert [each["says"] for each in light["found"]] == ["Olaf keeps the light at Marrow"]
    mixed = await driver.refused("propose", claims=[CORRECTION, WHO[4]])
    assert mixed["details"]["reason"] == "claim.mixed"
    wrong = {"kind": "correction", "of": "Odo", "field": "name", "value": 5}
    assert (await driver.refused("propose", claims=[wrong]))["details"]["reason"] == "claim.value"
    dry = await driver.call("propose", claims=[CORRECTION], dry_run=True)
    assert dry["written"] is False


@pytest.mark.parametrize(
    ("claim", "path", "words"),
    [
        ({"kind": "fact"}, "/claims/0/says", "fact takes says, about"),
        ({"kind": "fact", "says": "x", "tag": ["y"]}, "/claims/0/tag", "known properties"),
        ({"kind": "fact", "says": "x", "tags": ["y"]}, "/claims/0/tags", "fact takes says"),
        ({"kind": "relation", "from": "Odo", "type": "KNOWS"}, "/claims/0/to", "missing"),
        (
            {"kind": "fact", "says": "x", "about": ["Nobody"]},
            "/claims/0/about/0",
            "matches no name",
        ),
        (
            {"kind": "fact", "says": "x", "replaces": "Odo"},
            "/claims/0/replaces",
            "of the kind entity, not fact",
        ),
        (
            {"kind": "fact", "says": "x", "evidence": ["Odo"]},
            "/claims/0/evidence/0",
            "not document or",
        ),
        ({"kind": "fact", "says": "x", "when": "sometime"}, "/claims/0/when", "time"),
        ({"kind": "guess"}, "/claims/0/kind", "entity, fact, relation"),
    ],
)
async def test_an_unreadable_claim_error_gives_position_and_form(
    claim: dict[str, Any], path: str, words: str
) -> None:
    driver = make_driver()
    await driver.saltmere()

    error = await driver.refused("propose", claims=[claim], evidence=["Harbour book"])

    assert error["details"]["path"] == path
    assert words in error["message"]


async def test_claims_refer_to_each_other_and_each_name_is_unique() -> None:
    driver = make_driver()
    await driver.saltmere()
    twice = [{"kind": "entity", "name": "Guard", "type": "character"}] * 2

    error = await driver.refused("propose", claims=twice)
    many = [{"kind": "fact", "says": "x", "about": ["Odo"] * 51}]

    assert error["details"]["reason"] == "claim.repeats"
    assert (await driver.refused("propose", claims=many))["details"]["reason"] == "list.too-long"
    event = {"kind": "event", "says": "The storm begins"}
    made = await propose_claim(driver, **event)
    caused = await propose_claim(driver, kind="event", says="Ruin", caused_by=[made["id"]])
    assert caused["verdict"] == "accepted"


async def test_turns_open_a_scene_by_title_and_a_summary_closes_it() -> None:
    driver = make_driver()
    await driver.saltmere()
    found = [{"by": "gm", "text": "Wind."}, {"by": "odo", "text": "It blows."}]

    first = await driver.call("tell", scene="Storm", place="Marrow", when="1901-05-01", turns=found)
    again = await driver.call("tell", scene="storm", turns=found[:1], end_scene="It blew.")
    after = await driver.call("tell", scene="Storm", turns=found[:1])

    assert first["opened"] is True
    assert "opened" not in again
    assert again["closed"] is True
    assert after["scene"] != first["scene"]
    assert (await driver.call("get", of=first["scene"]))["says"] == "It blew."
    nobody = [{"by": first["scene"][:-1] + "0", "text": "x"}]
    unknown = await driver.refused("tell", scene="Storm", turns=nobody)
    assert unknown["details"]["path"] == "/turns/0/by"
    assert (await driver.refused("tell", turns=found))["details"]["path"] == "/scene"
    empty = await driver.refused("tell", scene="Next", turns=[{"by": "gm", "text": " "}])
    assert empty["details"]["reason"] == "text.empty"
    closed = await driver.refused("tell", scene=first["scene"], turns=found[:1])
    assert closed["code"] == "CONFLICT"


async def test_documents_are_texts_files_or_paths_and_repeats_change_nothing(
    tmp_path: Path,
) -> None:
    driver = make_driver()
    await driver.saltmere()
    markdown = base64.b64encode(b"# Rules\n\nNobody swims at night.").decode()

    file = await driver.call("tell", file=markdown, mime_type="text/markdown", title="Rules")
    again = await driver.call("tell", file=markdown, title="Rules")

    wide = base64.b64encode("Nobody dives at dusk.".encode("utf-16")).decode()
    other = await driver.call("tell", file=wide, title="More rules")

    assert other["passages"][0]["says"] == "Nobody dives at dusk."
    assert file["passages"][0]["says"].endswith("Nobody swims at night.")
    assert again["known_before"] is True
    assert again["document"] == file["document"]
    for wrong, reason in (
        ({"file": base64.b64encode(b"\x89PNG\0").decode()}, "file.mime-type"),
        ({"text": " "}, "text.empty"),
        ({}, "tell.form"),
        ({"text": "x", "file": markdown}, "tell.form"),
        ({"text": "x", "mime_type": "image/png"}, "document.unsupported"),
        ({"records": [{"type": "person"}]}, "tell.records"),
        ({"path": str(tmp_path / "nothing.txt")}, "file.unknown"),
    ):
        error = await driver.refused("tell", **wrong)
        assert error["details"]["reason"] == reason, (wrong, error)
    ann = make_driver("Contributor", beside=driver)
    assert (await ann.refused("tell", path="x.txt"))["details"]["reason"] == "tell.path"


async def test_an_account_keeps_records_and_names_unsupported_claims() -> None:
    driver = make_driver()
    for wrong, reason in (
        ({"records": [{"name": "Ann"}]}, "tell.record-type"),
        ({"scene": "x", "turns": [{"by": "gm", "text": "x"}]}, "space.not-told"),
    ):
        error = await driver.refused("tell", space="me", **wrong)
        assert error["details"]["reason"] == reason
    reply = await driver.call(
        "tell", space="me", records=[{"entity_type": "company", "name": "Acme"}]
    )
    claims = [{"kind": "entity", "name": "Ann", "type": "contact", "says": "Friend", "fields": {}}]

    dry = await driver.call("propose", claims=claims, dry_run=True)
    done = await driver.call("propose", claims=claims)
    related = {"kind": "relation", "from": "Ann", "type": "REFERS_TO", "to": "Acme"}
    assert (await driver.call("propose", claims=[related], dry_run=True))["written"] is False
    assert (await driver.call("propose", claims=[related]))["accepted"] == 1

    assert "id" not in dry["verdicts"][0]
    assert done["verdicts"][0]["id"]
    assert reply["entities"][0]["name"] == "Acme"
    assert (await driver.call("review"))["waiting"] == []
    assert (await driver.call("review", what="duplicates"))["duplicates"] == []
    assert (await driver.call("review", about="Ann"))["total"] == 0
    for tool, arguments in (
        ("decide", {"verdict": "retcon", "of": ["Ann"]}),
        ("decide", {"verdict": "end", "of": ["Ann"]}),
        ("decide", {"verdict": "reveal", "of": ["Ann"]}),
    ):
        error = await driver.refused(tool, **arguments)
        assert error["code"] == "NOT_HERE", (tool, error)


async def test_a_retry_with_its_key_changes_nothing_more() -> None:
    driver = make_driver()
    await driver.saltmere()
    solo = Principal(agent_id="solo", agent_type="Solo", authorities=None)
    for tool, arguments in (
        ("open", {"name": "Elsewhere"}),
        (
            "tell",
            {"space": "Saltmere", "scene": "Storm", "turns": [{"by": "gm", "text": "Wind."}] * 3},
        ),
        (
            "propose",
            {"space": "Saltmere", "said": "Fog.", "claims": [{"kind": "fact", "says": "Fog"}]},
        ),
    ):
        meta = {KEY_META: f"key {tool}"}
        first = await driver.gateway.call(tool, arguments, solo, meta)
        heads = await driver.heads()
        again = await driver.gateway.call(tool, arguments, solo, meta)
        assert first.error is None, first.text
        assert await driver.heads() == heads, tool
        assert again.error is None, again.text


async def test_a_space_may_have_its_own_calendar() -> None:
    driver = make_driver()
    calendar = {"months": [{"name": "Mist", "days": 30}, {"name": "Sun", "days": 30}]}
    await driver.call("open", name="Isle", calendar=calendar)
    made = await propose_claim(driver, kind="event", says="Landing", when="3 Sun 12")

    rows = (await driver.call("timeline", **{"from": "1 Sun 12"}))["timeline"]

    assert made["verdict"] == "accepted"
    assert [row["says"] for row in rows] == ["Landing"]

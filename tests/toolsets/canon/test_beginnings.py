"""The beginning of an id serves where it means one thing, and tells nobody of what is hidden."""

import pytest

from tests.toolsets.canon.kit import a_desk

pytestmark = pytest.mark.anyio


async def test_the_beginning_of_an_id_serves_wherever_an_id_does() -> None:
    desk = a_desk()
    await desk.saltmere()
    (fact,) = (await desk.call("find", text="keeps the light", kinds=["fact"], limit=1))["found"]
    odo = await desk.call("get", of="Odo Brand")

    for of in (odo["id"][:35], odo["id"][:34].upper(), odo["id"][:35].replace("-", "")):
        assert (await desk.call("get", of=of))["id"] == odo["id"]
    assert (await desk.call("why", of=fact["id"][:35]))["id"] == fact["id"]
    wrong = await desk.refused("get", of="ffffffff-ffff")
    assert wrong["details"]["reason"] == "name.unknown"
    other = await desk.refused(
        "propose",
        claims=[{"kind": "state", "of": fact["id"][:35], "tags": ["wounded"]}],
        evidence=["Harbour book"],
    )
    assert other["details"]["reason"] == "name.unknown"


async def test_ids_that_begin_alike_are_told_apart_by_the_candidates() -> None:
    desk = a_desk()
    await desk.saltmere()
    ambiguous = await desk.refused("get", of="00000000")

    assert ambiguous["details"]["reason"] == "name.ambiguous"
    assert len(ambiguous["details"]["candidates"]) > 1


async def test_the_beginning_of_the_id_of_what_one_may_not_know_names_nothing() -> None:
    desk = a_desk()
    await desk.saltmere()
    odo = (await desk.call("get", of="Odo Brand"))["id"]
    secret = {
        "universe_id": (await desk.call("spaces"))["spaces"][0]["id"],
        "statement": "Odo Brand is a spy",
        "involved_entity_ids": [odo],
        "confidence": 1.0,
        "authority": "gm",
        "audience": ["gm"],
        "evidence_refs": [],
    }
    source = (await desk.call("find", kinds=["document"]))["found"][0]["id"]
    keeper = a_desk("CanonKeeper", desk)
    made = await keeper.call(
        "neo4j_create_fact", **{**secret, "evidence_refs": [f"source:{source}"]}
    )
    begun = made["fact_id"][:35]

    assert (await desk.call("get", of=begun))["says"] == "Odo Brand is a spy"
    refused = await a_desk("Reader", desk).refused("get", of=begun)
    assert refused["details"]["reason"] == "name.unknown"

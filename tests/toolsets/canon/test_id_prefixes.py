"""The beginning of an id serves where it means one item, and tells nobody of what is hidden."""

import pytest

from tests.toolsets.canon.kit import make_driver

pytestmark = pytest.mark.anyio


async def test_an_id_prefix_works_wherever_an_id_does() -> None:
    driver = make_driver()
    await driver.saltmere()
    (fact,) = (await driver.call("find", text="keeps the light", kinds=["fact"], limit=1))["found"]
    odo = await driver.call("get", of="Odo Brand")

    for of in (odo["id"][:35], odo["id"][:34].upper(), odo["id"][:35].replace("-", "")):
        assert (await driver.call("get", of=of))["id"] == odo["id"]
    assert (await driver.call("why", of=fact["id"][:35]))["id"] == fact["id"]
    wrong = await driver.refused("get", of="ffffffff-ffff")
    assert wrong["details"]["reason"] == "name.unknown"
    other = await driver.refused(
        "propose",
        claims=[{"kind": "state", "of": fact["id"][:35], "tags": ["wounded"]}],
        evidence=["Harbour book"],
    )
    assert other["details"]["reason"] == "name.unknown"


async def test_ids_with_a_common_prefix_list_candidates() -> None:
    driver = make_driver()
    await driver.saltmere()
    ambiguous = await driver.refused("get", of="00000000")

    assert ambiguous["details"]["reason"] == "name.ambiguous"
    assert len(ambiguous["details"]["candidates"]) > 1


async def test_the_id_prefix_of_a_secret_item_names_nothing() -> None:
    driver = make_driver()
    await driver.saltmere()
    odo = (await driver.call("get", of="Odo Brand"))["id"]
    secret = {
        "universe_id": (await driver.call("spaces"))["spaces"][0]["id"],
        "statement": "Odo Brand is a spy",
        "involved_entity_ids": [odo],
        "confidence": 1.0,
        "authority": "gm",
        "audience": ["gm"],
        "evidence_refs": [],
    }
    source = (await driver.call("find", kinds=["document"]))["found"][0]["id"]
    keeper = make_driver("CanonKeeper", driver)
    made = await keeper.call(
        "neo4j_create_fact", **{**secret, "evidence_refs": [f"source:{source}"]}
    )
    begun = made["fact_id"][:35]

    assert (await driver.call("get", of=begun))["says"] == "Odo Brand is a spy"
    refused = await make_driver("Reader", driver).refused("get", of=begun)
    assert refused["details"]["reason"] == "name.unknown"

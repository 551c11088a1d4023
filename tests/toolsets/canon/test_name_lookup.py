"""A word of its name finds a new item, and a unique name finds a space."""

import pytest

from tests.toolsets.canon.kit import make_driver

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "named", ["Odo Brand", "odo", "Brand", "ODO BRAND", " Odo Brand ", "Odo B"]
)
async def test_an_entity_is_found_by_name_prefix_and_word(named: str) -> None:
    driver = make_driver()
    await driver.saltmere()

    assert (await driver.call("get", of=named))["name"] == "Odo Brand"


async def test_an_ambiguous_name_gives_candidates_and_is_never_guessed() -> None:
    driver = make_driver()
    await driver.saltmere()
    two = [{"kind": "entity", "name": f"Brand {n}", "type": "object"} for n in ("One", "Two")]
    await driver.call("propose", said="Brands.", claims=two)

    error = await driver.refused("get", of="Brand")
    unknown = await driver.refused("get", of="Odo Brandt")

    assert error["details"]["reason"] == "name.ambiguous"
    assert len(error["details"]["candidates"]) == 2
    assert "Brand One (object " in error["details"]["candidates"][0]
    assert "Did you mean Odo Brand?" in unknown["message"]
    assert (await driver.refused("get", of="x"))["details"]["reason"] == "name.unknown"
    assert (await driver.refused("get", of="ffffffff-0000-4000-8000-00000000dead"))[
        "code"
    ] == "NOT_FOUND"


async def test_an_item_of_another_kind_is_distinguished() -> None:
    driver = make_driver()
    await driver.saltmere()
    book = (await driver.call("get", of="Harbour book"))["id"]

    error = await driver.refused("find", about=book)

    assert error["message"] == "/about must name an entity, but names a source."


async def test_a_new_entity_is_found_by_a_word_of_its_name_in_sibling_claims() -> None:
    driver = make_driver()
    await driver.saltmere()
    tam = {"kind": "entity", "name": "Tam Wick", "type": "character"}
    knows = {"kind": "relation", "from": "Wick", "type": "KNOWS", "to": "Odo"}

    reply = await driver.call("propose", said="Tam Wick knows Odo.", claims=[tam, knows])

    assert reply["accepted"] == 2
    (known,) = (await driver.call("get", of="Tam"))["relations"]
    assert "Odo Brand" in str(known)


async def test_a_word_of_two_new_names_is_questioned_and_a_known_one_is_not() -> None:
    driver = make_driver()
    await driver.saltmere()
    twins = [{"kind": "entity", "name": f"{each} Wick", "type": "character"} for each in "AB"]
    dead = {"kind": "state", "of": "Wick", "tags": ["dead"]}

    refused = await driver.refused("propose", said="Wick is dead.", claims=[*twins, dead])

    assert refused["details"]["reason"] == "name.ambiguous"
    assert refused["details"]["candidates"] == ["a wick", "b wick"]
    known = {"kind": "entity", "name": "Odo Wick", "type": "character"}
    done = await driver.call("propose", said="Dead.", claims=[known, dead | {"of": "Odo"}])
    assert done["accepted"] == 2
    assert (await driver.call("get", of="Odo Brand"))["tags"] == ["dead"]


async def test_reopening_a_space_returns_the_existing_one() -> None:
    driver = make_driver()
    made = await driver.call("open", name="Saltmere", about="A harbour town")
    before = await driver.heads()

    again = await driver.call("open", name="saltmere", about="Something else")

    assert (again["id"], again["name"], again["opened"]) == (made["id"], "Saltmere", False)
    assert await driver.heads() == before

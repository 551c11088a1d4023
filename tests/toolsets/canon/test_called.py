"""How things are called: new ones by a word of their name, spaces by a name that there is once."""

import pytest

from tests.toolsets.canon.kit import a_desk

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "named", ["Odo Brand", "odo", "Brand", "ODO BRAND", " Odo Brand ", "Odo B"]
)
async def test_an_entity_goes_by_its_name_how_that_begins_and_any_word_of_it(named: str) -> None:
    desk = a_desk()
    await desk.saltmere()

    assert (await desk.call("get", of=named))["name"] == "Odo Brand"


async def test_ambiguity_answers_with_the_candidates_and_never_guesses() -> None:
    desk = a_desk()
    await desk.saltmere()
    two = [{"kind": "entity", "name": f"Brand {n}", "type": "object"} for n in ("One", "Two")]
    await desk.call("propose", said="Brands.", claims=two)

    error = await desk.refused("get", of="Brand")
    unknown = await desk.refused("get", of="Odo Brandt")

    assert error["details"]["reason"] == "name.ambiguous"
    assert len(error["details"]["candidates"]) == 2
    assert "Brand One (object " in error["details"]["candidates"][0]
    assert "Did you mean Odo Brand?" in unknown["message"]
    assert (await desk.refused("get", of="x"))["details"]["reason"] == "name.unknown"
    assert (await desk.refused("get", of="ffffffff-0000-4000-8000-00000000dead"))[
        "code"
    ] == "NOT_FOUND"


async def test_a_thing_of_another_kind_is_told_apart() -> None:
    desk = a_desk()
    await desk.saltmere()
    book = (await desk.call("get", of="Harbour book"))["id"]

    error = await desk.refused("find", about=book)

    assert error["message"] == "/about must name an entity, but names a source."


async def test_a_new_entity_goes_by_a_word_of_its_name_in_the_claims_beside_it() -> None:
    desk = a_desk()
    await desk.saltmere()
    tam = {"kind": "entity", "name": "Tam Wick", "type": "character"}
    knows = {"kind": "relation", "from": "Wick", "type": "KNOWS", "to": "Odo"}

    reply = await desk.call("propose", said="Tam Wick knows Odo.", claims=[tam, knows])

    assert reply["accepted"] == 2
    (known,) = (await desk.call("get", of="Tam"))["relations"]
    assert "Odo Brand" in str(known)


async def test_a_word_of_two_new_names_is_asked_about_and_one_of_canon_is_known() -> None:
    desk = a_desk()
    await desk.saltmere()
    twins = [{"kind": "entity", "name": f"{each} Wick", "type": "character"} for each in "AB"]
    dead = {"kind": "state", "of": "Wick", "tags": ["dead"]}

    refused = await desk.refused("propose", said="Wick is dead.", claims=[*twins, dead])

    assert refused["details"]["reason"] == "name.ambiguous"
    assert refused["details"]["candidates"] == ["a wick", "b wick"]
    known = {"kind": "entity", "name": "Odo Wick", "type": "character"}
    done = await desk.call("propose", said="Dead.", claims=[known, dead | {"of": "Odo"}])
    assert done["accepted"] == 2
    assert (await desk.call("get", of="Odo Brand"))["tags"] == ["dead"]


async def test_who_opens_a_space_again_is_led_to_the_one_that_there_is() -> None:
    desk = a_desk()
    made = await desk.call("open", name="Saltmere", about="A harbour town")
    before = await desk.heads()

    again = await desk.call("open", name="saltmere", about="Something else")

    assert (again["id"], again["name"], again["opened"]) == (made["id"], "Saltmere", False)
    assert await desk.heads() == before

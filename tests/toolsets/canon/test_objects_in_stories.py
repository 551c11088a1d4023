"""Objects, places and offices in a story: who moves, gives away or loses what by a sentence."""

from typing import Any

import pytest

from tests.toolsets.canon.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio

KINDS = {
    "character": ("Ivo", "Runa", "Odd"),
    "location": ("Hall", "Cave", "Moor"),
    "object": ("Axe", "Cup", "Cart"),
    "faction": ("Foxes", "Herons"),
}


async def a_story() -> ToolDriver:
    driver = make_driver()
    await driver.call("open", name="Story")
    claims = [{"kind": "entity", "name": n, "type": k} for k, names in KINDS.items() for n in names]
    await driver.call("propose", claims=claims, said="They are here.")
    return driver


async def tell(driver: ToolDriver, *claims: dict[str, Any] | str, **more: Any) -> dict[str, Any]:
    """Tell a scene with these claims; a sentence is a fact."""
    title = f"Scene {await driver.heads()}"
    await driver.call("tell", scene=title, turns=[{"by": "gm", "text": title}], **more)
    facts = [{"kind": "fact", "says": one} if isinstance(one, str) else one for one in claims]
    return await driver.call("propose", claims=facts, evidence=[title]) if claims else {}


async def holds(driver: ToolDriver, name: str) -> set[str]:
    """Return the words of all that holds of an entity now."""
    shown = await driver.call("get", of=name, limit=50)
    return {row["says"] for row in (*shown.get("facts", ()), *shown.get("relations", ()))}


def tie(start: str, kind: str, end: str) -> dict[str, Any]:
    return {"kind": "relation", "from": start, "type": kind, "to": end}


@pytest.mark.parametrize(
    "says",
    [
        "Ivo entered the Cave",
        "Ivo rode to the Moor",
        "Ivo went back to the Moor",
        "Ivo was taken to the Cave",
        "Runa dragged Ivo into the Cave",
        "Ivo fled from the Hall",
    ],
)
@pytest.mark.parametrize("before", ["Ivo is in the Hall", tie("Ivo", "LOCATED_IN", "Hall")])
async def test_who_goes_elsewhere_has_left(before: Any, says: str) -> None:
    driver = await a_story()
    await tell(driver, before)

    await tell(driver, says)

    assert await holds(driver, "Ivo") == {says}


@pytest.mark.parametrize(
    "says", ["Ivo ran into Runa", "Ivo went over to the Foxes", "Ivo walked past the Cave"]
)
async def test_who_meets_somebody_is_where_he_was(says: str) -> None:
    driver = await a_story()
    await tell(driver, "Ivo is in the Hall")

    await tell(driver, says)

    assert "Ivo is in the Hall" in await holds(driver, "Ivo")


async def test_an_object_that_is_brought_along_stays_with_its_carrier() -> None:
    driver = await a_story()
    await tell(driver, tie("Ivo", "CARRIES", "Axe"), tie("Cup", "LOCATED_IN", "Cart"))

    await tell(driver, "Ivo brought the Axe to the Moor", "The Cup was carried into the Cave")

    assert "Ivo carries Axe" in await holds(driver, "Axe")
    assert await holds(driver, "Cup") == {"The Cup was carried into the Cave"}


async def test_who_acts_elsewhere_later_may_have_moved() -> None:
    driver = await a_story()
    there = tie("Ivo", "LOCATED_IN", "Hall") | {"when": "1450-01-01"}
    await driver.call("propose", claims=[there], said="He came on the first.")
    act = {"kind": "event", "says": "Ivo lights a fire", "who": ["Ivo"], "where": "Cave"}

    later, then = [
        await driver.call("propose", claims=[act | {"when": day}], said=f"It burns on {day}.")
        for day in ("1450-01-02", "1450-01-01")
    ]

    assert "Ivo acts in Cave but was in Hall before" in later["note"]
    assert then["verdicts"][0]["because"] == "Ivo acts in Cave but is in Hall then"


@pytest.mark.parametrize(
    "says",
    [
        "Ivo threw the Axe into the Moor",
        "Ivo put the Axe down",
        "Ivo buried the Axe in the Cave",
        "Ivo tossed the Axe to Runa",
        "Runa seized the Axe",
        "The Axe was taken from Ivo by Runa",
        "The Axe was stolen",
        "Ivo no longer has the Axe",
        "Runa has Axe now",
    ],
)
async def test_an_object_that_was_given_up_or_taken_is_no_longer_carried(says: str) -> None:
    driver = await a_story()
    await tell(driver, tie("Ivo", "CARRIES", "Axe"))

    await tell(driver, says)

    assert await holds(driver, "Axe") == {says}
    assert "tags" not in await driver.call("get", of="Axe")


async def test_nobody_holds_a_person_or_moves_a_place_by_taking_it() -> None:
    driver = await a_story()
    before = ["Ivo is in the Hall", "The Cave is in the Moor"]
    await tell(driver, *before)

    await tell(driver, "Runa grabbed Ivo by the collar", "Runa seized the Cave")

    assert before[0] in await holds(driver, "Ivo")
    assert before[1] in await holds(driver, "Cave")


async def test_what_is_open_is_not_locked_and_what_is_shut_is_not_open() -> None:
    driver = await a_story()
    await tell(driver, "The Cart is open", "The Cup is locked")

    await tell(driver, "The Cart slammed shut", "The Cup is open")

    assert (await driver.call("get", of="Cart"))["tags"] == ["closed"]
    assert (await driver.call("get", of="Cup"))["tags"] == ["open"]


async def test_a_sunk_ship_sails_again_only_after_it_was_raised() -> None:
    driver = await a_story()
    sails = {"kind": "event", "says": "The Cart sails to the Moor", "who": ["Cart"]}
    await tell(driver, "The Cart sank")

    doubted = await tell(driver, sails)
    await tell(driver, "Divers raised the Cart from the sea")
    allowed = await tell(driver, sails | {"says": "The Cart sails home"})

    assert "Cart acts in it but is sunk then" in doubted["note"]
    assert allowed["note"] == "Accepted 1 of 1."


async def test_the_gift_of_something_used_up_is_pointed_out() -> None:
    driver = await a_story()
    await tell(driver, "Ivo ate the Cup", "Ivo sharpened the Axe")

    reply = await tell(driver, "Ivo gave the Cup to Runa", "Ivo gave the Axe to Runa")

    assert ["against" in row for row in reply["verdicts"]] == [True, False]
    assert "Ivo ate the Cup (it is consumed)" in reply["note"]


@pytest.mark.parametrize(
    ("before", "says"),
    [
        ("Ivo is captain of the Cart", "Ivo is no longer captain"),
        (tie("Ivo", "MEMBER_OF", "Foxes"), "The Foxes cast out Ivo"),
        (tie("Ivo", "MEMBER_OF", "Foxes"), "The Foxes were disbanded"),
        (tie("Ivo", "MEMBER_OF", "Foxes"), "Ivo defected to the Herons"),
        ("The Foxes hold the Cave", "The Cave fell to the Herons"),
        ("The Foxes and the Herons are allies", "The Foxes declared war on the Herons"),
    ],
)
async def test_an_office_a_group_or_an_alliance_ends_by_its_plain_end(
    before: Any, says: str
) -> None:
    driver = await a_story()
    await tell(driver, before, "Runa is mayor of the Moor", tie("Runa", "MEMBER_OF", "Herons"))

    reply = await tell(driver, says)

    ended = before if isinstance(before, str) else "Ivo member of Foxes"
    assert f"says: {ended}" in reply["note"]
    assert await holds(driver, "Runa") == {"Runa is mayor of the Moor", "Runa member of Herons"}


@pytest.mark.parametrize(
    ("before", "says"),
    [
        ("Ivo has 27 hit points", "Ivo is down to 12 hit points"),
        ("Ivo has 27 HP", "Ivo dropped to 0 hit points"),
        ("Ivo has 3 hit points", "Ivo is healed to 20 HP"),
        ("The Foxes are 500 strong", "The Foxes are 300 strong"),
        ("Ivo has 12 arrows", "Ivo has 11 arrows remaining"),
        ("Ivo has 12 arrows", "Ivo is down to his last arrow"),
        ("Ivo is level 4", "Ivo reached level 5"),
        ("Ivo knows the password", "Ivo forgot the password"),
        ("Ivo is 30 years old", "Ivo is 31 years old"),
    ],
)
async def test_a_later_number_of_a_game_ends_the_earlier(before: str, says: str) -> None:
    driver = await a_story()
    about = "Foxes" if "Foxes" in says else "Ivo"
    await tell(driver, before)

    await tell(driver, says)

    assert await holds(driver, about) == {says}


@pytest.mark.parametrize("says", ["Ivo is down to business", "Ivo nearly dropped to 0 hit points"])
async def test_words_like_a_number_of_a_game_end_none(says: str) -> None:
    driver = await a_story()
    await tell(driver, "Ivo has 27 hit points")

    await tell(driver, says)

    assert "Ivo has 27 hit points" in await holds(driver, "Ivo")


async def test_an_age_that_falls_is_a_possible_conflict() -> None:
    driver = await a_story()
    await tell(driver, "Ivo is 30 years old", when="1450-01-01")

    reply = await tell(driver, "Ivo is 25 years old", when="1451-01-01")

    assert "Ivo is 30 years old (Ivo was older before)" in reply["note"]


@pytest.mark.parametrize(
    ("when", "shown"),
    [
        ("later that day", "1 September 1450"),
        ("later the same day", "1 September 1450"),
        ("später am selben Tag", "1 September 1450"),
        ("in the winter", "winter of 1450"),
        ("in spring", "spring of 1451"),
        ("in December", "December 1450"),
        ("a year and a day later", "2 September 1451"),
        ("two years and three months later", "December 1452"),
        ("ein Jahr und einen Tag später", "2 September 1451"),
        ("un an et un jour plus tard", "2 September 1451"),
        ("un año y un día después", "2 September 1451"),
    ],
)
async def test_a_new_scene_of_a_story_plays_later(when: str, shown: str) -> None:
    driver = await a_story()
    await tell(driver, when="1450-09-01")

    await driver.call("tell", scene="Next", when=when, turns=[{"by": "gm", "text": "It is so."}])

    assert (await driver.call("get", of="Next"))["when"] == shown


@pytest.mark.parametrize("when", ["Monday and Tuesday", "in May and June", "the dead and gone"])
async def test_words_that_only_have_an_and_are_no_time(when: str) -> None:
    driver = await a_story()
    await tell(driver, when="1450-09-01")

    error = await driver.refused("tell", scene="Next", when=when, turns=[{"by": "gm", "text": "x"}])

    assert "is not a time" in error["message"]


async def test_an_unknown_scene_is_named_as_such() -> None:
    driver = await a_story()
    await tell(driver, when="1450-09-01")

    error = await driver.refused("get", of="Ivo", at="The Feast")

    assert error["message"].startswith("No scene has that title, and /at is not a time.")


@pytest.mark.parametrize(
    "says",
    [
        "Moor was renamed Fenmark",
        "Moor is now called Fenmark",
        "Moor has changed its name to Fenmark",
        "Moor heißt jetzt Fenmark",
        "Moor is known as Fenmark from now on",
        "Moor goes by Fenmark now",
        "Moor heißt seit der Flut Fenmark",
        "Moor adoptó el nombre de Fenmark",
        "The monks renamed Moor to Fenmark",
        "Moor took the name Fenmark",
        "The abbot gave Moor the new name Fenmark",
        "Fenmark, formerly Moor, lies on the coast",
        "Moor wurde in Fenmark umbenannt",
        "Moor porte désormais le nom de Fenmark",
        "Moor pasó a llamarse Fenmark",
    ],
)
async def test_a_new_name_in_words_comes_with_the_call_that_makes_it_known(says: str) -> None:
    driver = await a_story()

    reply = await tell(driver, says)
    correction = {"kind": "correction", "of": "Moor", "field": "name", "value": "Fenmark"}
    await tell(driver, correction)

    assert 'field="name", value="Fenmark"' in reply["hint"]
    assert (await driver.call("get", of="Fenmark"))["id"] == (
        (await driver.call("get", of="Moor"))["id"]
    )


async def test_words_that_rename_nothing_come_without_a_hint() -> None:
    driver = await a_story()

    plans = ("Moor will be renamed Fenmark", "They want to rename Moor to Fenmark")
    reply = await tell(driver, "Ivo renamed nothing", "Runa is called Red by her friends", *plans)

    assert "hint" not in reply

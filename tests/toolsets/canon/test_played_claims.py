"""A claim in a scene holds at the time and the story position of the scene."""

from typing import Any

import pytest

from tests.toolsets.canon.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio

CALENDAR = {
    "months": [{"name": name, "days": 30} for name in ("Frostmoon", "Seedmoon", "Highsun")],
    "eras": [{"name": "AE", "first_year": 1}],
}


async def make_vell(agent: str = "Solo") -> ToolDriver:
    """A space with a calendar, a captain who is alive, and a crown that a queen has."""
    driver = make_driver(agent)
    await driver.call("open", name="Vell", calendar=CALENDAR)
    people = [
        {"kind": "entity", "name": name, "type": "character", "tags": ["alive"]}
        for name in ("Isolde", "Corin", "Maro")
    ]
    crown = {"kind": "entity", "name": "Drowned Crown", "type": "object"}
    owns = {"kind": "relation", "from": "Isolde", "type": "OWNS", "to": "Drowned Crown"}
    queen = {"kind": "fact", "says": "Isolde is queen of Vell", "about": ["Isolde"]}
    claims = [*people, crown, owns, queen]
    await driver.call("propose", claims=claims, said="Isolde is queen, and wears the crown.")
    return driver


async def claim_in_scene(
    driver: ToolDriver, title: str, when: str, *claims: dict[str, Any]
) -> dict[str, Any]:
    """The reply to claims that cite a scene of their own."""
    await driver.call("tell", scene=title, when=when, turns=[{"by": "gm", "text": f"{title}."}])
    return await driver.call("propose", claims=list(claims), evidence=[title])


async def test_a_flashback_changes_only_the_past() -> None:
    driver = await make_vell()
    dead = {"kind": "fact", "says": "Corin is dead", "about": ["Corin"]}
    await claim_in_scene(driver, "The feast", "3 Frostmoon 1402 AE", dead)

    alive = {"kind": "state", "of": "Corin", "tags": ["alive", "young"]}
    await claim_in_scene(driver, "Ten years before", "1 Highsun 1392 AE", alive)

    now = await driver.call("get", of="Corin")
    then = await driver.call("get", of="Corin", at="2 Highsun 1392 AE")
    assert ("dead" in now["tags"], "alive" in now["tags"]) == (True, False)
    assert then["tags"] == ["alive", "young"]


async def test_a_dead_character_does_nothing_in_the_next_relative_scene() -> None:
    driver = await make_vell()
    dead = {"kind": "fact", "says": "Corin is dead", "about": ["Corin"]}
    await claim_in_scene(driver, "The feast", "3 Frostmoon 1402 AE", dead)

    sells = {"kind": "event", "says": "Corin sells a map", "who": ["Corin"], "about": ["Maro"]}
    reply = await claim_in_scene(driver, "The docks", "next day", sells)

    (verdict,) = reply["verdicts"]
    assert (verdict["verdict"], verdict["rule"]) == ("rejected", "gate:actor-alive")


async def test_times_are_shown_in_the_calendar_of_the_space() -> None:
    driver = await make_vell()
    takes = {"kind": "relation", "from": "Maro", "type": "OWNS", "to": "Drowned Crown"}
    falls = {"kind": "event", "says": "The queen falls", "about": ["Isolde"]}
    await claim_in_scene(driver, "The coup", "10 Frostmoon 1402 AE", takes, falls)

    (before,) = (
        await driver.call("find", text="owns", kinds=["relation"], at="5 Frostmoon 1402 AE")
    )["found"]
    rows = (await driver.call("timeline", about="Isolde"))["timeline"]

    assert (before["says"], before["until"]) == (
        "Isolde owns Drowned Crown",
        "10 Frostmoon 1402 AE",
    )
    assert {(row["says"], row.get("how"), row["when"]) for row in rows} == {
        ("The queen falls", None, "10 Frostmoon 1402 AE"),
        ("Isolde owns Drowned Crown", "ended", "10 Frostmoon 1402 AE"),
    }


@pytest.mark.parametrize("closed", [False, True])
async def test_a_scene_is_retracted_as_a_whole_by_its_title(closed: bool) -> None:
    driver = await make_vell()
    takes = {"kind": "relation", "from": "Maro", "type": "OWNS", "to": "Drowned Crown"}
    deposed = {"kind": "fact", "says": "Isolde was deposed as queen of Vell", "about": ["Isolde"]}
    await claim_in_scene(driver, "The coup", "10 Frostmoon 1402 AE", takes, deposed)
    if closed:
        await driver.call("tell", scene="The coup", end_scene="Maro takes the crown.")
    before = await driver.call("find", about="Isolde", kinds=["fact", "relation"])

    done = await driver.call("decide", verdict="retcon", of=["The coup"], reason="we replay it")

    after = await driver.call("find", about="Isolde", kinds=["fact", "relation"])
    assert sorted(one["how"] for one in done["items"]) == 2 * ["holds again"] + 2 * ["retracted"]
    assert [row["says"] for row in before["found"]] == ["Isolde was deposed as queen of Vell"]
    assert {row["says"] for row in after["found"]} == {
        "Isolde is queen of Vell",
        "Isolde owns Drowned Crown",
    }
    assert (after["total"], "next" in after) == (2, False)


async def test_a_contributors_claim_on_an_open_scene_is_decided_there() -> None:
    driver = await make_vell()
    await driver.call("tell", scene="The feast", turns=[{"by": "gm", "text": "Corin falls."}])
    ann = make_driver("Contributor", beside=driver)
    wounded = {"kind": "state", "of": "Corin", "tags": ["wounded"]}
    asked = await ann.call("propose", claims=[wounded], evidence=["The feast"])
    (waiting,) = (await driver.call("review", what="pending"))["waiting"]

    await driver.call("decide", verdict="accept", of=[waiting["id"]], reason="so it was")

    assert asked["kept"] is True
    assert "wounded" in (await driver.call("get", of="Corin"))["tags"]


async def test_a_secret_is_shown_to_its_readers_and_revealed_by_one_call() -> None:
    driver = await make_vell()
    corin = (await driver.call("get", of="Corin"))["id"]
    result = make_driver("Reader", beside=driver, characters=frozenset({corin}))
    others = make_driver("Reader", beside=driver)
    poison = {"kind": "fact", "says": "Maro poisoned the cup", "about": ["Maro"], "for": ["Corin"]}
    (verdict,) = (await driver.call("propose", claims=[poison], said="Maro did it."))["verdicts"]

    async def known(to: ToolDriver) -> list[str]:
        return [row["says"] for row in (await to.call("find", about="Maro"))["found"]]

    assert (await known(result), await known(others)) == (["Maro poisoned the cup"], [])
    await driver.call("decide", verdict="reveal", of=[verdict["id"]], reason="Corin tells all")

    assert await known(others) == ["Maro poisoned the cup"]


async def test_a_named_reader_must_exist() -> None:
    driver = await make_vell()
    claim = {"kind": "fact", "says": "Maro lies", "about": ["Maro"], "for": ["Nobody"]}

    refused = await driver.refused("propose", claims=[claim], said="So it is.")

    assert refused["details"]["path"] == "/claims/0/for/0"


@pytest.mark.parametrize(
    ("claim", "path"),
    [
        ({"says": "Corin sings", "when": "1204-13-45"}, "/claims/1/when"),
        ({"says": ""}, "/claims/1/says"),
    ],
)
async def test_a_faulty_claim_is_reported_in_its_own_words(
    claim: dict[str, Any], path: str
) -> None:
    driver = await make_vell()
    good = {"kind": "fact", "says": "Corin dances", "about": ["Corin"]}

    error = await driver.refused(
        "propose", claims=[good, {"kind": "fact", "about": ["Corin"], **claim}], said="x"
    )

    assert error["details"]["path"] == path
    assert "content" not in error["message"]
    assert "fact takes" not in error["message"]


async def test_one_of_two_exclusive_states_claimed_at_once_is_accepted() -> None:
    driver = await make_vell()
    states = [{"kind": "state", "of": "Corin", "tags": [tag]} for tag in ("wounded", "healthy")]

    reply = await driver.call("propose", claims=states, said="He is hurt, and he is well.")

    assert [row["verdict"] for row in reply["verdicts"]] == ["accepted", "rejected"]
    brief = (await driver.call("context", of="Corin"))["brief"]
    assert ("Corin is wounded" in brief, "Corin is healthy" in brief) == (True, False)


@pytest.mark.parametrize("cited", ["turn", "scene"])
@pytest.mark.parametrize("by", ["call", "claim"])
async def test_only_words_of_characters_overrule_no_game_master(cited: str, by: str) -> None:
    driver = make_driver()
    await driver.call("open", name="Fair")
    people = [{"kind": "entity", "name": name, "type": "character"} for name in ("Oda", "Wim")]
    stall = {"kind": "entity", "name": "Stall", "type": "location"}
    owned = {"kind": "fact", "says": "Oda owns the Stall"}
    asked: dict[str, dict[str, Any]]
    await driver.call("propose", said="It is Oda's.", claims=[*people, stall, owned])
    turns = [{"by": "Wim", "text": "The Stall is mine!"}]
    told = await driver.call("tell", scene="Market", turns=turns)
    evidence: list[str] = {"turn": [told["turns"][0]["id"]], "scene": ["Market"]}[cited]
    claim: dict[str, Any] = {"kind": "fact", "says": "Wim owns the Stall"}
    asked = {"claim": {"claims": [{**claim, "evidence": evidence}]}}
    asked["call"] = {"claims": [claim], "evidence": evidence}

    reply = await driver.call("propose", **asked[by])

    assert [one["verdict"] for one in reply["verdicts"]] == ["needs review"]

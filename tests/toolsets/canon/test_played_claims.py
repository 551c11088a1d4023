"""What is claimed of a scene happens there: at its time, in its place of the story."""

from typing import Any

import pytest

from tests.toolsets.canon.kit import Desk, a_desk

pytestmark = pytest.mark.anyio

CALENDAR = {
    "months": [{"name": name, "days": 30} for name in ("Frostmoon", "Seedmoon", "Highsun")],
    "eras": [{"name": "AE", "first_year": 1}],
}


async def vell(agent: str = "Solo") -> Desk:
    """A space with a calendar, a captain who is alive, and a crown that a queen has."""
    desk = a_desk(agent)
    await desk.call("open", name="Vell", calendar=CALENDAR)
    people = [
        {"kind": "entity", "name": name, "type": "character", "tags": ["alive"]}
        for name in ("Isolde", "Corin", "Maro")
    ]
    crown = {"kind": "entity", "name": "Drowned Crown", "type": "object"}
    owns = {"kind": "relation", "from": "Isolde", "type": "OWNS", "to": "Drowned Crown"}
    queen = {"kind": "fact", "says": "Isolde is queen of Vell", "about": ["Isolde"]}
    claims = [*people, crown, owns, queen]
    await desk.call("propose", claims=claims, said="Isolde is queen, and wears the crown.")
    return desk


async def scene(desk: Desk, title: str, when: str, *claims: dict[str, Any]) -> dict[str, Any]:
    """The reply to claims that cite a scene of their own."""
    await desk.call("tell", scene=title, when=when, turns=[{"by": "gm", "text": f"{title}."}])
    return await desk.call("propose", claims=list(claims), evidence=[title])


async def test_d1_a_flashback_changes_what_was_then_and_not_what_is() -> None:
    desk = await vell()
    dead = {"kind": "fact", "says": "Corin is dead", "about": ["Corin"]}
    await scene(desk, "The feast", "3 Frostmoon 1402 AE", dead)

    alive = {"kind": "state", "of": "Corin", "tags": ["alive", "young"]}
    await scene(desk, "Ten years before", "1 Highsun 1392 AE", alive)

    now = await desk.call("get", of="Corin")
    then = await desk.call("get", of="Corin", at="2 Highsun 1392 AE")
    assert ("dead" in now["tags"], "alive" in now["tags"]) == (True, False)
    assert then["tags"] == ["alive", "young"]


async def test_d10_who_died_in_one_scene_does_nothing_in_the_next_that_says_when_from_there() -> (
    None
):
    desk = await vell()
    dead = {"kind": "fact", "says": "Corin is dead", "about": ["Corin"]}
    await scene(desk, "The feast", "3 Frostmoon 1402 AE", dead)

    sells = {"kind": "event", "says": "Corin sells a map", "who": ["Corin"], "about": ["Maro"]}
    reply = await scene(desk, "The docks", "next day", sells)

    (verdict,) = reply["verdicts"]
    assert (verdict["verdict"], verdict["rule"]) == ("rejected", "gate:actor-alive")


async def test_times_are_told_in_the_calendar_of_the_space() -> None:
    desk = await vell()
    takes = {"kind": "relation", "from": "Maro", "type": "OWNS", "to": "Drowned Crown"}
    falls = {"kind": "event", "says": "The queen falls", "about": ["Isolde"]}
    await scene(desk, "The coup", "10 Frostmoon 1402 AE", takes, falls)

    (before,) = (
        await desk.call("find", text="owns", kinds=["relation"], at="5 Frostmoon 1402 AE")
    )["found"]
    rows = (await desk.call("timeline", about="Isolde"))["timeline"]

    assert (before["says"], before["until"]) == (
        "Isolde owns Drowned Crown",
        "10 Frostmoon 1402 AE",
    )
    assert {(row["says"], row.get("how"), row["when"]) for row in rows} == {
        ("The queen falls", None, "10 Frostmoon 1402 AE"),
        ("Isolde owns Drowned Crown", "ended", "10 Frostmoon 1402 AE"),
    }


@pytest.mark.parametrize("closed", [False, True])
async def test_a_scene_is_taken_back_as_a_whole_by_its_title(closed: bool) -> None:
    desk = await vell()
    takes = {"kind": "relation", "from": "Maro", "type": "OWNS", "to": "Drowned Crown"}
    deposed = {"kind": "fact", "says": "Isolde was deposed as queen of Vell", "about": ["Isolde"]}
    await scene(desk, "The coup", "10 Frostmoon 1402 AE", takes, deposed)
    if closed:
        await desk.call("tell", scene="The coup", end_scene="Maro takes the crown.")
    before = await desk.call("find", about="Isolde", kinds=["fact", "relation"])

    done = await desk.call("decide", verdict="retcon", of=["The coup"], reason="we replay it")

    after = await desk.call("find", about="Isolde", kinds=["fact", "relation"])
    assert (len(done["fallen"]), len(done["holds_again"])) == (2, 2)
    assert [row["says"] for row in before["found"]] == ["Isolde was deposed as queen of Vell"]
    assert {row["says"] for row in after["found"]} == {
        "Isolde is queen of Vell",
        "Isolde owns Drowned Crown",
    }
    assert (after["total"], "next" in after) == (2, False)


async def test_what_a_contributor_claims_of_a_scene_that_goes_on_is_decided_there() -> None:
    desk = await vell()
    await desk.call("tell", scene="The feast", turns=[{"by": "gm", "text": "Corin falls."}])
    ann = a_desk("Contributor", beside=desk)
    wounded = {"kind": "state", "of": "Corin", "tags": ["wounded"]}
    asked = await ann.call("propose", claims=[wounded], evidence=["The feast"])
    (waiting,) = (await desk.call("review", what="pending"))["waiting"]

    await desk.call("decide", verdict="accept", of=[waiting["id"]], reason="so it was")

    assert asked["kept"] is True
    assert "wounded" in (await desk.call("get", of="Corin"))["tags"]


async def test_d7_a_secret_is_told_to_whom_it_is_for_and_comes_out_by_one_word() -> None:
    desk = await vell()
    corin = (await desk.call("get", of="Corin"))["id"]
    told = a_desk("Reader", beside=desk, characters=frozenset({corin}))
    others = a_desk("Reader", beside=desk)
    poison = {"kind": "fact", "says": "Maro poisoned the cup", "about": ["Maro"], "for": ["Corin"]}
    (verdict,) = (await desk.call("propose", claims=[poison], said="Maro did it."))["verdicts"]

    async def known(to: Desk) -> list[str]:
        return [row["says"] for row in (await to.call("find", about="Maro"))["found"]]

    assert (await known(told), await known(others)) == (["Maro poisoned the cup"], [])
    await desk.call("decide", verdict="reveal", of=[verdict["id"]], reason="Corin tells all")

    assert await known(others) == ["Maro poisoned the cup"]


async def test_who_may_know_is_somebody_who_is_there() -> None:
    desk = await vell()
    claim = {"kind": "fact", "says": "Maro lies", "about": ["Maro"], "for": ["Nobody"]}

    refused = await desk.refused("propose", claims=[claim], said="So it is.")

    assert refused["details"]["path"] == "/claims/0/for/0"


@pytest.mark.parametrize(
    ("claim", "path"),
    [
        ({"says": "Corin sings", "when": "1204-13-45"}, "/claims/1/when"),
        ({"says": ""}, "/claims/1/says"),
    ],
)
async def test_what_is_wrong_with_a_claim_is_told_in_its_own_words(
    claim: dict[str, Any], path: str
) -> None:
    desk = await vell()
    good = {"kind": "fact", "says": "Corin dances", "about": ["Corin"]}

    error = await desk.refused(
        "propose", claims=[good, {"kind": "fact", "about": ["Corin"], **claim}], said="x"
    )

    assert error["details"]["path"] == path
    assert "content" not in error["message"]
    assert "fact takes" not in error["message"]


async def test_of_two_states_that_exclude_each_other_and_are_claimed_at_once_one_stands() -> None:
    desk = await vell()
    states = [{"kind": "state", "of": "Corin", "tags": [tag]} for tag in ("wounded", "healthy")]

    told = await desk.call("propose", claims=states, said="He is hurt, and he is well.")

    assert [row["verdict"] for row in told["verdicts"]] == ["accepted", "rejected"]
    brief = (await desk.call("context", of="Corin"))["brief"]
    assert ("Corin is wounded" in brief, "Corin is healthy" in brief) == (True, False)

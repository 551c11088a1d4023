"""Times in everyday words: from when something holds, and days that no calendar has."""

import json

import pytest

from tests.toolsets.canon.talking import claim_fact, claim_relation, last_verdict, start_talk

pytestmark = pytest.mark.anyio

TIMES = [
    ("Max broke his arm on the 3rd.", "3 November 2026"),
    ("Max broke his arm on the 20th.", "20 October 2026"),
    ("Max broke his arm last Thursday.", "5 November 2026"),
    ("Max broke his arm on Friday.", "6 November 2026"),
    ("Max broke his arm yesterday.", "8 November 2026"),
    ("Max broke his arm on 24 December.", "24 December 2025"),
    ("Max broke his arm in 2019.", "2019"),
    ("Max was kidnapped in 1850.", "1850"),
    ("In 1853 the dog of Max burned.", "In 1853"),
    ("Max joined the choir in March.", "March 2026"),
    ("Max weighs 40 kg since 2 November.", "2 November 2026"),
    ("Max zog am 3. November nach Wien.", "3 November 2026"),
]


@pytest.mark.parametrize(("text", "begin"), TIMES)
async def test_a_change_holds_from_the_time_in_its_words(text: str, begin: str) -> None:
    home = await start_talk(Max="character")
    await home.propose_text(text)

    shown = await home.driver.call("timeline", about="Max")
    assert [row["when"] for row in shown["timeline"]] == [begin]


@pytest.mark.parametrize(
    "text",
    [
        "Max goes to the choir on Tuesdays.",
        "The choir sings on 24 December.",
        "Max was born on 3 May 2019.",
        "Max met Ana in 2011 and Bo in 2012.",
    ],
)
async def test_a_habit_a_date_and_a_birth_hold_without_a_beginning(text: str) -> None:
    home = await start_talk(Max="character", choir="faction")
    await home.propose_text(text)

    assert "from" not in (await home.find_statements("Max choir"))[text.rstrip(".")]


@pytest.mark.parametrize(
    ("when", "begin"),
    [
        ("on the 3rd", "3 November 2026"),
        ("the 20th", "20 October 2026"),
        ("3rd November", "3 November 2026"),
        ("Friday", "6 November 2026"),
        ("am 3.", "3 November 2026"),
        ("in May", "May 2026"),
    ],
)
async def test_a_partial_day_lies_before_the_day_of_recording(when: str, begin: str) -> None:
    home = await start_talk(boiler="object")
    event = {"kind": "event", "says": "The boiler was serviced", "when": when}
    assert last_verdict(await home.propose_text("It was serviced.", event)) == "accepted"

    (row,) = (await home.driver.call("timeline", about="boiler"))["timeline"]
    assert row["when"] == begin


@pytest.mark.parametrize(
    ("text", "begin"),
    [
        ("We will move to Linz in May.", "May 2027"),
        ("Ida will join the choir on Friday.", "13 November 2026"),
        ("Ida will join the choir in spring.", "spring of 2027"),
        ("Ida is moving to Linz in May.", "May 2027"),
    ],
)
async def test_a_plan_lies_after_the_day_of_recording_and_ends_nothing_before(
    text: str, begin: str
) -> None:
    home = await start_talk(Ida="character", Linz="location", Vienna="location")
    await home.propose_text("Ida lives in Vienna.")
    reply = await home.propose_text(text)

    moves = text.startswith("Ida is moving")
    assert ("ends" in reply["verdicts"][0]) is moves
    assert (await home.find_statements("Linz choir Ida"))[text.rstrip(".")]["from"] in {
        begin,
        text[-7:-1],
    }
    assert "Ida lives in Vienna" in await home.holding_statements("Ida")
    later = await home.holding_statements("Ida", at="2027-06-10")
    assert ("Ida lives in Vienna" in later) is not moves


@pytest.mark.parametrize(
    ("said", "when", "begin"),
    [
        ("We move to Linz in January.", "in January", "January 2027"),
        ("We will be in Linz on the 3rd.", "on the 3rd", "3 December 2026"),
        ("We are moving to Linz in spring.", "in the spring", "spring of 2027"),
        ("We moved to Linz in October.", "in October", "October 2026"),
        ("We moved to Linz on Friday.", "on Friday", "6 November 2026"),
        ("Home is in Linz.", "in January", "January 2026"),
        ("We have a meeting in Linz on 3 December.", "on 3 December", "3 December 2026"),
        ("Next appointment in Linz: 3 December.", "3 December", "3 December 2026"),
        ("Ida hat am 3. Dezember einen Termin.", "3 December", "3 December 2026"),
        ("Ida a rendez-vous à Linz le 3 décembre.", "3 December", "3 December 2026"),
        ("We had a meeting in Linz on 3 December.", "on 3 December", "3 December 2025"),
        ("We moved to Linz.", "this March", "March 2026"),
    ],
)
async def test_the_tense_decides_between_the_last_and_the_next_time(
    said: str, when: str, begin: str
) -> None:
    home = await start_talk(Ida="character", Linz="location")
    await home.propose_text(said, claim_fact("Ida lives in Linz.", when=when))

    assert (await home.find_statements("Ida Linz"))["Ida lives in Linz"]["from"] == begin


async def test_relative_times_count_from_the_call_except_in_game_scenes() -> None:
    home = await start_talk(Ida="character", billing="object")
    turn = await home.play_turn("Stand-up", "Ida", "I take over billing.")
    owns = claim_relation("Ida", "owns", "billing", when="3 days ago")
    assert last_verdict(await home.propose_cited(turn, owns)) == "accepted"
    assert (await home.find_statements("Ida billing"))["Ida owns billing"][
        "from"
    ] == "6 November 2026"

    played = await home.play_turn("The vault", "gm", "The vault stands open.")
    error = await home.driver.refused("propose", evidence=[played], claims=[owns])
    assert error["message"].startswith("/claims/0/when '3 days ago' counts from another time")
    assert "time_ref" not in error["message"]
    _, _, call = error["message"].partition("For example: tell ")
    await home.driver.call("tell", **json.loads(call))
    assert (
        last_verdict(await home.propose_cited(played, {**owns, "to": "Ida", "from": "billing"}))
        == "accepted"
    )


@pytest.mark.parametrize("at", ["since October", "October this year", "last summer"])
async def test_every_read_takes_times_relative_to_today(at: str) -> None:
    home = await start_talk(Ida="character", billing="object")
    await home.propose_text(
        "So it is.", claim_relation("Ida", "owns", "billing", when="1 May 2026")
    )

    assert "Ida owns billing" in await home.holding_statements("billing", at=at)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Mia was born on 30 February 2019.", "February 2019 has no day 30"),
        ("Mia was born on 2019-02-29.", "February 2019 has no day 29"),
        ("Mia's birthday is 31 April.", "April has no day 31"),
        ("Mia moved out on 31 June 2024.", "June 2024 has no day 31"),
        ("Mia zog am 30. Februar 2019 nach Wien.", "February 2019 has no day 30"),
    ],
)
async def test_an_impossible_day_is_refused(text: str, named: str) -> None:
    home = await start_talk(Mia="character")
    error = await home.driver.refused("propose", said=text, claims=[claim_fact(text)])

    assert named in error["message"]
    assert error["details"]["path"] == "/claims/0/says"


@pytest.mark.parametrize("date", ["30 February 2019", "2019-02-30", "31 April 2020"])
async def test_an_account_refuses_an_impossible_day(date: str) -> None:
    home = await start_talk()
    mia = {"kind": "entity", "name": "Mia", "type": "person", "fields": {"date_of_birth": date}}
    error = await home.driver.refused("propose", said="Mia.", claims=[mia], space="account")

    assert error["details"]["path"] == "/claims/0/fields/date_of_birth"
    assert "Ask for the right date" in error["message"]


async def test_a_leap_day_and_a_declared_calendar_are_accepted() -> None:
    home = await start_talk(Mia="character")
    assert last_verdict(await home.propose_text("Mia was born on 29 February 2020.")) == "accepted"

    await home.driver.call(
        "open", name="Far", calendar={"months": [{"name": "February", "days": 40}]}
    )
    reply = await home.propose_text("Ana left on 39 February 12.", space="Far")
    assert last_verdict(reply) == "accepted"


async def test_a_plan_ends_nothing_before_its_day() -> None:
    home = await start_talk(Ana="character", Bo="character", Linz="location", Graz="location")
    guild = {"kind": "entity", "name": "Guild", "type": "faction"}
    await home.propose_text("So it is.", guild, claim_relation("Ana", "LOCATED_IN", "Graz"))
    await home.propose_text("Bo is in it.", claim_relation("Bo", "MEMBER_OF", "Guild"))
    retires = {"kind": "state", "of": "Ana", "tags": ["retired"], "when": "May 2027"}

    moves = await home.propose_text(
        "In May.", claim_relation("Ana", "LOCATED_IN", "Linz", when="May 2027")
    )
    await home.propose_text("In May.", retires)
    await home.propose_text("Next week.", claim_fact("Bo leaves the Guild.", when="2026-11-16"))

    assert moves["note"].startswith("Ends then: ")
    here = await home.driver.call("get", of="Ana")
    graz, linz = here["relations"]
    assert graz["says"] == "Ana located in Graz"
    assert (linz["says"], linz["from"], linz["planned"]) == (
        "Ana located in Linz",
        "May 2027",
        True,
    )
    assert "tags" not in here
    listed = (await home.driver.call("find", kinds=["relation"]))["found"]
    assert {row["says"]: row.get("planned") for row in listed} == {
        "Ana located in Graz": None,
        "Ana located in Linz": True,
        "Bo member of Guild": None,
    }
    assert "(planned from May 2027)" in (await home.driver.call("context", of="Ana"))["brief"]
    assert "Ana located in Graz" not in await home.holding_statements("Ana", at="2027-06-01")

    home.pass_time(days=8)
    assert "Bo member of Guild" not in await home.holding_statements("Bo")
    home.pass_time(days=200)
    then = await home.driver.call("get", of="Ana")
    assert [row["says"] for row in then["relations"]] == ["Ana located in Linz"]
    assert then["tags"] == ["retired"]


async def test_an_undated_statement_stands_before_a_plan() -> None:
    home = await start_talk(Ana="character", Linz="location", Graz="location")
    await home.propose_text("In May.", claim_relation("Ana", "LOCATED_IN", "Linz", when="May 2027"))

    reply = await home.propose_text("Now in Graz.", claim_relation("Ana", "LOCATED_IN", "Graz"))

    assert last_verdict(reply) == "accepted"
    assert await home.holding_statements("Ana", at="2027-06-01") == {"Ana located in Linz"}
    assert await home.holding_statements("Ana") == {"Ana located in Graz", "Ana located in Linz"}


async def test_a_day_in_words_begins_at_midnight_in_a_list() -> None:
    home = await start_talk(Ana="character")
    await home.propose_text("Ana weighs 60 kg.", claim_fact("Ana weighs 60 kg.", when="today"))
    home.pass_time(hours=3)

    shown = await home.driver.call("timeline", **{"from": "today", "to": "in a week"})

    assert [row["says"] for row in shown["timeline"]] == ["Ana weighs 60 kg."]

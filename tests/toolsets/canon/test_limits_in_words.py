"""The words of a fact say from when and until when it holds; each call is on 9 November 2026."""

import pytest

from tests.toolsets.canon.talking import Talk, start_talk

pytestmark = pytest.mark.anyio


async def household_talk() -> Talk:
    home = await start_talk(Mia="character", Shop="location", Flat="object")
    for text in ("Mia lives in Kassel.", "The rent of the Flat is 800 euros.", "The Shop is open."):
        await home.propose_text(text)
    return home


@pytest.mark.parametrize(
    ("text", "last", "after"),
    [
        ("Mia is on holiday until Friday.", "2026-11-13T20:00:00Z", "2026-11-14"),
        ("Mia is on leave till 3 May.", "2027-05-03", "2027-05-04"),
        ("Mia is the captain until March 2027.", "2027-02-28", "2027-03-01"),
        ("The discount is valid through March 2027.", "2027-03-31", "2027-04-01"),
        ("Mia is the treasurer until the end of March 2027.", "2027-03-31", "2027-04-01"),
        ("Mia ist bis Freitag im Urlaub.", "2026-11-13", "2026-11-14"),
        ("Mia est en vacances jusqu'à vendredi.", "2026-11-13", "2026-11-14"),
        ("Mia está de vacaciones hasta el viernes.", "2026-11-13", "2026-11-14"),
        ("Mia is in Rome from 20 December until 3 January.", "2027-01-03", "2027-01-04"),
        ("Mia is in Rome from 20 December to 3 January.", "2027-01-03", "2027-01-04"),
        ("Mia is on leave from 7 to 11 December.", "2026-12-11", "2026-12-12"),
        ("Mia is in Rome from February to April 2027.", "2027-04-30", "2027-05-01"),
        ("Mia is on holiday next week.", "2026-11-22", "2026-11-23"),
        ("Mia is unavailable tomorrow.", "2026-11-10", "2026-11-11"),
        ("The Shop is closed on 24 December.", "2026-12-24", "2026-12-25"),
        ("Mia is in Rome in February.", "2027-02-28", "2027-03-01"),
        ("Mia ist vom 3. bis 7. Dezember im Urlaub.", "2026-12-07", "2026-12-08"),
        ("Mia ist nächste Woche im Urlaub.", "2026-11-22", "2026-11-23"),
        ("Mia est absente du 3 mai au 5 juin.", "2027-06-05", "2027-06-06"),
        ("La tienda Shop está cerrada mañana.", "2026-11-10", "2026-11-11"),
    ],
)
async def test_a_fact_ends_at_the_time_that_its_words_name(
    text: str, last: str, after: str
) -> None:
    home = await household_talk()
    await home.propose_text(text)

    found = text.rstrip(".")
    assert found in (await home.find_statements(found, at=last))
    assert found not in (await home.find_statements(found, at=after))


@pytest.mark.parametrize(
    ("text", "begin"),
    [
        ("From March 2027 Mia lives in Rome.", "March 2027"),
        ("Mia lives in Rome starting in March.", "March 2027"),
        ("Mia lives in Rome as of January.", "January 2027"),
        ("Mia lives in Rome as of October.", "October 2026"),
        ("Mia wohnt ab März 2027 in Rom.", "March 2027"),
        ("À partir de janvier 2027 Mia habite à Rome.", "January 2027"),
        ("Mia now lives in Rome since June.", "June"),
    ],
)
async def test_a_fact_begins_at_the_time_that_its_words_name(text: str, begin: str) -> None:
    home = await household_talk()
    await home.propose_text(text)

    found = text.rstrip(".")
    row = (await home.find_statements(found))[found]
    assert row["from"].endswith(begin) or row["from"] == f"{begin} 2026"
    assert ("planned" in row) is begin.endswith("2027")
    assert "Mia lives in Kassel" in await home.holding_statements("Mia", at="2026-05-31")
    assert "Mia lives in Kassel" not in await home.holding_statements("Mia", at="2027-04-01")


@pytest.mark.parametrize(
    "text",
    [
        "Mia has a wine from 2015.",
        "Mia works from home.",
        "The meeting is moved from Friday to Monday.",
        "Up to 5 people may enter.",
        "Mia waits until Tom comes.",
        "Mia was away until June.",
        "Mia is the captain until further notice.",
        "Mia works at Acme and Tom is away until Friday.",
        "Mia, who plays chess, is on leave until Friday.",
        "Mia is away from Monday only.",
        "The Shop is closed from Monday to Friday.",
        "The Shop is closed on Mondays.",
        "The Shop is closed in winter.",
        "The meeting moves from 3 May to 5 May.",
        "Mia walks from Rome to Paris.",
        "The report is due tomorrow.",
        "Mia is a teacher today.",
        "Today the Shop is a museum.",
    ],
)
async def test_words_that_look_like_a_limit_are_none(text: str) -> None:
    home = await household_talk()
    await home.propose_text(text)

    found = text.rstrip(".")
    (row,) = [row for said, row in (await home.find_statements(found)).items() if said == found]
    assert row.keys().isdisjoint({"from", "until", "planned"})


async def test_a_new_price_holds_from_its_day_and_the_old_one_until_then() -> None:
    home = await household_talk()
    reply = await home.propose_text("The rent of the Flat is 900 euros from January 2027.")

    assert reply["note"].startswith("Ends then:")
    assert "The rent of the Flat is 800 euros" in await home.holding_statements(
        "Flat", at="2026-12-31"
    )
    assert await home.holding_statements("Flat", at="2027-01-01") == {
        "The rent of the Flat is 900 euros from January 2027"
    }


async def test_what_stands_without_an_end_ends_where_it_is_said_until_when_it_holds() -> None:
    home = await household_talk()
    await home.propose_text("Mia works at Acme.")
    await home.propose_text("Mia works at Acme until February 2027.")

    assert "Mia works at Acme until February 2027" in await home.holding_statements(
        "Mia", at="2027-01-31"
    )
    after = await home.holding_statements("Mia", at="2027-02-01")
    assert after == {"Mia lives in Kassel"}


async def test_a_state_returns_after_a_limited_change() -> None:
    home = await household_talk()
    await home.propose_text("The Shop is closed from 7 December until 11 December.")

    assert "Shop is open" in await home.holding_statements("Shop", at="2026-12-06")
    assert "Shop is open" not in await home.holding_statements("Shop", at="2026-12-09")
    assert "Shop is open" in await home.holding_statements("Shop", at="2026-12-12")
    assert (await home.driver.call("get", of="Shop", at="2026-12-12"))["tags"] == ["open"]


async def test_a_limited_state_yields_to_what_is_said_later() -> None:
    home = await household_talk()
    await home.propose_text("The Shop is closed until Friday.")
    home.pass_time(days=1)
    reply = await home.propose_text("The Shop is open again.")

    assert reply["note"].startswith("Ended: The Shop is closed until Friday")
    assert (await home.driver.call("get", of="Shop"))["tags"] == ["open"]


async def test_the_tense_of_a_change_decides_between_the_last_month_and_the_next() -> None:
    home = await household_talk()
    for text in ("Mia stopped eating meat in September.", "Mia stops smoking in June."):
        await home.propose_text(text)

    rows = await home.find_statements("Mia")
    assert rows["Mia stopped eating meat in September"]["from"].endswith("September 2026")
    assert rows["Mia stops smoking in June"]["from"].endswith("June 2027")

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
        ("Mia is in Rome between 20 and 24 November.", "2026-11-24", "2026-11-25"),
        ("Mia ist zwischen dem 20. und dem 24. November in Rom.", "2026-11-24", "2026-11-25"),
        ("Mia est à Rome entre le 20 et le 24 novembre.", "2026-11-24", "2026-11-25"),
        ("Mia está en Roma entre el 20 y el 24 de noviembre.", "2026-11-24", "2026-11-25"),
        ("The Shop is closed in the first week of December.", "2026-12-07", "2026-12-08"),
        ("Der Laden Shop ist in der ersten Dezemberwoche zu.", "2026-12-07", "2026-12-08"),
        ("The Shop is closed in the second half of December.", "2026-12-31", "2027-01-01"),
        ("The Shop is closed over Christmas.", "2026-12-26", "2026-12-27"),
        ("Mia is on leave for two weeks from 16 November.", "2026-11-30", "2026-12-01"),
        ("Mia ist ab 16. November für zwei Wochen im Urlaub.", "2026-11-30", "2026-12-01"),
        ("Mia covers for Odo from 20 to 24 November.", "2026-11-24", "2026-11-25"),
        ("Mia is staying with Odo from November 20 to 24.", "2026-11-24", "2026-11-25"),
        ("Mia works from home this week.", "2026-11-15", "2026-11-16"),
        ("Mia is visiting Odo this weekend.", "2026-11-15", "2026-11-16"),
        ("Mia is on holiday from Monday to Wednesday.", "2026-11-11", "2026-11-12"),
        ("Mia is ill today.", "2026-11-09", "2026-11-10"),
        ("Der Laden Shop ist heute geschlossen.", "2026-11-09", "2026-11-10"),
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
        "The Shop is open from 7:00 to 18:00 on weekdays.",
        "Mia is in the office from 9:00 to 17:00.",
        "The library is closed from noon to 2 pm every day.",
        "Der Laden Shop ist von 7:00 bis 18:00 Uhr offen.",
        "La tienda Shop está abierta de 9:00 a 17:30.",
        "Le magasin Shop est ouvert de 9h à 18h30.",
        "The Shop is closed on Monday.",
        "The Shop is open Tuesday and Thursday.",
        "Mia's working days are Monday and Friday.",
        "Das Geschäft Shop ist am Montag und Dienstag zu.",
        "Le magasin Shop est fermé le lundi.",
        "La tienda Shop está cerrada los lunes.",
        "Der Laden Shop ist von Montag bis Freitag offen.",
        "The meeting is postponed from 3 May to 5 May.",
        "The plate of the Flat is L-AB 123.",
        "Rooms are available starting from 120 euros.",
        "Mia counts from 1 to 10.",
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


@pytest.mark.parametrize(
    ("rule", "exception", "day"),
    [
        ("The standup is at 9:30", "Tomorrow the standup is at 11:00", "2026-11-10"),
        ("Mia's bedtime is 8 pm", "Mia's bedtime is 9 pm tonight", "2026-11-09"),
        ("The Shop closes at 18:00", "On 24 December the Shop closes at 12:00", "2026-12-24"),
        ("The Shop opens at 7:00", "The Shop opens at 8:00 tomorrow", "2026-11-10"),
        ("The bin is collected on Tuesdays", "Next week the bin is collected on Monday", ""),
        ("Mia's class teacher is Odo", "Next week Mia's class teacher is Ada", "2026-11-18"),
        ("The ticket costs 12 euros", "Tomorrow the ticket costs 5 euros", "2026-11-10"),
        ("Das Training ist um 9:30", "Morgen ist das Training um 11:00", "2026-11-10"),
        ("La réunion est à 9 heures", "Demain la réunion est à 11 heures", "2026-11-10"),
        ("La reunión es a las 9", "Mañana la reunión es a las 11", "2026-11-10"),
    ],
)
async def test_an_exception_holds_for_its_time_and_the_rule_before_and_after(
    rule: str, exception: str, day: str
) -> None:
    home = await start_talk(Mia="character", Shop="location")
    await home.propose_text(f"{rule}.")
    reply = await home.propose_text(f"{exception}.")

    assert reply["note"] == "Accepted 1 of 1."
    at = day or "2026-11-18"
    assert {rule, exception} <= (await home.find_statements(rule, at=at)).keys() | (
        await home.find_statements(exception, at=at)
    ).keys()
    later = await home.find_statements(rule, at="2026-12-30")
    assert rule in later
    assert exception not in later


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Tomorrow the standup is at 11:00", "Tomorrow the standup is at 12:00"),
        ("The standup is at 9:30", "The standup is at 11:00"),
        ("Mia's class teacher is Odo", "Mia's class teacher is Ada"),
        ("The party is on 5 December", "The party is on 6 December"),
    ],
)
async def test_two_values_of_one_time_still_contradict(first: str, second: str) -> None:
    home = await start_talk(Mia="character")
    await home.propose_text(f"{first}.")

    reply = await home.propose_text(f"{second}.")
    assert reply["verdicts"][0]["verdict"] == "rejected"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The rent is 800 euros", "The rent rises to 900 euros on 1 January"),
        ("The rent is 800 euros", "In January the rent goes up to 900 euros"),
        ("The rent is 800 euros", "The rent will increase to 900 euros in January"),
        ("The rent is 800 euros", "The rent will be 900 euros from January"),
        ("The plan costs 29 euros", "The plan will cost 35 euros from January"),
        ("The interest rate is 3 %", "The interest rate falls to 2 % in January"),
        ("Mia lives in Graz", "Mia will live in Rome from January"),
        ("Die Miete beträgt 800 Euro", "Die Miete steigt am 1. Januar auf 900 Euro"),
        ("Die Miete beträgt 800 Euro", "Die Miete wird ab Januar 900 Euro betragen"),
        ("El alquiler es de 800 euros", "El alquiler sube a 900 euros el 1 de enero"),
    ],
)
async def test_an_announced_value_ends_the_old_one_at_its_day(old: str, new: str) -> None:
    home = await start_talk(Mia="character")
    await home.propose_text(f"{old}.")
    reply = await home.propose_text(f"{new}.")

    assert reply["note"].startswith("Ends then:")
    assert old in await home.find_statements(old, at="2026-12-31")
    assert (await home.find_statements(new))[new]["planned"]
    after = (await home.find_statements(old, at="2027-01-02")).keys()
    assert old not in after
    assert new in after | (await home.find_statements(new, at="2027-01-02")).keys()


@pytest.mark.parametrize(
    ("ended", "kept", "said"),
    [
        (
            "The gym costs 29 euros per month",
            "The gym costs 290 euros per year",
            "The gym now costs 35 euros per month",
        ),
        (
            "Mia earns 36000 euros a year",
            "Mia earns 3000 euros a month",
            "Mia now earns 40000 euros a year",
        ),
        (
            "The rent is 900 euros a month",
            "The rent is 10800 euros a year",
            "The rent is now 950 euros a month",
        ),
        (
            "The fee is 120 euros per year",
            "The fee is 12 euros per month",
            "The fee rose to 150 euros per year",
        ),
        (
            "Mia gana 3000 euros al mes",
            "Mia gana 36000 euros al año",
            "Mia gana ahora 3200 euros al mes",
        ),
        (
            "Mia gagne 3000 euros par mois",
            "Mia gagne 36000 euros par an",
            "Mia gagne maintenant 3200 euros par mois",
        ),
    ],
)
async def test_a_new_value_of_one_span_leaves_that_of_another(
    ended: str, kept: str, said: str
) -> None:
    home = await start_talk(Mia="character")
    await home.propose_text(f"{ended}.")
    await home.propose_text(f"{kept}.")

    assert (await home.propose_text(f"{said}."))["note"] == f"Ended: {ended}."
    found = await home.find_statements(kept)
    assert not found[kept].get("ended")
    assert found.get(ended, {"ended": True}).get("ended")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The gym costs 29 euros per month", "The gym now costs 35 euros"),
        ("The gym costs 29 euros", "The gym now costs 35 euros per month"),
        ("The rent is 900 euros a month", "The rent rose to 950 euros last week"),
        ("The rent is 900 euros a month", "The rent rose to 950 euros yesterday"),
        ("The rent is 900 euros a month", "The rent rose to 950 euros this month"),
    ],
)
async def test_a_new_value_ends_one_without_a_span(old: str, new: str) -> None:
    home = await start_talk(Mia="character")
    await home.propose_text(f"{old}.")

    assert (await home.propose_text(f"{new}."))["note"] == f"Ended: {old}."


@pytest.mark.parametrize(
    "text",
    ["The rent will be 900 euros.", "The rent may rise to 900 euros in January."],
)
async def test_a_plan_without_a_day_and_a_guess_end_nothing(text: str) -> None:
    home = await start_talk(Mia="character")
    await home.propose_text("The rent is 800 euros.")
    reply = await home.propose_text(text)

    assert "ends" not in reply["verdicts"][0]
    assert "The rent is 800 euros" in await home.find_statements("rent", at="2027-02-01")


@pytest.mark.parametrize(
    ("plan", "end"),
    [
        ("Mia's check-up is on 20 November at 15:00", "Mia's check-up is cancelled"),
        ("Mia has an exam on 20 November", "Mia's exam was moved to 27 November"),
        ("Mia has an exam on 20 November", "Mia's exam is cancelled"),
        ("The party is on Saturday", "The party was called off"),
        ("The wedding is on 5 May", "The wedding is off"),
        ("The concert takes place on 20 November", "The concert is cancelled"),
        ("The sofa will be delivered on 20 November", "The sofa is delayed to 27 November"),
        ("The sofa is delivered on 20 November", "The sofa is delivered on 27 November instead"),
        ("The sofa is due on 20 November", "The sofa is now due on 27 November"),
        ("We have a gym membership", "We cancelled our gym membership"),
        ("Der Termin ist am 20. November", "Der Termin wurde abgesagt"),
        ("Le rendez-vous est le 20 novembre", "Le rendez-vous est annulé"),
        ("La reunión es el 20 de noviembre", "La reunión se ha cancelado"),
        ("El ensayo es el 20 de noviembre", "El ensayo ha sido cancelado por la lluvia"),
        ("La cena es el 20 de noviembre", "La cena se canceló"),
        ("La boda es el 5 de mayo", "La boda no se celebrará"),
        ("Mia joins the choir in May", "Mia is not joining the choir after all"),
        ("Mia moves to Rome in May", "Mia will not move to Rome"),
        ("Odo stays with Mia from 1 to 9 May", "Odo is not staying with Mia after all"),
    ],
)
async def test_what_is_called_off_or_moved_is_no_longer_planned(plan: str, end: str) -> None:
    home = await start_talk(Mia="character", Odo="character")
    await home.propose_text(f"{plan}.")
    reply = await home.propose_text(f"{end}.")

    assert reply["note"].startswith(("Ended:", "Ends then:"))
    for at in ({}, {"at": "2026-11-20"}, {"at": "2027-05-05"}):
        row = (await home.find_statements(plan, **at)).get(plan, {"ended": True})
        assert row.get("ended")


async def test_what_a_plan_would_have_ended_goes_on_when_it_is_given_up() -> None:
    home = await household_talk()
    await home.propose_text("Mia moves to Rome in May.")
    await home.propose_text("Mia is not moving to Rome after all.")

    assert "Mia lives in Kassel" in await home.holding_statements("Mia", at="2027-06-01")
    await home.propose_text("Mia moves to Rome in July.")
    assert "Mia moves to Rome in July" in await home.holding_statements("Mia", at="2027-08-01")


async def test_a_state_of_a_plan_goes_with_it() -> None:
    home = await start_talk(Mia="character", Odo="character")
    await home.propose_text("Mia marries Odo in May.")
    await home.propose_text("Mia will not marry Odo after all.")

    assert "tags" not in await home.driver.call("get", of="Mia", at="2027-06-01")

"""What people say of themselves, of their kin, of their age, and of what they have."""

import pytest

from tests.toolsets.canon.talking import fact, grades, relation, talk, verdict

pytestmark = pytest.mark.anyio

PEOPLE = dict.fromkeys(("Caleb", "Ida", "Silas", "Bo"), "character")

ONLY = [
    (fact("Caleb is the only brother of Ida."), relation("Silas", "brother of", "Ida")),
    (relation("Silas", "brother of", "Ida"), fact("Caleb is the only brother of Ida.")),
    (fact("Ida's only brother is Caleb."), fact("Silas is Ida's younger brother.")),
    (fact("Caleb is Ida's sole brother."), fact("Silas is a brother of Ida.")),
    (fact("Ida has no brother but Caleb."), fact("Silas is Ida's brother.")),
    (fact("Ida is an only child."), relation("Silas", "brother of", "Ida")),
    (fact("Caleb is the only son of Ida."), fact("Silas is Ida's eldest son.")),
    (fact("Caleb is Ida's only student."), relation("Silas", "student of", "Ida")),
]

AGES = [
    ("Silas is 40 years old in 1851.", "Silas was born in 1825."),
    ("Silas was born on 3 May 1390.", "Silas was 30 in 1412."),
    ("Silas turned 40 in 1851.", "Silas was 30 in 1845."),
    ("Silas was born in 1825.", "Silas died in 1851 at the age of 40."),
]


@pytest.mark.parametrize(("first", "second"), ONLY)
async def test_another_one_beside_the_only_one_is_a_contradiction(
    first: dict[str, str], second: dict[str, str]
) -> None:
    home = await talk(**PEOPLE)
    await home.told("So it is.", first)
    reply = await home.told("So it is, too.", second)

    assert (verdict(reply), grades(reply)) == ("rejected", ["contradiction"])


@pytest.mark.parametrize(
    "second",
    [
        relation("Bo", "sister of", "Ida"),
        fact("Silas is a half-brother of Ida."),
        fact("Caleb is Ida's brother."),
        fact("Silas is Bo's brother."),
    ],
)
async def test_an_only_brother_leaves_room_for_other_kin(second: dict[str, str]) -> None:
    home = await talk(**PEOPLE)
    await home.told("Caleb is Ida's only brother.")

    assert not grades(await home.told("So it is, too.", second))


@pytest.mark.parametrize(("first", "second"), AGES)
async def test_an_age_in_a_year_and_a_birth_that_do_not_fit_contradict(
    first: str, second: str
) -> None:
    home = await talk(Silas="character")
    await home.told(first)

    assert grades(await home.told(second)) == ["contradiction"]


@pytest.mark.parametrize("year", ["1810", "1811"])
async def test_a_birthday_can_be_still_to_come(year: str) -> None:
    home = await talk(Silas="character")
    await home.told("Silas is 40 years old in 1851.")

    assert not grades(await home.told(f"Silas was born in {year}."))


async def test_i_is_the_speaker_of_the_cited_turn() -> None:
    home = await talk(**PEOPLE, Leeds="location", York="location")
    for by in ("Ida", "Bo"):
        turn = await home.turn("A walk", by, "I live in Leeds.")
        await home.cited(turn, fact("I live in Leeds."))

    assert await home.holds("Ida") == {"I live in Leeds"}
    reply = await home.told("So it is.", fact("Ida lives in York.", when="today"))
    assert "I live in Leeds" in reply["note"]
    assert await home.holds("Bo") == {"I live in Leeds"}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("I am vegan.", "I eat meat."),
        ("My eyes are blue.", "My eyes are brown."),
        ("My mother is Greta.", "Greta is my sister."),
        ("I am allergic to nuts.", "I am not allergic to nuts."),
        ("J'habite à Lyon.", "J'habite à Lille."),
    ],
)
async def test_in_an_account_i_is_its_owner(first: str, second: str) -> None:
    home = await talk()
    await home.told(first, space="account")

    assert grades(await home.told(second, space="account")) == ["contradiction"]


async def test_in_a_space_of_several_nobody_knows_who_i_is() -> None:
    home = await talk()
    await home.told("I am vegan.")

    assert not grades(await home.told("I eat meat."))


@pytest.mark.parametrize(
    "back",
    [
        "The spare key is with me again.",
        "The spare key is back with Ida.",
        "I got the spare key back from Bo.",
        "Bo gave the spare key back to Ida.",
        "Bo gave back the spare key.",
        "Bo returned the spare key.",
        "I have the spare key back.",
    ],
)
async def test_what_is_given_back_is_no_longer_with_the_one_before(back: str) -> None:
    home = await talk()
    await home.told("The spare key is with Bo.", space="account")
    reply = await home.told(back, fact(back, when="today"), space="account")

    assert "The spare key is with Bo" in reply["note"]


LEAVING = [
    "Priya left the Company.",
    "Priya left the company.",
    "Priya no longer works for the Company.",
    "Priya was laid off.",
]


@pytest.mark.parametrize("text", LEAVING)
async def test_an_office_and_what_is_owned_for_it_end_with_the_membership(text: str) -> None:
    home = await talk(Priya="character", Company="organization", billing="service", Boat="object")
    told = [relation("Priya", "owns", each, when="2025") for each in ("billing", "Boat")]
    await home.told("So it is.", *told, relation("Priya", "works for", "Company", when="2025"))
    reply = await home.told(text, fact(text, when="today"))

    assert "Priya OWNS billing" in reply["note"]
    assert {"Priya owns billing", "Priya owns Boat"} <= await home.holds("Priya", at="2026-10-01")
    assert "Priya owns billing" not in await home.holds("Priya", at="tomorrow")
    assert "Priya owns Boat" in await home.holds("Priya", at="tomorrow")

    await home.desk.call("decide", verdict="undo")
    assert "Priya owns billing" in await home.holds("Priya", at="tomorrow")


async def test_who_leaves_a_band_keeps_what_is_owned_elsewhere_and_loses_its_office() -> None:
    home = await talk(Priya="character", Band="faction", billing="service")
    await home.told("So it is.", relation("Priya", "owns", "billing", when="2025"))
    await home.told("So it is, too.", fact("Priya is the captain of the Band.", when="2025"))
    reply = await home.told("Priya left the Band.", fact("Priya left the Band.", when="today"))

    assert "Priya is the captain of the Band" in reply["note"]
    assert "Priya owns billing" in await home.holds("Priya", at="tomorrow")


async def test_an_office_before_or_after_the_leaving_is_judged_by_its_time() -> None:
    home = await talk(Priya="character", Company="organization", billing="service")
    left = fact("Priya left the Company.", when="1 March 2026")
    await home.told("So it was.", left)
    assert "ends" not in (
        await home.told("She is back.", relation("Priya", "owns", "billing", when="1 May 2026"))
    )
    assert "Priya owns billing" in await home.holds("Priya", at="tomorrow")


SLIPS = [
    ("Release 2.4 slipped a week.", "11 December 2026"),
    ("Release 2.4 was postponed by two days.", "6 December 2026"),
    ("Release 2.4 ships a month earlier.", "4 November 2026"),
    ("Release 2.4 was brought forward by 3 days.", "1 December 2026"),
    ("Release 2.4 ships a week later.", "11 December 2026"),
    ("Release 2.4 was moved to Thursday.", None),
    ("Release 2.4 moved to 11 December 2026.", None),
]


@pytest.mark.parametrize(("text", "date"), SLIPS)
async def test_what_is_postponed_has_a_new_date(text: str, date: str | None) -> None:
    home = await talk()
    await home.told("Release 2.4 ships on 2026-12-04.")
    reply = await home.told(text)

    assert "Release 2.4 ships on 2026-12-04" in reply["note"]
    assert (await home.found("Release 2.4"))[text.rstrip(".")].get("date") == date


async def test_a_delay_counts_from_the_date_before_it_and_needs_one() -> None:
    home = await talk()
    assert "was compared with it" in (await home.told("The launch slipped a week."))["note"]
    await home.told("The launch is on 4 December.")
    await home.told("The launch was postponed by a week.")
    await home.told("The launch was postponed by two days.")

    found = await home.found("launch postponed two days")
    assert found["The launch was postponed by two days"]["date"] == "13 December"

"""People talk about themselves, their kin, their age and their possessions."""

import pytest

from tests.toolsets.canon.talking import (
    claim_fact,
    claim_relation,
    grades_in,
    last_verdict,
    start_talk,
)

pytestmark = pytest.mark.anyio

PEOPLE = dict.fromkeys(("Caleb", "Ida", "Silas", "Bo"), "character")

ONLY = [
    (claim_fact("Caleb is the only brother of Ida."), claim_relation("Silas", "brother of", "Ida")),
    (claim_relation("Silas", "brother of", "Ida"), claim_fact("Caleb is the only brother of Ida.")),
    (claim_fact("Ida's only brother is Caleb."), claim_fact("Silas is Ida's younger brother.")),
    (claim_fact("Caleb is Ida's sole brother."), claim_fact("Silas is a brother of Ida.")),
    (claim_fact("Ida has no brother but Caleb."), claim_fact("Silas is Ida's brother.")),
    (claim_fact("Ida is an only child."), claim_relation("Silas", "brother of", "Ida")),
    (claim_fact("Caleb is the only son of Ida."), claim_fact("Silas is Ida's eldest son.")),
    (claim_fact("Caleb is Ida's only student."), claim_relation("Silas", "student of", "Ida")),
]

AGES = [
    ("Silas is 40 years old in 1851.", "Silas was born in 1825."),
    ("Silas was born on 3 May 1390.", "Silas was 30 in 1412."),
    ("Silas turned 40 in 1851.", "Silas was 30 in 1845."),
    ("Silas was born in 1825.", "Silas died in 1851 at the age of 40."),
]


@pytest.mark.parametrize(("first", "second"), ONLY)
async def test_a_second_holder_of_an_exclusive_role_is_a_contradiction(
    first: dict[str, str], second: dict[str, str]
) -> None:
    home = await start_talk(**PEOPLE)
    await home.propose_text("So it is.", first)
    reply = await home.propose_text("So it is, too.", second)

    assert (last_verdict(reply), grades_in(reply)) == ("rejected", ["contradiction"])


@pytest.mark.parametrize(
    "second",
    [
        claim_relation("Bo", "sister of", "Ida"),
        claim_fact("Silas is a half-brother of Ida."),
        claim_fact("Caleb is Ida's brother."),
        claim_fact("Silas is Bo's brother."),
    ],
)
async def test_an_only_brother_leaves_room_for_other_kin(second: dict[str, str]) -> None:
    home = await start_talk(**PEOPLE)
    await home.propose_text("Caleb is Ida's only brother.")

    assert not grades_in(await home.propose_text("So it is, too.", second))


@pytest.mark.parametrize(("first", "second"), AGES)
async def test_an_age_in_a_year_contradicts_an_unfitting_birth(first: str, second: str) -> None:
    home = await start_talk(Silas="character")
    await home.propose_text(first)

    assert grades_in(await home.propose_text(second)) == ["contradiction"]


@pytest.mark.parametrize("year", ["1810", "1811"])
async def test_a_birthday_can_be_still_to_come(year: str) -> None:
    home = await start_talk(Silas="character")
    await home.propose_text("Silas is 40 years old in 1851.")

    assert not grades_in(await home.propose_text(f"Silas was born in {year}."))


async def test_i_means_the_speaker_of_the_cited_turn() -> None:
    home = await start_talk(**PEOPLE, Leeds="location", York="location")
    for by in ("Ida", "Bo"):
        turn = await home.play_turn("A walk", by, "I live in Leeds.")
        await home.propose_cited(turn, claim_fact("I live in Leeds."))

    assert await home.holding_statements("Ida") == {"I live in Leeds"}
    reply = await home.propose_text("So it is.", claim_fact("Ida lives in York.", when="today"))
    assert "I live in Leeds" in reply["note"]
    assert await home.holding_statements("Bo") == {"I live in Leeds"}


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
async def test_in_an_account_i_means_its_owner(first: str, second: str) -> None:
    home = await start_talk()
    await home.propose_text(first, space="account")

    assert grades_in(await home.propose_text(second, space="account")) == ["contradiction"]


async def test_in_a_shared_space_i_is_unresolved() -> None:
    home = await start_talk()
    await home.propose_text("I am vegan.")

    assert not grades_in(await home.propose_text("I eat meat."))


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
async def test_a_returned_item_is_no_longer_with_its_former_holder(back: str) -> None:
    home = await start_talk()
    await home.propose_text("The spare key is with Bo.", space="account")
    reply = await home.propose_text(back, claim_fact(back, when="today"), space="account")

    assert "The spare key is with Bo" in reply["note"]


LEAVING = [
    "Priya left the Company.",
    "Priya left the company.",
    "Priya no longer works for the Company.",
    "Priya was laid off.",
]


@pytest.mark.parametrize("text", LEAVING)
async def test_an_office_and_its_property_end_with_the_membership(text: str) -> None:
    home = await start_talk(
        Priya="character", Company="organization", billing="service", Boat="object"
    )
    found = [claim_relation("Priya", "owns", each, when="2025") for each in ("billing", "Boat")]
    await home.propose_text(
        "So it is.", *found, claim_relation("Priya", "works for", "Company", when="2025")
    )
    reply = await home.propose_text(text, claim_fact(text, when="today"))

    assert "Priya OWNS billing" in reply["note"]
    assert {"Priya owns billing", "Priya owns Boat"} <= await home.holding_statements(
        "Priya", at="2026-10-01"
    )
    assert "Priya owns billing" not in await home.holding_statements("Priya", at="tomorrow")
    assert "Priya owns Boat" in await home.holding_statements("Priya", at="tomorrow")

    await home.driver.call("decide", verdict="undo")
    assert "Priya owns billing" in await home.holding_statements("Priya", at="tomorrow")


async def test_a_leaving_member_keeps_other_property_and_loses_the_office() -> None:
    home = await start_talk(Priya="character", Band="faction", billing="service")
    await home.propose_text("So it is.", claim_relation("Priya", "owns", "billing", when="2025"))
    await home.propose_text(
        "So it is, too.", claim_fact("Priya is the captain of the Band.", when="2025")
    )
    reply = await home.propose_text(
        "Priya left the Band.", claim_fact("Priya left the Band.", when="today")
    )

    assert "Priya is the captain of the Band" in reply["note"]
    assert "Priya owns billing" in await home.holding_statements("Priya", at="tomorrow")


async def test_an_office_before_or_after_leaving_is_judged_by_its_time() -> None:
    home = await start_talk(Priya="character", Company="organization", billing="service")
    left = claim_fact("Priya left the Company.", when="1 March 2026")
    await home.propose_text("So it was.", left)
    assert "ends" not in (
        await home.propose_text(
            "She is back.", claim_relation("Priya", "owns", "billing", when="1 May 2026")
        )
    )
    assert "Priya owns billing" in await home.holding_statements("Priya", at="tomorrow")


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
async def test_a_postponed_event_has_a_new_date(text: str, date: str | None) -> None:
    home = await start_talk()
    await home.propose_text("Release 2.4 ships on 2026-12-04.")
    reply = await home.propose_text(text)

    assert "Release 2.4 ships on 2026-12-04" in reply["note"]
    assert (await home.find_statements("Release 2.4"))[text.rstrip(".")].get("date") == date


async def test_a_delay_counts_from_the_date_before_it_and_needs_one() -> None:
    home = await start_talk()
    assert "but not compared" in (await home.propose_text("The launch slipped a week."))["note"]
    await home.propose_text("The launch is on 4 December.")
    await home.propose_text("The launch was postponed by a week.")
    await home.propose_text("The launch was postponed by two days.")

    found = await home.find_statements("launch postponed two days")
    assert found["The launch was postponed by two days"]["date"] == "13 December"

"""Changes in a household, a team and a story, in the words that people use."""

import pytest

from tests.toolsets.canon.talking import (
    claim_fact,
    claim_relation,
    grades_in,
    last_verdict,
    start_talk,
)

pytestmark = pytest.mark.anyio

CHANGES = [
    # doses and other figures
    ("Hilde takes warfarin, 5 mg", "The doctor raised Hilde's warfarin to 7.5 mg last Tuesday"),
    ("Hilde takes 5 mg of warfarin", "Hilde takes 7.5 mg of warfarin since last Tuesday"),
    ("Hilde's warfarin dose is 5 mg", "Hilde's warfarin was lowered to 3 mg on 2 November"),
    ("Hilde weighs 60 kg", "Hilde weighs 62 kg since October"),
    ("The rent is 900 euros", "The rent went up to 950 euros in October"),
    ("The rent is 900 euros", "The landlord raised the rent from 900 euros to 950 euros"),
    # versions
    ("PostgreSQL 16 in production", "Since 15 January we run PostgreSQL 17"),
    ("We use PostgreSQL 16", "We upgraded PostgreSQL to 17 on 15 January"),
    ("PostgreSQL 16 runs in production", "We run PostgreSQL 17 in production since January"),
    ("Staging uses Node 20", "Staging moved to Node 22"),
    # what is lent
    ("The spare key is with Hilde", "Hilde gave the spare key back"),
    ("Hilde has the spare key", "Hilde gave back the spare key yesterday"),
    ("We lent Hilde the spare key", "Hilde returned the spare key to us"),
    ("Hilde has our ladder", "Hilde brought our ladder back"),
    # plans
    ("Release 2.4 ships on 13 November 2026", "Release 2.4 slipped to 20 November 2026"),
    ("Release 2.4 goes live on 13 November 2026", "Release 2.4 was postponed to 1 December 2026"),
    ("Release 2.4 ships on 13 November 2026", "Release 2.4 is delayed to 1 December 2026"),
    (
        "Release 2.4 ships on 13 November 2026",
        "Release 2.4 was brought forward to 10 November 2026",
    ),
    (
        "Release 2.4 ships on 13 November 2026",
        "Release 2.4 has been rescheduled for 1 December 2026",
    ),
    ("The deadline is 3 May", "The deadline was moved to 5 May"),
    # decisions
    ("We use Kafka", "We decided against Kafka"),
    ("We use Kafka", "We chose NATS over Kafka"),
    ("ADR-7 is accepted", "ADR-12 supersedes ADR-7"),
]
KNOWN = {"Hilde": "character", "PostgreSQL": "object", "spare_key": "object", "Kafka": "object"}
KNOWN |= {"Release_2.4": "object", "NATS": "object", "ADR-7": "object", "ADR-12": "object"}


@pytest.mark.parametrize(("before", "change"), CHANGES)
async def test_a_change_ends_the_earlier_state(before: str, change: str) -> None:
    home = await start_talk(**KNOWN)
    first = await home.propose_text(before)
    reply = await home.propose_text(change)

    assert last_verdict(reply) == "accepted"
    assert reply["verdicts"][0]["ends"] == [first["verdicts"][0]["id"]]
    assert reply["note"].startswith("Ended: ")
    assert before in reply["note"]


AGREE = [
    ("The SLA is 99.9 %", "The SLA is three nines"),
    ("The uptime is 99.99%", "The uptime is four nines"),
    ("Hilde takes 5 mg of warfarin", "Hilde takes aspirin, 100 mg"),
    ("We use PostgreSQL 16", "Staging uses PostgreSQL 17"),
    ("We use Room 12", "We use Room 13"),
    ("Room 12 has a projector", "Room 12 seats eight"),
    ("Ben is the only child of Ruth", "Lea is Ben's half-sister"),
    ("Ben is the only child of Ruth", "Lea is Ben's adopted sister"),
    ("Mara's eyes are green", "Mara dreams of her blue eyes"),
    ("Mara's eyes are green", "Mara's blue dress shone"),
    ("Ben is in Rome", "As far as Mara knows, Ben is in Paris"),
    ("Ben is alive", "Mara dreams that Ben is dead"),
    ("Hilde's dead husband was a smith", "Hilde's alive"),
    ("checkout depends on pricing", "pricing depends on PostgreSQL"),
    ("Ben was born in 1950", "Ben died in 1985"),
    ("Lea cannot swim", "Lea does not swim every day"),
    ("The doors are closed", "The stable door is open"),
    ("The contract ends on 3 May 2025", "The contract ends in May 2025"),
    ("Ben is Ruth's son", "Ruth is older than Ben"),
    ("Ruth has three brothers", "Ruth's two elder brothers are smiths"),
    ("Ben died in 1985", "Ben was born in May 1985"),
    ("We decided against Kafka", "They use Kafka in Berlin"),
]
FAMILY = {"Ben": "character", "Ruth": "character", "Lea": "character", "Mara": "character"}
FAMILY |= {"checkout": "object", "pricing": "object", "SLA": "object", "Room_12": "location"}


@pytest.mark.parametrize(("first", "second"), AGREE)
async def test_compatible_statements_are_not_flagged(first: str, second: str) -> None:
    home = await start_talk(**KNOWN, **FAMILY)
    await home.propose_text(first)
    reply = await home.propose_text(second)

    assert (last_verdict(reply), grades_in(reply)) == ("accepted", [])
    assert "ends" not in reply["verdicts"][0]


CONTRADICT = [
    ("Tom's allergic to walnuts", "Tom has no allergies"),
    ("Mara's eyes are green", "Mara's blue eyes shone"),
    ("Mara has green eyes", "Mara looked up with her blue eyes"),
    ("Ben is the only child of Ruth", "Ben's sister Lea lives in Rome"),
    ("Ben is the only child of Ruth", "Lea is Ruth's daughter"),
    ("Ben is Ruth's only child", "Lea is Ben's sister"),
    ("Hilde takes warfarin, 5 mg", "Hilde takes 7.5 mg of warfarin"),
    ("We run PostgreSQL 16", "PostgreSQL 17 runs in production"),
    ("Ben was born in 1990", "Ben died in 1985"),
    ("Lea cannot swim", "Lea swims every morning"),
    ("All the doors are closed", "The stable door is open"),
    ("The contract ends in 2025", "The contract runs until 2027"),
    ("The treasury is empty", "The treasury holds 400 crowns"),
    ("Ruth is Ben's mother", "Ben is older than Ruth"),
    ("Ben is older than Ruth", "Ben is Ruth's son"),
    ("Ruth has three brothers", "Ruth's two brothers are smiths"),
    ("Ben died on 3 May 1985", "Ben was born on 4 May 1985"),
]


@pytest.mark.parametrize(("first", "second"), CONTRADICT)
async def test_the_verdict_reports_a_contradiction_once(first: str, second: str) -> None:
    home = await start_talk(**KNOWN, **FAMILY, Tom="character")
    await home.propose_text(first)
    reply = await home.propose_text(second)

    assert (last_verdict(reply), grades_in(reply)) == ("rejected", ["contradiction"])
    assert reply["note"] == "Refused 1 of 1."
    assert reply["verdicts"][0]["because"].startswith("Contradicts: ")
    assert str(reply["verdicts"]).count(first) == 1


@pytest.mark.parametrize("kind", ["SIBLING_OF", "CHILD_OF"])
async def test_a_sibling_relation_contradicts_an_only_child(kind: str) -> None:
    home = await start_talk(**FAMILY)
    await home.propose_text("Ben is the only child of Ruth.")
    to = {"SIBLING_OF": "Ben", "CHILD_OF": "Ruth"}[kind]

    assert (
        last_verdict(await home.propose_text("Lea is new.", claim_relation("Lea", kind, to)))
        == "rejected"
    )


async def test_two_undated_sources_both_stay_and_are_listed_once() -> None:
    team = await start_talk(API="object")
    for title, limit in (("wiki", 100), ("runbook", 150)):
        await team.ingest_document(title, f"The API limit is {limit}/s.")
    await team.propose_cited("wiki", claim_fact("The API limit is 100/s"))
    reply = await team.propose_cited("runbook", claim_fact("The API limit is 150/s"))

    assert (last_verdict(reply), grades_in(reply)) == ("accepted", ["possible"])
    assert "nobody told which of the two is later" in reply["note"]
    assert await team.holding_statements("API") == {
        "The API limit is 100/s",
        "The API limit is 150/s",
    }
    assert (await team.driver.call("review"))["total"] == 1
    again = await team.propose_cited("wiki", claim_fact("The API limit is 200/s"))
    assert (last_verdict(again), sorted(grades_in(again))) == (
        "rejected",
        ["contradiction", "possible"],
    )


async def test_two_speakers_contradict_each_other_and_one_corrects_himself() -> None:
    home = await start_talk(Max="character", Ana="character", Bo="character")
    turns = [await home.play_turn("Kitchen", by, f"At {at}.") for by, at in (("Ana", 8), ("Bo", 9))]
    for turn, at in zip(turns, (8, 9), strict=True):
        reply = await home.propose_cited(turn, claim_fact(f"Max's bedtime is {at}"))
    assert (last_verdict(reply), grades_in(reply)) == ("accepted", ["possible"])
    assert await home.holding_statements("Max") == {"Max's bedtime is 8", "Max's bedtime is 9"}

    first, later = [await home.play_turn("Hall", "Ana", text) for text in ("It is 7.", "No, 6.")]
    await home.propose_cited(first, claim_fact("Bo's bedtime is 7"))
    await home.propose_cited(later, claim_fact("Bo's bedtime is 6"))
    assert await home.holding_statements("Bo") == {"Bo's bedtime is 6"}


async def test_sources_never_share_fixed_values_or_those_decided_by_authority() -> None:
    home = await start_talk(Mia="character")
    await home.ingest_document("Passport", "Mia was born in Graz.")
    await home.ingest_document("Diary", "Mia was born in Linz. Her bedtime is 9.")
    await home.propose_cited("Passport", claim_fact("Mia was born in Graz"))
    assert (
        last_verdict(await home.propose_cited("Diary", claim_fact("Mia was born in Linz")))
        == "rejected"
    )

    await home.propose_cited("Diary", claim_fact("Mia's bedtime is 9"))
    await home.propose_text("Mia's bedtime is 8.", authority="gm")
    assert await home.holding_statements("Mia") == {"Mia was born in Graz", "Mia's bedtime is 8"}


@pytest.mark.parametrize("as_relation", [False, True])
async def test_a_circle_of_dependencies_is_reported(as_relation: bool) -> None:
    team = await start_talk(web="object", api="object", db="object")
    for start, end in (("web", "api"), ("api", "db"), ("db", "web")):
        claim = claim_relation(start, "DEPENDS_ON", end) if as_relation else None
        words = f"{start} depends on {end}"
        reply = await team.propose_text(words, claim or claim_fact(words))
    assert (last_verdict(reply), grades_in(reply)) == ("accepted", ["possible", "possible"])
    assert "closes a circle" in reply["note"]
    last = await team.driver.call("get", of=reply["verdicts"][0]["id"])
    others = {one["says"].rstrip(".") for one in last["disputed"] if one["circle"]}
    assert {each.upper() for each in others} == {"WEB DEPENDS ON API", "API DEPENDS ON DB"}
    assert "closes a circle with" in last["note"]


async def test_only_a_circle_of_dependencies_may_remain() -> None:
    team = await start_talk(checkout="object", pricing="object")
    for kind, status in (("depends on", "accepted"), ("part of", "rejected")):
        await team.propose_text("x", claim_relation("checkout", kind, "pricing"))
        reply = await team.propose_text("y", claim_relation("pricing", kind, "checkout"))
        assert last_verdict(reply) == status
        assert reply["note"].startswith("This closes a circle: ") is (status == "accepted")


@pytest.mark.parametrize("again", ["2026-11-09", "9 November 2026", "November 2026", "this year"])
async def test_a_relation_restated_on_the_same_day_is_the_same(again: str) -> None:
    team = await start_talk(Joy="character", Nadia="character", billing="object")
    await team.propose_text("x", claim_relation("Nadia", "owns", "billing", when="2025"))
    first = await team.propose_text("x", claim_relation("Joy", "owns", "billing", when="today"))
    second = await team.propose_text("y", claim_relation("Joy", "owns", "billing", when=again))
    other = await team.propose_text(
        "z", claim_relation("Joy", "owns", "billing", when="2026-11-08")
    )

    ids = [each["verdicts"][0]["id"] for each in (first, second, other)]
    assert (ids[0] == ids[1], ids[0] == ids[2]) == (True, False)
    assert "Ended" not in second["note"]
    assert (await team.driver.call("timeline", about="billing"))["total"] == 3


async def test_an_equal_end_is_known_and_another_one_names_the_time() -> None:
    team = await start_talk(Joy="character", billing="object")
    await team.propose_text("x", claim_relation("Joy", "owns", "billing", when="2025"))
    end = {"verdict": "end", "of": "Joy owns billing"}
    notes = [(await team.driver.call("decide", **end, when="2026-03"))["note"] for _ in range(2)]
    notes.append((await team.driver.refused("decide", **end, when="2026-04"))["message"])

    said = ["Ended on 1 March 2026: Joy", "had already ended (1 March 2026", "ended: 2026-03"]
    assert [part in note for part, note in zip(said, notes, strict=True)] == [True, True, True]


async def test_an_acceptance_first_says_what_is_retracted() -> None:
    town = await start_talk(Harrow="location")
    await town.propose_text("Harrow has two churches.")
    refused = (await town.propose_text("Harrow has three churches."))["verdicts"][0]["proposal"]
    accepted = await town.driver.call("decide", verdict="accept", of=[refused], reason="So it is.")

    assert accepted["note"].startswith("Retracted: ")
    assert "two churches" in accepted["note"]


async def test_a_text_with_its_own_dependency_circle_is_reported() -> None:
    team = await start_talk(checkout="object", pricing="object")
    reply = await team.propose_text(
        "Service checkout depends on pricing; pricing depends on checkout."
    )
    assert "closes a circle: the claim itself says both" in reply["note"]


@pytest.mark.parametrize(
    "claim",
    [
        {"kind": "event", "says": "Ben cooks in the kitchen", "who": ["Ben"], "where": "inn"},
        {"kind": "relation", "from": "Ben", "type": "LOCATED_IN", "to": "inn"},
    ],
)
async def test_a_place_that_burnt_down_is_questioned(claim: dict[str, object]) -> None:
    story = await start_talk(Ben="character", inn="location")
    await story.propose_text("The inn burnt down in 1803.")
    turns = [
        await story.play_turn(f"Scene of {year}", "gm", "In the kitchen.", when=year)
        for year in ("1802", "1804")
    ]

    assert grades_in(await story.propose_cited(turns[0], claim)) == []
    reply = await story.propose_cited(turns[1], claim)
    assert (last_verdict(reply), grades_in(reply)) == ("accepted", ["possible"])
    assert "inn is involved in it but is destroyed then" in reply["note"]
    assert (await story.driver.call("review"))["total"] == 1


@pytest.mark.parametrize("when", [{}, {"when": "2026-03-02"}])
@pytest.mark.parametrize(
    ("decision", "use"),
    [
        ("We decided against Kafka; NATS it is", "We use Kafka for the event bus"),
        ("We chose NATS over Kafka", "We use Kafka"),
        ("The team ruled out Kafka", "The team uses Kafka"),
        ("We will not use Kafka", "We use Kafka"),
    ],
)
async def test_a_value_rejected_by_a_decision_is_questioned(
    decision: str, use: str, when: dict[str, str]
) -> None:
    team = await start_talk(Kafka="object", NATS="object")
    await team.propose_text(decision, claim_fact(decision, **when))
    reply = await team.propose_text(use)

    assert (last_verdict(reply), grades_in(reply)) == ("accepted", ["possible"])
    assert reply["note"].startswith("May stand against it: ")
    assert decision in reply["note"]
    assert ("since 2026-03-02" in reply["note"]) is bool(when)
    assert (await team.driver.call("review"))["total"] == 1


@pytest.mark.parametrize(
    ("said", "later", "flagged"),
    [
        ("She lives in Boston", "Ana lives in Rome", False),
        ("She is Bo's mother", "Bo is older than Ana", True),
    ],
)
async def test_a_pronoun_means_the_only_entity_the_words_do_not_name(
    said: str, later: str, *, flagged: bool
) -> None:
    home = await start_talk(Ana="character", Bo="character")
    await home.propose_text("So.", claim_fact(said, about=["Ana", "Bo"]))
    reply = await home.propose_text(later)

    assert bool(grades_in(reply)) is flagged


@pytest.mark.parametrize("first", ["words", "relation"])
@pytest.mark.parametrize("second", ["words", "relation"])
async def test_a_second_undated_value_needs_a_time_in_either_form(first: str, second: str) -> None:
    home = await start_talk(Ana="character", Bo="character", Key="object")

    def owner(name: str, form: str, **when: str) -> dict[str, object]:
        if form == "relation":
            return claim_relation(name, "OWNS", "Key", **when)
        return claim_fact(f"{name} owns the Key", about=[name, "Key"], **when)

    await home.propose_text("So.", owner("Ana", first))
    refused = await home.propose_text("So.", owner("Bo", second))
    changed = await home.propose_text("So.", owner("Bo", second, when="2026-03-02"))

    assert (last_verdict(refused), grades_in(refused)) == ("rejected", ["contradiction"])
    assert last_verdict(changed) == "accepted"


async def test_a_divorce_keeps_the_marriage_to_another() -> None:
    home = await start_talk(Ana="character", Bo="character", Di="character")
    await home.propose_text(
        "So.", claim_fact("Bo is married to Ana", about=["Bo", "Ana"], when="1400")
    )
    await home.propose_text("So.", claim_fact("Ana divorced Di", about=["Ana", "Di"], when="1412"))

    held = {"Bo is married to Ana", "Ana is married", "Ana divorced Di"}
    assert await home.holding_statements("Ana") == held


async def test_an_item_ended_by_two_statements_ends_with_the_first() -> None:
    home = await start_talk(Ana="character", Bo="character", Di="character")
    await home.propose_text("So.", claim_fact("Bo divorced Di", about=["Bo", "Di"], when="1412"))
    await home.propose_text("So.", claim_fact("Ana married Bo", about=["Ana", "Bo"], when="1410"))
    await home.propose_text("So.", claim_fact("Ana married Di", about=["Ana", "Di"], when="1406"))

    assert await home.holding_statements("Ana", at="1411") == {"Ana married Bo", "Ana is married"}


@pytest.mark.parametrize(
    "claim",
    [
        claim_fact("Ana joined the Guild", about=["Ana", "Guild"]),
        claim_relation("Ana", "MEMBER_OF", "Guild"),
    ],
)
async def test_the_dead_join_nobody_in_either_form(claim: dict[str, object]) -> None:
    home = await start_talk(Ana="character", Guild="faction")
    await home.propose_text("So.", claim_fact("Ana is dead", about=["Ana"], when="1400"))

    refused = await home.propose_text("So.", claim | {"when": "1410"})

    assert (last_verdict(refused), grades_in(refused)) == ("rejected", ["contradiction"])


async def test_a_restated_fact_begins_again_after_another_value() -> None:
    home = await start_talk(Ana="character", Bo="character", Box="object")
    for owner, when in (("Bo", "1403"), ("Bo", "1412"), ("Ana", "1405")):
        await home.propose_text(
            "So.", claim_fact(f"{owner} owns the Box", about=[owner, "Box"], when=when)
        )

    held = [await home.holding_statements("Box", at=at) for at in ("1404", "1406", "1413")]
    assert held == [{"Bo owns the Box"}, {"Ana owns the Box"}, {"Bo owns the Box"}]


@pytest.mark.parametrize(
    ("held", "said", "ended"),
    [
        ("Radek owns a blue van.", "Radek sold the van to Simone.", True),
        ("Radek has a blue van.", "Simone bought the van from Radek.", True),
        ("Radek has a boat.", "Radek sold his boat.", True),
        ("Radek has a blue van.", "Radek sold the red van.", False),
        ("Radek has a blue van.", "Radek sold a van to Simone.", False),
        ("Radek has a dog.", "Radek sold his cat.", False),
        ("Radek has two dogs.", "Radek sold one dog.", False),
        ("Radek has a van.", "Simone sold the van.", False),
        ("Radek has a van.", "Radek wants to sell the van.", False),
    ],
)
async def test_who_sells_the_only_one_has_it_no_longer(held: str, said: str, ended: bool) -> None:
    talk = await start_talk(Radek="character", Simone="character")
    await talk.propose_text(held)

    reply = await talk.propose_text(said)

    assert ("ends" in reply["verdicts"][0]) is ended

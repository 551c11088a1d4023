"""Answers that a person believes: what is unknown, what was not told then, and who is meant."""

from typing import Any

import pytest

from canonry.values.json_values import encode_json
from tests.toolsets.canon.kit import make_driver
from tests.toolsets.canon.talking import (
    Talk,
    claim_fact,
    claim_relation,
    grades_in,
    last_verdict,
    start_talk,
)

pytestmark = pytest.mark.anyio


async def test_a_read_before_the_first_statement_names_its_time() -> None:
    game = await start_talk(dragon="character", Hall="location")
    await game.propose_text("Red.", claim_fact("The dragon is red", when="1410"))
    await game.propose_text("There.", claim_relation("dragon", "LOCATED_IN", "Hall", when="1412"))
    await game.propose_text("Born.", claim_fact("The dragon was born in Velm"))

    then = await game.driver.call("get", of="dragon", at="1400")
    later = [(row["says"], row["from"]) for row in then["later"]]
    assert [row["says"] for row in then["facts"]] == ["The dragon was born in Velm"]
    assert later == [("The dragon is red", "1410"), ("dragon located in Hall", "1412")]
    found = await game.driver.call("find", text="red dragon", at="1400")
    assert [row["from"] for row in found["later"]] == ["1410", "1412"]
    assert "later" not in await game.driver.call("get", of="dragon")
    since = await game.driver.call("get", of="dragon", at="1411")
    assert [row["says"] for row in since["later"]] == ["dragon located in Hall"]


async def test_a_later_value_is_not_the_first_one() -> None:
    game = await start_talk(Ana="character")
    await game.propose_text("Then.", claim_fact("Ana lives in Bree", when="1400"))
    await game.propose_text("Then.", claim_fact("Ana lives in Velm", when="1410"))

    assert await game.holding_statements("Ana", at="1405") == {"Ana lives in Bree"}
    assert "later" not in await game.driver.call("get", of="Ana", at="1405")
    before = await game.driver.call("get", of="Ana", at="1390")
    assert [row["says"] for row in before["later"]] == ["Ana lives in Bree"]


async def test_later_records_are_not_shown_to_an_earlier_read() -> None:
    game = await start_talk(dragon="character")
    game.pass_time(days=1)
    await game.propose_text("Red.", claim_fact("The dragon is red", when="1410"))

    then = await game.driver.call("get", of="dragon", at="1400", as_known_at="2026-11-09")
    assert "later" not in then


@pytest.mark.parametrize("read", ["get", "find"])
async def test_a_secret_stated_later_leaks_nothing(read: str) -> None:
    replies: list[bytes] = []
    for secret in (True, False):
        game = await start_talk(dragon="character")
        if secret:
            await game.propose_text(
                "Hush.", claim_fact("The dragon is red", when="1410", **{"for": ["gm"]})
            )
        else:
            game.driver.canon.identities.new_id()
        await game.propose_text("Big.", claim_fact("The dragon is huge", when="1420"))
        reader = make_driver("Reader", beside=game.driver)
        asked: dict[str, Any] = {"of": "dragon"} if read == "get" else {"text": "dragon red huge"}
        reply = await reader.call(read, at="1400", **asked)
        for row in (reply, *reply.get("found", ()), *reply.get("later", ())):
            row.pop("id", None)
        replies.append(encode_json(reply))

    assert replies[0] == replies[1]
    assert b"huge" in replies[0]
    assert b"The dragon is red" not in replies[0]


async def dentist_talk() -> Talk:
    home = await start_talk(Mia="character", Max="character")
    await home.propose_text("Mia goes to school in Graz.")
    await home.propose_text("The dentist said that Max has a cavity.")
    return home


@pytest.mark.parametrize(
    ("question", "known"),
    [
        ("What did the dentist say about Mia?", False),
        ("Where does Max go to school?", False),
        ("Where does Mia go to school?", True),
        ("Does Max have a cavity?", True),
        ("Where did Mia leave her school?", False),
    ],
)
async def test_an_unanswered_question_is_reported_as_such(question: str, known: bool) -> None:
    home = await dentist_talk()
    reply = await home.driver.call("find", text=question)

    assert reply["found"]
    assert ("nothing is known about it here" in reply["note"]) is not known


@pytest.mark.parametrize(
    ("question", "found", "note"),
    [
        ("Where does Mia go to school?", ["Mia goes to school in Graz"], "Found 1 fact."),
        (
            "Who mends the braces of Mia?",
            ["Mia goes to school in Graz", "Mia"],
            'Nothing is known here that mentions "mends" or "braces". About Mia there is:',
        ),
        ("What of the cavity 12?", ["The dentist said that Max has a cavity"], "No row has all"),
        ("Where is Mia?", ["Mia goes to school in Graz"], "Found 1 fact."),
        ("Mia school 12", ["Mia goes to school in Graz"], 'None of them mentions "12".'),
    ],
)
async def test_rows_that_share_only_a_name_or_a_number_with_a_question_are_left_out(
    question: str, found: list[str], note: str
) -> None:
    home = await dentist_talk()
    await home.propose_text("Max turned 12.")
    reply = await home.driver.call("find", text=question)

    says = [row.get("says", row.get("name")).rstrip(".") for row in reply["found"]]
    assert {*found} <= {*says}
    assert not {"Max turned 12", "Max"} & {*says}
    assert len(says) <= 3
    assert note in reply["note"]


async def test_text_that_is_no_question_gets_no_advice() -> None:
    home = await dentist_talk()
    note = (await home.driver.call("find", text="dentist Mia"))["note"]
    assert note.startswith("Found ")


@pytest.mark.parametrize("name", ["J. Okafor", "J Okafor", "Okafor"])
async def test_an_initial_shared_by_two_people_is_questioned(name: str) -> None:
    team = await start_talk(
        James_Okafor="character", Joy_Okafor="character", Mary_Okafor="character"
    )
    error = await team.driver.refused(
        "propose", said="Done.", claims=[claim_fact("The release is approved", who=[name])]
    )

    assert error["details"]["reason"] == "name.ambiguous"
    named = " ".join(error["details"]["candidates"])
    assert ("James Okafor" in named, "Joy Okafor" in named) == (True, True)
    assert ("Mary Okafor" in named) is (name == "Okafor")


async def test_an_initial_of_one_person_names_that_person() -> None:
    team = await start_talk(
        James_Okafor="character", Mary_Okafor="character", Jane_Berg="character"
    )
    reply = await team.propose_text(
        "Done.", claim_fact("The release is approved", who=["J. Okafor"])
    )

    assert last_verdict(reply) == "accepted"
    assert await team.holding_statements("James Okafor") == {"The release is approved"}


@pytest.mark.parametrize("claim", ["fact", "relation", "state"])
async def test_a_first_name_of_two_people_links_nobody_and_offers_both(claim: str) -> None:
    home = await start_talk(Anna_Berg="character", Anna_Huber="character", Graz="location")
    if claim == "fact":
        said = (await home.propose_text("Anna lives in Graz."))["hint"]
    else:
        state = {"kind": "state", "of": "Anna", "tags": ["ill"]}
        given = claim_relation("Anna", "LIVES_IN", "Graz") if claim == "relation" else state
        error = await home.driver.refused("propose", said="So.", claims=[given])
        said = " ".join(error["details"]["candidates"])

    assert "Anna Berg" in said
    assert "Anna Huber" in said
    assert (
        await home.holding_statements("Anna Berg")
        == await home.holding_statements("Anna Huber")
        == set()
    )


async def test_a_pronoun_means_the_only_entity_of_a_fact() -> None:
    story = await start_talk(Mara="character", Ben="character")
    await story.propose_text("Mara's eyes are green.")
    reply = await story.propose_text("Her.", claim_fact("Her blue eyes shone", about=["Mara"]))
    assert (last_verdict(reply), grades_in(reply)) == ("rejected", ["contradiction"])

    assert (
        last_verdict(
            await story.propose_text("She.", claim_fact("Her blue eyes shone", about=["Ben"]))
        )
        == "accepted"
    )
    both = await story.propose_text(
        "They.", claim_fact("Her blue eyes met his", about=["Mara", "Ben"])
    )
    assert last_verdict(both) == "accepted"

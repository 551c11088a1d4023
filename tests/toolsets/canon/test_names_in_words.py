"""Names in the words of a fact count, whatever entities its claim names in `about`."""

from typing import Any

import pytest

from tests.toolsets.canon.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio

PEOPLE = [
    {"kind": "entity", "name": name, "type": "character", "tags": ["alive"]}
    for name in ("Zed Kay", "Ana Fox", "Bo")
]
PLACES = [{"kind": "entity", "name": name, "type": "location"} for name in ("Mill", "Inn")]
KEY = {"kind": "entity", "name": "Key", "type": "object"}


async def a_town() -> ToolDriver:
    driver = make_driver()
    await driver.saltmere()
    await driver.call("propose", claims=[*PEOPLE, *PLACES, KEY], said="They are here.")
    return driver


async def judge_fact(driver: ToolDriver, says: str, *about: str, **more: Any) -> dict[str, Any]:
    """The verdict on a fact."""
    claim = {"kind": "fact", "says": says, **({"about": [*about]} if about else {}), **more}
    reply = await driver.call("propose", claims=[claim], said="So it is told.")
    return {**reply["verdicts"][0], "note": reply.get("note", "")}


@pytest.mark.parametrize("about", [(), ("Zed Kay",), ("Ana Fox",), ("Mill",)])
async def test_a_death_in_words_is_recognised_whatever_the_claims_subject(
    about: tuple[str, ...],
) -> None:
    driver = await a_town()

    row = await judge_fact(driver, "Zed Kay killed Ana Fox", *about)

    assert "Ana Fox is alive" in row["note"]
    assert (await driver.call("get", of="Ana Fox"))["tags"] == ["dead"]
    assert (await driver.call("get", of="Zed Kay"))["tags"] == ["alive"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The Key belongs to Ana Fox", "The Key belongs to Zed Kay"),
        ("Ilsa Vane is the wife of Zed Kay", "Ana Fox is the wife of Zed Kay"),
        ("Ana Fox was born in the Mill", "Ana Fox was born in the Inn"),
        ("Odo Brand is the father of Bo", "Zed Kay is the father of Bo"),
        ("The Mill is in the hands of Bo", "The Mill is owned by Zed Kay"),
    ],
)
@pytest.mark.parametrize("about", ["Zed Kay", "Bo", "Inn", "Key"])
async def test_a_conflict_of_any_entity_in_the_words_is_found(
    about: str, first: str, second: str
) -> None:
    plain, named = await a_town(), await a_town()
    for driver, of in ((plain, ()), (named, (about,))):
        assert (await judge_fact(driver, first, *of, when="1400-01-01"))["verdict"] == "accepted"

    expected = await judge_fact(plain, second, when="1400-01-01")
    row = await judge_fact(named, second, about, when="1400-01-01")

    assert (row["verdict"], len(row.get("against", ()))) == (
        expected["verdict"],
        len(expected.get("against", ())),
    )


async def test_a_pronoun_means_the_entity_not_named_in_the_words() -> None:
    driver = await a_town()

    row = await judge_fact(driver, "He killed Ana Fox", "Zed Kay")

    facts = (await driver.call("get", of="Ana Fox"))["facts"]
    assert row["id"] in [one["id"] for one in facts]
    assert (await driver.call("get", of="Ana Fox"))["tags"] == ["dead"]
    await judge_fact(driver, "She was born in the Mill", "Ana Fox")
    again = await judge_fact(driver, "Ana Fox was born in the Inn", "Inn")
    assert again["verdict"] == "rejected"


async def test_a_claim_chooses_between_two_owners_of_a_name() -> None:
    driver = await a_town()
    claim = {"kind": "entity", "name": "Ana", "type": "character", "tags": ["alive"]}
    reply = await driver.call("propose", claims=[claim], said="Another one.")
    waiting = reply["verdicts"][0]["proposal"]
    await driver.call("decide", verdict="separate", of=[waiting])

    await judge_fact(driver, "Zed Kay killed Ana", "Zed Kay", "Ana Fox")

    rows = (await driver.call("find", text="Ana", kinds=["entity"]))["found"]
    assert {row["name"]: row["tags"] for row in rows} == {"Ana Fox": ["dead"], "Ana": ["alive"]}


async def test_fields_belong_to_the_subject_of_the_claim() -> None:
    driver = await a_town()
    await judge_fact(driver, "Bo measured Zed Kay", "Zed Kay", fields={"height": "1.80 m"})

    row = await judge_fact(driver, "Zed Kay is 1.70 m tall", "Zed Kay")

    assert row["verdict"] == "rejected"


async def test_an_entity_of_the_same_call_is_recognised_in_words_too() -> None:
    driver = await a_town()
    new = {"kind": "entity", "name": "Tib", "type": "character", "tags": ["alive"]}
    fact = {"kind": "fact", "says": "Zed Kay killed Tib", "about": ["Zed Kay"]}

    await driver.call("propose", claims=[new, fact], said="It is new.")

    assert (await driver.call("get", of="Tib"))["tags"] == ["dead"]


async def test_a_name_invisible_to_the_proposer_is_not_resolved() -> None:
    driver = await a_town()
    spy = {"kind": "entity", "name": "Vex", "type": "character", "for": ["gm"]}
    await driver.call("propose", claims=[spy], said="Nobody knows.")
    bo = (await driver.call("get", of="Bo"))["id"]
    player = make_driver("Contributor", driver, characters=frozenset({bo}))

    claims = [{"kind": "fact", "says": "Zed Kay met Vex", "about": ["Zed Kay"]}]

    secret = await driver.call("propose", claims=claims, dry_run=True)
    public = await player.call("propose", claims=claims, dry_run=True)

    assert "limited audience" in secret["hint"]
    assert "limited audience" not in public["hint"]

"""Names in the words of a fact count, whatever entities its claim names in `about`."""

from typing import Any

import pytest

from tests.toolsets.canon.kit import Desk, a_desk

pytestmark = pytest.mark.anyio

PEOPLE = [
    {"kind": "entity", "name": name, "type": "character", "tags": ["alive"]}
    for name in ("Zed Kay", "Ana Fox", "Bo")
]
PLACES = [{"kind": "entity", "name": name, "type": "location"} for name in ("Mill", "Inn")]
KEY = {"kind": "entity", "name": "Key", "type": "object"}


async def a_town() -> Desk:
    desk = a_desk()
    await desk.saltmere()
    await desk.call("propose", claims=[*PEOPLE, *PLACES, KEY], said="They are here.")
    return desk


async def told(desk: Desk, says: str, *about: str, **more: Any) -> dict[str, Any]:
    """The verdict on a fact."""
    claim = {"kind": "fact", "says": says, **({"about": [*about]} if about else {}), **more}
    reply = await desk.call("propose", claims=[claim], said="So it is told.")
    return {**reply["verdicts"][0], "note": reply.get("note", "")}


@pytest.mark.parametrize("about", [(), ("Zed Kay",), ("Ana Fox",), ("Mill",)])
async def test_a_death_in_words_is_known_of_whomever_the_claim_is_about(
    about: tuple[str, ...],
) -> None:
    desk = await a_town()

    row = await told(desk, "Zed Kay killed Ana Fox", *about)

    assert "Ana Fox is alive" in row["note"]
    assert (await desk.call("get", of="Ana Fox"))["tags"] == ["dead"]
    assert (await desk.call("get", of="Zed Kay"))["tags"] == ["alive"]


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
async def test_a_rival_of_any_entity_in_the_words_is_found(
    about: str, first: str, second: str
) -> None:
    plain, named = await a_town(), await a_town()
    for desk, of in ((plain, ()), (named, (about,))):
        assert (await told(desk, first, *of, when="1400-01-01"))["verdict"] == "accepted"

    expected = await told(plain, second, when="1400-01-01")
    row = await told(named, second, about, when="1400-01-01")

    assert (row["verdict"], len(row.get("against", ()))) == (
        expected["verdict"],
        len(expected.get("against", ())),
    )


async def test_a_pronoun_means_the_entity_that_the_words_do_not_name() -> None:
    desk = await a_town()

    row = await told(desk, "He killed Ana Fox", "Zed Kay")

    facts = (await desk.call("get", of="Ana Fox"))["facts"]
    assert row["id"] in [one["id"] for one in facts]
    assert (await desk.call("get", of="Ana Fox"))["tags"] == ["dead"]
    await told(desk, "She was born in the Mill", "Ana Fox")
    again = await told(desk, "Ana Fox was born in the Inn", "Inn")
    assert again["verdict"] == "rejected"


async def test_a_claim_chooses_the_bearer_of_a_name_that_two_have() -> None:
    desk = await a_town()
    claim = {"kind": "entity", "name": "Ana", "type": "character", "tags": ["alive"]}
    reply = await desk.call("propose", claims=[claim], said="Another one.")
    waiting = reply["verdicts"][0]["proposal"]
    await desk.call("decide", verdict="separate", of=[waiting])

    await told(desk, "Zed Kay killed Ana", "Zed Kay", "Ana Fox")

    rows = (await desk.call("find", text="Ana", kinds=["entity"]))["found"]
    assert {row["name"]: row["tags"] for row in rows} == {"Ana Fox": ["dead"], "Ana": ["alive"]}


async def test_fields_belong_to_the_entity_that_the_claim_is_about() -> None:
    desk = await a_town()
    await told(desk, "Bo measured Zed Kay", "Zed Kay", fields={"height": "1.80 m"})

    row = await told(desk, "Zed Kay is 1.70 m tall", "Zed Kay")

    assert row["verdict"] == "rejected"


async def test_an_entity_of_the_same_call_counts_in_words_too() -> None:
    desk = await a_town()
    new = {"kind": "entity", "name": "Tib", "type": "character", "tags": ["alive"]}
    fact = {"kind": "fact", "says": "Zed Kay killed Tib", "about": ["Zed Kay"]}

    await desk.call("propose", claims=[new, fact], said="It is new.")

    assert (await desk.call("get", of="Tib"))["tags"] == ["dead"]


async def test_a_name_that_the_proposer_may_not_see_is_not_resolved() -> None:
    desk = await a_town()
    spy = {"kind": "entity", "name": "Vex", "type": "character", "for": ["gm"]}
    await desk.call("propose", claims=[spy], said="Nobody knows.")
    bo = (await desk.call("get", of="Bo"))["id"]
    player = a_desk("Contributor", desk, characters=frozenset({bo}))

    claims = [{"kind": "fact", "says": "Zed Kay met Vex", "about": ["Zed Kay"]}]

    secret = await desk.call("propose", claims=claims, dry_run=True)
    public = await player.call("propose", claims=claims, dry_run=True)

    assert "limited audience" in secret["hint"]
    assert "limited audience" not in public["hint"]

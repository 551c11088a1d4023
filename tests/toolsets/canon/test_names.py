"""Names in claims: facts are linked to whom their words name, however that is written."""

import json
import re
from typing import Any

import pytest

from tests.toolsets.canon.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio


async def a_house(*names: str, kind: str = "character", tags: tuple[str, ...] = ()) -> ToolDriver:
    """A space with these entities."""
    driver = make_driver()
    await driver.call("open", name="House", about="Whoever lives there")
    people = [{"kind": "entity", "name": each, "type": kind, "tags": [*tags]} for each in names]
    reply = await driver.call("propose", said="They are there.", claims=people)
    assert reply["accepted"] == len(names)
    return driver


async def state_fact(driver: ToolDriver, says: str, **more: Any) -> dict[str, Any]:
    """The reply to a fact that only its words link to somebody."""
    return await driver.call("propose", said=says, claims=[{"kind": "fact", "says": says, **more}])


async def subjects_of(driver: ToolDriver, reply: dict[str, Any]) -> list[str]:
    """Whom the fact that a reply tells of is about."""
    found = await driver.call("get", of=reply["verdicts"][-1]["id"])
    return list(found.get("about", []))


async def test_a_fact_with_a_first_name_belongs_to_its_owner() -> None:
    driver = await a_house("Anna Berg", "Ben Huber")

    reply = await state_fact(driver, "Anna has red hair")

    assert await subjects_of(driver, reply) == ["Anna Berg"]
    assert "hint" not in reply
    (fact,) = (await driver.call("get", of="Anna"))["facts"]
    assert fact["says"] == "Anna has red hair"


@pytest.mark.parametrize(
    ("held", "said", "verdict"),
    [
        ("Anna has red hair", "Anna Berg has black hair", "accepted"),
        ("Anna Berg has red hair", "Anna has black hair", "accepted"),
        ("Anna is 30 years old", "Anna Berg is 32 years old", "rejected"),
        ("Anna Berg is 30 years old", "Anna\u2019s 32 years old", "accepted"),
        ("Berg is 30 years old", "Anna Berg is 32 years old", "rejected"),
    ],
)
async def test_the_first_and_full_name_are_one_person_to_the_rules(
    held: str, said: str, verdict: str
) -> None:
    driver = await a_house("Anna Berg")
    first = (await state_fact(driver, held))["verdicts"][0]["id"]

    (row,) = (await state_fact(driver, said))["verdicts"]

    if verdict == "rejected" or "hair" in said:
        assert [each["id"] for each in row["against"]] == [first]
    assert row["verdict"] == verdict


async def test_a_first_name_of_two_people_links_neither_and_names_both() -> None:
    driver = await a_house("Anna Berg", "Anna Huber", "Ben Lorn")

    reply = await state_fact(driver, "Anna lives with Ben in Graz")

    assert await subjects_of(driver, reply) == ["Ben Lorn"]
    assert "Anna may mean Anna Berg or Anna Huber" in reply["hint"]
    call = json.loads(reply["hint"].partition("propose ")[2])
    again = await driver.call("propose", said="Anna Berg, that is.", **call)
    assert sorted(await subjects_of(driver, again)) == ["Anna Berg", "Ben Lorn"]
    assert [each["says"] for each in (await driver.call("get", of="Anna Berg"))["facts"]] == [
        "Anna lives with Ben in Graz"
    ]
    assert "facts" not in await driver.call("get", of="Anna Huber")


async def test_two_people_with_one_full_name_are_distinguished_by_ids() -> None:
    driver = await a_house("Anna Berg")
    person = (await driver.call("get", of="Anna Berg"))["id"]
    ship = {"kind": "entity", "name": "Anna Berg", "type": "object", "same_as": "nobody"}
    made = await driver.call("propose", said="A ship is called so.", claims=[ship])

    reply = await state_fact(driver, "Anna Berg sings")

    assert await subjects_of(driver, reply) == []
    assert f"Anna Berg (character {person})" in reply["hint"]
    assert f"Anna Berg (object {made['verdicts'][0]['id']})" in reply["hint"]


@pytest.mark.parametrize(
    "says",
    [
        "Anna Huber has red hair",
        "Captain Anna Huber sails",
        "Anna von Huber is rich",
        "Anna of Graz is old",
        "Annabel sings",
        "The key is old",
        "Old bridges creak",
    ],
)
async def test_another_full_name_links_nobody_and_the_reply_says_so(says: str) -> None:
    driver = await a_house("Anna Berg", "Old Tom", "Captain Roke")

    reply = await state_fact(driver, says)

    assert await subjects_of(driver, reply) == []
    assert f'No entity is linked to "{says}"' in reply["hint"]


@pytest.mark.parametrize(
    ("says", "whom"),
    [
        ("When Anna left, it rained", ["Anna Berg"]),
        ("The hair of Anna is red", ["Anna Berg"]),
        ("Anna's hair is red", ["Anna Berg"]),
        ("Mrs. Berg keeps the key", ["Anna Berg"]),
        ("Roke is old", ["Captain Roke"]),
        ("Anna and Roke sail", ["Anna Berg", "Captain Roke"]),
        ("Anna knows Anna Berg", ["Anna Berg"]),
        ("ANNA BERG sings", ["Anna Berg"]),
        ("anna  berg sings", ["Anna Berg"]),
    ],
)
async def test_parts_of_names_are_recognised_if_they_stand_alone(
    says: str, whom: list[str]
) -> None:
    driver = await a_house("Anna Berg", "Captain Roke")

    assert await subjects_of(driver, await state_fact(driver, says)) == whom


async def test_an_entity_of_the_same_call_is_found_by_first_name_too() -> None:
    driver = await a_house("Ben Lorn")
    new = [{"kind": "entity", "name": "Anna Berg", "type": "character"}]

    reply = await driver.call(
        "propose",
        said="Anna sings.",
        claims=[*new, {"kind": "fact", "says": "Anna sings"}],
    )
    both = await driver.call(
        "propose",
        said="Anna dances.",
        claims=[*new, {"kind": "fact", "says": "Anna dances"}],
    )

    assert await subjects_of(driver, reply) == ["Anna Berg"]
    assert await subjects_of(driver, both) == ["Anna Berg"]


@pytest.mark.parametrize("says", ["anna has red hair", "Ana has red hair", "\u00c1nna sings"])
async def test_an_unlinked_fact_suggests_the_nearest_entity_and_a_call(
    says: str,
) -> None:
    driver = await a_house("Anna Berg", "Otto Lorn")

    reply = await state_fact(driver, says)

    assert await subjects_of(driver, reply) == []
    assert "; nearest: Anna Berg" in reply["hint"]
    again = await driver.call("propose", **json.loads(reply["hint"].partition("propose ")[2]))
    assert await subjects_of(driver, again) == ["Anna Berg"]


async def test_a_dry_run_and_a_pending_claim_suggest_it_too() -> None:
    driver = await a_house("Anna Berg", "Anna Huber")
    claims = [{"kind": "event", "says": "Anna falls"}, {"kind": "fact", "says": "It rains"}]

    dry = await driver.call("propose", claims=claims, dry_run=True)
    kept = await make_driver("Contributor", driver).call("propose", said="So it is.", claims=claims)

    for reply in (dry, kept):
        assert "Anna may mean Anna Berg or Anna Huber" in reply["hint"]
        assert 'No entity is linked to "It rains"' in reply["hint"]
        assert "replaces" not in reply["hint"]


_SIGNS = "'\u2019\u2018\u02bc\u02bb\u00b4`\u2032\u201b\uff07"


@pytest.mark.parametrize("given", [*_SIGNS])
@pytest.mark.parametrize("asked", ["'", "\u2019", "\u02bc", "\u00b4"])
async def test_apostrophes_are_one_sign_in_names_and_texts(given: str, asked: str) -> None:
    name = f"Maeve O{given}Brien"
    driver = await a_house(name, tags=("alive",))

    reply = await state_fact(driver, f"Maeve O{asked}Brien is dead")

    assert await subjects_of(driver, reply) == [name]
    found = await driver.call("get", of=f"maeve o{asked}brien")
    assert (found["name"], found["tags"]) == (name, ["dead"])


@pytest.mark.parametrize(
    ("expected", "asked"),
    [
        *(("Anne-Sophie", f"Anne{sign}Sophie") for sign in "\u2010\u2011\u2013\u2212\uff0d"),
        ("Anne\u2011Sophie", "Anne-Sophie"),
        ("Zo\u00eb", "Zoe\u0308"),
        ("Zoe\u0308", "Zo\u00eb"),
        ("Anna", "\uff21\uff4e\uff4e\uff41"),
        ("Anna Berg", "Anna\u00a0Berg"),
        ("Anna Berg", "ANNA  BERG"),
        ("Anna", "An\u00adna"),
        ("Anna", "An\u200bna"),
        ("Stra\u00dfer", "STRASSER"),
    ],
)
async def test_a_name_is_the_same_whatever_its_signs(expected: str, asked: str) -> None:
    driver = await a_house(expected)

    assert await subjects_of(driver, await state_fact(driver, f"{asked} has red hair")) == [
        expected
    ]
    assert (await driver.call("get", of=asked))["name"] == expected
    by_name = await state_fact(driver, "The hair is red", about=[asked])
    assert await subjects_of(driver, by_name) == [expected]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("安娜", "安娜有红头发"),
        ("安娜", "昨天安娜去了市场。"),
        ("安娜·伯格", "我知道安娜·伯格"),
        ("サクラ", "サクラは学生です"),
        ("サクラ", "\uff7b\uff78\uff97は学生です"),
        ("สมชาย", "วันนี้สมชายไปตลาด"),
        ("안나", "안나는 학생이다"),
        ("सीता", "सीता ने राम को देखा"),
    ],
)
async def test_a_name_is_found_in_a_text_without_spaces(name: str, says: str) -> None:
    driver = await a_house(name)

    assert await subjects_of(driver, await state_fact(driver, says)) == [name]


async def test_stored_names_keep_their_spelling() -> None:
    driver = await a_house("Maeve O\u2019Brien")

    found = await driver.call("get", of="Maeve O'Brien")

    assert found["name"] == "Maeve O\u2019Brien"
    assert re.search("O\u2019Brien", json.dumps(found, ensure_ascii=False))


async def test_a_lower_case_item_name_matches_only_as_written() -> None:
    driver = await a_house("checkout", "Hope", kind="object")

    linked = await state_fact(driver, "Service checkout depends on pricing")
    unlinked = await state_fact(driver, "There is hope for all")

    assert await subjects_of(driver, linked) == ["checkout"]
    assert await subjects_of(driver, unlinked) == []


@pytest.mark.parametrize("named", ["Anna", "anna", "Mrs. Berg", "Berg", "Aunt Anna"])
async def test_an_argument_resolves_a_name_like_a_fact(named: str) -> None:
    driver = await a_house("Anna Berg", "Annabel", "Bergen Lorn")

    assert (await driver.call("get", of=named))["name"] == "Anna Berg"
    assert await subjects_of(
        driver, await state_fact(driver, "The hair is red", about=[named])
    ) == ["Anna Berg"]


async def test_a_fully_named_person_is_meant_by_a_later_first_name() -> None:
    driver = await a_house("Anna Berg", "Anna Huber")

    reply = await state_fact(driver, "Anna Berg came to Graz. Anna was tired")

    assert await subjects_of(driver, reply) == ["Anna Berg"]
    assert "hint" not in reply

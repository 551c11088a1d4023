"""States of people and groups that the facts of played scenes begin and end, in whatever words."""

from typing import Any

import pytest

from tests.toolsets.canon.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio


async def play(*scenes: str, when: tuple[str, ...] = ()) -> tuple[ToolDriver, list[dict[str, Any]]]:
    """Tell a fact about Ilsa or the Imps in each scene; the driver and the replies."""
    driver, replies = make_driver(), []
    await driver.call("open", name="Morn")
    people = [
        {"kind": "entity", "name": name, "type": kind, "tags": ["alive"]}
        for name, kind in (("Ilsa", "character"), ("Imps", "creature"))
    ]
    await driver.call("propose", claims=people, said="Ilsa meets the Imps.")
    for number, says in enumerate(scenes):
        dated = {"when": when[number]} if when else {}
        title = f"Scene {number}"
        await driver.call("tell", scene=title, turns=[{"by": "gm", "text": says}], **dated)
        about = [name for name in ("Ilsa", "Imps") if name in says]
        claims = [{"kind": "fact", "says": says, "about": about}]
        replies.append(await driver.call("propose", claims=claims, evidence=[title]))
    return driver, replies


async def tags_of(driver: ToolDriver, name: str) -> list[str]:
    return sorted((await driver.call("get", of=name)).get("tags", ()))


@pytest.mark.parametrize(
    ("says", "tags"),
    [
        ("Ilsa was stabbed to death last night.", ["dead"]),
        ("Ilsa was shot at noon.", ["alive"]),
        ("Ilsa was executed at noon.", ["dead"]),
        ("Ilsa died on Friday.", ["dead"]),
        ("Ilsa drowned this evening.", ["dead"]),
        ("Ilsa died in 1390.", ["dead"]),
        ("Ilsa was captured yesterday.", ["alive", "imprisoned"]),
        ("Ilsa wurde gestern Nacht ermordet.", ["dead"]),
        ("Ilsa est morte cette nuit.", ["dead"]),
        ("Ilsa murió esta mañana.", ["dead"]),
        ("Ilsa dies tomorrow.", ["alive"]),
        ("Ilsa will be hanged at noon.", ["alive"]),
        ("Ilsa is arrested on Monday.", ["alive"]),
        ("Ilsa stirbt morgen.", ["alive"]),
        ("Ilsa was nearly killed last night.", ["alive"]),
        ("Ilsa dreamed that she died last night.", ["alive"]),
        ("Ilsa was imprisoned in 1390.", ["alive"]),
    ],
)
@pytest.mark.parametrize("when", [(), ("1450-03-02",)])
async def test_a_change_with_a_word_of_time_has_come_in_its_scene(
    says: str, tags: list[str], when: tuple[str, ...]
) -> None:
    driver, _ = await play(says, when=when)
    assert await tags_of(driver, "Ilsa") == tags


@pytest.mark.parametrize(
    ("says", "tags"),
    [
        ("All of the Imps were killed.", ["dead"]),
        ("The Imps were all slain.", ["dead"]),
        ("Every one of the Imps died.", ["dead"]),
        ("Both Imps were captured.", ["alive", "imprisoned"]),
        ("Ilsa wiped out the Imps.", ["dead"]),
        ("Alle Imps wurden getötet.", ["dead"]),
        ("Ilsa killed one of the Imps.", ["alive"]),
        ("Ilsa slew three Imps.", ["alive"]),
        ("Ilsa freed some of the Imps.", ["alive"]),
        ("A storm killed dozens of the Imps.", ["alive"]),
        ("Ilsa killed all the Imps but two.", ["alive"]),
        ("All but one of the Imps died.", ["alive"]),
        ("Most of the Imps were killed.", ["alive"]),
        ("Ilsa tötete zwei der Imps.", ["alive"]),
        ("Ilsa a tué un des Imps.", ["alive"]),
        ("Ilsa mató a uno de los Imps.", ["alive"]),
    ],
)
async def test_a_group_is_dead_when_all_of_it_are(says: str, tags: list[str]) -> None:
    driver, _ = await play(says)
    assert await tags_of(driver, "Imps") == tags


async def test_one_of_a_group_kills_somebody() -> None:
    driver, _ = await play("One of the Imps killed Ilsa.")
    assert (await tags_of(driver, "Ilsa"), await tags_of(driver, "Imps")) == (["dead"], ["alive"])


async def test_a_later_scene_ends_what_came_at_an_hour() -> None:
    driver, (_, reply) = await play("Ilsa was arrested last night.", "Ilsa is free.")
    assert await tags_of(driver, "Ilsa") == ["alive", "free"]
    assert "Ilsa was arrested last night" in reply["note"]


async def test_what_comes_tomorrow_ends_nothing() -> None:
    driver, (_, reply) = await play(
        "Ilsa is a member of the Imps.", "Ilsa leaves the Imps tomorrow."
    )
    assert "Ended" not in reply.get("note", "")
    assert len((await driver.call("get", of="Ilsa"))["facts"]) > 1

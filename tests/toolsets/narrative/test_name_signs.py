"""Name signs: a name is one name in whatever apostrophes, hyphens and letters it is written."""

import pytest

from tests.toolsets.narrative.kit import a_world

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("stated", "asked"),
    [
        ("Maeve O\u2019Brien", "maeve o'brien"),
        ("Maeve O'Brien", "O\u02bcBrien"),
        ("Anne\u2011Sophie", "anne-sophie"),
        ("Zo\u00eb", "zoe\u0308"),
    ],
)
async def test_entities_and_namesakes_are_found_whatever_the_signs(stated: str, asked: str) -> None:
    world = await a_world()
    made = await world.entity(stated)

    listed = await world.call("neo4j_query_entities", name_pattern=asked)
    again = await world.call(
        "neo4j_query_entities", universe_id=world.universe_id, name_pattern=f"*{asked}*"
    )

    assert [each["name"] for each in listed["entities"]] == [stated]
    assert [each["entity_id"] for each in again["entities"]] == [made]

"""Extensions of a world: one declaration says what a tool takes, and what becomes of it."""

from functools import partial

from canonry.gateway.replies import BOOLEAN
from canonry.readmodels.edges import Direction
from canonry.world.domain.atlas import Exit, Item
from canonry.world.toolset.shapes import (
    ID,
    KEY,
    NAME,
    POSITIVE,
    PROSE,
    Request,
    builders_tool,
    word,
)
from canonry.world.usecases.building import create_part

WAY = Request(
    Exit,
    {"direction": word(Direction), "toLocationId": KEY.of("to")},
    {"oneWay": BOOLEAN.of("one_way"), "blocked": PROSE},
)
ITEM = Request(
    partial(Item, key=""),
    {"name": NAME, "itemType": NAME.of("item_type"), "holderId": KEY.of("holder")},
    {"quantity": POSITIVE},
)


def test_an_argument_fills_the_field_that_it_names() -> None:
    given = {"direction": "north", "toLocationId": "inn", "oneWay": True, "blocked": "snow"}

    way = WAY.read(given)

    assert way == Exit(direction=Direction.NORTH, to="inn", one_way=True, blocked="snow")
    assert isinstance(way.direction, Direction)


def test_what_is_left_out_has_the_default_of_the_value() -> None:
    given = {"name": "A lamp", "itemType": "light", "holderId": "inn"}

    assert ITEM.read(given) == Item(key="", name="A lamp", item_type="light", holder="inn")
    assert ITEM.read({**given, "quantity": 3}).quantity == 3


def test_the_schema_is_made_of_the_same_arguments() -> None:
    schema = ITEM.schema

    assert list(schema["properties"]) == ["name", "itemType", "holderId", "quantity"]
    assert schema["required"] == ["name", "itemType", "holderId"]
    assert schema["properties"]["quantity"] == {"type": "integer", "minimum": 1}
    assert schema["additionalProperties"] is False


def test_a_tool_is_declared_by_what_it_takes_and_answers() -> None:
    tool = builders_tool("remove-lamp", "Take a lamp away.", ITEM, create_part, ID)

    assert tool.title == "Remove lamp"
    assert tool.input_schema == ITEM.schema
    assert tool.output_schema == ID.schema
    assert tool.roles == {"WorldBuilder"}
    assert tool.destructive
    assert tool.extension
    assert not tool.read_only

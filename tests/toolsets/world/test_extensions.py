"""Extensions of a world: one table says what a tool takes, and what becomes of it."""

from canonry.gateway.tables import present_arguments
from canonry.readmodels.edges import Direction
from canonry.world.domain.atlas import Exit, Item
from canonry.world.toolset.shapes import DONE, TABLE, world_tool
from canonry.world.usecases.building import create_tie

WAY = TABLE.make_object_kind("new_exit", Exit)
TAKES = TABLE.tools["create-item"]["takes"]
READINGS = TABLE.list_readings(TAKES)


def test_an_argument_fills_the_field_of_its_name() -> None:
    given = {"direction": "north", "toLocationId": "inn", "oneWay": True, "blocked": "snow"}

    assert WAY.render is not None
    way = WAY.render(given)

    assert way == Exit(direction=Direction.NORTH, to="inn", one_way=True, blocked="snow")
    assert isinstance(way.direction, Direction)


def test_a_missing_argument_takes_the_default_of_the_value() -> None:
    given = {"name": "A lamp", "itemType": "light", "holderId": "inn"}

    read = present_arguments(READINGS, given)

    assert Item(key="", **read) == Item(key="", name="A lamp", item_type="light", holder="inn")
    assert present_arguments(READINGS, {**given, "quantity": 3})["quantity"] == 3


def test_the_schema_has_the_same_arguments() -> None:
    schema = TABLE.make_schema(TAKES)

    assert list(schema["properties"]) == [each.name for each in READINGS]
    assert schema["required"] == ["name", "itemType", "holderId"]
    assert schema["properties"]["quantity"] == {"type": "integer", "minimum": 1}
    assert schema["additionalProperties"] is False


def test_a_tool_is_declared_by_its_arguments_and_reply() -> None:
    tool = world_tool("remove-tie", create_tie, DONE)

    assert tool.title == "Remove tie"
    assert tool.input_schema == TABLE.make_schema(TABLE.tools["remove-tie"]["takes"])
    assert tool.output_schema == DONE.schema
    assert tool.roles == {"WorldBuilder"}
    assert tool.destructive
    assert tool.extension
    assert not tool.read_only

"""Fields, shapes and arguments are read from the words of tables."""

from types import SimpleNamespace
from typing import Any

import pytest

from canonry.gateway.replies import INSTANT, TEXT, UUID, Shape, published_shape
from canonry.gateway.tables import CallArguments, FieldTable, fill_parameters, read_arguments
from canonry.values.moments import Instant

TABLE = FieldTable(
    "canonry.records.toolset",
    readers={"uuid": lambda value, _path, _call: value.lower()},
    defaulting={"uuids": lambda value, _path, _call: tuple(value or ())},
)


def render_field(written: Any, **attributes: Any) -> dict[str, Any]:
    """The field `told` of an item with these attributes."""
    return Shape(told=TABLE.make_field(written))(SimpleNamespace(**attributes))


def test_a_text_defines_a_field_and_the_source_of_its_value() -> None:
    assert TABLE.make_field("uuid").schema == UUID.schema
    assert TABLE.make_field("list of instant").schema["items"] == INSTANT.schema
    assert TABLE.make_field("one of new, old").schema["enum"] == ["new", "old"]
    assert TABLE.make_field({"is": "count", "maximum": 3}).schema["maximum"] == 3
    assert render_field("instant from at", at=Instant(0)) == {"told": "1970-01-01T00:00:00Z"}
    assert render_field("text from @mood", properties={"mood": "calm"}) == {"told": "calm"}
    assert render_field('text from @mood else "calm"', properties={}) == {"told": "calm"}
    assert render_field("text from ways.1.kind", ways=["in", SimpleNamespace(kind="out")]) == {
        "told": "out"
    }


def test_a_missing_value_is_null_or_left_out_as_defined() -> None:
    assert render_field("text or null", told=None) == {"told": None}
    assert render_field("text or nothing", told=None) == {}
    assert render_field("list of text or nothing if empty from tags", tags=[]) == {}
    assert "told" not in Shape(told=TABLE.make_field("text or nothing")).schema["required"]


@pytest.mark.parametrize("written", ["", "text from", "riddle"])
def test_an_invalid_field_text_is_refused(written: str) -> None:
    with pytest.raises((ValueError, KeyError)):
        TABLE.make_field(written)


def test_arguments_are_read_by_kind_into_the_named_parameter() -> None:
    table = {"of": "uuid as thing_id", "ids": "uuids or nothing", "why": "text or nothing"}
    readings = TABLE.list_readings(table)

    values = read_arguments(readings, CallArguments({"of": "AB"}))

    assert values == {"of": "ab", "ids": (), "why": None}
    assert fill_parameters(readings, values) == {"thing_id": "ab", "ids": (), "why": None}


def test_an_argument_kind_without_reader_is_refused() -> None:
    with pytest.raises(KeyError):
        TABLE.list_readings({"at": "instant"})


def test_a_published_schema_gives_the_fields_of_a_shape() -> None:
    schema = {
        "properties": {
            "id": {"type": "string", "format": "uuid"},
            "at": {"type": ["string", "null"], "format": "date-time"},
            "parts": {"type": "array", "items": {"$ref": "#/$defs/part"}},
        }
    }

    shape = published_shape(schema, {"part": Shape(name=TEXT)}, id="key", parts=None)

    item, part = SimpleNamespace(key="k", at=None), SimpleNamespace(name="n")
    assert shape(item, parts=[part]) == {"id": "k", "at": None, "parts": [{"name": "n"}]}

"""Shapes: one declaration of a reply's fields gives its schema and its value."""

from dataclasses import dataclass
from enum import StrEnum

import jsonschema_rs
import pytest

from canonry.gateway.replies import (
    BOOLEAN,
    COUNT,
    INSTANT,
    OBJECT,
    SHARE,
    TEXT,
    UUID,
    WORD,
    Shape,
    array,
    enum,
    given_field,
    nullable_field,
    object_schema,
    optional_field,
    whole_item,
)
from canonry.values.moments import Instant, parse_instant

NOON = parse_instant("2025-01-15T12:00:00Z")


class Mood(StrEnum):
    """A feeling of somebody."""

    GLAD = "glad"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pony:
    """An item to answer with."""

    id: str = "00000000-0000-4000-8000-000000000001"
    name: str = "Bill"
    mood: Mood = Mood.GLAD
    foaled_at: Instant | None = NOON
    loads: tuple[str, ...] = ("rope", "pans")
    rider: "Pony | None" = None
    brand: str | None = None


NAMED = Shape(name=TEXT, mood=enum("glad", "sad"))
PONY = Shape(
    pony_id=UUID.from_source("id"),
    called=TEXT.from_source("name"),
    mood=WORD,
    foaled_at=nullable_field(INSTANT),
    loads=array(TEXT),
    heavy=BOOLEAN.from_source(lambda pony: len(pony.loads) > 1),
    rider=nullable_field(NAMED),
    brand=optional_field(TEXT),
    stable=optional_field(given_field(TEXT)),
    owner=nullable_field(optional_field(given_field(TEXT))),
)


def test_a_value_has_the_fields_in_declared_order() -> None:
    pony = Pony(rider=Pony(name="Sam"), brand="B")

    assert list(PONY(pony, stable="Bree", owner="Ferny").items()) == [
        ("pony_id", "00000000-0000-4000-8000-000000000001"),
        ("called", "Bill"),
        ("mood", "glad"),
        ("foaled_at", "2025-01-15T12:00:00Z"),
        ("loads", ["rope", "pans"]),
        ("heavy", True),
        ("rider", {"name": "Sam", "mood": "glad"}),
        ("brand", "B"),
        ("stable", "Bree"),
        ("owner", "Ferny"),
    ]


def test_a_word_is_a_plain_text() -> None:
    assert type(PONY(Pony())["mood"]) is str
    assert type(NAMED(Pony())["mood"]) is str


def test_a_missing_value_is_null_if_nullable_and_else_left_out() -> None:
    shown = PONY(Pony(foaled_at=None), owner=None)

    assert shown["foaled_at"] is None
    assert shown["rider"] is None
    assert shown["owner"] is None
    assert "brand" not in shown
    assert "stable" not in shown
    assert "owner" not in PONY(Pony())


def test_a_given_value_overrides_that_of_the_item() -> None:
    assert PONY(Pony(), called="Nob", foaled_at=NOON + 1)["called"] == "Nob"
    assert PONY(Pony(), foaled_at=None)["foaled_at"] is None


def test_the_schema_has_the_same_fields() -> None:
    assert PONY.schema["required"] == [
        "pony_id",
        "called",
        "mood",
        "foaled_at",
        "loads",
        "heavy",
        "rider",
    ]
    assert PONY.schema["additionalProperties"] is False
    assert PONY.schema["properties"]["foaled_at"] == {
        "type": ["string", "null"],
        "format": "date-time",
    }
    assert PONY.schema["properties"]["rider"] == {**NAMED.schema, "type": ["object", "null"]}
    assert PONY.schema["properties"]["loads"] == {"type": "array", "items": {"type": "string"}}


@pytest.mark.parametrize(
    "pony", [Pony(), Pony(foaled_at=None, brand="B", rider=Pony())], ids=["bare", "full"]
)
def test_a_value_satisfies_its_schema(pony: Pony) -> None:
    assert jsonschema_rs.validator_for(dict(PONY.schema)).is_valid(PONY(pony))


def test_a_list_of_shapes_is_rendered_one_by_one() -> None:
    stable = Shape(
        ponies=array(NAMED).from_source("rider"), note=optional_field(OBJECT).from_source("brand")
    )

    class Stable:
        rider = (Pony(), Pony(name="Nob"))
        brand = None

    assert stable(Stable()) == {
        "ponies": [{"name": "Bill", "mood": "glad"}, {"name": "Nob", "mood": "glad"}]
    }


def test_a_shape_consists_of_some_fields_of_another() -> None:
    brief = Shape(**PONY.some_fields("called", "mood"), name=TEXT)

    assert brief(Pony()) == {"called": "Bill", "mood": "glad", "name": "Bill"}


def test_a_shape_consists_of_the_fields_of_an_attribute() -> None:
    ridden = Shape(name=TEXT, **{f"rider_{n}": f for n, f in PONY.fields_within("rider").items()})

    shown = ridden(Pony(rider=Pony(name="Sam", loads=())), rider_stable="Bree")
    assert shown["name"] == "Bill"
    assert shown["rider_called"] == "Sam"
    assert shown["rider_heavy"] is False
    assert shown["rider_stable"] == "Bree"


def test_a_field_is_computed_as_a_whole_or_from_the_item() -> None:
    shape = Shape(
        tags=array(TEXT).from_function(lambda pony: [pony.name, "pony"]),
        self=NAMED.from_source(whole_item),
    )

    assert shape(Pony()) == {"tags": ["Bill", "pony"], "self": {"name": "Bill", "mood": "glad"}}


def test_a_field_takes_more_keywords() -> None:
    assert SHARE.with_keywords(default=1.0).schema == {
        "type": "number",
        "minimum": 0.0,
        "maximum": 1.0,
        "default": 1.0,
    }


def test_arguments_are_declared_with_the_same_fields() -> None:
    assert object_schema({"id": UUID}, {"limit": COUNT}) == {
        "type": "object",
        "properties": {
            "id": {"type": "string", "format": "uuid"},
            "limit": {"type": "integer", "minimum": 0},
        },
        "required": ["id"],
        "additionalProperties": False,
    }

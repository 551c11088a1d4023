"""Arguments: exactly the published schema, formats asserted, defaults filled in, paths given."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.gateway.validation import close_schema, compile_arguments
from canonry.values.errors import InvalidInput
from tests.gateway.sample import LAMP, LIGHT, an_object

NESTED = an_object(
    {
        "things": {
            "type": "array",
            "items": an_object(
                {"n": {"type": "integer", "default": 3}, "free": {"type": "object"}}
            ),
        },
        "inner": an_object({"on": {"type": "boolean", "default": True}}),
        "either": {"anyOf": [an_object({"a": {"type": "string"}}), {"type": "null"}]},
        "open": an_object({"a": {}}, additionalProperties=True),
    }
)


def validation_error(schema: dict[str, Any], arguments: dict[str, Any]) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        compile_arguments(schema)(arguments)
    return caught.value


@pytest.mark.parametrize(
    ("arguments", "code", "path"),
    [
        ({}, "input.missing", "/lamp_id"),
        ({"lamp_id": "not-a-uuid"}, "input.invalid", "/lamp_id"),
        ({"lamp_id": LAMP.replace("-", "")}, "input.invalid", "/lamp_id"),
        ({"lamp_id": 7}, "input.invalid", "/lamp_id"),
        ({"lamp_id": LAMP, "level": 101}, "input.invalid", "/level"),
        ({"lamp_id": LAMP, "level": -1}, "input.invalid", "/level"),
        ({"lamp_id": LAMP, "level": 1.5}, "input.invalid", "/level"),
        ({"lamp_id": LAMP, "level": True}, "input.invalid", "/level"),
        ({"lamp_id": LAMP, "since": "2025-01-01"}, "input.invalid", "/since"),
        ({"lamp_id": LAMP, "since": "2025-01-01T00:00:00"}, "input.invalid", "/since"),
        ({"lamp_id": LAMP, "since": "2025-02-30T00:00:00Z"}, "input.invalid", "/since"),
        ({"lamp_id": LAMP, "tags": {"add": ["x", ""]}}, "input.invalid", "/tags/add/1"),
        ({"lamp_id": LAMP, "tags": {"ad": []}}, "input.unknown-property", "/tags/ad"),
        ({"lamp_id": LAMP, "lvl": 1}, "input.unknown-property", "/lvl"),
        ({"lamp_id": LAMP, "a/b~c": 1}, "input.unknown-property", "/a~1b~0c"),
    ],
)
def test_a_refusal_names_the_path(arguments: dict[str, Any], code: str, path: str) -> None:
    error = validation_error(LIGHT, arguments)
    assert (error.code, error.details["path"]) == (code, path)
    assert path in error.message


@pytest.mark.parametrize(
    "arguments",
    [
        {"lamp_id": LAMP.upper(), "level": 1.0},
        {"lamp_id": LAMP, "since": "2025-01-01T00:00:00.5+02:00"},
        {"lamp_id": LAMP, "details": {"anything": {"at": "all"}}},
    ],
)
def test_arguments_permitted_by_the_schema_pass(arguments: dict[str, Any]) -> None:
    assert compile_arguments(LIGHT)(arguments)["lamp_id"] == arguments["lamp_id"]


def test_a_value_is_never_repeated_in_the_error() -> None:
    error = validation_error(LIGHT, {"lamp_id": "personal " * 1000})
    assert "personal" not in error.message
    assert "personal" not in str(error.details)


def test_an_unknown_property_error_lists_the_known_ones() -> None:
    assert "lamp_id, level, since" in validation_error(LIGHT, {"lamp_id": LAMP, "lvl": 1}).message


def test_further_problems_are_reported_as_well() -> None:
    error = validation_error(LIGHT, {"level": "high", "lvl": 1})
    paths = {error.details["path"], *(each["path"] for each in error.details["problems"])}
    assert paths == {"/lamp_id", "/level", "/lvl"}


def test_objects_in_lists_and_alternatives_are_closed_unless_open() -> None:
    assert validation_error(NESTED, {"things": [{}, {"m": 1}]}).details["path"] == "/things/1/m"
    assert validation_error(NESTED, {"either": {"b": 1}}).details["path"] == "/either"
    check = compile_arguments(NESTED)
    assert check({"open": {"b": 1}, "either": None, "things": [{"free": {"x": 1}}]})


def test_closing_a_combined_object_counts_properties_of_all_parts() -> None:
    schema = an_object({"a": {}}, allOf=[{"properties": {"b": {}}}])
    check = compile_arguments(schema)
    assert check({"a": 1, "b": 2})
    assert validation_error(schema, {"c": 1}).details["path"] == "/c"


def test_defaults_are_filled_in_without_changing_the_arguments() -> None:
    arguments: dict[str, Any] = {"things": [{}, {"n": 5}], "inner": {}}
    filled = compile_arguments(NESTED)(arguments)
    assert filled == {"things": [{"n": 3}, {"n": 5}], "inner": {"on": True}}
    assert arguments == {"things": [{}, {"n": 5}], "inner": {}}


def test_without_defaults_the_arguments_are_not_copied() -> None:
    arguments = {"a": 1}
    assert compile_arguments(an_object({"a": {}}))(arguments) is arguments


def test_the_published_schema_is_not_changed() -> None:
    before = str(NESTED)
    close_schema(NESTED)
    assert str(NESTED) == before


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4) | st.just(LAMP),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["add", "x"]), inner, max_size=2)
    ),
    max_leaves=4,
)
NAMES = st.sampled_from(["lamp_id", "level", "since", "authority", "tags", "note", "details", "x"])


@given(arguments=st.dictionaries(NAMES, VALUES, max_size=4))
def test_any_arguments_are_accepted_or_refused_with_a_path(arguments: dict[str, Any]) -> None:
    checked, error = arguments, None
    try:
        checked = compile_arguments(LIGHT)(arguments)
    except InvalidInput as caught:
        error = caught
    if error is None:
        assert {"lamp_id", "level"} <= checked.keys() <= LIGHT["properties"].keys()
    else:
        assert error.code in {"input.invalid", "input.missing", "input.unknown-property"}
        assert error.details["path"].startswith("/")


WANTED = an_object(
    {
        "n": {"type": "integer", "minimum": 0},
        "share": {"type": "number"},
        "word": {"type": "string", "enum": ["brief", "full", "none", "all", "some", "any"]},
        "calendar": {"anyOf": [{"type": "object"}, {"type": "null"}]},
        "rows": {"type": "array", "items": an_object({"n": {"type": "integer", "default": 4}})},
        "name": {"type": "string"},
    },
    required=("name",),
)


def test_null_for_an_optional_argument_counts_as_missing() -> None:
    check = compile_arguments(WANTED)
    assert check({"name": "a", "n": None, "word": None}) == {"name": "a"}
    assert check({"name": "a", "rows": [{"n": None}]}) == {"name": "a", "rows": [{"n": 4}]}


def test_null_stays_if_meaningful_and_is_refused_if_required() -> None:
    assert compile_arguments(WANTED)({"name": "a", "calendar": None, "n": "1"}) == {
        "name": "a",
        "calendar": None,
        "n": 1,
    }
    assert validation_error(WANTED, {"name": None}).details["path"] == "/name"


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ({"n": "5"}, {"n": 5}),
        ({"share": "0.25"}, {"share": 0.25}),
        ({"share": "-3"}, {"share": -3}),
    ],
)
def test_a_number_in_a_text_is_accepted(given: dict[str, Any], taken: dict[str, Any]) -> None:
    assert compile_arguments(WANTED)({"name": "a", **given}) == {"name": "a", **taken}


@pytest.mark.parametrize("text", ["5.0", "1e3", " 5", "05", "five", "9" * 16, "٣"])
def test_a_text_is_refused_if_a_whole_number_would_lose_precision(text: str) -> None:
    assert validation_error(WANTED, {"name": "a", "n": text}).details["path"] == "/n"


@pytest.mark.parametrize("given", [{"n": "5"}, {"share": "0.25"}, {"n": None}])
def test_an_exact_schema_converts_nothing(given: dict[str, Any]) -> None:
    check = compile_arguments(WANTED, exact=True)
    assert check({"name": "a"}) == compile_arguments(WANTED)({"name": "a"})
    with pytest.raises(InvalidInput) as refused:
        check({"name": "a", **given})
    assert refused.value.details["path"] == f"/{next(iter(given))}"


def test_a_text_stays_a_text_if_one_is_wanted() -> None:
    assert compile_arguments(WANTED)({"name": "5", "n": "6"}) == {"name": "5", "n": 6}


def test_an_enumeration_error_lists_all_values() -> None:
    message = validation_error(WANTED, {"name": "a", "word": "short"}).message
    assert "brief, full, none, all, some, any" in message


def test_an_unknown_property_error_suggests_the_intended_one() -> None:
    assert "did you mean share?" in validation_error(WANTED, {"name": "a", "Shar": 1}).message
    assert "did you mean" not in validation_error(WANTED, {"name": "a", "zzzzzz": 1}).message

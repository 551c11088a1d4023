"""Backward compatibility: nothing that was released is removed, retyped or newly required."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.toolsets.truth.released import read_released, read_surface

RELEASED, CURRENT = read_released(), read_surface()

SHORTENED = {"retrieve_entities takes include_snapshots", "retrieve_entities takes limit"}
"""Arguments whose absence means less: lists are short by default (decision 59)."""


def broken_changes(before: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """Yield the changes of the surface `now` that break a client of the surface `before`."""
    for code, status in before["errors"].items():
        if now["errors"].get(code) != status:
            yield f"error {code}"
    for edge in set(before["relationship_types"]) - set(now["relationship_types"]):
        yield f"relationship type {edge}"
    for name, tool in before["tools"].items():
        current = now["tools"].get(name)
        if current is None:
            yield name
            continue
        yield from (f"alias {each}" for each in set(tool["aliases"]) - set(current["aliases"]))
        for path in broken_arguments(tool["input"], current["input"]):
            yield f"{name} takes {path}"
        for path in broken_fields(tool["output"], current["output"]):
            yield f"{name} gives {path}"


def broken_arguments(before: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """Yield arguments that were accepted, and are refused or mean another thing now."""
    for path, field in before.items():
        current = now.get(path)
        if current is None or not (
            set(field["types"]) <= set(current["types"])
            and set(field.get("enum", ())) <= set(current.get("enum", field.get("enum", ())))
            and ("enum" in field or "enum" not in current)
            and field.get("bounds") == current.get("bounds")
        ):
            yield path
    for path, field in now.items():
        if field["required"] and not before.get(path, {"required": False})["required"]:
            yield path


def broken_fields(before: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """Yield fields that were answered, and are missing or different now."""
    for path, field in before.items():
        current = now.get(path)
        if current is None or not (
            set(field["types"]) == set(current["types"])
            and field["required"] <= current["required"]
        ):
            yield path


def test_no_released_member_is_removed_retyped_or_newly_required() -> None:
    assert CURRENT["version"].partition(".")[0] == RELEASED["version"].partition(".")[0]
    assert set(broken_changes(RELEASED, CURRENT)) == SHORTENED


def text_field(**more: Any) -> dict[str, Any]:
    return {"types": ["string"], "required": False, **more}


@pytest.mark.parametrize(
    ("way", "field", "spoilt"),
    [
        ("input", text_field(), None),
        ("output", text_field(), None),
        ("input", text_field(types=["integer", "string"]), text_field()),
        ("output", text_field(), text_field(types=["integer", "string"])),
        ("input", text_field(), text_field(required=True)),
        ("output", text_field(required=True), text_field()),
        ("input", None, text_field(required=True)),
        ("input", text_field(enum=["a", "b"]), text_field(enum=["a"])),
        ("input", text_field(), text_field(enum=["a"])),
        ("input", text_field(bounds={"default": 100}), text_field(bounds={"default": 10})),
        ("input", text_field(), text_field(bounds={"maxLength": 5})),
    ],
)
def test_every_kind_of_break_is_found(way: str, field: Any, spoilt: Any) -> None:
    def a_surface(each: Any) -> dict[str, Any]:
        sides = {"input": {}, "output": {}, way: {} if each is None else {"a.b": each}}
        tools = {"do": {"aliases": [], **sides}}
        return {"errors": {}, "relationship_types": [], "tools": tools}

    assert list(broken_changes(a_surface(field), a_surface(spoilt)))


def test_additions_break_nothing() -> None:
    tools: dict[str, Any] = {"do": {"aliases": [], "input": {}, "output": {}}}
    before = {"errors": {}, "relationship_types": [], "tools": tools}
    sides = {"input": {"new": text_field()}, "output": {"more": text_field(required=True)}}
    more = {**tools, "new": tools["do"], "do": {"aliases": ["other"], **sides}}
    now = {"errors": {"NEW": 400}, "relationship_types": ["NEW"], "tools": more}
    assert list(broken_changes(before, now)) == []

"""Reply types: what a client makes of an output schema holds every member that a reply has."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest

from canonry.app.packages import TOOLSETS, load_toolsets
from canonry.narrative import toolset as narrative
from canonry.records import toolset as truth
from canonry.world import toolset as world

LISTED: Final = {
    (toolset.name, tool.name): tool.output_schema
    for toolset in load_toolsets(TOOLSETS)
    for tool in toolset.tools
}
"""The output schemas of all tools, as they are listed."""

WHOLE: Final = {
    (name, tool.name): tool.output_schema
    for name, tools in (
        ("narrative", narrative.EXACT),
        ("truth", truth.EXACT),
        ("world", world.EXACT),
    )
    for tool in tools
}
"""Those that are listed in outline, in full; the tests hold every reply against them."""

PUBLISHED: Final = frozenset({"catalog"})
"""Its replies are cut to the members that its contract publishes."""

EVERY_TOOL: Final = pytest.mark.parametrize("key", sorted(LISTED), ids="/".join)


def yield_objects(schema: Any, path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every schema within a schema, with where it stands."""
    if isinstance(schema, Mapping):
        if not path.endswith("/properties"):
            yield path or "/", schema
        for name, inner in schema.items():
            yield from yield_objects(inner, f"{path}/{name}")
    elif isinstance(schema, list | tuple):
        for index, inner in enumerate(schema):
            yield from yield_objects(inner, f"{path}/{index}")


def test_every_toolset_is_checked() -> None:
    assert {name for name, _ in LISTED} == TOOLSETS.keys()


@EVERY_TOOL
def test_required_reply_members_are_among_the_properties(key: tuple[str, str]) -> None:
    for path, schema in yield_objects(LISTED[key]):
        required = set(schema.get("required", ()))
        assert required <= set(schema.get("properties", ())), path


@EVERY_TOOL
def test_an_object_lists_all_its_members_or_none(key: tuple[str, str]) -> None:
    whole = WHOLE.get(key)
    for path, schema in yield_objects(LISTED[key]):
        if not schema.get("properties") or key[0] in PUBLISHED:
            continue
        closed = schema if whole is None or path != "/" else whole
        assert closed["additionalProperties"] is False, path
        assert schema["properties"].keys() == closed["properties"].keys(), path

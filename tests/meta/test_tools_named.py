"""Messages name only tools that whoever reads them is served: each toolset words its own remedies.

The names come from the toolsets and the messages from the source, so that a new one of either is
looked at as well.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from canonry.app.packages import TOOLSETS, load_toolsets
from canonry.gateway.replies import refusal_result
from canonry.gateway.tool import Toolset
from canonry.values.errors import NotFound
from tests.meta.tree import PACKAGE, relative_path

WORDS = frozenset(
    (
        *("changes", "context", "correct", "decide", "find", "get", "health", "move", "open"),
        *("propose", "review", "spaces", "tell", "timeline", "why"),
    )
)
"""Tools that are named by common words: they are meant only where the sentence is about a call."""
SAYS = (
    "looks|lists|opens|shows|explains|tells|finds|merges|accepts|goes|accept|reject|judge|merge"
    "|reveal|retcon|what=|of=|since=|full|with end"
)
USED = r"\b(?:[Uu]se|[Cc]all|[Tt]ry|by) {0}\b(?! (?:a|an|the|by|as|it|its|this)\b)"
MEANT = rf"{USED}|(?<![\w-]){{0}} (?:{SAYS})"
_TOOLSETS = load_toolsets(list(TOOLSETS))
OWNERS = {
    name: frozenset(each.name for each in _TOOLSETS if name in {tool.name for tool in each.tools})
    for name in {tool.name for each in _TOOLSETS for tool in each.tools}
}
PLACES = {
    "assistant/": "canon",
    "narrative/toolset/": "narrative",
    "records/toolset/": "truth",
    "world/toolset/": "world",
    "catalog/toolset/": "catalog",
    "catalog/operator/": "operator",
}
"""The folders of toolsets; no message elsewhere names a tool."""


def names_in(text: str) -> Iterator[str]:
    """The tools that a text names."""
    written = set(re.findall(r"[a-z][a-z0-9]*(?:[_-][a-z0-9]+)*", text))
    yield from written & OWNERS.keys() - WORDS
    for word in WORDS & written:
        if re.search(MEANT.format(word), text):
            yield word


def yield_messages(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every text of several words that is no docstring, with the values in it left out."""
    inner = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
    }
    plain = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if id(node) in inner | plain:
            continue
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
            text = "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if " " in text.strip():
            yield getattr(node, "lineno", 0), text


def owner_of(path: Path) -> str:
    """The toolset that a file belongs to; files that several toolsets use belong to none."""
    name = path.relative_to(PACKAGE).as_posix()
    return next((toolset for place, toolset in PLACES.items() if name.startswith(place)), "")


def served_to(name: str, path: Path) -> bool:
    """Return whether the readers of a file are served the tool that it names."""
    return owner_of(path) in OWNERS[name]


def test_no_message_names_a_tool_of_another_toolset() -> None:
    wrong = [
        f"{relative_path(path)}:{line}: {name}: {text[:80]}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for line, text in yield_messages(ast.parse(path.read_text(encoding="utf-8")))
        for name in names_in(text)
        if not served_to(name, path)
    ]

    assert wrong == []


def yield_descriptions(value: Any) -> Iterator[str]:
    """Yield the descriptions in a schema, however deep they lie."""
    if isinstance(value, Mapping) and isinstance(text := value.get("description"), str):
        yield text
    if isinstance(value, Mapping | list):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from yield_descriptions(each)


@pytest.mark.parametrize("toolset", _TOOLSETS, ids=lambda each: each.name)
def test_no_tool_description_names_a_tool_of_another_toolset(toolset: Toolset) -> None:
    wrong = [
        f"{tool.name}: {name}: {text[:80]}"
        for tool in toolset.tools
        for text in (tool.title, tool.description, *yield_descriptions(tool.input_schema))
        for name in names_in(text)
        if toolset.name not in OWNERS[name]
    ]

    assert wrong == []


def test_each_toolset_has_a_folder() -> None:
    assert sorted(PLACES.values()) == sorted(TOOLSETS)
    assert [place for place in PLACES if not (PACKAGE / place).is_dir()] == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("let both be for the same with neo4j_set_audience first", {"neo4j_set_audience"}),
        ("there is nothing here; find looks by words", {"find"}),
        ("spaces lists them, and open opens one", {"spaces", "open"}),
        ("split it, and ingest its pieces", {"ingest"}),
        ("the file is open; find out why, and tell whoever is to correct it", set()),
    ],
)
def test_a_tool_name_is_recognised_in_a_message_and_a_common_word_is_not(
    text: str, names: set[str]
) -> None:
    assert set(names_in(text)) == names


@pytest.mark.parametrize("toolset", _TOOLSETS, ids=lambda each: each.name)
def test_the_remedies_of_a_toolset_name_its_tools_and_raised_codes(
    toolset: Toolset,
) -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    for code, remedy in toolset.remedies.items():
        assert all(toolset.name in OWNERS[name] for name in names_in(remedy)), remedy
        assert set(re.findall(r"[\w-]+", remedy)) & {tool.name for tool in toolset.tools}, remedy
        assert re.search(rf'(?:NotFound|Conflict|InvalidInput|Unavailable)\(\s*"{code}"', source), (
            code
        )


def test_an_error_has_the_remedy_of_the_called_toolset() -> None:
    error = NotFound("name.unknown", "/of matches no name or id in this space.", path="/of")
    found = {
        each.name: error_of.message
        for each in _TOOLSETS
        if (error_of := refusal_result(error, each, "get", None).error) is not None
    }

    assert found["canon"] == (
        "/of matches no name or id in this space. Use find to search by words."
    )
    assert found["narrative"] == found["world"] == "/of matches no name or id in this space."

"""Sight: whoever answers a caller looks up only what the caller may see, or stands here and why."""

import ast
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Final

import pytest

from canonry.readmodels.ports import documents, state, text
from canonry.readmodels.ports.state import State
from tests.meta.tree import PACKAGE, python_files

ANSWERING: Final = (
    *("canon", "recall", "narrative", "records", "world", "catalog", "assistant"),
    *("gateway", "server", "cli"),
)
"""The packages that answer callers."""

BEYOND: Final = frozenset(
    {"items_by_id", "items_as_known_at", "list_items", "spaces", "cursor", "apply"}
)
"""Queries of the state that return items of any space; others get spaces or items in hand."""

WITHIN: Final = frozenset(name for name in dir(State) if not name.startswith("_")) - BEYOND
QUERIES: Final = frozenset(
    name
    for view in (state, documents, text)
    for name, kind in vars(view).items()
    if is_dataclass(kind) and "spaces" in {each.name for each in fields(kind)}
)

LOOKING_BEYOND: Final = {
    "canon/session/canon.py": "makes the lookups of a caller",
    "canon/session/viewpoint.py": "returns what a caller looks up to an earlier state",
    "canon/session/snippets.py": "asks for the items of the spaces that a caller searches",
    "canon/session/commit_change.py": "what is written is for no more than may see what it names",
    "canon/canonization/change_audience.py": "says who may know, for game masters",
    "canon/session/lookup.py": "asks the kinds of all spaces, and leaves out accounts",
    "recall/usecases/search_by_meaning.py": "hands the state to the index of meanings",
    "recall/usecases/passage_parts.py": "embeds the passages of all spaces",
    "recall/usecases/index_passages.py": "embeds the passages of all spaces",
    "canon/queries/listings.py": "lists the kind that no account is of",
    "canon/commands/universes.py": "lists the kind that no account is of",
    "world/usecases/worlds.py": "lists the kind that no account is of",
    "world/usecases/exchange.py": "an id that is taken anywhere cannot be a world's",
    "world/usecases/building.py": "an id that is taken anywhere cannot be an event's",
    "world/usecases/proposals/admission.py": "an id that is taken anywhere cannot be a proposal's",
    "world/usecases/proposals/outcomes.py": "what it finds is held against the space of the world",
    "catalog/usecases/judging.py": "an id that is taken anywhere cannot be a row's",
    "catalog/usecases/exchange.py": "exports all projects, for an operator",
    "records/usecases/files.py": "checks the files of all users, for an operator",
    "canon/canonization/undo_call.py": "takes back what a call did for other readers, too",
    "canon/commands/retcon_items.py": "gives back what others know that a claim had retconned",
    "canon/maintenance/reread_facts.py": "reads the facts of all spaces, for an operator",
    "canon/maintenance/erase.py": "erases in any space, for an operator",
    "records/usecases/withdrawing.py": "keeps to rules in all accounts, for an operator",
}


def reads_beyond_scope(tree: ast.AST) -> bool:
    """Return whether a module reads items of any space from the state, or hands the state on."""
    bounded = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in WITHIN
    }
    return any(
        (
            isinstance(node, ast.Attribute)
            and node.attr == "state"
            and isinstance(node.ctx, ast.Load)
            and id(node) not in bounded
        )
        or (
            isinstance(node, ast.Attribute)
            and node.attr in BEYOND
            and isinstance(node.value, ast.Name)
            and node.value.id == "state"
        )
        for node in ast.walk(tree)
    )


def asking_everywhere(tree: ast.AST) -> Iterator[int]:
    """The lines of queries that do not say whose spaces they cover, or say all."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) in QUERIES:
            said = {each.arg: each.value for each in node.keywords}
            spaces = said.get("spaces")
            if spaces is None or (isinstance(spaces, ast.Constant) and spaces.value is None):
                yield node.lineno


def list_trees() -> Iterator[tuple[str, ast.Module]]:
    for path in python_files(*(f"src/canonry/{package}" for package in ANSWERING)):
        yield name_of(path), ast.parse(path.read_text(encoding="utf-8"))


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def test_nobody_reads_beyond_a_callers_scope_without_a_named_reason() -> None:
    found = {name for name, tree in list_trees() if reads_beyond_scope(tree)}

    unnamed = sorted(found - LOOKING_BEYOND.keys())
    assert unnamed == [], "look things up by canon.seen_by(caller) or canon.within(space)"
    assert sorted(LOOKING_BEYOND.keys() - found) == [], "these need no exception any longer"


def test_every_query_of_a_use_case_names_its_spaces() -> None:
    found = {
        f"{name}:{line}"
        for name, tree in list_trees()
        if name.startswith("canon/") or "/usecases/" in name
        for line in asking_everywhere(tree)
    }

    assert found == set()


@pytest.mark.parametrize(
    "line",
    [
        "await canon.state.items_by_id(ids)",
        "await self.canon.state.items_as_known_at(ids, position)",
        "await canon.state.spaces(kind=None, parent=None, limit=9, offset=0)",
        "read = canon.state",
        "await helper(canon.state, ids)",
        "await state.items_by_id(ids)",
    ],
)
def test_a_read_beyond_the_scope_is_found(line: str) -> None:
    assert reads_beyond_scope(ast.parse(line))


@pytest.mark.parametrize(
    "line",
    [
        "await canon.seen_by(caller).things(ids)",
        "await canon.within(space).thing(thing_id)",
        "await canon.state.facts(query)",
    ],
)
def test_a_read_within_the_scope_passes(line: str) -> None:
    assert not reads_beyond_scope(ast.parse(line))


@pytest.mark.parametrize("call", ["FactQuery(limit=3)", "EntityQuery(spaces=None)"])
def test_a_query_of_all_spaces_is_found(call: str) -> None:
    assert list(asking_everywhere(ast.parse(call))) == [1]

"""Style by the numbers, checked as a test so that it cannot be skipped."""

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

from tests.meta.tree import PACKAGE, python_files, relative_path

MODULE_LINES_MAX = 800
FUNCTION_LINES_MAX = 60
FOLDER_FILES_MAX = 40
EMPTY_NAMES = frozenset({"common", "misc", "base", "manager", "core", "shared"})
VENDORED = PACKAGE / "inspector" / "static" / "vendor"
UNFINISHED = re.compile(r"\b(?:TODO|FIXME|XXX|HACK|TBD)\b")
EMPTY_WORDS = frozenset({"util", "utils", "helper", "helpers", "misc"})
SOURCES = python_files("src")
EVERYTHING = python_files("src", "tests", "bench")


@cache
def parse_module(path: Path) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(path.read_text(encoding="utf-8"))


def begins_with_a_sentence(path: Path) -> bool:
    """Return whether a module's docstring begins with a paragraph that ends as a sentence does."""
    first = (ast.get_docstring(parse_module(path)) or "").split("\n\n")[0]
    return first.rstrip().endswith((".", ":", "?"))


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the number of lines of a function with its signature and docstring."""
    return (function.end_lineno or 0) - function.lineno + 1


def test_there_is_a_package_to_check() -> None:
    assert SOURCES
    assert (PACKAGE / "py.typed").is_file()


def test_every_module_begins_with_a_sentence() -> None:
    assert [relative_path(path) for path in SOURCES if not begins_with_a_sentence(path)] == []


def test_every_module_has_a_readable_length() -> None:
    lines = {path: path.read_text(encoding="utf-8").count("\n") for path in EVERYTHING}

    too_long = {relative_path(path): n for path, n in lines.items() if n > MODULE_LINES_MAX}

    assert too_long == {}, f"more than {MODULE_LINES_MAX} lines: split it by noun"


def test_every_function_fits_on_a_page() -> None:
    too_long = {
        f"{relative_path(path)}:{node.name}": lines_of(node)
        for path in SOURCES
        for node in ast.walk(parse_module(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and lines_of(node) >= FUNCTION_LINES_MAX
    }

    assert too_long == {}, f"functions of {FUNCTION_LINES_MAX} lines or more"


def test_every_folder_has_a_readable_number_of_files() -> None:
    files = Counter(path.parent for path in SOURCES)

    too_many = {relative_path(folder): n for folder, n in files.items() if n > FOLDER_FILES_MAX}

    assert too_many == {}, f"more than {FOLDER_FILES_MAX} files: divide it by concern"


def test_every_file_name_describes_its_content() -> None:
    names = {relative_path(path): path.stem for path in EVERYTHING}
    names |= {relative_path(path.parent): path.parent.name for path in SOURCES}
    empty = [
        place
        for place, name in names.items()
        if name in EMPTY_NAMES or EMPTY_WORDS & set(name.split("_"))
    ]

    assert empty == [], "name the noun that it is about"


def test_every_folder_of_the_package_is_a_package() -> None:
    folders = {path.parent for path in SOURCES}

    assert sorted(relative_path(f) for f in folders if not (f / "__init__.py").is_file()) == []


def find_unfinished(texts: dict[str, str]) -> list[str]:
    """The texts that say themselves that something is still to be done."""
    return [name for name, text in texts.items() if UNFINISHED.search(text)]


def test_no_own_file_is_marked_as_unfinished() -> None:
    kinds = {".py", ".js", ".css", ".html", ".sql", ".toml", ".json"}
    ours = [
        path for path in PACKAGE.rglob("*") if path.suffix in kinds and VENDORED not in path.parents
    ]

    assert {path.suffix for path in ours} == kinds
    assert (
        find_unfinished({relative_path(path): path.read_text(encoding="utf-8") for path in ours})
        == []
    )


def test_a_mark_of_unfinished_work_is_found() -> None:
    assert find_unfinished({"a": "// TODO later", "b": "-- FIXME", "c": "a todo list"}) == [
        "a",
        "b",
    ]

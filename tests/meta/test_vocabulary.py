"""No file of the project has unfinished work, paths of a machine or addresses of a registry."""

import re
from collections.abc import Iterable
from pathlib import Path

from tests.meta.tree import PACKAGE, relative_path, text_files

# Each pattern is written so that it does not match itself.
UNFINISHED = re.compile(r"\b(TO[D]O|FIX[M]E|X[X]X|raise NotImplemented[E]rror)\b")
MACHINE_PATH = re.compile(
    r"(?<![\w.*/-])/(?:[h]ome|[r]oot|[w]ork|[U]sers|[m]nt|[s]rv|[t]mp)/[\w.-]+"
)
REGISTRY = re.compile(
    r"pypi\.[o]rg|[p]ythonhosted|registry\.[n]pmjs|repo\d?\.[m]aven|crates\.[i]o|proxy\.[g]olang"
    r"|--(?:extra-)?index-[u]rl|--find-[l]inks"
)
FILES = list(text_files())


def find_hits(pattern: re.Pattern[str], paths: Iterable[Path]) -> list[str]:
    """Every line that `pattern` matches, as `file:number: line`."""
    return [
        f"{relative_path(path)}:{number}: {line.strip()[:120]}"
        for path in paths
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if pattern.search(line)
    ]


def test_the_whole_project_is_scanned() -> None:
    seen = {relative_path(path) for path in FILES}

    assert {"README.md", "Makefile", ".ci/run", "requirements/dev.lock", "pyproject.toml"} <= seen
    assert [name for name in seen if name.startswith(".venv")] == []


def test_the_source_contains_no_unfinished_words() -> None:
    assert find_hits(UNFINISHED, (path for path in FILES if path.is_relative_to(PACKAGE))) == []


def test_no_file_names_a_machine() -> None:
    assert find_hits(MACHINE_PATH, FILES) == []


def test_no_file_names_a_registry() -> None:
    assert find_hits(REGISTRY, FILES) == []

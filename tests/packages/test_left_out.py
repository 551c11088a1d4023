"""A package can be left out: the rest serves, and names the package to whoever asks for it."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from tests.meta.tree import PACKAGE, ROOT

ENGINES: Final = ("memory", "postgres", "mongodb", "neo4j", "opensearch", "qdrant", "objects")
STORES: Final = tuple(f"stores/{each}" for each in ENGINES)
OPTIONAL: Final = ("world", "documents", "catalog", "inspector", *STORES)
LEFT_OUT: Final = (*((each,) for each in OPTIONAL if each not in STORES), STORES, OPTIONAL)
"""Each package alone, all engines (none of which may import another), and everything."""

TOOLSETS: Final = {
    "canon": "",
    "narrative": "",
    "truth": "",
    "catalog": "catalog",
    "operator": "catalog",
    "world": "world",
}
"""Each toolset, and the optional package that brings it."""

MONGO: Final = ("--mongodb-url", "mongodb://127.0.0.1:9")
POSTGRES: Final = ("--postgres-url", "postgresql://127.0.0.1:9/canonry")
TRUTH_URL: Final = ("--truth-url", "http://127.0.0.1:9")
ASKING: Final[Mapping[str, Sequence[Sequence[str]]]] = {
    "world": (
        ("world", "check"),
        ("serve", "--toolsets", "world"),
        ("serve", "--dialogue-url", "http://127.0.0.1:9", "--dialogue-model", "m"),
    ),
    "documents": (("serve", *("--truth-interpreter", "openai", "--truth-model", "m"), *TRUTH_URL),),
    "catalog": (("catalog", "export"), ("serve", "--toolsets", "canon,operator")),
    "inspector": (("inspect",), ("serve", "--http-inspector"), ("demo", "--inspect")),
    "stores/memory": (("serve", "--memory"),),
    "stores/postgres": (("serve", *POSTGRES),),
    "stores/mongodb": (("serve", *MONGO),),
    "stores/neo4j": (("serve", *MONGO, "--neo4j-url", "bolt://127.0.0.1:9"),),
    "stores/opensearch": (("serve", *MONGO, "--opensearch-url", "http://127.0.0.1:9"),),
    "stores/qdrant": (("serve", *MONGO, "--qdrant-url", "http://127.0.0.1:9"),),
    "stores/objects": (("serve", *POSTGRES, "--files-url", "s3://bucket"),),
}
"""Commands that need a package."""

COMMANDS: Final = """
import json, sys
from click.testing import CliRunner
import canonry
from canonry.cli import main
done = [CliRunner().invoke(main, each) for each in json.load(sys.stdin)]
print(json.dumps([canonry.__file__, [(each.exit_code, each.stdout, each.stderr) for each in done]]))
"""
SECONDS: Final = 200
PDF: Final = {"title": "a.pdf", "file": "JVBERi0xLjQK", "mime_type": "application/pdf"}
MADE: Final = {"kind": "entity", "name": "Odo Brand", "type": "character"}
TEXT: Final = "Odo Brand keeps the light at Marrow."


@dataclass(frozen=True)
class Rest:
    """A copy of the source from which packages were deleted."""

    source: Path
    missing: Sequence[str]
    data: Path

    @property
    def toolsets(self) -> str:
        """All that are left, as the setting names them."""
        return ",".join(name for name, each in TOOLSETS.items() if each not in self.missing)

    def run_python(self, *arguments: str, given: str) -> str:
        """Return the output of Python with this copy."""
        done = subprocess.run(
            [sys.executable, *arguments],
            env={**os.environ, "PYTHONPATH": str(self.source), "PYTHONDONTWRITEBYTECODE": "1"},
            cwd=ROOT,
            input=given,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def run_commands(self, *commands: Sequence[str]) -> list[tuple[int, str, str]]:
        """Return the exit code and the output of each command."""
        place, done = json.loads(self.run_python("-c", COMMANDS, given=json.dumps(commands)))
        assert Path(place).is_relative_to(self.source)
        return [tuple(each) for each in done]

    def serve_calls(self, *calls: tuple[str, Mapping[str, Any]]) -> list[Any]:
        """The results of `tools/list` and of calls, by a server of every toolset that is left."""
        about = {"protocolVersion": "2025-06-18", "capabilities": {}}
        hello = {**about, "clientInfo": {"name": "test", "version": "1"}}
        asked = [("initialize", hello), ("tools/list", {})]
        asked += [("tools/call", {"name": name, "arguments": given}) for name, given in calls]
        lines = [
            {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            for number, (method, params) in enumerate(asked)
        ]
        lines.insert(1, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "canonry.cli", "serve", "--toolsets", self.toolsets),
                *("--data", str(self.data), "--recall-embedder", "none"),
            ],
            env={**os.environ, "PYTHONPATH": str(self.source), "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        with process:
            assert process.stdin is not None
            assert process.stdout is not None
            answers = []
            for line in lines:
                process.stdin.write(json.dumps(line) + "\n")
                process.stdin.flush()
                if "id" in line:
                    answers.append(json.loads(process.stdout.readline()))
            process.stdin.close()
            process.wait(SECONDS)
        assert process.returncode == 0
        return [each["result"] for each in answers[1:]]


def copy_without(folder: Path, missing: Sequence[str]) -> Rest:
    """A copy of the source without these packages."""
    source = folder / "src"
    shutil.copytree(PACKAGE, source / PACKAGE.name)
    for each in missing:
        shutil.rmtree(source / PACKAGE.name / each)
    return Rest(source, missing, folder / "data")


@pytest.mark.parametrize("missing", LEFT_OUT, ids="+".join)
def test_remaining_packages_serve_and_name_what_is_missing(
    tmp_path: Path, missing: Sequence[str]
) -> None:
    rest = copy_without(tmp_path, missing)

    listed, *done = rest.serve_calls(
        ("open", {"name": "Saltmere"}),
        ("tell", {"space": "Saltmere", "title": "Notes", "text": TEXT}),
        ("propose", {"space": "Saltmere", "evidence": ["Notes"], "claims": [MADE]}),
        ("find", {"space": "Saltmere", "text": "light"}),
    )

    served = {each["name"] for each in listed["tools"]}
    assert {"open", "tell", "propose", "find"} <= served
    assert not any(each.get("isError") for each in done), done
    assert "Notes" in str(done[-1])

    asking = [each for name in missing for each in ASKING[name]]
    healthy, helped, tools, *refused = rest.run_commands(
        ("doctor", "--data", str(rest.data), "--recall-embedder", "none"),
        ("--help",),
        ("tools", "--toolsets", rest.toolsets),
        *asking,
    )
    assert healthy[0] == helped[0] == tools[0] == 0, healthy
    assert ("propose-action" in tools[1]) == ("world" not in missing)
    gone = {each[0] for each in asking} - {"serve", "demo"}
    assert not any(f"\n  {name} " in helped[1] for name in gone)
    for command, (code, _, error) in zip(asking, refused, strict=True):
        assert code == 3, (command, error)
        names = [f"canonry.{each.replace('/', '.')}" for each in missing]
        assert any(f"needs the package {name}," in error for name in names), (command, error)
        assert "(package.missing)" in error


@pytest.mark.parametrize("missing", OPTIONAL[:4])
def test_tests_of_the_remaining_packages_pass(tmp_path: Path, missing: str) -> None:
    rest = copy_without(tmp_path, (missing,))

    rest.run_python(
        *("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"),
        *("-o", f"pythonpath={rest.source} {ROOT}"),
        *("tests/toolsets/canon/test_tool_list.py", "tests/bootstrap/test_policies.py"),
        given="",
    )


def test_without_documents_only_text_is_read(tmp_path: Path) -> None:
    rest = copy_without(tmp_path, ("documents",))

    _, *done = rest.serve_calls(
        ("open", {"name": "Saltmere"}),
        ("tell", {"space": "Saltmere", **PDF}),
    )

    assert done[1]["isError"]
    assert "canonry.documents" in str(done[1])

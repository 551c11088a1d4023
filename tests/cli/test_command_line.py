"""The entry: help that teaches, lazy imports, one clear line and an exit code for every failure."""

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

from canonry import __version__
from canonry.cli import main
from canonry.cli.entry import COMMANDS, exit_code
from canonry.gateway.validation import compile_arguments
from canonry.values import errors
from tests.cli.run import canonry_process, run_canonry

HEAVY = ("mcp", "apsw", "uvicorn", "starlette", "pydantic", "jsonschema_rs")


def run_command(*arguments: str) -> tuple[int, str, str]:
    """The exit code, standard output and standard error of a command."""
    done = run_canonry(*arguments)
    return done.returncode, done.stdout, done.stderr


def test_importing_the_command_line_imports_nothing_heavy() -> None:
    code = "import sys, canonry.cli; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    loaded = set(done.stdout.split())
    assert not loaded.intersection(HEAVY)
    assert "asyncio" not in loaded


def test_the_version_is_printed() -> None:
    assert run_command("--version") == (0, f"canonry, version {__version__}\n", "")


def test_a_mistyped_command_suggests_the_nearest_one_if_any() -> None:
    for slip, reported in (("fnd", "'fnd'; did you mean find?"), ("xyzzy", "'xyzzy'")):
        code, _, said = run_command(slip)

        assert code == 2
        assert said.endswith(f"Error: There is no command {reported}\n")


def test_help_names_every_command_and_every_exit_code() -> None:
    _, out, _ = run_command("--help")

    assert all(name in out for name in COMMANDS)
    assert all(f"\n    {code} " in out for code in (0, 1, 2, 3, 4, 5, 130))


def every_command() -> list[tuple[str, ...]]:
    """The words that call each command."""
    found: list[tuple[str, ...]] = []
    for name in COMMANDS:
        command = main.get_command(click.Context(main), name)
        if isinstance(command, click.Group):
            found += [(name, inner) for inner in command.commands]
        else:
            found.append((name,))
    return found


@pytest.mark.parametrize("words", every_command(), ids=" ".join)
def test_the_help_of_every_command_shows_an_example(words: tuple[str, ...]) -> None:
    code, out, _ = run_command(*words, "--help")

    assert code == 0
    assert f"canonry {' '.join(words)}" in out.split("Options:")[1]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.InvalidInput("x", "m"), 2),
        (errors.NotAllowed("x", "m"), 3),
        (errors.NotFound("x", "m"), 3),
        (errors.Conflict("x", "m"), 3),
        (errors.NotSupported("x", "m"), 3),
        (errors.Unavailable("x", "m"), 4),
        (errors.BrokenInvariant("x", "m"), 5),
    ],
)
def test_every_kind_of_error_has_its_exit_code(error: errors.CanonryError, code: int) -> None:
    assert exit_code(error) == code


def test_a_failure_is_one_line_with_code_and_advice(tmp_path: Path) -> None:
    code, out, err = run_command("verify", "--data", str(tmp_path / "absent"))

    assert code == 3
    assert out == ""
    assert err.count("\n") == 1
    assert "store.absent" in err
    assert "--data" in err
    assert not (tmp_path / "absent").exists()


def test_an_unwritable_path_is_reported_without_blaming_canonry(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    code, _, err = run_command("demo", "--keep", str(tmp_path / "file" / "inside"))

    assert code == 4
    assert "inside" in err
    assert "defect" not in err


def test_debug_shows_where_an_error_arose(tmp_path: Path) -> None:
    done = canonry_process("--debug", "verify", "--data", str(tmp_path / "absent"))

    assert "Traceback" in done.stderr
    assert "store.absent" in done.stderr


def test_a_wrong_setting_is_reported_before_anything_is_done(tmp_path: Path) -> None:
    done = run_canonry(
        "serve", environment={"CANONRY_AGENT_TYP": "x", "CANONRY_DATA": str(tmp_path)}
    )

    assert done.returncode == 2
    assert "CANONRY_AGENT_TYPE" in done.stderr
    assert not list(tmp_path.iterdir())


def test_an_unknown_toolset_is_reported() -> None:
    done = run_canonry("serve", "--toolsets", "narative", "--memory")

    assert done.returncode == 2
    assert "did you mean narrative" in done.stderr


def test_the_tools_are_listed_with_their_roles() -> None:
    code, out, _ = run_command("tools", "--toolsets", "narrative")
    lines = {line[2:].split()[0]: line for line in out.splitlines() if "narrative" in line}

    assert code == 0
    assert lines["neo4j_create_fact"].endswith("CanonKeeper")
    assert lines["neo4j_get_entity"].endswith("anyone")
    assert lines["neo4j_create_universe"].startswith("+")
    assert lines["neo4j_get_entity"].startswith(" ")


def test_the_bare_contract_has_no_extension() -> None:
    _, out, _ = run_command("tools", "--toolsets", "narrative", "--contract-only", "--json")

    assert not [tool["name"] for tool in json.loads(out) if tool["extension"]]


def test_a_tool_is_explained() -> None:
    code, out, _ = run_command("tools", "neo4j_create_fact")

    assert code == 0
    assert "roles     CanonKeeper" in out
    assert "code      src/canonry/canon/commands/facts.py:" in out
    assert "evidence_refs" in out


def test_the_example_of_every_tool_satisfies_its_schema() -> None:
    _, out, _ = run_command("tools", "--json")
    for tool in json.loads(out):
        compile_arguments(tool["input_schema"])(tool["example"])


def test_an_unknown_tool_is_reported() -> None:
    code, _, err = run_command("tools", "neo4j_create_fac")

    assert code == 3
    assert "tool.unknown" in err

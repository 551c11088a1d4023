"""Links that somebody else has put into a folder: no command writes through them."""

import asyncio
import json
import os
from contextlib import chdir
from pathlib import Path

import pytest

from canonry.app.load_settings import load_settings
from canonry.app.stores import open_store
from tests.cli.run import Done, run_canonry


def in_project(folder: Path, *words: str) -> Done:
    """Run `canonry connect claude-code --project` in a folder that somebody else has filled."""
    home = folder.parent / "home"
    home.mkdir(exist_ok=True)
    more = ("claude-code", "--project", "--data", str(folder.parent / "world"), *words)
    environment = {"HOME": str(home), "USERPROFILE": str(home)}
    with chdir(folder):
        return run_canonry("connect", *more, environment=environment)


PRIVATE = '{"mcpServers": {}, "secret": "of the user"}'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "private.json").write_text(PRIVATE, encoding="utf-8")
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@pytest.mark.parametrize("before", [None, "{}"])
def test_a_link_beside_the_settings_redirects_no_write(project: Path, before: str | None) -> None:
    private, path = project.parent / "private.json", project / ".mcp.json"
    if before is not None:
        path.write_text(before, encoding="utf-8")
    for end in ("new", "part", "tmp", "before-canonry"):
        (project / f".mcp.json.{end}").symlink_to(private)

    done = in_project(project)

    assert done.returncode == 0, done.stderr
    assert private.read_text(encoding="utf-8") == PRIVATE
    assert "canonry" in json.loads(path.read_text(encoding="utf-8"))["mcpServers"]
    assert not list(project.glob("..mcp.json.*"))


def test_settings_linked_outside_the_project_are_refused(project: Path) -> None:
    private, path = project.parent / "private.json", project / ".mcp.json"
    path.symlink_to(private)
    for words in ((), ("--dry-run",), ("--undo",)):
        done = in_project(project, *words)
        assert (done.returncode, "connect.link" in done.stderr) == (2, True)
        assert "of the user" not in done.stdout + done.stderr
    path.unlink()
    path.symlink_to(project.parent / "not-yet.json")
    assert in_project(project).returncode == 2
    path.unlink()
    path.symlink_to(path)
    assert in_project(project).returncode == 2

    assert private.read_text(encoding="utf-8") == PRIVATE
    assert not (project.parent / "not-yet.json").exists()


def test_a_folder_linked_outside_the_project_is_refused(project: Path) -> None:
    outside = project.parent / "outside"
    outside.mkdir()
    (project / ".cursor").symlink_to(outside)
    with chdir(project):
        done = run_canonry("connect", "cursor", "--project", environment={"HOME": str(outside)})

    assert (done.returncode, "connect.link" in done.stderr) == (2, True)
    assert not list(outside.iterdir())


def test_a_link_within_the_project_stays_a_link(project: Path) -> None:
    (project / "kept.json").write_text("{}", encoding="utf-8")
    (project / ".mcp.json").symlink_to("kept.json")

    assert in_project(project).returncode == 0

    assert (project / ".mcp.json").is_symlink()
    assert "canonry" in (project / "kept.json").read_text(encoding="utf-8")


def test_settings_that_are_no_file_are_refused_without_waiting(project: Path) -> None:
    os.mkfifo(project / ".mcp.json")
    assert (done := in_project(project)).returncode == 2, done.stderr
    assert "it is not a file" in done.stderr


async def a_store(folder: Path) -> None:
    await (await open_store(load_settings({"data": folder}))).close()


def test_no_command_output_follows_a_link(project: Path) -> None:
    private = project.parent / "private.json"
    data = ("--data", str(project.parent / "world"))
    asyncio.run(a_store(project.parent / "world"))
    for name in ("log.jsonl.part", "log.jsonl", "heads.json", "heads.json.part"):
        (project / name).symlink_to(private)
    with chdir(project):
        for words in (("export", "log.jsonl"), ("verify", "--record", "heads.json")):
            done = run_canonry(*words, *data)
            assert done.returncode == 0, (words, done.stderr)
        assert run_canonry("export", os.devnull, *data).returncode == 0

    assert private.read_text(encoding="utf-8") == PRIVATE
    assert not (project / "heads.json").is_symlink()
    assert not Path(os.devnull).is_file()

"""`canonry connect` writes this installation into a client's settings, and can take it back."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.app.recall_models import MEANING
from canonry.cli.connect import json_text, toml_text
from canonry.cli.connect.command import CLIENTS, Machine, launch_command
from tests.cli.run import Done, run_canonry

MAC = "Library/Application Support"
COMMENTED = """// my settings
{
  "theme": "dark", // of course
  /* servers */
  "context_servers": {
    "other": {"command": "other", "args": []},
  },
}
"""
TOML = '# mine\nmodel = "best"\n\n[mcp_servers.other]\ncommand = "other"\n\n[tui]\nbell = true\n'


def run_connect(home: Path, *words: str) -> Done:
    """Run `canonry connect` for somebody whose home that is."""
    settings = {"HOME": str(home), "USERPROFILE": str(home), "XDG_CONFIG_HOME": ""}
    program = str(Path(sys.executable).with_name("canonry"))
    with patch.object(sys, "argv", [program]):
        return run_canonry("connect", *words, environment=settings | {"XDG_DATA_HOME": ""})


def read_servers(path: Path, client: str) -> dict[str, object]:
    """Return the servers in the settings of the client."""
    said = CLIENTS[client].text_module.read(path.read_text(encoding="utf-8"))
    for key in CLIENTS[client].section:
        said = said[key]
    found: dict[str, object] = said
    return found


def file_of(client: str, home: Path) -> Path:
    """Return the path of the settings that this client has in a home."""
    return CLIENTS[client].settings_file(Machine(platform=sys.platform, home=home))


def test_a_connected_client_starts_a_server_that_serves(tmp_path: Path) -> None:
    done = run_connect(tmp_path, "cursor", "--data", str(tmp_path / "world"))

    assert done.returncode == 0, done.stderr
    assert "Tested: it starts in" in done.stdout
    entry = read_servers(file_of("cursor", tmp_path), "cursor")["canonry"]
    assert isinstance(entry, dict)
    assert Path(entry["command"]).is_absolute()
    assert str(tmp_path / "world") in entry["args"]
    assert (tmp_path / "world" / "canon.db").exists()


@pytest.mark.parametrize("client", CLIENTS)
def test_each_client_gets_its_own_form_and_nothing_else_is_changed(
    client: str, tmp_path: Path
) -> None:
    path = file_of(client, tmp_path)
    kind = CLIENTS[client]
    path.parent.mkdir(parents=True, exist_ok=True)
    before = TOML if kind.text_module is toml_text else json.dumps({"theme": "dark"}, indent=4)
    path.write_text(before, encoding="utf-8")

    shown = run_connect(tmp_path, client, "--dry-run")
    assert shown.returncode == 0, shown.stderr
    assert path.read_text(encoding="utf-8") == before
    assert "canonry" in shown.stdout

    after = kind.text_module.put(
        before, (*kind.section, "canonry"), kind.entry(["/bin/x", "serve"])
    )
    assert kind.text_module.drop(after, (*kind.section, "canonry")) == before
    said = kind.text_module.read(after)
    assert {key: said[key] for key in kind.text_module.read(before) if key not in kind.section}


def test_reconnecting_changes_nothing_and_undo_restores_the_bytes(tmp_path: Path) -> None:
    path = file_of("zed", tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text(COMMENTED, encoding="utf-8")

    first = run_connect(tmp_path, "zed", "--data", str(tmp_path / "world"))
    once = path.read_text(encoding="utf-8")
    second = run_connect(tmp_path, "zed", "--data", str(tmp_path / "world"))
    undone = run_connect(tmp_path, "zed", "--undo")

    assert first.returncode == second.returncode == undone.returncode == 0, first.stderr
    assert "is kept in" in first.stdout
    assert "already connected" in second.stdout
    assert "// of course" in once
    assert list(json_text.read(once)["context_servers"]) == ["canonry", "other"]
    assert path.read_text(encoding="utf-8") == COMMENTED
    assert [each.name for each in path.parent.iterdir()] == ["settings.json"]


def test_later_changes_survive_an_undo(tmp_path: Path) -> None:
    path = file_of("codex", tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text(TOML, encoding="utf-8")
    run_connect(tmp_path, "codex", "--data", str(tmp_path / "world"))
    path.write_text(path.read_text(encoding="utf-8") + '\n[notes]\nmine = "kept"\n')

    run_connect(tmp_path, "codex", "--undo")

    said = tomllib.loads(path.read_text(encoding="utf-8"))
    assert said["notes"] == {"mine": "kept"}
    assert list(said["mcp_servers"]) == ["other"]


def test_a_file_created_by_connect_is_removed_by_undo(tmp_path: Path) -> None:
    run_connect(tmp_path, "gemini", "--data", str(tmp_path / "world"))
    assert file_of("gemini", tmp_path).exists()

    run_connect(tmp_path, "gemini", "--undo")

    assert not file_of("gemini", tmp_path).exists()


@pytest.mark.parametrize("text", ["{", '{"mcpServers": []}', "[1]", '{"a": 1} trailing'])
def test_unreadable_settings_are_left_alone(text: str, tmp_path: Path) -> None:
    path = file_of("cursor", tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")

    done = run_connect(tmp_path, "cursor")

    assert done.returncode == 2
    assert "connect.unreadable" in done.stderr
    assert path.read_text(encoding="utf-8") == text


def test_a_link_to_settings_elsewhere_stays_a_link(tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles" / "mcp.json"
    kept.parent.mkdir()
    kept.write_text("{}", encoding="utf-8")
    path = file_of("cursor", tmp_path)
    path.parent.mkdir(parents=True)
    path.symlink_to(kept)

    run_connect(tmp_path, "cursor", "--data", str(tmp_path / "world"))

    assert path.is_symlink()
    assert "canonry" in json.loads(kept.read_text(encoding="utf-8"))["mcpServers"]


def test_settings_refused_by_serve_are_refused_before_writing(tmp_path: Path) -> None:
    done = run_connect(tmp_path, "cursor", "--", "--durability", "some")
    relative = run_connect(tmp_path, "cursor", "--", "--data", "here")
    unknown = run_connect(tmp_path, "emacs")
    odd = run_connect(tmp_path, "cursor", "--name", "a b")

    assert [each.returncode for each in (done, relative, unknown, odd)] == [2, 2, 2, 2]
    assert "before the `--`" in relative.stderr
    assert "cursor" in unknown.stderr
    assert not file_of("cursor", tmp_path).exists()


@pytest.mark.parametrize(
    ("words", "stated"),
    [
        (("--agent-type", "Reeder"), "did you mean Reader"),
        (("--toolsets", "narrative"), "No agent type is set"),
        (("--http", "127.0.0.1:8000", "--agent-type", "Reader"), "Leave --http out"),
        (("--tools", "fnid"), "did you mean find"),
        (("--read-only", "--tools", "propose", "--agent-type", "Reader"), "may call none"),
    ],
)
def test_a_server_that_would_serve_nobody_is_not_written(
    words: tuple[str, ...], stated: str, tmp_path: Path
) -> None:
    done = run_connect(tmp_path, "cursor", "--data", str(tmp_path / "world"), "--", *words)

    assert done.returncode != 0
    assert stated in done.stderr
    assert not file_of("cursor", tmp_path).exists()


def test_unreadable_settings_are_listed_as_such(tmp_path: Path) -> None:
    broken, folder = file_of("cursor", tmp_path), file_of("gemini", tmp_path)
    broken.parent.mkdir(parents=True)
    broken.write_text("{ not json", encoding="utf-8")
    folder.mkdir(parents=True)
    listed = run_connect(tmp_path)
    refused = run_connect(tmp_path, "gemini", "--data", str(tmp_path / "world"))

    assert listed.returncode == 0, listed.stderr
    states = {line.split()[0]: line.split()[1] for line in listed.stdout.splitlines() if line}
    assert (states["cursor"], states["gemini"]) == ("unreadable", "unreadable")
    assert broken.read_text(encoding="utf-8") == "{ not json"
    assert (refused.returncode, folder.is_dir()) == (2, True)


def test_without_a_client_all_are_listed_with_their_state(tmp_path: Path) -> None:
    run_connect(tmp_path, "cursor", "--data", str(tmp_path / "world"))
    done = run_connect(tmp_path)

    states = {line.split("  ")[0].strip(): line for line in done.stdout.splitlines() if line}
    assert set(CLIENTS) <= set(states)
    assert " connected " in states["cursor"]
    assert "not found" in states["zed"]


def test_any_other_client_can_use_the_printed_lines(tmp_path: Path) -> None:
    done = run_connect(tmp_path, "json", "--", "--toolsets", "truth")

    entry = json.loads(done.stdout)["mcpServers"]["canonry"]
    assert entry["args"][-2:] == ["--toolsets", "truth"]
    assert (
        subprocess.run([entry["command"], "--help"], capture_output=True, check=False).returncode
        == 0
    )


@pytest.mark.parametrize(
    ("platform", "client", "place"),
    [
        ("linux", "claude-desktop", ".config/Claude/claude_desktop_config.json"),
        (
            "darwin",
            "claude-desktop",
            "Library/Application Support/Claude/claude_desktop_config.json",
        ),
        ("win32", "claude-desktop", "AppData/Roaming/Claude/claude_desktop_config.json"),
        ("darwin", "vscode", f"{MAC}/Code/User/mcp.json"),
        ("win32", "vscode", "AppData/Roaming/Code/User/mcp.json"),
        ("darwin", "zed", ".config/zed/settings.json"),
        ("win32", "zed", "AppData/Roaming/Zed/settings.json"),
        ("win32", "codex", ".codex/config.toml"),
    ],
)
def test_each_system_has_its_own_paths(platform: str, client: str, place: str) -> None:
    home = Path("/h")

    assert CLIENTS[client].settings_file(Machine(platform=platform, home=home)) == home / place


def test_paths_moved_by_the_user_are_followed() -> None:
    moved = Machine(platform="linux", home=Path("/h"), environment={"XDG_CONFIG_HOME": "/c"})
    roaming = Machine(platform="win32", home=Path("/h"), environment={"APPDATA": "/roaming"})

    assert CLIENTS["vscode"].settings_file(moved) == Path("/c/Code/User/mcp.json")
    assert CLIENTS["cursor"].settings_file(roaming) == Path("/h/.cursor/mcp.json")
    assert CLIENTS["vscode"].settings_file(roaming) == Path("/roaming/Code/User/mcp.json")


def find_programs(*names: str) -> dict[str, str]:
    """Programs on a PATH."""
    return {Path(name).name: name for name in names} | {name: name for name in names}


@pytest.mark.parametrize(
    ("argv0", "prefix", "words"),
    [
        ("/p/.venv/bin/canonry", "/p/.venv", ("/p/.venv/bin/canonry",)),
        ("/h/.local/bin/canonry", "/h/.local/share/uv/tools/canonry", ("/h/.local/bin/canonry",)),
        ("/h/.local/bin/canonry", "/h/.local/pipx/venvs/canonry", ("/h/.local/bin/canonry",)),
        (
            "/c/uv/archive-v0/x/bin/canonry",
            "/c/uv/archive-v0/x",
            ("/b/uvx", "--with", MEANING, "canonry"),
        ),
        (
            "/h/.cache/pipx/y/bin/canonry",
            "/h/.cache/pipx/y",
            ("/b/pipx", "run", "--spec", MEANING, "canonry"),
        ),
        ("/p/cli/__main__.py", "/p/.venv", ("/p/.venv/bin/python", "-m", "canonry.cli")),
    ],
)
def test_every_kind_of_installation_is_restarted_the_same_way(
    argv0: str, prefix: str, words: tuple[str, ...]
) -> None:
    programs = find_programs("/b/uvx", "/b/pipx", argv0)

    assert launch_command(argv0, "/p/.venv/bin/python", prefix, programs.get) == words


ENTRY = {"command": "x", "args": ["a", "b"]}
KEYS = st.text(
    st.characters(codec="utf-8", categories=("L", "N", "P", "Z")), min_size=1, max_size=5
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@given(said=st.dictionaries(KEYS, JSON, max_size=3), indent=st.sampled_from([None, 1, 2, 4]))
def test_any_json_is_restored_byte_for_byte(said: dict[str, object], indent: int | None) -> None:
    text = json.dumps(said, indent=indent, ensure_ascii=False)
    after = json_text.put(text, ("new section", "canonry"), ENTRY)

    assert json.loads(after) == said | {"new section": {"canonry": ENTRY}}
    assert json_text.drop(after, ("new section", "canonry")) == text

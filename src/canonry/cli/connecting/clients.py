"""The clients that `canonry connect` knows, and how a server is written into their settings."""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from canonry.cli.connecting import json_text, toml_text
from canonry.cli.screen import whole_file
from canonry.values.errors import InvalidInput

ServerEntry = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What decides where programs keep their settings; a value, so that any system can be tried."""

    platform: str
    home: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def settings(self) -> Path:
        """The folder for the settings of desktop programs."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        if self.platform == "win32":
            roaming = self.environment.get("APPDATA")
            return Path(roaming) if roaming else self.home / "AppData" / "Roaming"
        return self.dotted()

    def dotted(self) -> Path:
        """The folder of those that follow the XDG base directories on every system but Windows."""
        if self.platform == "win32":
            return self.settings()
        given = self.environment.get("XDG_CONFIG_HOME")
        return Path(given) if given else self.home / ".config"


def _plain(command: Sequence[str]) -> ServerEntry:
    return {"command": command[0], "args": list(command[1:])}


def _typed(command: Sequence[str]) -> ServerEntry:
    return {"type": "stdio", **_plain(command)}


def _listed(command: Sequence[str]) -> ServerEntry:
    return {"type": "local", "command": list(command), "enabled": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientKind:
    """A client: its settings file for the user and, where it has one, for a project's folder."""

    name: str
    title: str
    user: Callable[[Machine], Path]
    project: str | None = None
    section: tuple[str, ...] = ("mcpServers",)
    entry: Callable[[Sequence[str]], ServerEntry] = _plain
    text: ModuleType = json_text
    then: str = "Restart it."

    def file(self, machine: Machine) -> Path:
        """Where it keeps the servers of this user."""
        return self.user(machine)


CLIENTS: Final[Mapping[str, ClientKind]] = {
    each.name: each
    for each in (
        ClientKind(
            name="claude-desktop",
            title="Claude Desktop",
            user=lambda m: m.settings() / "Claude" / "claude_desktop_config.json",
            then="Quit Claude Desktop wholly and start it again.",
        ),
        ClientKind(
            name="claude-code",
            title="Claude Code",
            user=lambda m: m.home / ".claude.json",
            project=".mcp.json",
            entry=_typed,
            then="Start a new session; `/mcp` shows it.",
        ),
        ClientKind(
            name="cursor",
            title="Cursor",
            user=lambda m: m.home / ".cursor" / "mcp.json",
            project=".cursor/mcp.json",
            then="Enable it under Settings, MCP.",
        ),
        ClientKind(
            name="vscode",
            title="Visual Studio Code",
            user=lambda m: m.settings() / "Code" / "User" / "mcp.json",
            project=".vscode/mcp.json",
            section=("servers",),
            entry=_typed,
            then="Run the command `MCP: List Servers` and start it.",
        ),
        ClientKind(
            name="codex",
            title="Codex",
            user=lambda m: m.home / ".codex" / "config.toml",
            project=".codex/config.toml",
            section=("mcp_servers",),
            text=toml_text,
            then="Start a new session.",
        ),
        ClientKind(
            name="zed",
            title="Zed",
            user=lambda m: (
                (m.home / ".config" if m.platform == "darwin" else m.dotted())
                / ("Zed" if m.platform == "win32" else "zed")
                / "settings.json"
            ),
            project=".zed/settings.json",
            section=("context_servers",),
            entry=lambda command: {"source": "custom", **_plain(command)},
            then="It appears in the agent panel's settings.",
        ),
        ClientKind(
            name="windsurf",
            title="Windsurf",
            user=lambda m: m.home / ".codeium" / "windsurf" / "mcp_config.json",
            then="Press refresh in its list of MCP servers.",
        ),
        ClientKind(
            name="gemini",
            title="Gemini CLI",
            user=lambda m: m.home / ".gemini" / "settings.json",
            project=".gemini/settings.json",
            then="Start a new session; `/mcp` shows it.",
        ),
        ClientKind(
            name="lm-studio",
            title="LM Studio",
            user=lambda m: m.home / ".lmstudio" / "mcp.json",
        ),
        ClientKind(
            name="opencode",
            title="opencode",
            user=lambda m: m.home / ".config" / "opencode" / "opencode.json",
            project="opencode.json",
            section=("mcp",),
            entry=_listed,
            then="Start a new session.",
        ),
    )
}
"""By the name that `canonry connect` takes."""


_PASSING: Final = {
    "uvx": ("archive-v0", "environments-v2", "builds-v0"),
    "pipx": (".cache/pipx", "pipx/.cache"),
}
"""Runners whose environments lie in a cache that is emptied now and then; parts of their paths."""


def launch(
    argv0: str,
    executable: str,
    prefix: str,
    which: Callable[[str], str | None] = shutil.which,
) -> tuple[str, ...]:
    """The words that start Canonry again, whatever folder or PATH the client has.

    `argv0`, `executable` and `prefix` are what Python's `sys` calls so. A link, as `uv tool` and
    `pipx` make it, is kept: it survives an upgrade, and what it leads to may not.
    """
    place = Path(prefix).as_posix()
    for runner, parts in _PASSING.items():
        found = which(runner)
        if found is not None and any(part in place for part in parts):
            return (found, "canonry") if runner == "uvx" else (found, "run", "canonry")
    script = which(argv0)
    if script is not None and Path(script).stem == "canonry":
        return (str(Path(script).absolute()),)
    return (executable, "-m", "canonry.cli")


BACKUP: Final = ".before-canonry"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A change of a settings file: as it is, and as it shall be; None where there is no file."""

    path: Path
    before: str | None
    after: str | None

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return self.before != self.after


def connected(client: ClientKind, path: Path, name: str, command: Sequence[str]) -> Edit:
    """The file with the server in it; everything else in it stays as it is.

    Raises:
        InvalidInput: `connect.unreadable`, the file is not what the client would read.
    """
    before = _text(path)
    after = _edited(client, path, before or "", name, client.entry(command))
    return Edit(path=path, before=before, after=after)


def disconnected(client: ClientKind, path: Path, name: str) -> Edit:
    """The file without the server: as it was before where nothing else has changed since.

    Raises:
        InvalidInput: `connect.unreadable`, the file is not what the client would read.
    """
    before = _text(path)
    if before is None:
        return Edit(path=path, before=None, after=None)
    after: str | None = _edited(client, path, before, name, None)
    saved = None if _backup(path).is_symlink() else _text(_backup(path))
    if saved is not None and _edited(client, path, saved, name, None) == after:
        after = saved
    elif saved is None and not client.text.read(after or ""):
        after = None
    return Edit(path=path, before=before, after=after)


def require_inside(path: Path, root: Path) -> None:
    """Refuse a settings file that a link leads out of `root`, the user's home or the project.

    Raises:
        InvalidInput: `connect.link`.
    """
    real = _real(path)
    if not real.is_relative_to(_real(root)):
        message = (
            f"{path} leads by a link to {real}, outside of {root}; nothing was written. Replace "
            "the link by a file, or add by hand the lines that `canonry connect json` prints"
        )
        raise InvalidInput("connect.link", message)


def write(edit: Edit) -> Path | None:
    """Do it, whole or not at all; the path of the copy of what was there, if there was anything.

    A link to a file in the same home or project is followed (`require_inside`): the link stays.
    """
    path = _real(edit.path)
    copy = _backup(edit.path)
    if edit.after is None:
        path.unlink(missing_ok=True)
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    if _text(copy) == edit.after:
        copy.unlink()
    elif edit.before is not None and (copy.is_symlink() or not copy.exists()):
        _replace(copy, edit.before, path)
    _replace(path, edit.after, path)
    return copy if copy.exists() else None


def _replace(path: Path, text: str, like: Path) -> None:
    mode = like.stat().st_mode & 0o777 if like.exists() else 0o600
    with whole_file(path, newline="", mode=mode) as out:
        out.write(text)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))  # `resolve` raises where a link leads to itself


def _backup(path: Path) -> Path:
    return path.with_name(path.name + BACKUP)


def _text(path: Path) -> str | None:
    if path.exists() and not path.is_file():
        raise _unreadable(path, "it is no file")
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise _unreadable(path, "it is not UTF-8") from error
    except OSError as error:
        raise _unreadable(path, error.strerror or "it cannot be read") from error


def _edited(client: ClientKind, path: Path, text: str, name: str, entry: object | None) -> str:
    place = (*client.section, name)
    try:
        mark = "\ufeff" if text.startswith("\ufeff") else ""
        body = text.removeprefix(mark)
        done: str = (
            client.text.drop(body, place) if entry is None else client.text.put(body, place, entry)
        )
        client.text.read(done)
    except (ValueError, IndexError) as error:
        raise _unreadable(path, str(error)) from error
    return mark + done


def _unreadable(path: Path, why: str) -> InvalidInput:
    message = (
        f"{path} cannot be changed safely ({why}); nothing was written. Mend it, or add by hand "
        "the lines that `canonry connect json` prints"
    )
    return InvalidInput("connect.unreadable", message)

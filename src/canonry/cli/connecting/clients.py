"""The clients that `canonry connect` knows, and how each starts the server."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from canonry.cli.connecting import json_text, toml_text

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

"""`canonry connect`: write the server into a client's settings, and test it."""

import asyncio
import difflib
import json
import os
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TextIO

import click

from canonry.app.packages import load_toolsets
from canonry.app.recall_models import INSTALL_MEANING, MEANING, WORDS_ONLY, lacks_meaning
from canonry.app.serving import advice_on, principal_for, served_toolsets
from canonry.app.settings import Settings
from canonry.cli.connect import json_text, toml_text
from canonry.cli.entry import without_collection
from canonry.cli.options import command_from, settings_from
from canonry.cli.serve import serve
from canonry.cli.terminal import whole_file
from canonry.values.data_files import read_toml
from canonry.values.errors import InvalidInput, Unavailable

ServerEntry = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The system, which decides the folders of settings; tests can give any."""

    platform: str
    home: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def settings(self) -> Path:
        """Return the folder for the settings of desktop programs."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        if self.platform == "win32":
            roaming = self.environment.get("APPDATA")
            return Path(roaming) if roaming else self.home / "AppData" / "Roaming"
        return self.dotted()

    def dotted(self) -> Path:
        """Return the folder of programs that follow XDG on every system except Windows."""
        if self.platform == "win32":
            return self.settings()
        given = self.environment.get("XDG_CONFIG_HOME")
        return Path(given) if given else self.home / ".config"


def _plain_entry(command: Sequence[str]) -> ServerEntry:
    return {"command": command[0], "args": list(command[1:])}


_ENTRIES: Final[Mapping[str, Callable[[Sequence[str]], ServerEntry]]] = {
    "plain": _plain_entry,
    "typed": lambda command: {"type": "stdio", **_plain_entry(command)},
    "custom": lambda command: {"source": "custom", **_plain_entry(command)},
    "local": lambda command: {"type": "local", "command": list(command), "enabled": True},
}
"""The forms of a server in the files of clients."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientKind:
    """A client: its settings file for the user and, where it has one, for a project's folder.

    `systems` has the settings files of systems that have another one.
    """

    name: str
    title: str
    user: str
    project: str | None = None
    section: Sequence[str] = ("mcpServers",)
    entry: Callable[[Sequence[str]], ServerEntry] = _plain_entry
    then: str = "Restart it."
    systems: Mapping[str, str] = field(default_factory=dict)

    @property
    def text_module(self) -> ModuleType:
        """Return the module that reads and writes its files."""
        return toml_text if self.user.endswith(".toml") else json_text

    def settings_file(self, machine: Machine) -> Path:
        """Return the settings file of this user."""
        folder, _, rest = self.systems.get(machine.platform, self.user).partition("/")
        base = machine.home if folder == "home" else getattr(machine, folder)()
        return Path(base) / rest


CLIENTS: Final[Mapping[str, ClientKind]] = {
    name: ClientKind(name=name, **{**told, "entry": _ENTRIES[told.get("entry", "plain")]})
    for name, told in read_toml(__package__, "clients.toml").items()
}
"""Clients by the name that `canonry connect` takes."""


_PASSING: Final = {
    "uvx": ("archive-v0", "environments-v2", "builds-v0"),
    "pipx": (".cache/pipx", "pipx/.cache"),
}
"""Runners with environments in a temporary cache, and parts of their paths."""
_RUNNING: Final = {"uvx": ("--with", MEANING), "pipx": ("run", "--spec", MEANING)}
"""The arguments of each runner before the name of the command."""


def launch_command(
    argv0: str, executable: str, prefix: str, which: Callable[[str], str | None] = shutil.which
) -> tuple[str, ...]:
    """Return the command that starts Canonry from any folder and with any PATH.

    `argv0`, `executable` and `prefix` are those of Python's `sys`. A link of `uv tool` or `pipx`
    is not resolved: it survives an upgrade, and its target may not. A runner gets the extra for
    search by meaning.
    """
    posix_prefix = Path(prefix).as_posix()
    for runner, parts in _PASSING.items():
        found = which(runner)
        if found is not None and any(part in posix_prefix for part in parts):
            return (found, *_RUNNING[runner], "canonry")
    script = which(argv0)
    if script is not None and Path(script).stem == "canonry":
        return (str(Path(script).absolute()),)
    return (executable, "-m", "canonry.cli")


BACKUP: Final = ".before-canonry"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A change of a settings file: its text before and after, None for no file."""

    path: Path
    before: str | None
    after: str | None

    @property
    def has_changes(self) -> bool:
        """Return whether the texts differ."""
        return self.before != self.after


def connect_edit(client: ClientKind, path: Path, name: str, command: Sequence[str]) -> Edit:
    """Return the edit that adds the server; the rest of the file does not change.

    Raises:
        InvalidInput: `connect.unreadable`, the client could not read the file.
    """
    before = _read_text(path)
    after = _edit_text(client, path, before or "", name, client.entry(command))
    return Edit(path=path, before=before, after=after)


def disconnect_edit(client: ClientKind, path: Path, name: str) -> Edit:
    """Return the edit that removes the server; an otherwise unchanged file is restored.

    Raises:
        InvalidInput: `connect.unreadable`, the client could not read the file.
    """
    before = _read_text(path)
    if before is None:
        return Edit(path=path, before=None, after=None)
    after: str | None = _edit_text(client, path, before, name, None)
    saved = None if _backup_path(path).is_symlink() else _read_text(_backup_path(path))
    if saved is not None and _edit_text(client, path, saved, name, None) == after:
        after = saved
    elif saved is None and not client.text_module.read(after or ""):
        after = None
    return Edit(path=path, before=before, after=after)


def require_inside(path: Path, root: Path) -> None:
    """Refuse a link to a settings file outside of `root`, the user's home or the project.

    Raises:
        InvalidInput: `connect.link`.
    """
    real = _real_path(path)
    if not real.is_relative_to(_real_path(root)):
        message = (
            f"{path} is a link to {real}, outside of {root}. Nothing was written. Replace the "
            "link by a file, or add the lines of `canonry connect json` by hand."
        )
        raise InvalidInput("connect.link", message)


def write_edit(edit: Edit) -> Path | None:
    """Write the file atomically, and return the path of the backup, if there is one.

    A link within the same home or project is followed and kept; see `require_inside`.
    """
    path = _real_path(edit.path)
    copy = _backup_path(edit.path)
    if edit.after is None:
        path.unlink(missing_ok=True)
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    if _read_text(copy) == edit.after:
        copy.unlink()
    elif edit.before is not None and (copy.is_symlink() or not copy.exists()):
        _replace_file(copy, edit.before, path)
    _replace_file(path, edit.after, path)
    return copy if copy.exists() else None


def _replace_file(path: Path, text: str, like: Path) -> None:
    mode = like.stat().st_mode & 0o777 if like.exists() else 0o600
    with whole_file(path, newline="", mode=mode) as out:
        out.write(text)


def _real_path(path: Path) -> Path:
    return Path(os.path.realpath(path))  # `resolve` raises if a link points to itself


def _backup_path(path: Path) -> Path:
    return path.with_name(path.name + BACKUP)


def _read_text(path: Path) -> str | None:
    if path.exists() and not path.is_file():
        raise _unreadable_settings(path, "it is not a file")
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise _unreadable_settings(path, "it is not UTF-8") from error
    except OSError as error:
        raise _unreadable_settings(path, error.strerror or "it cannot be read") from error


def _edit_text(client: ClientKind, path: Path, text: str, name: str, entry: object | None) -> str:
    key_path = (*client.section, name)
    try:
        mark = "\ufeff" if text.startswith("\ufeff") else ""
        body = text.removeprefix(mark)
        done: str = (
            client.text_module.drop(body, key_path)
            if entry is None
            else client.text_module.put(body, key_path, entry)
        )
        client.text_module.read(done)
    except (ValueError, IndexError) as error:
        raise _unreadable_settings(path, str(error)) from error
    return mark + done


def _unreadable_settings(path: Path, why: str) -> InvalidInput:
    message = (
        f"{path} cannot be changed safely ({why}). Nothing was written. Correct the file, or add "
        "the lines of `canonry connect json` by hand."
    )
    return InvalidInput("connect.unreadable", message)


_CHECK_SECONDS: Final = 60.0  # a server that does not answer ends the check


async def count_offered(command: Sequence[str], unheard: TextIO) -> int:
    """Start the server, and return how many tools it offers; its log goes to `unheard`."""
    with without_collection():
        from mcp import Client  # noqa: PLC0415 - the SDK takes a second
        from mcp.client.stdio import StdioServerParameters, stdio_client  # noqa: PLC0415

    server = StdioServerParameters(command=command[0], args=list(command[1:]))
    async with asyncio.timeout(_CHECK_SECONDS):
        async with Client(stdio_client(server, errlog=unheard)) as client:
            return len((await client.list_tools()).tools)


_PRINTED: Final = "json"


@command_from("connect", settings=None, types={"client": click.Choice([*CLIENTS, _PRINTED])})
def connect(
    *,
    client: str | None,
    serving: tuple[str, ...],
    data: Path | None,
    name: str,
    project: bool,
    dry_run: bool,
    undo: bool,
) -> None:
    """Write the server into the settings of an MCP client, and test that it starts.

    Without CLIENT, list the known clients. For other clients, `json` prints lines that most accept.
    The rest of the settings does not change. The first change keeps a copy beside the file.
    """
    machine = Machine(platform=sys.platform, home=Path.home(), environment=dict(os.environ))
    if not name.replace("-", "").replace("_", "").isalnum() or not name.isascii():
        raise click.UsageError("--name takes letters, digits, - and _, such as canonry-test.")
    if client is None:
        _print_overview(machine, name)
        return
    if undo and client == _PRINTED:
        raise click.UsageError("--undo cannot remove printed lines. Give a client instead of json.")
    command = () if undo else _server_command(serving, data)
    if client == _PRINTED:
        shown = {"mcpServers": {name: {"command": command[0], "args": list(command[1:])}}}
        click.echo(json.dumps(shown, indent=2, ensure_ascii=False))
        return
    kind = CLIENTS[client]
    path = _file_of(kind, machine, project=project)
    edit = disconnect_edit(kind, path, name) if undo else connect_edit(kind, path, name, command)
    if dry_run:
        _show_edit(edit)
    elif not edit.has_changes:
        click.echo(f"{kind.title} is {'not connected' if undo else 'already connected'}: {path}")
    else:
        kept = write_edit(edit)
        click.echo(f"{kind.title}: {'removed from' if undo else 'written to'} {path}")
        if kept is not None:
            click.echo(f"The former file is kept in {kept}")
    if not dry_run and not undo:
        _check_server(command)
        click.echo(kind.then)


def _server_command(serving: Sequence[str], data: Path | None) -> tuple[str, ...]:
    """Return the command that starts the server; its options are checked as in `serve`."""
    given = serve.make_context("serve", list(serving)).params
    if given.get("data") is not None:
        raise click.UsageError("Give --data before the `--`, not after it.")
    if given.get("config") is not None:
        serving = [str(Path(each).absolute()) if Path(each).is_file() else each for each in serving]
    if given.get("http") is not None:
        message = "Clients start the server over standard input and output. Leave --http out."
        raise click.UsageError(message)
    settings: Settings = settings_from({**given, "data": None if data is None else str(data)})
    principal_for(settings)
    if (
        advice := advice_on(settings, served_toolsets(settings, load_toolsets(settings.toolsets)))
    ) is not None:
        click.echo(advice, err=True)
    words = launch_command(sys.argv[0], sys.executable, sys.prefix)
    if MEANING in words:
        click.echo(f"The client starts {MEANING}. It takes about 255 MB.", err=True)
    elif lacks_meaning(settings):
        click.echo(f"{WORDS_ONLY} {INSTALL_MEANING}", err=True)
    return (*words, "serve", "--data", str(settings.data.absolute()), *serving)


def _file_of(kind: ClientKind, machine: Machine, *, project: bool) -> Path:
    if project and kind.project is None:
        raise click.UsageError(f"{kind.title} has no project settings. Leave --project out.")
    own = (
        kind.settings_file(machine)
        if kind.project is None or not project
        else Path.cwd() / kind.project
    )
    home = machine.home if own.is_relative_to(machine.home) else own.parent
    require_inside(own, Path.cwd() if project else home)
    return own


def _print_overview(machine: Machine, name: str) -> None:
    width = max(map(len, CLIENTS))
    for kind in CLIENTS.values():
        path = kind.settings_file(machine)
        click.echo(f"{kind.name:<{width}}  {_connection_state(kind, path, name):<13}  {path}")
    click.echo(
        "\nTo connect one, run `canonry connect CLIENT`. For others, run `canonry connect json`."
    )


def _connection_state(kind: ClientKind, path: Path, name: str) -> str:
    try:
        edit = disconnect_edit(kind, path, name)
    except InvalidInput:
        return "unreadable"
    without = "not connected" if path.exists() else "not found"
    return "connected" if edit.has_changes else without


def _show_edit(edit: Edit) -> None:
    if not edit.has_changes:
        click.echo(f"{edit.path} would not change")
        return
    before, after = ((text or "").splitlines() for text in (edit.before, edit.after))
    name = str(edit.path)
    for line in difflib.unified_diff(before, after, name, name, "now", "then", lineterm=""):
        click.echo(line)


def _check_server(command: Sequence[str]) -> None:
    """Start the server as a client would, and print how many tools it offers."""
    started = time.monotonic()
    try:
        with Path(os.devnull).open("w", encoding="utf-8") as unheard:
            tools = asyncio.run(count_offered(command, unheard))
    except Exception as error:
        line = shlex.join(command)
        message = f"The settings are written, but the server does not start. Run {line} to see why."
        raise Unavailable("connect.no-server", message) from error
    click.echo(f"Tested: it starts in {time.monotonic() - started:.1f} s and offers {tools} tools.")

"""`canonry connect`: write the server into a client's settings, and try it."""

import asyncio
import difflib
import json
import os
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TextIO

import click

from canonry.app.packages import load_toolsets
from canonry.app.serving import advice_on, principal_for, served
from canonry.app.setting_table import Settings
from canonry.cli.connecting.clients import (
    CLIENTS,
    ClientKind,
    Edit,
    Machine,
    connected,
    disconnected,
    launch,
    require_inside,
    write,
)
from canonry.cli.entry import importing
from canonry.cli.options import OUT_FOLDER, examples, settings_from
from canonry.cli.serve import serve
from canonry.values.errors import InvalidInput, Unavailable

_CHECK_SECONDS: Final = 60.0


async def offered(command: Sequence[str], unheard: TextIO) -> int:
    """How many tools the server offers that these words start; its log goes to `unheard`."""
    with importing():
        from mcp import Client  # noqa: PLC0415 - the SDK takes a second
        from mcp.client.stdio import StdioServerParameters, stdio_client  # noqa: PLC0415

    server = StdioServerParameters(command=command[0], args=list(command[1:]))
    async with asyncio.timeout(_CHECK_SECONDS):
        async with Client(stdio_client(server, errlog=unheard)) as client:
            return len((await client.list_tools()).tools)


_PRINTED: Final = "json"

EPILOG = examples(
    "canonry connect",
    "canonry connect claude-desktop",
    "canonry connect cursor --data ./saltmere --dry-run",
    "canonry connect vscode --project",
    "canonry connect codex -- --toolsets narrative --agent-type CanonKeeper",
    "canonry connect claude-desktop --undo",
    "canonry connect json",
)


@click.command(epilog=EPILOG)
@click.argument("client", required=False, type=click.Choice([*CLIENTS, _PRINTED]))
@click.argument("serving", nargs=-1, metavar="[-- OPTIONS OF SERVE]")
@click.option(
    "--data",
    type=OUT_FOLDER,
    metavar="DIR",
    help="Folder of the store.  [default: the user's data folder]",
)
@click.option("--name", default="canonry", metavar="NAME", help="What the client calls it.")
@click.option("--project", is_flag=True, help="For this folder alone, in its own settings file.")
@click.option("--dry-run", is_flag=True, help="Show what would be written; write nothing.")
@click.option("--undo", is_flag=True, help="Take it out again.")
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
    """Connect an MCP client: write the server into its settings, and try whether it starts.

    Without CLIENT it lists those it knows; `json` prints the lines that most others take. What
    else stands in the settings stays as it is; the first change keeps a copy beside the file.
    """
    machine = Machine(platform=sys.platform, home=Path.home(), environment=dict(os.environ))
    if not name.replace("-", "").replace("_", "").isalnum() or not name.isascii():
        raise click.UsageError("--name takes letters, digits, - and _")
    if client is None:
        _overview(machine, name)
        return
    if undo and client == _PRINTED:
        raise click.UsageError("what was only printed cannot be undone here; name the client")
    command = () if undo else _command(serving, data)
    if client == _PRINTED:
        shown = {"mcpServers": {name: {"command": command[0], "args": list(command[1:])}}}
        click.echo(json.dumps(shown, indent=2, ensure_ascii=False))
        return
    kind = CLIENTS[client]
    path = _file(kind, machine, project=project)
    edit = disconnected(kind, path, name) if undo else connected(kind, path, name, command)
    if dry_run:
        _show(edit)
    elif not edit.changes:
        click.echo(f"{kind.title} is {'not connected' if undo else 'connected already'}: {path}")
    else:
        kept = write(edit)
        click.echo(f"{kind.title}: {'taken out of' if undo else 'written to'} {path}")
        if kept is not None:
            click.echo(f"What was there before is kept in {kept}")
    if not dry_run and not undo:
        _check(command)
        click.echo(kind.then)


def _command(serving: Sequence[str], data: Path | None) -> tuple[str, ...]:
    """The words that start the server, after its options were read as `serve` reads them."""
    given = serve.make_context("serve", list(serving)).params
    if given.get("data") is not None:
        raise click.UsageError("give --data before --, so that it is written as a whole path")
    if given.get("config") is not None:
        serving = [str(Path(each).absolute()) if Path(each).is_file() else each for each in serving]
    if given.get("http") is not None:
        message = "a client starts the server over standard input and output; leave --http out"
        raise click.UsageError(message)
    settings: Settings = settings_from({**given, "data": None if data is None else str(data)})
    principal_for(settings)
    if (
        advice := advice_on(settings, served(settings, load_toolsets(settings.toolsets)))
    ) is not None:
        click.echo(advice, err=True)
    words = launch(sys.argv[0], sys.executable, sys.prefix)
    return (*words, "serve", "--data", str(settings.data.absolute()), *serving)


def _file(kind: ClientKind, machine: Machine, *, project: bool) -> Path:
    if project and kind.project is None:
        raise click.UsageError(f"{kind.title} has no settings of a project; leave --project out")
    own = kind.file(machine) if kind.project is None or not project else Path.cwd() / kind.project
    home = machine.home if own.is_relative_to(machine.home) else own.parent
    require_inside(own, Path.cwd() if project else home)
    return own


def _overview(machine: Machine, name: str) -> None:
    width = max(map(len, CLIENTS))
    for kind in CLIENTS.values():
        path = kind.file(machine)
        click.echo(f"{kind.name:<{width}}  {_state(kind, path, name):<13}  {path}")
    click.echo(
        "\nConnect one with `canonry connect CLIENT`; any other takes `canonry connect json`."
    )


def _state(kind: ClientKind, path: Path, name: str) -> str:
    try:
        edit = disconnected(kind, path, name)
    except InvalidInput:
        return "unreadable"
    without = "not connected" if path.exists() else "not found"
    return "connected" if edit.changes else without


def _show(edit: Edit) -> None:
    if not edit.changes:
        click.echo(f"{edit.path} would stay as it is")
        return
    before, after = ((text or "").splitlines() for text in (edit.before, edit.after))
    name = str(edit.path)
    for line in difflib.unified_diff(before, after, name, name, "now", "then", lineterm=""):
        click.echo(line)


def _check(command: Sequence[str]) -> None:
    """Start it as a client would, and say what it offers."""
    started = time.monotonic()
    try:
        with Path(os.devnull).open("w", encoding="utf-8") as unheard:
            tools = asyncio.run(offered(command, unheard))
    except Exception as error:
        line = shlex.join(command)
        message = f"the settings are written, but the server does not start; see why with: {line}"
        raise Unavailable("connect.no-server", message) from error
    click.echo(f"Tried: it starts in {time.monotonic() - started:.1f} s and offers {tools} tools.")

"""Parts that commands share: options, the operator as a caller, and progress."""

import asyncio
import sys
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, wraps
from pathlib import Path
from typing import Any, Final, Literal, ParamSpec, TypeVar

import click
from typing_extensions import override

from canonry.app.load_settings import load_settings
from canonry.app.settings import (
    ENDED,
    SETTINGS,
    STORE,
    TOKENS,
    SettingRow,
    Settings,
    unknown_setting,
)
from canonry.canon.session.caller import Caller
from canonry.cli.terminal import EXAMPLES, wipe_line
from canonry.readmodels.ports.view import MaintenanceProgress
from canonry.values.data_files import read_toml
from canonry.values.provenance import Actor

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")

IN_FILE: Final = click.Path(path_type=Path, exists=True, dir_okay=False)
_TYPES: Final[Mapping[str, click.ParamType[Any]]] = {
    "in_file": IN_FILE,
    "out_file": click.Path(path_type=Path, dir_okay=False),
    "in_folder": click.Path(path_type=Path, exists=True, file_okay=False),
    "out_folder": click.Path(path_type=Path, file_okay=False),
    "path": click.Path(path_type=Path, exists=True),
    "count": click.IntRange(0),
}
"""The types of arguments and options by the words of `options.toml`."""

CONFIG = click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Settings file in TOML.  [default: CANONRY_CONFIG, or the user's canonry.toml]",
)


class SettingsCommand(click.Command):
    """A command that takes every setting. Its help lists them by group."""

    @override
    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups = {row.field: row.group for row in SETTINGS}
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        for param in self.get_params(ctx):
            if (line := param.get_help_record(ctx)) is not None:
                sections.setdefault(groups.get(param.name or "", "Options"), []).append(line)
        for heading, lines in sections.items():
            with formatter.section(heading):
                formatter.write_dl(lines)


_OF_A_STORE: Final = [row for row in SETTINGS if row.group == STORE]
STORE_FIELDS: Final = ("config", *(row.field for row in _OF_A_STORE))
"""The names of the options that `store_options` adds."""


def store_options(command: F) -> F:
    """Add `--config` and the settings of a store."""
    return _with_rows(command, _OF_A_STORE)


def store_command(command: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Return a command that runs the coroutine, with `--config` and the settings of a store."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(command(*args, **kwargs))

    return store_options(run)


def token_options(command: F) -> F:
    """Add `--config`, the settings of tokens, and the toolsets that define agent types."""
    rows = [row for row in SETTINGS if row.group == TOKENS or row.field == "toolsets"]
    return _with_rows(command, rows)


def all_options(command: F) -> F:
    """Add `--config` and every setting. A former option is refused with its replacement."""
    for name in ENDED:
        option = f"--{name.replace('_', '-')}"
        command = click.option(
            f"{option}/--no-{option[2:]}",
            default=None,
            hidden=True,
            expose_value=False,
            callback=_refuse_ended,
        )(command)
    return _with_rows(command, list(SETTINGS))


def _refuse_ended(_: click.Context, param: click.Parameter, value: object) -> None:
    if value is not None:
        raise unknown_setting(param.opts[0], (), "command line")


def _with_rows(command: F, rows: list[SettingRow]) -> F:
    for row in reversed(rows):
        command = _setting_option(row)(command)
    return CONFIG(command)


def _setting_option(row: SettingRow) -> Callable[[F], F]:
    default = f"  [default: {row.default}]" if row.default else ""
    text = f"{row.help}{default}"
    if row.kind.flag:
        return click.option(
            f"{row.option}/--no-{row.option[2:]}", row.field, default=None, help=text
        )
    return click.option(row.option, row.field, metavar=row.metavar, default=None, help=text)


@cache  # read from a file once
def _declared_options() -> Mapping[str, Mapping[str, Any]]:
    return read_toml(__package__, "options.toml")


def command_from(
    key: str,
    group: click.Group | None = None,
    *,
    settings: Callable[..., Callable[..., Any]] | None = store_command,
    types: Mapping[str, click.ParamType[Any]] | None = None,
    **attributes: Any,
) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a command of a function, from the table `key` in `options.toml`.

    Its help ends with its examples. `key` is its name, after that of its `group`. `settings` adds
    the options of settings, by default those of a store, and then the function is a coroutine.
    `types` are the types that only the code knows, by parameter.
    """
    name = key if group is None else key.removeprefix(f"{group.name}-")
    params = [_make_parameter(e, row, types or {}) for e, row in _declared_options()[key].items()]

    def make_command(function: Callable[..., Any]) -> click.Command:
        run = function if settings is None else settings(function)
        made = click.command if group is None else group.command
        return made(name, epilog=EXAMPLES[key], params=params, **attributes)(run)

    return make_command


def _make_parameter(
    spelled: str, row: Mapping[str, Any] | Literal[True], types: Mapping[str, click.ParamType[Any]]
) -> click.Parameter:
    given = dict(_declared_options()["shared"][spelled] if row is True else row)
    words = spelled.split()
    match given.pop("type", None):
        case None:
            given["type"] = types.get(words[-1].lstrip("-").replace("-", "_"))
        case str(word):
            given["type"] = _TYPES[word]
        case choices:
            given["type"] = click.Choice(choices)
    if not spelled.startswith("-"):
        return click.Argument(words, **given)
    if "/" in spelled:  # without either of two flags there is no choice
        given["default"] = None
    return click.Option(words, **given)


def settings_from(given: Mapping[str, Any]) -> Settings:
    """Return the effective settings; the parameters of the command override other sources."""
    options = {name: value for name, value in given.items() if name != "config"}
    settings = load_settings(options, config=given.get("config"))
    if settings.postgres_copy:
        message = "postgres.copy has no effect. Remove it: views are always in a local copy."
        click.echo(f"warning: {message}", err=True)
    return settings


AGENT_TYPE = "Operator"


def operator_caller(tool: str, *, agent_type: str = AGENT_TYPE) -> Caller:
    """Return the operator as the caller of one command."""
    return Caller(actor=Actor(agent_id="command-line", agent_type=agent_type), tool=tool)


_REPORT_SECONDS: Final = 5.0  # log files get few lines
_BAR_SECONDS: Final = 0.1  # drawing after each step would slow down the work


@contextmanager
def show_progress(what: str) -> Iterator[MaintenanceProgress]:
    """Show the progress of `what`. The yielded function takes (done, total or None)."""
    watched, shown = sys.stderr.isatty(), time.monotonic()
    drawn = False

    def report(done: int, total: int | None) -> None:
        nonlocal shown, drawn
        now = time.monotonic()
        if watched and (not drawn or done == total or now - shown >= _BAR_SECONDS):
            wipe_line()
            click.echo(f"{what} {_progress_bar(done, total)}", err=True, nl=False)
            drawn = True
        elif not watched and now - shown >= _REPORT_SECONDS:
            of = f" of {total}" if total else ""
            click.echo(f"{what}: {done}{of}", err=True)
        else:
            return
        shown = now

    try:
        yield report
    finally:
        if drawn:
            wipe_line()


def _progress_bar(done: int, total: int | None, width: int = 30) -> str:
    if not total:
        return f"{done}"
    share = min(1.0, done / total)
    full = round(share * width)
    return f"[{'#' * full}{'.' * (width - full)}] {share:4.0%} {done} of {total}"

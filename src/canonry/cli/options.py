"""Options that commands share, made from the table of settings, so that no two can differ."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar

import click
from typing_extensions import override

from canonry.app.setting_kinds import STORE, TOKENS, SettingRow
from canonry.app.setting_table import SETTINGS
from canonry.app.settings import Settings, load_settings

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")

CONFIG = click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Settings file in TOML; else CANONRY_CONFIG, else canonry.toml of the user.",
)


class SettingsCommand(click.Command):
    """A command that takes every setting; its help lists them group by group."""

    @override
    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups = {row.field: row.group for row in SETTINGS}
        told: dict[str, list[tuple[str, str]]] = {"Options": []}
        for param in self.get_params(ctx):
            if (line := param.get_help_record(ctx)) is not None:
                told.setdefault(groups.get(param.name or "", "Options"), []).append(line)
        for heading, lines in told.items():
            with formatter.section(heading):
                formatter.write_dl(lines)


def awaited(command: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """The command as click calls it: its own event loop runs it to the end."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(command(*args, **kwargs))

    return run


_OF_A_STORE: Final = [row for row in SETTINGS if row.group == STORE]
STORE_FIELDS: Final = ("config", *(row.field for row in _OF_A_STORE))
"""What `store_options` gives a command."""


def store_options(command: F) -> F:
    """`--config` and what every command on a store needs."""
    return _with_rows(command, _OF_A_STORE)


def token_options(command: F) -> F:
    """`--config`, what tokens must be like, and the toolsets that know their agent types."""
    rows = [row for row in SETTINGS if row.group == TOKENS or row.field == "toolsets"]
    return _with_rows(command, rows)


def all_options(command: F) -> F:
    """`--config` and every setting."""
    return _with_rows(command, list(SETTINGS))


def _with_rows(command: F, rows: list[SettingRow]) -> F:
    for row in reversed(rows):
        command = _option(row)(command)
    return CONFIG(command)


def _option(row: SettingRow) -> Callable[[F], F]:
    default = f"  [default: {row.default}]" if row.default else ""
    text = f"{row.help}{default}"
    if row.kind.flag:
        return click.option(
            f"{row.option}/--no-{row.option[2:]}", row.field, default=None, help=text
        )
    return click.option(row.option, row.field, metavar=row.metavar, default=None, help=text)


def settings_from(given: Mapping[str, Any]) -> Settings:
    """The effective settings, from a command's own parameters and everything else."""
    options = {name: value for name, value in given.items() if name != "config"}
    return load_settings(options, config=given.get("config"))

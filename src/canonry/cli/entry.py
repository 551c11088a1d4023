"""The entry: finds the command, and turns every failure into one clear line and an exit code."""

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final

import click
from typing_extensions import override

from canonry import __version__
from canonry.app.file_modes import private_files
from canonry.app.packages import missing_commands, require_package
from canonry.cli.screen import take_streams
from canonry.language.texts.visible import visible_line
from canonry.values.errors import (
    BrokenInvariant,
    CanonryError,
    Conflict,
    InvalidInput,
    NotAllowed,
    NotFound,
    NotSupported,
    Unavailable,
)

_PEOPLE: Final = "canonry.cli.people"
COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "serve": ("canonry.cli.serve:serve", "Serve agents over stdio or HTTP."),
    "connect": (
        "canonry.cli.connecting.command:connect",
        "Write the server into a client's settings.",
    ),
    "token": ("canonry.cli.token:token", "Make a bearer token for a server's own secret."),
    "demo": ("canonry.cli.demo:demo", "Play a small world and see what becomes canon."),
    "inspect": ("canonry.cli.serve:inspect", "Look at the canon in a browser, and decide."),
    "find": (f"{_PEOPLE}:find", "Look by words and meaning, or list what there is."),
    "show": (f"{_PEOPLE}:show", "Show one thing by its name."),
    "why": (f"{_PEOPLE}:why", "Tell why something is so."),
    "timeline": (f"{_PEOPLE}:timeline", "Tell what happened, in order."),
    "changes": (f"{_PEOPLE}:changes", "Tell what was written since you looked."),
    "proposals": (f"{_PEOPLE}:proposals", "List what waits for a decision."),
    "decide": (f"{_PEOPLE}:decide", "Decide what waits, merge, or take something back."),
    "import": ("canonry.cli.imports:imports", "Bring in a transcript, or a log."),
    "catalog": ("canonry.cli.catalog:catalog", "Bring a catalog in, or write it out."),
    "world": ("canonry.cli.world.command:world", "Bring in, draw and check worlds to play in."),
    "export": ("canonry.cli.upkeep:export", "Write the whole log as JSON Lines."),
    "verify": ("canonry.cli.upkeep:verify", "Prove that records and views agree."),
    "rebuild": ("canonry.cli.upkeep:rebuild", "Fold all views from the records again."),
    "backup": ("canonry.cli.upkeep:backup", "Copy the store while it serves."),
    "restore": ("canonry.cli.upkeep:restore", "Put a backup into an empty folder."),
    "move": ("canonry.cli.upkeep:move", "Move a store into a database, or back."),
    "move-space": (
        "canonry.cli.upkeep:move_space",
        "Move a space to another server.",
    ),
    "erase": ("canonry.cli.erase:erase", "Erase what was said of somebody, for good."),
    "undo": ("canonry.cli.erase:undo", "Take back one file, import or correction."),
    "retain": ("canonry.cli.erase:retain", "Keep to the rules of how long things are kept."),
    "retcon": ("canonry.cli.erase:retcon", "Take back what a scene made canon."),
    "tools": ("canonry.cli.tools:tools", "List the tools, or explain one."),
    "doctor": ("canonry.cli.upkeep:doctor", "Look what is wrong, and say what helps."),
}
"""Command name to where it lives and what it does."""

_MISSING: Final = missing_commands()
for _missing in _MISSING:
    COMMANDS.pop(_missing)

EXIT_CODES: Final = (
    (InvalidInput, 2),
    (NotAllowed | NotFound | Conflict | NotSupported, 3),
    (Unavailable, 4),
    (BrokenInvariant, 5),
)
_OF_DATA: Final = ("store.", "encoding.", "move.", "vectors.", "canon.dangling-entry")
"""How errors begin that tell of what was found in a store, and not of a defect in the code."""

REFUSED: Final = 3
UNAVAILABLE: Final = 4
DEFECT: Final = 5
INTERRUPTED: Final = 130

EPILOG: Final = """\
\b
Try it:
  canonry demo
  canonry serve
  canonry tools propose

\b
Exit codes:
  0    done
  1    looked, and something is wrong (verify, doctor)
  2    the command or a setting is wrong
  3    refused: it does not exist, is not allowed, or stands against the canon
  4    not available now; the same command may be run again
  5    a defect of Canonry itself
  130  interrupted
"""


class LazyGroup(click.Group):
    """Commands by name, imported when they are needed, so that serving starts fast."""

    @override
    def main(self, *args: Any, **kwargs: Any) -> Any:
        take_streams()
        return super().main(*args, **kwargs)

    @override
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    @override
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        with importing():
            command: click.Command = getattr(import_module(module), attribute)
        return command

    @override
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] in _MISSING:
            require_package(_MISSING[args[0]], f"canonry {args[0]}")
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from canonry.gateway.limits import meant, shown  # noqa: PLC0415 - only for slips

            ctx.fail(f"there is no command '{shown(args[0])}'{meant(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    @override
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_line) for name, (_, help_line) in COMMANDS.items()])

    @override
    def invoke(self, ctx: click.Context) -> Any:
        try:
            with private_files():
                return super().invoke(ctx)
        except CanonryError as error:
            if ctx.params.get("debug"):
                raise
            candidates = (f"  {each}" for each in error.details.get("candidates", ()))
            complain(f"{error.message} ({error.code})", *candidates)
            ctx.exit(exit_code(error))
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            complain("interrupted")
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:
            # Whoever read has gone: keep the interpreter from complaining as it ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(0)
        except OSError as error:
            if ctx.params.get("debug"):
                raise
            place = error.filename or "the system"
            complain(f"{place}: {error.strerror or error}; check the path, its rights and its disk")
            ctx.exit(UNAVAILABLE)
        except Exception as error:
            if ctx.params.get("debug"):
                raise
            complain(
                f"unexpected {type(error).__name__}: this is a defect; "
                "`canonry --debug ...` shows where it arose"
            )
            ctx.exit(DEFECT)


_COLLECTIONS: Final = (50_000, 20, 100)
"""A call makes many values and hardly a cycle: rare collections look at each of them once."""


@contextmanager
def importing() -> Iterator[None]:
    """Collect no garbage while modules are imported: nothing dies there, and starting is faster."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()  # what was imported stays, so that later collections need not look at it
        gc.set_threshold(*_COLLECTIONS)
        gc.enable()


def exit_code(error: CanonryError) -> int:
    """The exit code for an error, by what the caller may do about it."""
    damaged = error.code.startswith(_OF_DATA) or error.code.endswith(".altered")
    if isinstance(error, BrokenInvariant) and damaged:
        return REFUSED  # the folder is not a store of ours, is newer, or is damaged: no defect
    return next((code for kind, code in EXIT_CODES if isinstance(error, kind)), DEFECT)


def complain(*messages: str) -> None:
    """Print each message as one line on standard error."""
    for each in messages:
        click.echo(f"canonry: {visible_line(each)}", err=True)


@click.group(cls=LazyGroup, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="canonry")
@click.option(
    "--debug", is_flag=True, envvar="CANONRY_DEBUG", help="Show where an error arose in the code."
)
def main(*, debug: bool) -> None:
    """Canonical truth for AI agents: propose anything, and only what passes the gates is canon.

    Every setting can stand in the settings file, in the environment as CANONRY_NAME, and on the
    command line, which wins.
    """
    del debug  # read from the context where an error is handled

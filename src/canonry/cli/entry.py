"""Entry point: runs a command, and reports each failure in one line with an exit code."""

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
from canonry.cli.terminal import EXAMPLES, take_streams
from canonry.language.texts.visible import escape_line
from canonry.values import errors
from canonry.values.data_files import read_toml

COMMANDS: Final[dict[str, list[str]]] = read_toml(__package__, "commands.toml")["commands"]
"""Module and attribute of each command, and its line in the help."""

_MISSING: Final = missing_commands()
for _missing in _MISSING:
    COMMANDS.pop(_missing)

EXIT_CODES: Final = (
    (errors.InvalidInput, 2),
    (errors.NotAllowed | errors.NotFound | errors.Conflict | errors.NotSupported, 3),
    (errors.Unavailable, 4),
    (errors.BrokenInvariant, 5),
)
_OF_DATA: Final = ("store.", "encoding.", "move.", "vectors.", "canon.dangling-entry")
"""Prefixes of error codes that report damaged stored data, not a defect in the code."""

REFUSED: Final = 3
UNAVAILABLE: Final = 4
DEFECT: Final = 5
INTERRUPTED: Final = 130


class LazyGroup(click.Group):
    """Commands by name. Each is imported only when it runs, because serving must start fast."""

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
        with without_collection():
            command: click.Command = getattr(import_module(module), attribute)
        return command

    @override
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] in _MISSING:
            require_package(_MISSING[args[0]], f"canonry {args[0]}")
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from canonry.gateway.limits import shown_text, suggest_name  # noqa: PLC0415 - only for slips

            ctx.fail(
                f"There is no command '{shown_text(args[0])}'{suggest_name(args[0], COMMANDS)}"
            )
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
        except errors.CanonryError as error:
            if ctx.params.get("debug"):
                raise
            candidates = (f"  {each}" for each in error.details.get("candidates", ()))
            print_errors(f"{error.message} ({error.code})", *candidates)
            ctx.exit(exit_code(error))
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            print_errors("Interrupted.")
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:
            # The reader closed the pipe: prevent an error message of the interpreter at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(0)
        except OSError as error:
            if ctx.params.get("debug"):
                raise
            what = f"{error.filename or 'the system'}: {error.strerror or error}"
            print_errors(f"{what}. Check the path, its permissions and its disk.")
            ctx.exit(UNAVAILABLE)
        except Exception as error:
            if ctx.params.get("debug"):
                raise
            print_errors(
                f"Unexpected {type(error).__name__}. This is a defect of Canonry. "
                "Run `canonry --debug ...` to see where it arose."
            )
            ctx.exit(DEFECT)


@contextmanager
def without_collection() -> Iterator[None]:
    """Collect no garbage during imports: nothing is freed there, and starting is faster."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()  # later collections skip the imported objects
        gc.set_threshold(50_000, 20, 100)  # a call makes many values and almost no cycles
        gc.enable()


def exit_code(error: errors.CanonryError) -> int:
    """Return the exit code for an error."""
    damaged = error.code.startswith(_OF_DATA) or error.code.endswith(".altered")
    if isinstance(error, errors.BrokenInvariant) and damaged:
        return REFUSED  # a foreign, newer or damaged store is no defect
    return next((code for kind, code in EXIT_CODES if isinstance(error, kind)), DEFECT)


def print_errors(*messages: str) -> None:
    """Print each message as one line on standard error."""
    for each in messages:
        click.echo(f"canonry: {escape_line(each)}", err=True)


@click.group(
    cls=LazyGroup,
    epilog=EXAMPLES["canonry"],
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="canonry")
@click.option(
    "--debug", is_flag=True, envvar="CANONRY_DEBUG", help="Show where an error arose in the code."
)
def main(*, debug: bool) -> None:
    """Canonical truth for AI agents. Agents propose; only proposals that pass the gates are canon.

    Give each setting in the settings file, in the environment as CANONRY_NAME, or on the command
    line. The command line overrides the environment, which overrides the file.
    """
    del debug  # LazyGroup.invoke reads it from the context

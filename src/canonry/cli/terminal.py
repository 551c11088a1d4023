"""Output to screens and files: stored text cannot control a terminal, and files are complete."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TextIO, TypeAlias, cast

import click

from canonry.language.texts.visible import escape_hidden, escape_line
from canonry.values.data_files import read_toml

EXAMPLES: Final = read_toml(__package__, "examples.toml")
"""The end of the help of each command."""


@contextmanager
def whole_file(path: Path, *, newline: str = "\n", mode: int = 0o600) -> Iterator[TextIO]:
    """Yield a text file that durably replaces `path` when the block ends without an error.

    It is written under a new random name in the same folder, so that a link placed there earlier
    cannot redirect it. A link at `path` is replaced.
    """
    from canonry.stores.folder.blobs import sync_folder  # noqa: PLC0415 - loads asyncio

    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    part = Path(name)
    try:
        with open(handle, "w", encoding="utf-8", newline=newline) as out:  # noqa: PTH123 - a descriptor
            yield out
            out.flush()
            os.fsync(out.fileno())
        part.chmod(mode)
        part.replace(path)
        sync_folder(path.parent)
    finally:
        part.unlink(missing_ok=True)


# All commands print through the screen, so that stored text cannot control a terminal.
#
# It wraps standard output and standard error from the first command on. Control characters in all
# texts, also in those of click and in tracebacks, are made visible; only our own styles are not.

Styled: TypeAlias = str | tuple[str, str]
"""A text, or (style, text)."""

_STYLES = {
    "bold": "\x1b[1m",
    "italic": "\x1b[3m",
    "red": "\x1b[31;1m",
    "green": "\x1b[32;1m",
    "yellow": "\x1b[33;1m",
    "cyan": "\x1b[36m",
    "dim": "\x1b[2m",
}
_PLAIN = "\x1b[0m"
_WIPE = "\r\x1b[K"
_PASSED_ON: Final = frozenset(
    {"closed", "errors", "fileno", "flush", "isatty", "readable", "writable"}
)


class Screen:
    """A text stream that makes control characters visible.

    It has no `buffer`, which would let callers write bytes unchecked.
    """

    def __init__(self, bare: TextIO) -> None:
        """Take the stream `bare`, which is never closed."""
        self.bare = bare

    @property
    def encoding(self) -> str:
        """Return the encoding of the wrapped stream."""
        return self.bare.encoding or "utf-8"

    def write(self, text: str | bytes) -> int:
        """Write the text, with escapes for characters that the encoding lacks."""
        # click writes the completion of a shell as bytes.
        shown = escape_hidden(text if isinstance(text, str) else text.decode("utf-8", "replace"))
        try:
            self.bare.write(shown)
        except UnicodeEncodeError:
            self.bare.write(shown.encode(self.encoding, "backslashreplace").decode(self.encoding))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        """Return an allowed attribute of the wrapped stream."""
        if name not in _PASSED_ON:
            raise AttributeError(name)
        return getattr(self.bare, name)


def take_streams() -> None:
    """Wrap standard output and standard error in a screen, once."""
    if not isinstance(sys.stdout, Screen):
        sys.stdout = cast("TextIO", Screen(sys.stdout))
    if not isinstance(sys.stderr, Screen):
        sys.stderr = cast("TextIO", Screen(sys.stderr))


@contextmanager
def data_output(file: Path | None, *, newline: str = "\n") -> Iterator[TextIO]:
    """Yield standard output, or a file that gets its name only when it is complete.

    The file "-" is standard output too.
    """
    if file is None or str(file) == "-":
        bare = _bare_stream(sys.stdout)
        bare.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[attr-defined]
        yield sys.stdout
        return
    if file.exists() and not file.is_file():  # such as /dev/null, which must not be replaced
        with file.open("w", encoding="utf-8", newline=newline) as out:
            yield out
        return
    with whole_file(file, newline=newline) as out:
        yield out


def print_styled(*parts: Styled) -> None:
    """Print a line. Styles are used on a terminal without NO_COLOR."""
    watched = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    for part in parts:
        if isinstance(part, str):
            click.echo(part, nl=False)
            continue
        style, text = part
        if watched:
            _bare_stream(sys.stdout).write(_STYLES[style])
        click.echo(text, nl=False)
        if watched:
            _bare_stream(sys.stdout).write(_PLAIN)
    click.echo()


def print_line(text: str) -> None:
    """Print one line; line breaks in the text are made visible."""
    click.echo(escape_line(text))


def wipe_line() -> None:
    """Clear the line of standard error that shows progress."""
    bare = _bare_stream(sys.stderr)
    bare.write(_WIPE)
    bare.flush()


def _bare_stream(stream: TextIO) -> TextIO:
    return stream.bare if isinstance(stream, Screen) else stream

"""The screen and files of the user: no stored text steers a terminal, and no file is left half."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TextIO, TypeAlias, cast

import click

from canonry.language.texts.visible import visible, visible_line


@contextmanager
def whole_file(path: Path, *, newline: str = "\n", mode: int = 0o600) -> Iterator[TextIO]:
    """A text in UTF-8 that replaces what `path` names, on the disk, when the block ends well.

    It is written under a name in the same folder that nobody can guess, which must be new: a link
    that somebody has put there beforehand leads nowhere else. A link at `path` is replaced.
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


# The screen: the one place where commands print, so that no stored text can steer a terminal.
#
# It stands before standard output and standard error from the first command on. Whatever is written
# there, by us, by click or as a traceback, is made visible; only what is styled here passes as it
# is.

Styled: TypeAlias = str | tuple[str, str]
"""A text as it is, or (style, text)."""

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
    """A text stream that spells out what would steer a terminal.

    It has no `buffer`, so that nothing finds a way around it.
    """

    def __init__(self, bare: TextIO) -> None:
        """`bare` is written to, and never closed."""
        self.bare = bare

    @property
    def encoding(self) -> str:
        """That of the stream behind."""
        return self.bare.encoding or "utf-8"

    def write(self, text: str | bytes) -> int:
        """Write it so that it can be seen, whatever the encoding knows."""
        # The completion of a shell comes as bytes, because click expects a binary stream behind.
        shown = visible(text if isinstance(text, str) else text.decode("utf-8", "replace"))
        try:
            self.bare.write(shown)
        except UnicodeEncodeError:
            self.bare.write(shown.encode(self.encoding, "backslashreplace").decode(self.encoding))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        """What a program may ask or let the stream behind do, and nothing else."""
        if name not in _PASSED_ON:
            raise AttributeError(name)
        return getattr(self.bare, name)


def take_streams() -> None:
    """Put a screen before standard output and standard error, once."""
    if not isinstance(sys.stdout, Screen):
        sys.stdout = cast("TextIO", Screen(sys.stdout))
    if not isinstance(sys.stderr, Screen):
        sys.stderr = cast("TextIO", Screen(sys.stderr))


def utf8_output() -> TextIO:
    """Standard output for data: UTF-8 and line feeds, wherever it leads."""
    bare = _bare(sys.stdout)
    bare.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[attr-defined]
    return sys.stdout


@contextmanager
def data_output(file: Path | None, *, newline: str = "\n") -> Iterator[TextIO]:
    """Where data go: standard output, or a file that takes its name only when it is whole.

    A file called "-" is standard output too, as everywhere.
    """
    if file is None or str(file) == "-":
        yield utf8_output()
        return
    if file.exists() and not file.is_file():  # such as /dev/null, which stays what it is
        with file.open("w", encoding="utf-8", newline=newline) as out:
            yield out
        return
    with whole_file(file, newline=newline) as out:
        yield out


def tell(*parts: Styled) -> None:
    """A line on standard output; styles are for who watches and has not declined NO_COLOR."""
    watched = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    for part in parts:
        if isinstance(part, str):
            click.echo(part, nl=False)
            continue
        style, text = part
        if watched:
            _bare(sys.stdout).write(_STYLES[style])
        click.echo(text, nl=False)
        if watched:
            _bare(sys.stdout).write(_PLAIN)
    click.echo()


def tell_line(text: str) -> None:
    """One line on standard output: no name in it feigns another."""
    click.echo(visible_line(text))


def wipe_line() -> None:
    """Empty the line of standard error in which progress is told."""
    bare = _bare(sys.stderr)
    bare.write(_WIPE)
    bare.flush()


def _bare(stream: TextIO) -> TextIO:
    return stream.bare if isinstance(stream, Screen) else stream

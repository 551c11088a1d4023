"""Progress of long work on standard error: a bar on a terminal, a line now and then elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import click

from canonry.cli.screen import wipe_line
from canonry.ports.views.upkeep import UpkeepProgress

_LINE_SECONDS: Final = 5.0
_BAR_SECONDS: Final = 0.1


@contextmanager
def progress(what: str) -> Iterator[UpkeepProgress]:
    """Tell how far `what` has come; the listener takes (done, total or None)."""
    listener = _Bar(what) if sys.stderr.isatty() else _Lines(what)
    try:
        yield listener.tell
    finally:
        listener.finish()


class _Bar:
    def __init__(self, what: str) -> None:
        self._what = what
        self._shown = 0.0
        self._drawn = False

    def tell(self, done: int, total: int | None) -> None:
        now = time.monotonic()
        if now - self._shown < _BAR_SECONDS and done != total:
            return
        self._shown = now
        self._drawn = True
        wipe_line()
        click.echo(f"{self._what} {_bar(done, total)}", err=True, nl=False)

    def finish(self) -> None:
        if self._drawn:
            wipe_line()


class _Lines:
    def __init__(self, what: str) -> None:
        self._what = what
        self._said = time.monotonic()

    def tell(self, done: int, total: int | None) -> None:
        now = time.monotonic()
        if now - self._said >= _LINE_SECONDS:
            self._said = now
            of = f" of {total}" if total else ""
            click.echo(f"{self._what}: {done}{of}", err=True)

    def finish(self) -> None:
        """Nothing is left on the screen."""


def _bar(done: int, total: int | None, width: int = 30) -> str:
    if not total:
        return f"{done}"
    share = min(1.0, done / total)
    full = round(share * width)
    return f"[{'#' * full}{'.' * (width - full)}] {share:4.0%} {done} of {total}"

"""Progress of long work on standard error: a bar on a terminal, a line now and then elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import click

from canonry.cli.screen import wipe_line
from canonry.readmodels.ports.upkeep import UpkeepProgress

_LINE_SECONDS: Final = 5.0
_BAR_SECONDS: Final = 0.1


@contextmanager
def progress(what: str) -> Iterator[UpkeepProgress]:
    """Tell how far `what` has come; the listener takes (done, total or None)."""
    watched, shown = sys.stderr.isatty(), time.monotonic()
    drawn = False

    def tell(done: int, total: int | None) -> None:
        nonlocal shown, drawn
        now = time.monotonic()
        if watched and (not drawn or done == total or now - shown >= _BAR_SECONDS):
            wipe_line()
            click.echo(f"{what} {_bar(done, total)}", err=True, nl=False)
            drawn = True
        elif not watched and now - shown >= _LINE_SECONDS:
            of = f" of {total}" if total else ""
            click.echo(f"{what}: {done}{of}", err=True)
        else:
            return
        shown = now

    try:
        yield tell
    finally:
        if drawn:
            wipe_line()


def _bar(done: int, total: int | None, width: int = 30) -> str:
    if not total:
        return f"{done}"
    share = min(1.0, done / total)
    full = round(share * width)
    return f"[{'#' * full}{'.' * (width - full)}] {share:4.0%} {done} of {total}"

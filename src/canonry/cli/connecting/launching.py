"""How a client starts this very installation: absolute, and still there tomorrow."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

_PASSING: Final = {
    "uvx": ("archive-v0", "environments-v2", "builds-v0"),
    "pipx": (".cache/pipx", "pipx/.cache"),
}
"""Runners whose environments lie in a cache that is emptied now and then; parts of their paths."""


def launch(
    argv0: str,
    executable: str,
    prefix: str,
    which: Callable[[str], str | None] = shutil.which,
) -> tuple[str, ...]:
    """The words that start Canonry again, whatever folder or PATH the client has.

    `argv0`, `executable` and `prefix` are what Python's `sys` calls so. A link, as `uv tool` and
    `pipx` make it, is kept: it survives an upgrade, and what it leads to may not.
    """
    place = Path(prefix).as_posix()
    for runner, parts in _PASSING.items():
        found = which(runner)
        if found is not None and any(part in place for part in parts):
            return (found, "canonry") if runner == "uvx" else (found, "run", "canonry")
    script = which(argv0)
    if script is not None and Path(script).stem == "canonry":
        return (str(Path(script).absolute()),)
    return (executable, "-m", "canonry.cli")

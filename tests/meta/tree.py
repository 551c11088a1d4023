"""The files of the checkout as the meta tests read them."""

import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "canonry"
TEXT = frozenset({".py", ".md", ".toml", ".json", ".sql", ".txt", ".lock", ".cfg", ".yaml", ".yml"})
MADE = frozenset({"dist", "site", "node_modules"})
NAMED = frozenset({"Makefile", "LICENSE", "NOTICE", ".gitignore", "run"})


def python_files(*folders: str) -> list[Path]:
    """All Python files under `folders` of the checkout, in a fixed order."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def text_files() -> Iterator[Path]:
    """Every text file that belongs to the project; environments and caches do not."""
    for folder, inner, names in os.walk(ROOT):
        inner[:] = sorted(
            name
            for name in inner
            if name == ".ci" or not (name.startswith((".", "__pycache__")) or name in MADE)
        )
        for name in sorted(names):
            path = Path(folder, name)
            if path.suffix in TEXT or name in NAMED:
                yield path


def relative_path(path: Path) -> str:
    """Return the path by which a failure names a file."""
    return path.relative_to(ROOT).as_posix()

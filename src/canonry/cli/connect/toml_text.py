"""Edits of a TOML text in place: one table is appended or removed."""

import json
import tomllib
from collections.abc import Mapping
from typing import Any


def read(text: str) -> Any:
    """Parse the text.

    Raises:
        ValueError: it is not TOML.
    """
    return tomllib.loads(text)


def put(text: str, path: tuple[str, ...], value: Mapping[str, Any]) -> str:
    """Return the text with the table `value` at `path`, in place of a former one.

    Raises:
        ValueError: it is not TOML, or has another value at `path`.
    """
    rest = drop(text, path)
    lines = [f"[{'.'.join(path)}]"]
    lines += [f"{key} = {json.dumps(each, ensure_ascii=False)}" for key, each in value.items()]
    gap = "\n" if rest.strip() else ""
    written = f"{rest.rstrip()}\n{gap}" if gap else ""
    written += "\n".join(lines) + "\n"
    tomllib.loads(written)
    return written


def drop(text: str, path: tuple[str, ...]) -> str:
    """Return the text without the table at `path` and those inside it.

    Raises:
        ValueError: it is not TOML.
    """
    tomllib.loads(text)
    name = ".".join(path)
    kept, inside = [], False
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            header = line.strip().strip("[]").replace(" ", "").replace('"', "")
            inside = header == name or header.startswith(f"{name}.")
        if not inside:
            kept.append(line)
    left = "".join(kept)
    return left if left == text else left.rstrip() + "\n" * bool(left.strip())

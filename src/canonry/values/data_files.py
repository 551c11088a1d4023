"""Data files beside the modules of a package, such as tables of words."""

import tomllib
from importlib.resources import files
from typing import Any


def read_toml(package: str, name: str) -> dict[str, Any]:
    """Return the tables in a TOML file of a package.

    Raises:
        FileNotFoundError: the package has no such file.
    """
    return tomllib.loads(files(package).joinpath(name).read_text("utf-8"))

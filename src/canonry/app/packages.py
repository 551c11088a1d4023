"""The contributions of each package to the server; a package may be left out."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from canonry.gateway.toolset_introduction import Face, load_attribute
from canonry.values.data_files import read_toml
from canonry.values.errors import InvalidInput, NotSupported

if TYPE_CHECKING:
    from canonry.canon.session.canon import Canon
    from canonry.gateway.tool import Toolset


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """The contributions of a package.

    `compose` adds its services to a canon. `toolsets` are by their names. `commands` are its
    commands at the command line, and `settings` the keys that have no effect without it.
    """

    compose: str | None = None
    toolsets: Mapping[str, str] = field(default_factory=dict)
    commands: Sequence[str] = ()
    settings: Sequence[str] = ()


PACKAGES: Final[Mapping[str, Package]] = {
    name: Package(**row) for name, row in read_toml(__package__, "packages.toml").items()
}
"""Name of the package below `canonry` -> its contributions."""


@cache  # searches the import path: bench compare, start
def is_installed(name: str) -> bool:
    """Return whether the package `canonry.<name>` is installed."""
    return find_spec(f"canonry.{name}") is not None


def require_package(name: str, path: str) -> None:
    """Refuse a setting or command (`path`) that needs a package that was left out.

    Raises:
        NotSupported: `package.missing`.
    """
    if not is_installed(name):
        message = f"{path} needs the package canonry.{name}, which is not installed."
        raise NotSupported("package.missing", message, path=path)


def missing_commands() -> dict[str, str]:
    """Return command -> package for packages that are not installed."""
    return {
        command: package
        for package, brings in PACKAGES.items()
        for command in brings.commands
        if not is_installed(package)
    }


def with_packages(canon: "Canon") -> "Canon":
    """Return the canon with the services of all installed packages."""
    for package, brings in PACKAGES.items():
        if brings.compose is not None and is_installed(package):
            canon = load_attribute(brings.compose)(canon)
    return canon


TOOLSETS: Final = {
    name: target
    for package, brings in PACKAGES.items()
    for name, target in brings.toolsets.items()
    if is_installed(package)
}
"""Name -> "package:attribute" of the toolset, whose introduction is in `face.toml` beside it."""


def load_toolsets(names: Iterable[str]) -> "tuple[Toolset, ...]":
    """Return the toolsets of these names, once each, in order.

    Raises:
        InvalidInput: `settings.unknown`.
        NotSupported: `package.missing`.
    """
    return tuple(map(load_attribute, _locate_names(names)))


def load_faces(names: Iterable[str]) -> tuple[Face, ...]:
    """Return the introductions of the toolsets of these names, without their tools.

    Raises:
        InvalidInput: `settings.unknown`.
        NotSupported: `package.missing`.
    """
    return tuple(Face.read_face(target.partition(":")[0]) for target in _locate_names(names))


def _locate_names(names: Iterable[str]) -> Iterator[str]:
    for name in dict.fromkeys(names):
        if name not in TOOLSETS:
            for package, brings in PACKAGES.items():
                if name in brings.toolsets:
                    require_package(package, f"the toolset {name}")
            known = ", ".join(TOOLSETS)
            near = get_close_matches(name, TOOLSETS, 1)
            guess = f"; did you mean {near[0]}?" if near else "."
            message = f"There is no toolset {name}. Toolsets: {known}{guess}"
            raise InvalidInput("settings.unknown", message, path="toolsets")
        yield TOOLSETS[name]

"""Which toolsets there are; each is imported only when it is asked for, its tools even later."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from canonry.app.packages import installed_toolsets
from canonry.gateway.face import Face
from canonry.values.errors import InvalidInput

if TYPE_CHECKING:
    from canonry.gateway.tool import Toolset

TOOLSETS: Final = installed_toolsets()
"""Name to the module and attribute that holds the toolset; the module's `FACE` is its face."""


def load_toolsets(names: Iterable[str]) -> "tuple[Toolset, ...]":
    """The toolsets of these names, once each, in order.

    Raises:
        InvalidInput: `settings.unknown`.
    """
    return tuple(getattr(module, attribute) for module, attribute in _named(names))


def load_faces(names: Iterable[str]) -> tuple[Face, ...]:
    """The faces of the toolsets of these names, without their tools.

    Raises:
        InvalidInput: `settings.unknown`.
    """
    return tuple(module.FACE for module, _ in _named(names))


def _named(names: Iterable[str]) -> Iterator[tuple[Any, str]]:
    for name in dict.fromkeys(names):
        if name not in TOOLSETS:
            known = ", ".join(TOOLSETS)
            near = get_close_matches(name, TOOLSETS, 1)
            guess = f"; did you mean {near[0]}?" if near else ""
            message = f"toolsets: there is no toolset {name}; known are {known}{guess}"
            raise InvalidInput("settings.unknown", message, path="toolsets")
        module, _, attribute = TOOLSETS[name].partition(":")
        yield import_module(module), attribute

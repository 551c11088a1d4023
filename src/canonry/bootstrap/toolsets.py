"""Which toolsets there are; each is imported only when it is asked for."""

from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from typing import Final

from canonry.domain.errors import InvalidInput
from canonry.gateway.tool import Toolset

TOOLSETS: Final = {"narrative": "canonry.toolsets.narrative:NARRATIVE"}
"""Name to the module and attribute that holds the toolset."""


def load_toolsets(names: Iterable[str]) -> tuple[Toolset, ...]:
    """The toolsets of these names, once each, in order.

    Raises:
        InvalidInput: `settings.unknown`.
    """
    found: dict[str, Toolset] = {}
    for name in names:
        if name not in TOOLSETS:
            known = ", ".join(TOOLSETS)
            near = get_close_matches(name, TOOLSETS, 1)
            guess = f"; did you mean {near[0]}?" if near else ""
            message = f"toolsets: there is no toolset {name}; known are {known}{guess}"
            raise InvalidInput("settings.unknown", message, path="toolsets")
        module, _, attribute = TOOLSETS[name].partition(":")
        found[name] = getattr(import_module(module), attribute)
    return tuple(found.values())

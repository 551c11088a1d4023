"""The face of a toolset: what a client is told when it connects, long before it calls anything."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Face:
    """Who a toolset says it is; it can be imported without the tools."""

    name: str
    purpose: str
    server_name: str
    contract_version: str
    instructions: str = ""

    def told(self) -> dict[str, Any]:
        """What it says, as the toolset behind it says it too."""
        return asdict(self)


def lazily(package: str, *names: str) -> Callable[[str], object]:
    """The `__getattr__` of a toolset's package: `names` are imported when somebody asks for them.

    The tools take longer to import than a client should wait for a greeting. The function raises
    AttributeError, if there is no such name.
    """

    def load(name: str) -> object:
        if name in names:
            return getattr(import_module(f"{package}.toolset"), name)
        message = f"module {package!r} has no attribute {name!r}"
        raise AttributeError(message)

    return load

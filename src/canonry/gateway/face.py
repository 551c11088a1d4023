"""The face of a toolset: what a client is told when it connects, long before it calls anything."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from typing import Any, Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Face:
    """Who a toolset says it is; it can be imported without the tools."""

    name: str
    purpose: str
    server_name: str
    contract_version: str
    title: str = ""
    """What clients show; by default a name of ours with that of the toolset in it."""
    instructions: str = ""
    contract_instructions: str = ""
    """What stands in their place where some of them are about tools beyond the contract."""

    def published(self) -> Self:
        """The same under the title that its contract gives the server, about its tools alone."""
        told = self.contract_instructions or self.instructions
        return replace(self, title=self.server_name, instructions=told)

    def told(self) -> dict[str, Any]:
        """What it says, as the toolset behind it says it too."""
        return asdict(self)


def load_attribute(target: str) -> Any:
    """Import what "module:attribute" names."""
    module, _, attribute = target.partition(":")
    return getattr(import_module(module), attribute)


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

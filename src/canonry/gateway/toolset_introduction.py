"""The introduction of a toolset, which a client gets when it connects."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pkgutil import resolve_name
from typing import Any, Self

from canonry.values.data_files import read_toml


@dataclass(frozen=True, slots=True, kw_only=True)
class Face:
    """The introduction of a toolset; it can be imported without the tools."""

    name: str
    purpose: str
    server_name: str
    contract_version: str
    title: str = ""
    """The title that clients show; by default Canonry and the name of the toolset."""
    instructions: str = ""
    contract_instructions: str = ""
    """The instructions for a server without extensions, if `instructions` mentions some."""

    @classmethod
    def read_face(cls, package: str) -> Self:
        """Read it from `face.toml` of a package, which is not imported."""
        parent, _, folder = package.rpartition(".")
        return cls(**read_toml(parent, f"{folder}/face.toml"))

    def as_published(self) -> Self:
        """Return it with the title of its contract, about the tools of the contract alone."""
        text = self.contract_instructions or self.instructions
        return replace(self, title=self.server_name, instructions=text)

    def to_fields(self) -> dict[str, Any]:
        """Return the introduction's fields, which a toolset has, too."""
        return asdict(self)


def load_attribute(target: str) -> Any:
    """Import what "module:attribute" names."""
    return resolve_name(target)


def lazy_loader(package: str, *names: str) -> Callable[[str], object]:
    """Return the `__getattr__` of a toolset's package, which imports `names` at their first use.

    The import of the tools takes longer than a client should wait for a greeting. The function
    raises AttributeError for another name.
    """

    def load_name(name: str) -> object:
        if name in names:
            return resolve_name(f"{package}.toolset:{name}")
        message = f"module {package!r} has no attribute {name!r}"
        raise AttributeError(message)

    return load_name

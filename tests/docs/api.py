"""The page of the programming interface: the ports and `canonry.testing`."""

import enum
import inspect
from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType
from typing import Any

PACKAGES = (
    *("canonry.log.ports", "canonry.readmodels.ports", "canonry.canon.ports"),
    *("canonry.records.ports", "canonry.world.ports"),
    *("canonry.models.outside_services", "canonry.testing"),
)


def api_page(note: str) -> str:
    """Every public class and function of the ports and of the kit, with its own words."""
    return (
        f"# Programming interface\n\n{note}\n\n"
        "A backend implements these ports, and the conformance kit tests it. [How to add a backend]"
        "(../how-to/add-a-backend.md) shows both step by step.\n"
        + "".join(part for package in PACKAGES for part in package_rows(package))
    )


def package_rows(name: str) -> Iterator[str]:
    package = import_module(name)
    names = sorted(
        each.name for each in walk_packages(getattr(package, "__path__", ()), f"{name}.")
    )
    for module in map(import_module, [name, *names]):
        if not any(part.startswith("_") for part in module.__name__.split(".")):
            yield from module_rows(module)


def module_rows(module: ModuleType) -> Iterator[str]:
    own = [
        (name, item)
        for name, item in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(item) or inspect.isfunction(item))
        and item.__module__ == module.__name__
    ]
    yield f"\n## `{module.__name__}`\n\n{words_of(module)}\n"
    for name, item in own:
        yield f"\n### `{name}`\n\n{words_of(item)}\n"
        if inspect.isclass(item) and not issubclass(item, enum.Enum):
            yield from method_rows(item)


def method_rows(owner: type[Any]) -> Iterator[str]:
    """Yield the methods that a class declares; the page of promises lists the tests."""
    methods = [
        (name, method)
        for name, method in vars(owner).items()
        if inspect.isfunction(method) and not name.startswith(("_", "test_"))
    ]
    if methods:
        yield "\n"
    for name, method in methods:
        words = words_of(method).replace("\n", "\n  ")
        parameters = ", ".join(p for p in inspect.signature(method).parameters if p != "self")
        yield f"- **`{name}({parameters})`** {words}\n".replace("\n  \n", "\n\n")


def words_of(item: Any) -> str:
    words = inspect.getdoc(item) or ""
    return "" if words.startswith(f"{getattr(item, '__name__', '')}(") else words

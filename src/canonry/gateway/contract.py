"""A contract that is published as a file: read once, when somebody first asks what it says."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class ContractFile:
    """A JSON file in the package of a toolset; its `tools` are a list of objects with a `name`."""

    package: str
    file: str

    def published(self) -> Mapping[str, Any]:
        """The contract as it is."""
        return _read(self.package, self.file)

    def entries(self) -> Mapping[str, Mapping[str, Any]]:
        """Name -> what the contract says of the tool."""
        return _entries(self)


@cache
def _read(package: str, file: str) -> Mapping[str, Any]:
    contract: Mapping[str, Any] = json.loads(files(package).joinpath(file).read_bytes())
    return contract


@cache
def _entries(contract: ContractFile) -> Mapping[str, Mapping[str, Any]]:
    return {tool["name"]: tool for tool in contract.published()["tools"]}

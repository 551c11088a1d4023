"""A contract that is published as a file, and a tool exactly as its contract publishes it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.tool import Arguments, Reply, Tool


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


def keep_to_contract(tool: Tool) -> Tool:
    """The tool with the members, defaults and types of its contract, which mends no value."""
    own = tool.published
    if own is None:
        return replace(tool, exact=True)

    async def run(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
        return await tool.run(canon, caller, {**own.given, **arguments})

    return replace(tool, input_schema=own.schema, accepted_schema=own.accepted, run=run, exact=True)


@cache
def _read(package: str, file: str) -> Mapping[str, Any]:
    contract: Mapping[str, Any] = json.loads(files(package).joinpath(file).read_bytes())
    return contract


@cache
def _entries(contract: ContractFile) -> Mapping[str, Mapping[str, Any]]:
    return {tool["name"]: tool for tool in contract.published()["tools"]}

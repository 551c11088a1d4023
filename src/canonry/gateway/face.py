"""The face of a toolset: what a client is told when it connects, long before it calls anything."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Face:
    """Who a toolset says it is; it can be imported without the tools."""

    name: str
    purpose: str
    server_name: str
    contract_version: str
    instructions: str = ""

"""The published contract: names, input and output schemas of the four tools, as published."""

from typing import Final

from canonry.gateway.limits import Limits
from canonry.gateway.offers import ContractFile
from canonry.gateway.tool import ANYONE, Run, Tool

CONTRACT: Final = ContractFile(__name__, "catalog.json")
published = CONTRACT.read_contract
entries = CONTRACT.tool_entries

LIMITS = Limits(characters=100_000, seconds=30.0, any_text=True)
"""Half a minute as published; a NUL is a text like any other, and occurs nowhere."""


def contract_tool(name: str, *, title: str, description: str, run: Run) -> Tool:
    """A tool of the contract; its schemas come from the published file, and it only reads."""
    entry = entries()[name]
    return Tool(
        name=name,
        title=title,
        description=description,
        input_schema=entry["inputSchema"],
        output_schema=entry["outputSchema"],
        roles=ANYONE,
        run=run,
        read_only=True,
        idempotent=True,
        limits=LIMITS,
    )

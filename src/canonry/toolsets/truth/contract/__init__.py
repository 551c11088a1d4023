"""The published contract: names, request and response schemas, limits and errors of every tool."""

from typing import Any, Final

from canonry.gateway.contract import ContractFile
from canonry.gateway.limits import Limits
from canonry.gateway.tool import ANYONE, Run, Tool

CONTRACT: Final = ContractFile(__name__, "truth.json")
published = CONTRACT.published
entries = CONTRACT.entries
_REF: Final = "#/$defs/"
_NUMBERS: Final = Limits(any_number=True)
_FILES: Final = Limits(characters=80_000_000, seconds=120.0, any_number=True)
"""A file of 52,428,800 bytes has 69,905,068 characters in base64; line ends may be among them."""


def truth_tool(name: str, run: Run) -> Tool:
    """A tool of the contract file; everything but what it does stands there."""
    entry = entries()[name]
    return Tool(
        name=name,
        title=entry["title"],
        description=entry["description"],
        input_schema=entry["input"],
        output_schema=resolved(entry["output"]),
        roles=ANYONE,
        run=run,
        read_only=entry["read_only"],
        destructive=entry["destructive"],
        idempotent=entry["idempotent"],
        extension=entry["extension"],
        aliases=tuple(entry.get("aliases", ())),
        per_minute=entry.get("per_minute"),
        consistency=entry["consistency"],
        deterministic=entry["deterministic"],
        limits=_FILES if "file_content" in entry["input"]["properties"] else _NUMBERS,
    )


def resolved(schema: Any) -> Any:
    """The schema with every reference replaced by what it refers to."""
    if isinstance(schema, dict):
        if "$ref" in schema:
            return resolved(published()["$defs"][schema["$ref"].removeprefix(_REF)])
        return {key: resolved(value) for key, value in schema.items()}
    return [resolved(value) for value in schema] if isinstance(schema, list) else schema

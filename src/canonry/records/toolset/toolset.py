"""The tools of the truth toolset behind its face; importing this imports all of them."""

from dataclasses import replace
from typing import Final

from canonry.gateway.contract import ContractFile
from canonry.gateway.outlines import brief
from canonry.gateway.tool import ANYONE, Tool, Toolset
from canonry.records.toolset import (
    FACE,
    asking,
    entities,
    ingestion,
    relationships,
    resources,
    review,
    schemas,
    snapshots,
)
from canonry.records.toolset.contract import entries, truth_tool
from canonry.records.toolset.dialect import dialect

_RUNS: Final = (
    ingestion.RUNS
    | snapshots.RUNS
    | entities.RUNS
    | relationships.RUNS
    | schemas.RUNS
    | review.RUNS
    | asking.RUNS
)

EXACT: Final[tuple[Tool, ...]] = tuple(truth_tool(name, _RUNS[name]) for name in entries())
"""The tools with the whole schemas of their replies, which the tests hold every reply against."""


def outlined(tool: Tool) -> Tool:
    """The tool as it is listed: its output schema has the type of each property and no more.

    A client reads all schemas before its first call; the reference describes replies in full.
    Whatever satisfies the exact schema satisfies its outline.
    """
    exact = tool.output_schema
    properties = {name: brief(each) for name, each in exact["properties"].items()}
    outline = {"type": "object", "properties": properties, "required": exact["required"]}
    return replace(tool, output_schema=outline)


TRUTH: Final = Toolset(
    **FACE.told(),
    agent_types=ANYONE,
    default_agent_type="Assistant",  # the contract knows users, not roles
    traced=True,
    dialect=dialect,
    tools=tuple(map(outlined, EXACT)),
    remedies={
        "type.unknown": "list_entity_types names every type",
        "interpretation.failed": "reinterpret reads the file again",
    },
    resources=resources.RESOURCES,
    shelves=resources.SHELVES,
    words=ContractFile("canonry.records.toolset.contract", "words.json").published(),
)

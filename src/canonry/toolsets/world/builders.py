"""Builders' tools: how an extension is declared that only world builders may call."""

from collections.abc import Mapping
from typing import Final

from canonry.gateway.tool import Run, Schema, Tool
from canonry.toolsets.world.contract import BUILDER
from canonry.toolsets.world.schemas import TEXT, obj

ID: Final[Schema] = obj({"id": TEXT})
DONE: Final[Schema] = obj({"done": {"const": True}})


def builders_tool(
    name: str,
    description: str,
    run: Run,
    required: Mapping[str, Schema],
    optional: Mapping[str, Schema],
    *,
    reply: Schema = ID,
) -> Tool:
    """A tool that changes a world; one that removes something says so to clients."""
    return Tool(
        name=name,
        title=name.replace("-", " ").capitalize(),
        description=description,
        input_schema=obj(required, optional),
        output_schema=reply,
        roles=BUILDER,
        run=run,
        read_only=False,
        destructive=name.startswith("remove"),
        extension=True,
    )

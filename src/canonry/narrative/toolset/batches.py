"""The batch tool: several calls in one, run in parallel, answered in order, each on its own."""

import asyncio
from typing import Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.shapes import OBJECT, TEXT, Field, Shape, array, obj, optional
from canonry.gateway.tool import ANYONE, Arguments, CallTool, Reply, Tool
from canonry.values.errors import BrokenInvariant

_CALLS_MAX: Final = 50
_CALL: Final = Shape(name=TEXT, arguments=optional(OBJECT.but(default={})))


async def _together(call: CallTool, arguments: Arguments) -> Reply:
    calls = arguments["calls"]
    replies = await asyncio.gather(*(call(each["name"], each["arguments"]) for each in calls))
    return {"results": list(replies)}


async def _never(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    del canon, caller, arguments  # the gateway composes this tool of other calls
    raise BrokenInvariant("tool.composed", "a composed tool is not run by itself")


TOOLS: Final[tuple[Tool, ...]] = (
    Tool(
        name="batch_call",
        title="Batch call",
        description=(
            "Call several tools in parallel; results come in order, each a reply or an error. "
            "Use it only for calls that do not depend on each other."
        ),
        input_schema=obj({"calls": array(_CALL).but(minItems=1, maxItems=_CALLS_MAX)}),
        output_schema=obj({"results": array(Field({"type": "object"}))}),
        roles=ANYONE,
        run=_never,
        compose=_together,
        read_only=False,
        extension=True,
    ),
)

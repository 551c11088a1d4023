"""Contents of proposals as callers are told of them: beside the tools, and as a resource."""

import json
from collections.abc import Mapping
from typing import Final

from canonry.canon.judging.content_shapes import CONTENT_SHAPES
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.tool import ANYONE, Resource

CONTENTS_URI: Final = "canonry://proposals/contents"
CONTENTS_TOLD: Final = "\n".join(
    ("", "content by type:", *(f"- {shape.takes}" for shape in CONTENT_SHAPES.values()))
)
"""What stands below the description of the tool that takes contents."""


async def _contents(canon: Canon, caller: Caller, variables: Mapping[str, str]) -> str:
    del canon, caller, variables  # the same for everybody
    schemas = {shape.type.value: shape.schema for shape in CONTENT_SHAPES.values()}
    return json.dumps(schemas, ensure_ascii=False, indent=2)


RESOURCES: Final[tuple[Resource, ...]] = (
    Resource(
        uri_template=CONTENTS_URI,
        name="proposal-contents",
        title="Contents of proposals",
        description="What the content of each type of proposal takes, as JSON schemas.",
        mime_type="application/json",
        roles=ANYONE,
        read=_contents,
    ),
)

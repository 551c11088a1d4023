"""Reading of the text of a reply, which holds errors too; clients see nothing else."""

import json
from typing import Any


def parse_result(result: Any) -> Any:
    """The JSON in the text of a result of the SDK's client, or of one as it came over the wire."""
    if isinstance(result, dict):
        return json.loads(result["content"][0]["text"])
    return json.loads(result.content[0].text)

"""The Python programs of this folder share their questions and the format of their output."""

import json
import sys

ASKED = json.loads(sys.argv[1])


def print_outcome(tools, results):
    """Print the outcome as one line of JSON."""
    print(json.dumps({"tools": sorted(tools), "results": results}))


def text_of(content):
    """The text of the parts of a result."""
    return "\n".join(getattr(part, "text", "") for part in content)

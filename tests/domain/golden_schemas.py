"""The fields of every schema that comes with Canonry, by its version, as they were published.

`python -m tests.domain.golden_schemas` writes the file anew, once a version has grown.
"""

import json
from pathlib import Path
from typing import Any

from canonry.log.schemas.truth_types import TRUTH_TYPES

FILE = Path(__file__).parent / "golden" / "schemas.json"


def read_published() -> dict[str, Any]:
    """Return the schemas in the file."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def make_current() -> dict[str, Any]:
    """The same of the schemas as they are."""
    return {
        name: {
            "version": schema.version,
            "fields": {spec.name: f"{spec.type}, {spec.policy}" for spec in schema.fields},
        }
        for name, schema in sorted(TRUTH_TYPES.items())
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps(make_current(), indent=1) + "\n", encoding="utf-8")

"""Pages of query replies: the limits that extension tools publish and contract tools enforce."""

from collections.abc import Mapping
from typing import Final

from canonry.gateway.tool import Schema

QUERY_MAX: Final = 500
"""The most items that one query answers."""

PAGING: Final[Mapping[str, Schema]] = {
    "limit": {"type": "integer", "default": 50, "maximum": QUERY_MAX},
    "offset": {"type": "integer", "default": 0},
}
"""The arguments of every query that is not the contract's."""

"""The tools of the operator toolset behind its face; importing this imports all of them."""

from typing import Final

from canonry.catalog.operator import FACE, catalog
from canonry.gateway.contract import ContractFile
from canonry.gateway.dialects import DialectTable
from canonry.gateway.replies import INVALID_PARAMS
from canonry.gateway.tool import Toolset
from canonry.values.errors import InvalidInput

_DIALECT: Final = DialectTable(
    not_allowed="NOT_ALLOWED",
    not_found="NOT_FOUND",
    invalid_input="INVALID_INPUT",
    conflict="CONFLICT",
    unavailable="UNAVAILABLE",
    not_supported="NOT_SUPPORTED",
    numbers={InvalidInput: INVALID_PARAMS},
)

OPERATOR: Final = Toolset(
    **FACE.told(),
    agent_types=catalog.ROLES,
    dialect=_DIALECT.flat,
    tools=catalog.TOOLS,
    words=ContractFile("canonry.catalog.operator", "words.json").published(),
)

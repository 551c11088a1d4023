"""The operator dialect: an error's class as a word, its own stable code, and its details."""

from typing import Final

from canonry.domain.errors import InvalidInput
from canonry.gateway.dialects import DialectTable
from canonry.gateway.replies import INVALID_PARAMS

dialect: Final = DialectTable(
    not_allowed="NOT_ALLOWED",
    not_found="NOT_FOUND",
    invalid_input="INVALID_INPUT",
    conflict="CONFLICT",
    unavailable="UNAVAILABLE",
    not_supported="NOT_SUPPORTED",
    numbers={InvalidInput: INVALID_PARAMS},
).flat

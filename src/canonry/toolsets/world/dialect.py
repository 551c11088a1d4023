"""The world dialect: errors as `{"error": {code, message, details}}`, the code being a word."""

from typing import Final

from canonry.gateway.dialects import DialectTable

dialect: Final = DialectTable(
    not_allowed="UNAUTHORIZED",
    not_found="NOT_FOUND",
    invalid_input="INVALID_ARGUMENT",
    conflict="CONFLICT",
    not_supported="NOT_SUPPORTED",
    unavailable="UNAVAILABLE",
    codes={"limits.rate": "RATE_LIMITED", "call.deadline": "DEADLINE_EXCEEDED"},
    internal="INTERNAL_ERROR",
).envelope

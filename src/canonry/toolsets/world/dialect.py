"""The world dialect: errors as `{"error": {code, message, details}}`, the code being a word."""

from typing import Final

from canonry.domain.errors import (
    Conflict,
    InvalidInput,
    NotAllowed,
    NotFound,
    NotSupported,
    Unavailable,
)
from canonry.gateway.dialects import DialectTable

dialect: Final = DialectTable(
    classes={
        NotAllowed: "UNAUTHORIZED",
        NotFound: "NOT_FOUND",
        InvalidInput: "INVALID_ARGUMENT",
        Conflict: "CONFLICT",
        NotSupported: "NOT_SUPPORTED",
        Unavailable: "UNAVAILABLE",
    },
    codes={"limits.rate": "RATE_LIMITED", "call.deadline": "DEADLINE_EXCEEDED"},
    internal="INTERNAL_ERROR",
).envelope

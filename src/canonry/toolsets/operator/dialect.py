"""The operator dialect: an error's class as a word, its own stable code, and its details."""

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
from canonry.gateway.replies import INVALID_PARAMS

dialect: Final = DialectTable(
    classes={
        NotAllowed: "NOT_ALLOWED",
        NotFound: "NOT_FOUND",
        InvalidInput: "INVALID_INPUT",
        Conflict: "CONFLICT",
        Unavailable: "UNAVAILABLE",
        NotSupported: "NOT_SUPPORTED",
    },
    numbers={InvalidInput: INVALID_PARAMS},
).flat

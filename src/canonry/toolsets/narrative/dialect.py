"""The narrative dialect: every error as one of the contract's six codes, with its data."""

from typing import Final

from canonry.gateway.dialects import DialectTable

dialect: Final = DialectTable(
    not_allowed="UNAUTHORIZED",
    not_found="NOT_FOUND",
    invalid_input="VALIDATION_ERROR",
    conflict="CONSTRAINT_VIOLATION",
    unavailable="TRANSACTION_FAILED",
    not_supported="NOT_SUPPORTED",
    codes={
        "scene.completed": "ALREADY_CANONIZED",
        "scene.in-progress": "IN_PROGRESS",
        "limits.rate": "RATE_LIMITED",
        "call.deadline": "DEADLINE_EXCEEDED",
        "document.too-slow": "DEADLINE_EXCEEDED",
        "document.no-reader": "UNAVAILABLE",
        "ledger.busy": "BUSY",
        "canon.contended": "BUSY",
        "ledger.closed": "UNAVAILABLE",
        "ledger.full": "UNAVAILABLE",
        "text.unavailable": "UNAVAILABLE",
    },
    numbers={"scene.completed": -32006},
).flat

"""The narrative dialect, row by row: error class or code, number, symbolic name, retryable."""

import pytest

from canonry.narrative.toolset.toolset import DIALECT
from canonry.testing.clocks import a_caller
from canonry.values.errors import (
    BrokenInvariant,
    CanonryError,
    Conflict,
    InvalidInput,
    NotAllowed,
    NotFound,
    NotSupported,
    Unavailable,
)

ROWS = [
    (NotAllowed("authority.denied", "no"), -32001, "UNAUTHORIZED", False),
    (NotFound("entity.unknown", "no"), -32002, "NOT_FOUND", False),
    (InvalidInput("text.empty", "no", path="/name"), -32003, "VALIDATION_ERROR", False),
    (Conflict("space.foreign", "no"), -32004, "CONSTRAINT_VIOLATION", False),
    (Conflict("scene.in-progress", "no"), -32004, "IN_PROGRESS", False),
    (Conflict("scene.completed", "no"), -32006, "ALREADY_CANONIZED", False),
    (Unavailable("canonization.partial", "no"), -32005, "TRANSACTION_FAILED", True),
    (Unavailable("limits.rate", "no"), -32005, "RATE_LIMITED", True),
    (Unavailable("call.deadline", "no"), -32005, "DEADLINE_EXCEEDED", True),
    (Unavailable("ledger.busy", "no"), -32005, "BUSY", True),
    (Unavailable("canon.contended", "no"), -32005, "BUSY", True),
    (Unavailable("ledger.closed", "no"), -32005, "UNAVAILABLE", True),
    (Unavailable("ledger.full", "no"), -32005, "UNAVAILABLE", True),
    (Unavailable("text.unavailable", "no"), -32005, "UNAVAILABLE", True),
    (NotSupported("backend.limits", "no"), -32005, "NOT_SUPPORTED", False),
    (BrokenInvariant("canon.dangling-entry", "no"), -32603, "INTERNAL", False),
]


@pytest.mark.parametrize(("error", "number", "name", "retryable"), ROWS, ids=str)
def test_an_error_has_its_number_name_and_code(
    error: CanonryError, number: int, name: str, retryable: bool
) -> None:
    body = DIALECT(error, tool="neo4j_get_entity", caller=a_caller())

    assert body.code == number
    assert body.message == error.message
    assert body.data["error"] == name
    assert body.data["code"] == error.code
    assert body.data["retryable"] is retryable


def test_details_are_passed_on() -> None:
    error = Conflict("relation.opposed", "no", conflicts=["a", "b"])

    body = DIALECT(error, tool="neo4j_create_relationship", caller=a_caller())

    assert body.data["conflicts"] == ["a", "b"]
    assert "tool" not in body.data


def test_a_refused_caller_is_named_by_type_and_never_by_id() -> None:
    caller = a_caller("Narrator")

    body = DIALECT(NotAllowed("space.bound", "no"), tool="neo4j_create_universe", caller=caller)

    assert body.data["tool"] == "neo4j_create_universe"
    assert body.data["agent_type"] == "Narrator"
    assert caller.actor.agent_id not in str(body.data)


def test_no_caller_is_named_without_identification() -> None:
    body = DIALECT(NotAllowed("identity.missing", "no"), tool="neo4j_get_entity", caller=None)

    assert set(body.data) == {"error", "code", "retryable"}

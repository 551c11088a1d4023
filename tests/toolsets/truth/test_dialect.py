"""The dialect: every class of error and every code with one of its own, as the contract has it."""

import pytest

from canonry.records.toolset.contract import published
from canonry.records.toolset.toolset import CODES, code_of, truth_error
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

ROWS: list[tuple[CanonryError, str, str, int]] = [
    (InvalidInput("x.y", "no"), "ingest", "VALIDATION_ERROR", 400),
    (Conflict("x.y", "no"), "ingest", "VALIDATION_ERROR", 400),
    (NotSupported("x.y", "no"), "ingest", "VALIDATION_ERROR", 400),
    (NotAllowed("x.y", "no"), "ingest", "UNAUTHORIZED", 403),
    (NotFound("entity.unknown", "no"), "correct", "ENTITY_NOT_FOUND", 404),
    (NotFound("source.unknown", "no"), "reinterpret", "SOURCE_NOT_FOUND", 404),
    (NotFound("file.unknown", "no"), "get_file_url", "FILE_NOT_FOUND", 404),
    (NotFound("field.unknown", "no"), "get_field_provenance", "FIELD_NOT_FOUND", 404),
    (NotFound("relationship.unknown", "no"), "x", "RELATIONSHIP_NOT_FOUND", 404),
    (InvalidInput("file.too-large", "no"), "ingest", "FILE_TOO_LARGE", 400),
    (InvalidInput("document.unsupported", "no"), "ingest", "UNSUPPORTED_FILE_TYPE", 400),
    (InvalidInput("relationship.type-unknown", "no"), "x", "INVALID_RELATIONSHIP_TYPE", 400),
    (Conflict("relationship.cycle", "no"), "create_relationship", "CYCLE_DETECTED", 400),
    (Conflict("entity.already-merged", "no"), "merge_entities", "ENTITY_ALREADY_MERGED", 400),
    (Conflict("entity.not-merged", "no"), "unmerge_entities", "ENTITY_NOT_MERGED", 400),
    (Unavailable("limits.rate", "no"), "ingest", "RATE_LIMIT_EXCEEDED", 429),
    (Unavailable("interpretation.quota", "no"), "ingest", "QUOTA_EXCEEDED", 429),
    (Unavailable("interpretation.failed", "no"), "ingest", "ANALYSIS_FAILED", 500),
    (Unavailable("blobs.full", "no"), "upload_file", "UPLOAD_FAILED", 500),
    (Unavailable("blobs.full", "no"), "ingest", "DB_INSERT_FAILED", 500),
    (Unavailable("ledger.full", "no"), "upload_file", "DB_INSERT_FAILED", 500),
    (Unavailable("file.signing-failed", "no"), "get_file_url", "SIGNING_FAILED", 500),
    (Unavailable("ledger.full", "no"), "ingest", "DB_INSERT_FAILED", 500),
    (Unavailable("ledger.busy", "no"), "merge_entities", "DB_UPDATE_FAILED", 500),
    (Unavailable("ledger.closed", "no"), "retrieve_entities", "DB_QUERY_FAILED", 500),
    (Unavailable("call.deadline", "no"), "ingest", "SERVICE_UNAVAILABLE", 503),
    (BrokenInvariant("internal", "no"), "ingest", "INTERNAL_ERROR", 500),
]


@pytest.mark.parametrize(("error", "tool", "code", "status"), ROWS)
def test_an_error_has_the_code_and_status_of_the_contract(
    error: CanonryError, tool: str, code: str, status: int
) -> None:
    body = truth_error(error, tool=tool, caller=None, trace_id="t-1")
    assert body.wire is not None
    said = body.wire["error"]
    assert (said["code"], said["http_status"], said["trace_id"]) == (code, status, "t-1")
    assert said["details"] == {"reason": error.code, "retryable": error.retryable}


NEVER = {"DB_DELETE_FAILED"}
"""Codes that the contract lists and no action ends with: none of them deletes anything."""


def test_every_code_of_the_contract_has_a_row() -> None:
    assert {code for _, _, code, _ in ROWS} | NEVER == set(published()["errors"])
    assert not {code for _, _, code, _ in ROWS} & NEVER
    assert set(CODES.values()) <= set(published()["errors"])
    assert set(published()["additive_errors"]) <= set(published()["errors"])


def test_the_wait_is_given_in_seconds() -> None:
    error = Unavailable("limits.rate", "slow down", retry_after=1.5)
    body = truth_error(error, tool="ingest", caller=None)
    assert body.data["details"]["retry_after_seconds"] == 2
    assert code_of(error, "ingest") == "RATE_LIMIT_EXCEEDED"

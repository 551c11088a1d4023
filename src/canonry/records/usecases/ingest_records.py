"""Ingest records: what somebody hands over as data becomes a source, observations and snapshots."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from canonry.canon.session.account import require_account, within_account
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.pacing import OF_RECORD, aside
from canonry.log.items.sources import SourceType
from canonry.records.domain.interpretations import Found
from canonry.records.usecases.read_records import Statement
from canonry.records.usecases.record_source import Recorded, record_source
from canonry.records.usecases.source_of_words import source_of_words
from canonry.values.errors import InvalidInput
from canonry.values.json_values import canonical_json
from canonry.values.observations import (
    PRIORITY_CORRECTION,
    PRIORITY_STRUCTURED,
    SPECIFICITY_STATED,
)
from canonry.values.time import SECOND, Instant

ENTITY_TYPE: Final = "entity_type"
SKEW: Final = 60 * SECOND
"""So far two clocks may be apart."""

_CODE: Final = "codebase_entity"
_CONFIG: Final = {"provider": "records"}


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenRecords:
    """Records as they are handed over, and who read them out of what, and when."""

    entities: Sequence[Mapping[str, Any]]
    priority: int = PRIORITY_STRUCTURED
    observed_at: Instant | None = None
    provenance: Mapping[str, Any] | None = None


async def ingest_records(
    canon: Canon, caller: Caller, user_id: str | None, given: GivenRecords
) -> Recorded:
    """Keep the records, all of them or none.

    Raises:
        InvalidInput: `user.mismatch`, `records.none`, `records.priority`, `time.future`, or as
            recording says.
    """
    account = require_account(caller, user_id)
    if not given.entities:
        message = "hand over at least one entity, or a file"
        raise InvalidInput("records.none", message, path="/entities")
    if not 0 <= given.priority < PRIORITY_CORRECTION:
        most = PRIORITY_CORRECTION - 1
        message = f"source_priority lies between 0 and {most}; a correction has more"
        raise InvalidInput("records.priority", message, path="/source_priority")
    if given.observed_at is not None and given.observed_at > canon.clock.now() + SKEW:
        message = "extracted_at lies in the future, where it would outlast all that is said later"
        raise InvalidInput("time.future", message, path="/provenance/extracted_at")
    weight = len(given.entities) * OF_RECORD
    content, records = await aside(weight, lambda: _taken(given.entities))
    source = source_of_words(account, SourceType.RECORDS, content, given.provenance)
    statement = Statement(
        account=account,
        source=source,
        config=_CONFIG,
        records=records,
        priority=given.priority,
        specificity=SPECIFICITY_STATED,
        observed_at=given.observed_at,
        repeatable=True,
        started_at=canon.clock.now(),
    )
    return await record_source(canon, within_account(caller), statement)


def _taken(entities: Sequence[Mapping[str, Any]]) -> tuple[bytes, Sequence[Found]]:
    """The records as they are kept, and as they are recorded."""
    return canonical_json(entities), [_found(each) for each in entities]


def _found(record: Mapping[str, Any]) -> Found:
    fields = {name: value for name, value in record.items() if name != ENTITY_TYPE}
    kind = str(record[ENTITY_TYPE])
    inner = fields.get("fields")
    if kind == _CODE and isinstance(inner, Mapping):  # whose own kind is called entity_type too
        own = {f"codebase_{n}" if n == ENTITY_TYPE else n: v for n, v in inner.items()}
        fields = {**own, **{n: v for n, v in fields.items() if n != "fields"}}
    return Found(entity_type=kind, fields=fields)

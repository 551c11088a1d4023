"""Sources, interpretation runs and accounts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha1, sha256
from typing import Any, Final

from canonry.values.audience import EVERYBODY, Audience
from canonry.values.ids import (
    EntityId,
    ObservationId,
    RelationId,
    RunId,
    SnippetId,
    SourceId,
    SpaceId,
    is_uuid,
)
from canonry.values.json_values import encode_json
from canonry.values.moments import Instant
from canonry.values.provenance import CanonLevel


class SourceType(StrEnum):
    """What kind of document a source is."""

    MANUAL = "manual"
    RULEBOOK = "rulebook"
    LORE = "lore"
    SESSION = "session"
    DOCUMENT = "document"
    RECORDS = "records"
    CORRECTION = "correction"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceDraft:
    """A document by its title and edition; `doc_id` is the caller's own name for it.

    What came as bytes has their hash and says where they are kept: `files` are storage keys, the
    first that of the source itself. What came as values has them as JSON in `content`.
    `said_at` is when it was written.
    """

    id: SourceId
    space: SpaceId
    doc_id: str
    title: str
    edition: str | None
    origin: str | None
    source_type: SourceType
    level: CanonLevel
    content_hash: str | None = None
    mime_type: str | None = None
    size: int | None = None
    file_name: str | None = None
    files: tuple[str, ...] = ()
    content: str | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)
    audience: Audience = EVERYBODY
    said_at: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(SourceDraft):
    """A source in the log."""

    created_at: Instant
    position: int
    changed_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SnippetDraft:
    """An excerpt of a source, small enough to cite; `index` is its place among the excerpts."""

    id: SnippetId
    space: SpaceId
    source_id: SourceId
    text: str
    page: int | None
    section: str | None
    index: int
    audience: Audience = EVERYBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet(SnippetDraft):
    """A snippet in the log."""

    created_at: Instant
    position: int
    changed_at: int


class RunStatus(StrEnum):
    """How a run ended."""

    COMPLETED = "completed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDraft:
    """One reading of one source; it is recorded when it has ended, also when it failed.

    `config` is all that decides the outcome; `error` is the stable code of what went wrong.
    """

    id: RunId
    space: SpaceId
    source_id: SourceId
    config: Mapping[str, Any]
    status: RunStatus
    entities_created: int = 0
    observations_created: int = 0
    fragments: int = 0
    warnings: tuple[str, ...] = ()
    error: str | None = None
    started_at: Instant
    ended_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class InterpretationRun(RunDraft):
    """A run in the log."""

    created_at: Instant
    position: int
    changed_at: int


# Accounts: a person's own canon; every id in it follows from the user and from what was said.
#
# The same document, record or edge of the same user has the same id on every machine, and never the
# id of another user's.

NAMESPACE: Final = "6f2f0a3e-3d0f-5d0c-9d3a-8f5d1c0a7b42"
"""The name space of the name-based UUIDs (version 5 of RFC 9562) that are made here."""

DEFAULT_USER: Final = "00000000-0000-0000-0000-000000000000"
"""The user of a local server that was told of no other."""

ALIAS_PREFIX: Final = "ent_"
_ALIAS_DIGITS: Final = 24
_APART: Final = "\x1f"
_NAMESPACE: Final = bytes.fromhex(NAMESPACE.replace("-", ""))


def user_id_of(user: str | None) -> str:
    """The id of an authenticated user, who may be named otherwise than by a UUID."""
    if user is None:
        return DEFAULT_USER
    return user.lower() if is_uuid(user) else _derived("user", user)


def account_space(user_id: str) -> SpaceId:
    """The space of a user's own canon."""
    return SpaceId(_derived("account", user_id))


def source_id_of(user_id: str, content_hash: str) -> SourceId:
    """The id of a document by its bytes."""
    return SourceId(_name_based(f"{user_id}:{content_hash}"))


def run_id_of(source_id: str, config: Mapping[str, Any]) -> str:
    """The id of an interpretation of a source: equal for equal configurations."""
    return _derived("run", source_id, encode_json(config).decode())


def relation_id_of(user_id: str, rel_type: str, from_id: str, to_id: str) -> RelationId:
    """The id of the edge of a type between two entities."""
    return RelationId(_derived("relation", user_id, rel_type, from_id, to_id))


def correction_id_of(entity_id: str, field: str, value: Any, before: str) -> ObservationId:
    """The id of a correction; `before` is the correction that it follows, or nothing."""
    said = encode_json(value).decode()
    return ObservationId(_derived("correction", entity_id, field, said, before))


def entity_id_of(user_id: str, entity_type: str, key: str) -> EntityId:
    """The id of the entity of a type with an identity key.

    The last eight digits follow from the others, so that the short alias leads to the id.
    """
    digits = sha256(_APART.join((user_id, entity_type, key)).encode()).hexdigest()
    variant = "89ab"[int(digits[16], 16) % 4]
    return _completed(f"{digits[:12]}8{digits[13:16]}{variant}{digits[17:24]}")


def alias_of(entity_id: str) -> str | None:
    """The short alias `ent_<24 hexadecimal digits>` of an id that `entity_id_of` made."""
    head = entity_id.replace("-", "")[:_ALIAS_DIGITS]
    return ALIAS_PREFIX + head if _completed(head) == entity_id else None


def entity_id_behind(alias: str) -> EntityId | None:
    """The id that an alias stands for, if it is one."""
    head = alias.removeprefix(ALIAS_PREFIX).lower()
    digits = frozenset("0123456789abcdef")
    if not alias.startswith(ALIAS_PREFIX) or len(head) != _ALIAS_DIGITS or set(head) - digits:
        return None
    return _completed(head)


def _completed(head: str) -> EntityId:
    digits = head + sha256(head.encode()).hexdigest()[:8]
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    return EntityId("-".join(parts))


def _derived(*parts: str) -> str:
    return _name_based(_APART.join(parts))


def _name_based(name: str) -> str:
    digits = sha1(
        _NAMESPACE + name.encode(), usedforsecurity=False
    ).hexdigest()  # as the RFC has it
    variant = "89ab"[int(digits[16], 16) % 4]
    return f"{digits[:8]}-{digits[8:12]}-5{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:32]}"

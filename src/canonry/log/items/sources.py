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
    """The kind of document that a source is."""

    MANUAL = "manual"
    RULEBOOK = "rulebook"
    LORE = "lore"
    SESSION = "session"
    DOCUMENT = "document"
    RECORDS = "records"
    CORRECTION = "correction"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceDraft:
    """A document with its title and edition; `doc_id` is the caller's own name for it.

    A document that came as bytes has their hash and the storage keys `files`, the source's own
    first. One that came as values has them as JSON in `content`. `said_at` is the date on which it
    was written.
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


QUOTES_ID: Final = "said"
"""The `doc_id` of the documents that hold the words of claims, one for each audience."""


def holds_quotes(item: object) -> bool:
    """Return whether an item is a document that holds the words of claims."""
    return isinstance(item, SourceDraft) and item.doc_id == QUOTES_ID


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(SourceDraft):
    """A source in the log."""

    created_at: Instant
    position: int
    changed_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SnippetDraft:
    """An excerpt of a source, short enough to cite; `index` is its number among the excerpts."""

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
    """The outcome of a run."""

    COMPLETED = "completed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDraft:
    """One reading of one source, recorded when it ends, also when it failed.

    `config` is all that determines the outcome; `error` is a stable code.
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


# Accounts: a person's own canon. Ids derive from the user and the content.
#
# The same document, record or relation of a user has the same id on every machine, and never the id
# of another user's.

NAMESPACE: Final = "6f2f0a3e-3d0f-5d0c-9d3a-8f5d1c0a7b42"
"""The namespace of the name-based UUIDs (version 5 of RFC 9562) below."""

DEFAULT_USER: Final = "00000000-0000-0000-0000-000000000000"
"""The user of a local server that was started without one."""

ALIAS_PREFIX: Final = "ent_"
_ALIAS_DIGITS: Final = 24
_APART: Final = "\x1f"
_NAMESPACE: Final = bytes.fromhex(NAMESPACE.replace("-", ""))


def user_id_of(user: str | None) -> str:
    """Return the id of an authenticated user, whose name need not be a UUID."""
    if user is None:
        return DEFAULT_USER
    return user.lower() if is_uuid(user) else name_based("user", user)


def account_space(user_id: str) -> SpaceId:
    """Return the space of a user's own canon."""
    return SpaceId(name_based("account", user_id))


def source_id_of(user_id: str, content_hash: str) -> SourceId:
    """Return the id of a document from the hash of its bytes."""
    return SourceId(name_based(f"{user_id}:{content_hash}"))


def run_id_of(source_id: str, config: Mapping[str, Any]) -> str:
    """Return the id of an interpretation of a source. Equal configurations have equal ids."""
    return name_based("run", source_id, encode_json(config).decode())


def relation_id_of(user_id: str, rel_type: str, from_id: str, to_id: str) -> RelationId:
    """Return the id of the relation of a type between two entities."""
    return RelationId(name_based("relation", user_id, rel_type, from_id, to_id))


def correction_id_of(entity_id: str, field: str, value: Any, before: str) -> ObservationId:
    """Return the id of a correction; `before` is the id of the correction that it follows."""
    encoded = encode_json(value).decode()
    return ObservationId(name_based("correction", entity_id, field, encoded, before))


def entity_id_of(user_id: str, entity_type: str, key: str) -> EntityId:
    """Return the id of the entity of a type with an identity key.

    The last eight digits derive from the others, so that the short alias determines the id.
    """
    digits = sha256(_APART.join((user_id, entity_type, key)).encode()).hexdigest()
    variant = "89ab"[int(digits[16], 16) % 4]
    return _complete_id(f"{digits[:12]}8{digits[13:16]}{variant}{digits[17:24]}")


def alias_of(entity_id: str) -> str | None:
    """Return the short alias `ent_<24 hexadecimal digits>` of an id from `entity_id_of`."""
    head = entity_id.replace("-", "")[:_ALIAS_DIGITS]
    return ALIAS_PREFIX + head if _complete_id(head) == entity_id else None


def entity_id_of_alias(alias: str) -> EntityId | None:
    """Return the id that an alias stands for; None: it is not an alias."""
    head = alias.removeprefix(ALIAS_PREFIX).lower()
    digits = frozenset("0123456789abcdef")
    if not alias.startswith(ALIAS_PREFIX) or len(head) != _ALIAS_DIGITS or set(head) - digits:
        return None
    return _complete_id(head)


def _complete_id(head: str) -> EntityId:
    digits = head + sha256(head.encode()).hexdigest()[:8]
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    return EntityId("-".join(parts))


def name_based(*parts: str, namespace: bytes = _NAMESPACE) -> str:
    """Return the UUID of a name of one or several parts, of version 5 as the RFC prescribes."""
    name = _APART.join(parts)
    digits = sha1(namespace + name.encode(), usedforsecurity=False).hexdigest()
    variant = "89ab"[int(digits[16], 16) % 4]
    return f"{digits[:8]}-{digits[8:12]}-5{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:32]}"

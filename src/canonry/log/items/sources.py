"""Sources: documents outside the world that its canon rests on, and excerpts of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from canonry.values.audience import EVERYBODY, Audience
from canonry.values.ids import SnippetId, SourceId, SpaceId
from canonry.values.provenance import CanonLevel
from canonry.values.time import Instant


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

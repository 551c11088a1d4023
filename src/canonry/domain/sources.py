"""Sources: documents outside the world that its canon rests on, and excerpts of them."""

from dataclasses import dataclass
from enum import StrEnum

from canonry.domain.ids import SnippetId, SourceId, SpaceId
from canonry.domain.provenance import CanonLevel
from canonry.domain.time import Instant


class SourceType(StrEnum):
    """What kind of document a source is."""

    MANUAL = "manual"
    RULEBOOK = "rulebook"
    LORE = "lore"
    SESSION = "session"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A document by its title and edition; `doc_id` is the caller's own name for it."""

    id: SourceId
    space: SpaceId
    doc_id: str
    title: str
    edition: str | None
    origin: str | None
    source_type: SourceType
    level: CanonLevel
    created_at: Instant
    position: int
    changed_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """An excerpt of a source, small enough to cite; `index` is its place among the excerpts."""

    id: SnippetId
    space: SpaceId
    source_id: SourceId
    text: str
    page: int | None
    section: str | None
    index: int
    created_at: Instant
    position: int
    changed_at: int

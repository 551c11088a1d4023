"""The words of a catalog: kinds of items, their states, and which relation may join which kinds.

A word here is stored and published as it stands; none is ever taken away.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

CONTENT_KINDS: Final = ("guide", "concept", "project", "news")
"""Kinds of entity: they share one range of ids within a project, and agents see them."""

SOURCE_ITEM: Final = "sourceItem"
DISTRIBUTION_EVENT: Final = "distributionEvent"
VIDEO: Final = "video"
ITEM_KINDS: Final = (*CONTENT_KINDS, SOURCE_ITEM, DISTRIBUTION_EVENT, VIDEO)
"""Every kind that a relation can touch."""

DRAFT: Final = "draft"
PUBLISH_REQUESTED: Final = "publish_requested"
PUBLISHED: Final = "published"
ARCHIVED: Final = "archived"
STATUSES: Final = (DRAFT, PUBLISH_REQUESTED, PUBLISHED, ARCHIVED)

DIFFICULTIES: Final = ("beginner", "intermediate", "advanced")
CONCEPT_KINDS: Final = ("standard", "model", "comparison")
SOURCE_TYPES: Final = ("rss", "webpage", "comment", "reply", "video", "other")
SOURCE_STATUSES: Final = ("ingested", "triaged", "used", "archived")
CAPTURERS: Final = ("human", "llm", "system")
PLATFORMS: Final = (
    "website",
    "x",
    "youtube",
    "github",
    "reddit",
    "hackernews",
    "substack",
    "linkedin",
    "discord",
    "other",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Joint:
    """Which kinds a relation leads from and to."""

    source: str
    target: str


RELATIONS: Final[Mapping[str, Joint]] = {
    "GUIDE_USES_CONCEPT": Joint(source="guide", target="concept"),
    "GUIDE_EXPLAINS_CONCEPT": Joint(source="guide", target="concept"),
    "GUIDE_REFERENCES_SOURCE": Joint(source="guide", target=SOURCE_ITEM),
    "CONCEPT_RELATES_TO_CONCEPT": Joint(source="concept", target="concept"),
    "CONCEPT_REFERENCES_SOURCE": Joint(source="concept", target=SOURCE_ITEM),
    "NEWS_DERIVED_FROM_SOURCE": Joint(source="news", target=SOURCE_ITEM),
    "NEWS_REFERENCES_SOURCE": Joint(source="news", target=SOURCE_ITEM),
    "NEWS_REFERENCES_CONCEPT": Joint(source="news", target="concept"),
    "PROJECT_IMPLEMENTS_CONCEPT": Joint(source="project", target="concept"),
    "PROJECT_REFERENCES_SOURCE": Joint(source="project", target=SOURCE_ITEM),
    "PROJECT_HAS_GUIDE": Joint(source="project", target="guide"),
    "DISTRIBUTION_PROMOTES_GUIDE": Joint(source=DISTRIBUTION_EVENT, target="guide"),
    "DISTRIBUTION_PROMOTES_CONCEPT": Joint(source=DISTRIBUTION_EVENT, target="concept"),
    "DISTRIBUTION_PROMOTES_PROJECT": Joint(source=DISTRIBUTION_EVENT, target="project"),
    "DISTRIBUTION_PROMOTES_NEWS": Joint(source=DISTRIBUTION_EVENT, target="news"),
    "VIDEO_EXPLAINS_GUIDE": Joint(source=VIDEO, target="guide"),
    "VIDEO_EXPLAINS_CONCEPT": Joint(source=VIDEO, target="concept"),
    "VIDEO_EXPLAINS_PROJECT": Joint(source=VIDEO, target="project"),
    "VIDEO_EXPLAINS_NEWS": Joint(source=VIDEO, target="news"),
}
"""The nineteen types of relation; each leads from items of one kind to items of one kind."""

LINKS: Final = tuple(
    name
    for name, joint in RELATIONS.items()
    if joint.source in CONTENT_KINDS and joint.target in CONTENT_KINDS
)
"""The types that join two entities, which are the edges of an entity's graph."""

"""Tables and kinds of catalogs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

# The vocabulary of a catalog: kinds of items, their states, and the relations between kinds.
#
# The words are stored and published as they are; never remove one.

CONTENT_KINDS: Final = ("guide", "concept", "project", "news")
"""Kinds of entities. They share one range of ids within a project, and agents see them."""

SOURCE_ITEM: Final = "sourceItem"
DISTRIBUTION_EVENT: Final = "distributionEvent"
VIDEO: Final = "video"
ITEM_KINDS: Final = (*CONTENT_KINDS, SOURCE_ITEM, DISTRIBUTION_EVENT, VIDEO)
"""Every kind that a relation can join."""

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
    """The kinds that a relation leads from and to."""

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
"""The nineteen relation types; each joins items of one kind with items of one kind."""

LINKS: Final = tuple(
    name
    for name, joint in RELATIONS.items()
    if joint.source in CONTENT_KINDS and joint.target in CONTENT_KINDS
)
"""The types that join two entities, which are the edges of an entity's graph."""


# The tables of a catalog file: the fields of a row, their types and defaults.
#
# Imports check rows against them, exports write fields in this order, and the operator's tools
# derive their schemas from them.

NAME_MAX: Final = 1_000
TEXT_MAX: Final = 20_000
CREATED_AT: Final = "createdAt"
UPDATED_AT: Final = "updatedAt"


class Form(StrEnum):
    """The type of a field."""

    TEXT = "text"
    ADDRESS = "address"
    WORD = "word"
    UUID = "uuid"
    UUIDS = "uuids"
    INSTANT = "instant"
    COUNT = "count"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One field of a row; ADDRESS is a URL that a reader may open.

    `words` are the allowed values of a WORD. A field that is not `required` may be null or missing,
    and then has its `default`. `empty` allows an empty text.
    """

    name: str
    form: Form = Form.TEXT
    required: bool = False
    words: tuple[str, ...] = ()
    longest: int = TEXT_MAX
    empty: bool = True
    default: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogTable:
    """The rows of one array of a catalog file.

    `title` is the field with an item's name, `told` the one with its description. `unique` is the
    field that no two items of a kind and project share. `kind` is None if a field gives it.
    """

    array: str
    noun: str
    columns: tuple[Column, ...]
    kind: str | None = None
    title: str = ""
    told: str = ""
    unique: str = ""
    names: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        """Index the columns by name."""
        object.__setattr__(self, "names", frozenset(column.name for column in self.columns))

    def column(self, name: str) -> Column:
        """Return the column of that name."""
        return next(column for column in self.columns if column.name == name)


def _id(name: str = "id") -> Column:
    return Column(name=name, form=Form.UUID, required=True)


def _name(name: str, *, empty: bool = False) -> Column:
    return Column(name=name, required=True, longest=NAME_MAX, empty=empty)


def _word(name: str, words: tuple[str, ...], *, default: str | None = None) -> Column:
    return Column(name=name, form=Form.WORD, words=words, default=default)


def _kind(name: str, words: tuple[str, ...]) -> Column:
    return Column(name=name, form=Form.WORD, required=True, words=words)


def _instants(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name=name, form=Form.INSTANT) for name in names)


PROJECTS: Final = CatalogTable(
    array="projects",
    noun="project",
    unique="slug",
    title="name",
    columns=(
        _id(),
        _name("name"),
        _name("slug", empty=True),
        Column(name="description"),
        *_instants(CREATED_AT, UPDATED_AT),
    ),
)
ENTITIES: Final = CatalogTable(
    array="entities",
    noun="entity",
    title="title",
    told="summary",
    unique="slug",
    columns=(
        _id(),
        _id("projectId"),
        _kind("entityType", CONTENT_KINDS),
        _name("title"),
        _name("slug", empty=True),
        Column(name="summary"),
        _word("difficulty", DIFFICULTIES),
        _word("conceptKind", CONCEPT_KINDS),
        Column(name="comparisonTargets", form=Form.UUIDS, default=()),
        Column(name="repoUrl", form=Form.ADDRESS),
        Column(name="repoDefaultBranch"),
        Column(name="license"),
        _word("status", STATUSES, default=DRAFT),
        Column(name="canonicalUrl", form=Form.ADDRESS),
        Column(name="contentRef", form=Form.ADDRESS),
        *_instants("publishedAt", "archivedAt", "lastVerifiedAt", CREATED_AT, UPDATED_AT),
    ),
)
SOURCE_ITEMS: Final = CatalogTable(
    array="sourceItems",
    noun="source item",
    kind=SOURCE_ITEM,
    title="url",
    told="operatorIntent",
    unique="url",
    columns=(
        _id(),
        _id("projectId"),
        _kind("sourceType", SOURCE_TYPES),
        _word("platform", PLATFORMS, default="other"),
        Column(name="url", form=Form.ADDRESS, required=True, empty=False),
        *_instants("capturedAt"),
        _word("capturedBy", CAPTURERS, default="human"),
        Column(name="contentHash"),
        Column(name="snapshotRef", form=Form.ADDRESS),
        Column(name="snapshotMime"),
        Column(name="snapshotBytes", form=Form.COUNT),
        Column(name="operatorIntent", required=True),
        Column(name="notes"),
        _word("status", SOURCE_STATUSES, default="ingested"),
        *_instants("archivedAt"),
        Column(name="sourceFeedId", form=Form.UUID),
        *_instants(CREATED_AT, UPDATED_AT),
    ),
)


def _outlet(array: str, noun: str, kind: str) -> CatalogTable:
    """Return a table of publications elsewhere about one entity."""
    return CatalogTable(
        array=array,
        noun=noun,
        kind=kind,
        title="externalUrl",
        columns=(
            _id(),
            _id("projectId"),
            _kind("platform", PLATFORMS),
            Column(name="externalUrl", form=Form.ADDRESS, required=True, empty=False),
            _word("status", STATUSES, default=DRAFT),
            *_instants("publishedAt", "archivedAt"),
            _kind("primaryEntityType", CONTENT_KINDS),
            _id("primaryEntityId"),
            *_instants(CREATED_AT, UPDATED_AT),
        ),
    )


DISTRIBUTION_EVENTS: Final = _outlet("distributionEvents", "distribution event", DISTRIBUTION_EVENT)
VIDEOS: Final = _outlet("videos", "video", VIDEO)
RELATION_ROWS: Final = CatalogTable(
    array="relations",
    noun="relation",
    columns=(
        _id(),
        _id("projectId"),
        _kind("fromEntityType", ITEM_KINDS),
        _id("fromEntityId"),
        _kind("toEntityType", ITEM_KINDS),
        _id("toEntityId"),
        _kind("relationType", tuple(RELATIONS)),
        Column(name="notes"),
        *_instants(CREATED_AT),
    ),
)

TABLES: Final[Mapping[str, CatalogTable]] = {
    table.array: table
    for table in (PROJECTS, ENTITIES, SOURCE_ITEMS, DISTRIBUTION_EVENTS, VIDEOS, RELATION_ROWS)
}
"""The arrays of a catalog file, ordered so that rows refer only to earlier ones."""

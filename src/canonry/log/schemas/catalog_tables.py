"""The tables of a catalog file: which fields a row has, of which type, and what is left out.

An import checks rows by these, an export writes them in this order, and the tools of an operator
publish their schemas from them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from canonry.log.schemas.catalog_kinds import (
    CAPTURERS,
    CONCEPT_KINDS,
    CONTENT_KINDS,
    DIFFICULTIES,
    DISTRIBUTION_EVENT,
    DRAFT,
    ITEM_KINDS,
    PLATFORMS,
    RELATIONS,
    SOURCE_ITEM,
    SOURCE_STATUSES,
    SOURCE_TYPES,
    STATUSES,
    VIDEO,
)

NAME_MAX: Final = 1_000
TEXT_MAX: Final = 20_000
CREATED_AT: Final = "createdAt"
UPDATED_AT: Final = "updatedAt"


class Form(StrEnum):
    """What a field holds."""

    TEXT = "text"
    ADDRESS = "address"
    WORD = "word"
    UUID = "uuid"
    UUIDS = "uuids"
    INSTANT = "instant"
    COUNT = "count"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One field of a row; an ADDRESS is a text that somebody may follow.

    `words` are all that a WORD may be. A field that is not `required` may be null or missing, and
    is `default` then. `empty` allows a text without a character.
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

    `title` is the field that names an item, `told` the one that describes it, and `unique` the
    one that no two items of a kind and project share; `kind` is None where a field says it.
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
        """Note the names of the columns."""
        object.__setattr__(self, "names", frozenset(column.name for column in self.columns))

    def column(self, name: str) -> Column:
        """The column of that name."""
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
    """A table of what was published elsewhere about one entity."""
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
"""The arrays of a catalog file, in the order in which their rows may refer to each other."""

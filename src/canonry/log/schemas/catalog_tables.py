"""Tables and kinds of catalogs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from importlib.resources import files
from typing import Any, Final

from canonry.values.json_values import decode_json, read_value

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

CONCEPT_KINDS: Final = ("standard", "model", "comparison")


@dataclass(frozen=True, slots=True, kw_only=True)
class Joint:
    """The kinds that a relation leads from and to."""

    source: str
    target: str


_DATA: Final = decode_json(files(__package__).joinpath("catalog_tables.json").read_bytes())

RELATIONS: Final[Mapping[str, Joint]] = {
    name: Joint(**kinds) for name, kinds in _DATA["relations"].items()
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

NAME_MAX: Final = 1_000  # bounds the indexed keys of a name
TEXT_MAX: Final = 20_000  # bounds a row, of which one reply holds many
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

    `options` are the values of a WORD. A field that is not `required` may be null or missing,
    and then has its `default`. `empty` allows an empty text.
    """

    name: str
    form: Form = Form.TEXT
    required: bool = False
    options: tuple[str, ...] = ()
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


_OPTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "content kinds": CONTENT_KINDS,
    "item kinds": ITEM_KINDS,
    "statuses": STATUSES,
    "concept kinds": CONCEPT_KINDS,
    "relations": tuple(RELATIONS),
    **{name: tuple(words) for name, words in _DATA["options"].items()},
}
"""The values of columns that share them, by the name that the file has for them."""


def _read_column(data: Mapping[str, Any]) -> Column:
    options, default = data.get("options", ()), data.get("default")
    members = {
        **data,
        "options": _OPTIONS[options] if isinstance(options, str) else options,
        "default": tuple(default) if isinstance(default, list) else default,
    }
    return read_value(members, Column)


TABLES: Final[Mapping[str, CatalogTable]] = {
    row["array"]: CatalogTable(**{**row, "columns": tuple(map(_read_column, row["columns"]))})
    for row in _DATA["tables"]
}
"""The arrays of a catalog file, ordered so that rows refer only to earlier ones."""

PROJECTS, ENTITIES, SOURCE_ITEMS, DISTRIBUTION_EVENTS, VIDEOS, RELATION_ROWS = TABLES.values()

"""A catalog: projects, their items and relations, as spaces, entities and relations of the canon.

Ids of a catalog are unique per project and kind alone, so that a thing's own id is derived from all
three; the id that a contract shows is kept as a field.
"""

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha1
from typing import Any, Final

from canonry.log.entries import Thing
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Relation
from canonry.log.schemas.catalog_tables import (
    CONTENT_KINDS,
    CREATED_AT,
    DISTRIBUTION_EVENTS,
    ENTITIES,
    ITEM_KINDS,
    RELATIONS,
    SOURCE_ITEMS,
    UPDATED_AT,
    VIDEOS,
    CatalogTable,
)
from canonry.values.errors import NotFound
from canonry.values.fields import revised
from canonry.values.ids import EntityId, Space, SpaceId, SpaceKind
from canonry.values.json_values import plain_signs
from canonry.values.moments import Instant, render_instant
from canonry.values.provenance import CanonLevel

ID: Final = "id"
TABLE_OF: Final[Mapping[str, CatalogTable]] = {
    **dict.fromkeys(CONTENT_KINDS, ENTITIES),
    **{str(table.kind): table for table in (SOURCE_ITEMS, DISTRIBUTION_EVENTS, VIDEOS)},
}
"""The table that holds the items of each kind."""

_NAMESPACE: Final = sha1(b"canonry catalog", usedforsecurity=False).digest()[:16]
_SECONDS: Final = len("2025-01-15T12:00:00")
_MILLIS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogItem:
    """An item as it is found: by its kind and id, by what it is called, by its text.

    `word` is the slug or address that no other item of the kind and project has. Only content
    has a `title`, `slug` and `summary` that are searched.
    """

    thing: EntityId
    project: SpaceId
    kind: str
    id: str
    word: str
    title: str
    slug: str
    summary: str | None
    updated: str

    @property
    def content(self) -> bool:
        """Whether agents see it."""
        return self.kind in CONTENT_KINDS

    @property
    def place(self) -> str:
        """Where its title stands among others."""
        return place_of(self.title)


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogEdge:
    """A relation that holds between two items; both ends are ids of things."""

    relation: str
    project: SpaceId
    rel_type: str
    source: str
    target: str


def item_id(project: str, kind: str, contract_id: str) -> EntityId:
    """The thing behind an item; the four kinds of content share one range of ids."""
    return EntityId(_named(project, "entity" if kind in CONTENT_KINDS else kind, contract_id))


def relation_id(project: str, contract_id: str, generation: int) -> str:
    """The thing behind a relation; what follows on a relation that ended is of the next one."""
    return _named(project, "relation", f"{contract_id}/{generation}")


@lru_cache(maxsize=65_536)
def _named(project: str, sort: str, name: str) -> str:
    """A UUID of version 5."""
    digest = sha1(
        _NAMESPACE + f"{project}/{sort}/{name}".encode(), usedforsecurity=False
    ).hexdigest()
    variant = "89ab"[int(digest[16], 16) % 4]
    return f"{digest[:8]}-{digest[8:12]}-5{digest[13:16]}-{variant}{digest[17:20]}-{digest[20:32]}"


def fold(text: str) -> str:
    """The form under which texts are compared without regard to case or to how they are encoded.

    Canonically equal texts fold alike, and so do apostrophes and hyphens of any kind; letters that
    only look alike do not.
    """
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFD", plain_signs(text)).casefold()
    return unicodedata.normalize("NFC", folded)


def place_of(title: str) -> str:
    """A key that sorts titles without regard to case, and equal ones by their characters."""
    return f"{fold(title)}\0{title}"


def stamp(instant: Instant) -> str:
    """An instant as a catalog tells it: always with milliseconds, so that texts sort as times."""
    text = render_instant(instant)
    seconds, fraction = text[:_SECONDS], text[_SECONDS + 1 : -1]
    return f"{seconds}.{fraction[:_MILLIS].ljust(_MILLIS, '0')}Z"


def item_of(thing: Thing | None) -> CatalogItem | None:
    """The item that a thing is, unless it is none, was merged away, or never was."""
    if not isinstance(thing, Entity) or thing.entity_type not in ITEM_KINDS:
        return None
    if thing.merged_into is not None or thing.level is CanonLevel.RETCONNED:
        return None
    entity = _alone(thing)
    own = entity.properties
    contract_id = own.get(ID)
    if not isinstance(contract_id, str):
        return None
    kind = thing.entity_type
    if item_id(thing.space, kind, contract_id) != thing.id:
        return None  # of another vocabulary that has a word like this
    return CatalogItem(
        thing=thing.id,
        project=thing.space,
        kind=kind,
        id=contract_id,
        word=own.get(TABLE_OF[kind].unique) or "",
        title=entity.name,
        slug=own.get("slug") or "",
        summary=own.get("summary"),
        updated=own.get(UPDATED_AT) or "",
    )


def _alone(entity: Entity) -> Entity:
    """The entity without what was merged into it: its item is its own."""
    return revised(entity, absorbed={}) if entity.members else entity


def edge_of(thing: Thing | None) -> CatalogEdge | None:
    """The edge that a thing is, while it holds."""
    if not isinstance(thing, Relation) or thing.rel_type not in RELATIONS or not thing.current:
        return None
    return CatalogEdge(
        relation=thing.id,
        project=thing.space,
        rel_type=thing.rel_type,
        source=thing.from_id,
        target=thing.to_id,
    )


def is_project(thing: Thing | None) -> bool:
    """Whether the thing is a catalog's project."""
    return isinstance(thing, Space) and thing.kind is SpaceKind.PROJECT


def project_row(space: Space) -> dict[str, Any]:
    """A project as a row."""
    own = space.properties
    return {
        ID: space.id,
        "name": space.name,
        "slug": own.get("slug", ""),
        "description": own.get("description"),
        CREATED_AT: own.get(CREATED_AT) or stamp(space.created_at),
        UPDATED_AT: own.get(UPDATED_AT) or stamp(space.created_at),
    }


def item_row(entity: Entity) -> dict[str, Any]:
    """An item as a row of its table."""
    entity = _alone(entity)
    own, table = entity.properties, TABLE_OF[entity.entity_type]
    row = {column.name: own.get(column.name, column.default) for column in table.columns}
    row["projectId"] = entity.space
    if table.kind is None:
        row["entityType"] = entity.entity_type
        row["title"] = entity.name
        row["comparisonTargets"] = tuple(row["comparisonTargets"] or ())
    return row


def item_fields(table: CatalogTable, row: Mapping[str, Any]) -> tuple[str, str, dict[str, Any]]:
    """(name, description, properties) of a row, as an entity keeps them; what is null is not."""
    left_out = {"projectId"} | ({"entityType", "title"} if table.kind is None else set())
    properties = {
        column.name: _kept(row[column.name])
        for column in table.columns
        if column.name not in left_out and row[column.name] != column.default
    }
    return row[table.title], (row[table.told] if table.told else "") or "", properties


def _kept(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def projects_in_order(spaces: Iterable[Space]) -> list[Space]:
    """Projects as they are told: by name without regard to case, by name, by id."""
    return sorted(spaces, key=lambda space: (place_of(space.name), space.id))


def require_project(thing: Thing | None) -> None:
    """Raise `project.unknown` unless this is a project."""
    if not is_project(thing):
        raise NotFound("project.unknown", "There is no project with this id.", path="/projectId")


def no_entity() -> NotFound:
    """The error of whoever asks for an entity that a project has not."""
    message = "The project has no entity with this id."
    return NotFound("entity.unknown", message, path="/entityId")

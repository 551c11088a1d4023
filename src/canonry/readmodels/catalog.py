"""The mapping of a catalog's projects, items and relations to spaces, entities and relations.

Catalog ids are unique per project and kind only, so the entity's id derives from all three. The id
of the contract is stored as a field.
"""

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha1
from typing import Any, Final

from canonry.log.entries import StoredItem
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Relation
from canonry.log.items.sources import name_based
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
from canonry.values.fields import with_changes
from canonry.values.ids import EntityId, Space, SpaceId, SpaceKind
from canonry.values.json_values import plain_signs
from canonry.values.moments import Instant, render_instant
from canonry.values.provenance import CanonLevel

ID: Final = "id"
TABLE_OF: Final[Mapping[str, CatalogTable]] = {
    **dict.fromkeys(CONTENT_KINDS, ENTITIES),
    **{str(table.kind): table for table in (SOURCE_ITEMS, DISTRIBUTION_EVENTS, VIDEOS)},
}
"""Maps each kind to its table."""

_NAMESPACE: Final = sha1(b"canonry catalog", usedforsecurity=False).digest()[:16]
_SECONDS: Final = len("2025-01-15T12:00:00")
_MILLIS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogItem:
    """An item of a catalog, with its kind, id, title and text.

    `handle` is the slug or address, unique per kind and project. Only content has a `title`, `slug`
    and `summary` for search.
    """

    entity_id: EntityId
    project: SpaceId
    kind: str
    id: str
    handle: str
    title: str
    slug: str
    summary: str | None
    updated: str

    @property
    def is_content(self) -> bool:
        """Return whether agents see it."""
        return self.kind in CONTENT_KINDS

    @property
    def title_key(self) -> str:
        """Return the sort key of its title."""
        return title_key_of(self.title)


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogEdge:
    """A current relation between two items; both ends are entity ids."""

    relation: str
    project: SpaceId
    rel_type: str
    source: str
    target: str


def item_id(project: str, kind: str, contract_id: str) -> EntityId:
    """Return the entity id of an item; the four kinds of content share one range of ids."""
    return EntityId(_id_of_name(project, "entity" if kind in CONTENT_KINDS else kind, contract_id))


def relation_id(project: str, contract_id: str, generation: int) -> str:
    """Return the id of a relation; a relation after an ended one has the next generation."""
    return _id_of_name(project, "relation", f"{contract_id}/{generation}")


@lru_cache(maxsize=65_536)  # rows refer to each other by name: bench catalog
def _id_of_name(project: str, sort: str, name: str) -> str:
    return name_based(f"{project}/{sort}/{name}", namespace=_NAMESPACE)


def normalise_text(text: str) -> str:
    """Normalise a text to compare it without regard to case or encoding.

    Canonically equal texts become equal, as do all apostrophes and hyphens; confusable letters stay
    different.
    """
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFD", plain_signs(text)).casefold()
    return unicodedata.normalize("NFC", folded)


def title_key_of(title: str) -> str:
    """Return a sort key for titles that ignores case; equal titles sort by their characters."""
    return f"{normalise_text(title)}\0{title}"


def format_instant(instant: Instant) -> str:
    """Format an instant with milliseconds, so that texts sort as times."""
    text = render_instant(instant)
    seconds, fraction = text[:_SECONDS], text[_SECONDS + 1 : -1]
    return f"{seconds}.{fraction[:_MILLIS].ljust(_MILLIS, '0')}Z"


def item_of(item: StoredItem | None) -> CatalogItem | None:
    """Return the catalog item of an entity; None if it is another kind, merged or retconned."""
    if not isinstance(item, Entity) or item.entity_type not in ITEM_KINDS:
        return None
    if item.merged_into is not None or item.level is CanonLevel.RETCONNED:
        return None
    entity = _without_merged(item)
    own = entity.properties
    contract_id = own.get(ID)
    if not isinstance(contract_id, str):
        return None
    kind = item.entity_type
    if item_id(item.space, kind, contract_id) != item.id:
        return None  # another vocabulary has the same word
    return CatalogItem(
        entity_id=item.id,
        project=item.space,
        kind=kind,
        id=contract_id,
        handle=own.get(TABLE_OF[kind].unique) or "",
        title=entity.name,
        slug=own.get("slug") or "",
        summary=own.get("summary"),
        updated=own.get(UPDATED_AT) or "",
    )


def _without_merged(entity: Entity) -> Entity:
    """Return the entity without the fields of entities merged into it."""
    return with_changes(entity, absorbed={}) if entity.members else entity


def edge_of(item: StoredItem | None) -> CatalogEdge | None:
    """Return the edge of a current relation, or None."""
    if not isinstance(item, Relation) or item.rel_type not in RELATIONS or not item.current:
        return None
    return CatalogEdge(
        relation=item.id,
        project=item.space,
        rel_type=item.rel_type,
        source=item.from_id,
        target=item.to_id,
    )


def is_project(item: StoredItem | None) -> bool:
    """Return whether the item is a catalog's project."""
    return isinstance(item, Space) and item.kind is SpaceKind.PROJECT


def project_row(space: Space) -> dict[str, Any]:
    """Return a project as a row."""
    own = space.properties
    return {
        ID: space.id,
        "name": space.name,
        "slug": own.get("slug", ""),
        "description": own.get("description"),
        CREATED_AT: own.get(CREATED_AT) or format_instant(space.created_at),
        UPDATED_AT: own.get(UPDATED_AT) or format_instant(space.created_at),
    }


def item_row(entity: Entity) -> dict[str, Any]:
    """Return an item as a row of its table."""
    entity = _without_merged(entity)
    own, table = entity.properties, TABLE_OF[entity.entity_type]
    row = {column.name: own.get(column.name, column.default) for column in table.columns}
    row["projectId"] = entity.space
    if table.kind is None:
        row["entityType"] = entity.entity_type
        row["title"] = entity.name
        row["comparisonTargets"] = tuple(row["comparisonTargets"] or ())
    return row


def item_fields(table: CatalogTable, row: Mapping[str, Any]) -> tuple[str, str, dict[str, Any]]:
    """Return the entity's (name, description, properties) for a row; nulls are left out."""
    left_out = {"projectId"} | ({"entityType", "title"} if table.kind is None else set())
    properties = {
        column.name: list(value) if isinstance(value, tuple) else value
        for column in table.columns
        if column.name not in left_out and (value := row[column.name]) != column.default
    }
    return row[table.title], (row[table.told] if table.told else "") or "", properties


def projects_in_order(spaces: Iterable[Space]) -> list[Space]:
    """Sort projects by name without regard to case, name and id."""
    return sorted(spaces, key=lambda space: (title_key_of(space.name), space.id))


def require_project(item: StoredItem | None) -> None:
    """Raise `project.unknown` unless this is a project."""
    if not is_project(item):
        raise NotFound("project.unknown", "There is no project with this id.", path="/projectId")


def missing_entity() -> NotFound:
    """Return the error for an entity that is missing from a project."""
    message = "The project has no entity with this id."
    return NotFound("entity.unknown", message, path="/entityId")

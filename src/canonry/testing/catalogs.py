"""Examples of what a catalog holds: a project, items and links, called by name as other things.

The id that a contract shows of an item is `ident(name)`.
"""

from typing import Any, Final

from canonry.log.entries import Entry
from canonry.log.items.relations import Relation
from canonry.log.schemas.narrative_fields import DESCRIPTION, NAME, PROPERTY_PREFIX
from canonry.readmodels.catalog import TABLE_OF, item_fields, item_id, relation_id
from canonry.testing.things import a_relation, a_space, an_entity, ident, made
from canonry.values.ids import EntityId, ObservationId, RelationId, SpaceId
from canonry.values.observations import Observation
from canonry.values.provenance import Authority
from canonry.values.spaces import Space, SpaceKind
from canonry.values.time import Instant

PROJECT: Final = SpaceId(ident("project"))
"""The project that items lie in unless a test says otherwise."""

THEN: Final = "2025-01-15T12:00:00.000Z"


def a_project(name: str = "project", **properties: Any) -> Space:
    """A project whose slug is its name."""
    kept = {"slug": name, "description": None, "createdAt": THEN, "updatedAt": THEN, **properties}
    return a_space(name, kind=SpaceKind.PROJECT, properties=kept)


def an_item(
    name: str, kind: str = "concept", *, project: SpaceId = PROJECT, **values: Any
) -> tuple[Entry, ...]:
    """An item and what is first observed of it; its slug is its name."""
    entity = an_entity(id=an_item_id(name, kind, project=project), space=project, entity_type=kind)
    return made(entity, _seen(name, kind, project, values, label="first"))


def a_revised_item(
    name: str, kind: str = "concept", *, project: SpaceId = PROJECT, **values: Any
) -> Observation:
    """An item seen again, with all its values."""
    return _seen(name, kind, project, values, label=repr(sorted(values.items())))


def an_item_id(name: str, kind: str = "concept", *, project: SpaceId = PROJECT) -> EntityId:
    """The thing behind an item."""
    return item_id(project, kind, ident(name))


def a_link(
    name: str,
    rel_type: str,
    source: tuple[str, str],
    target: tuple[str, str],
    *,
    project: SpaceId = PROJECT,
) -> Relation:
    """A relation between two items, each given as (kind, name)."""
    (from_kind, from_name), (to_kind, to_name) = source, target
    return a_relation(
        name,
        "",
        "",
        id=RelationId(a_link_id(name, project=project)),
        space=project,
        rel_type=rel_type,
        from_id=an_item_id(from_name, from_kind, project=project),
        to_id=an_item_id(to_name, to_kind, project=project),
        properties={"id": ident(name), "createdAt": THEN},
    )


def a_link_id(name: str, *, project: SpaceId = PROJECT) -> str:
    """The thing behind a relation."""
    return relation_id(project, ident(name), 0)


def _seen(
    name: str, kind: str, project: SpaceId, values: dict[str, Any], *, label: str
) -> Observation:
    table = TABLE_OF[kind]
    given = {"title": name, "slug": name, "createdAt": THEN, "updatedAt": THEN, **values}
    row = {column.name: given.get(column.name, column.default) for column in table.columns}
    row["id"] = ident(name)
    title, told, properties = item_fields(table, row)
    own = {PROPERTY_PREFIX + key: value for key, value in sorted(properties.items())}
    return Observation(
        id=ObservationId(ident(f"{project}/{kind}/{name}/{label}")),
        space=project,
        entity_id=an_item_id(name, kind, project=project),
        fields={DESCRIPTION: told, NAME: title, **own},
        authority=Authority.SOURCE,
        confidence=1.0,
        evidence=(),
        observed_at=None,
        recorded_at=Instant(0),
        position=1,
        changed_at=1,
    )

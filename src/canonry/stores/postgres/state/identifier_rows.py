"""Identifiers as rows: under which texts an entity is found."""

from collections.abc import Iterator
from typing import TypeAlias

from canonry.log.entries import Thing
from canonry.log.items.entities import Entity
from canonry.log.schemas import identity_keys as identifiers

StoredIdentifier: TypeAlias = tuple[str, str, str, str, int, str]
"""(space, key, id, entity type, born, root)."""


def identifiers_of(thing: Thing) -> Iterator[StoredIdentifier]:
    """The rows of an entity; others have none."""
    if isinstance(thing, Entity):
        for row in identifiers.rows_of(thing):
            yield row.space, row.key, row.id, row.entity_type, row.born, row.root

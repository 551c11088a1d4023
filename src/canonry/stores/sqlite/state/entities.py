"""Entities by tags: the rarest wanted tag leads, the others are looked up for each of its rows."""

import apsw

from canonry.log.items.entities import Entity
from canonry.readmodels.listing import TAG, List
from canonry.readmodels.ports.pages import Page
from canonry.readmodels.ports.selections import entities_of
from canonry.readmodels.ports.state import EntityQuery
from canonry.stores.sqlite.pages import counted, page_of


def select_entities(db: apsw.Connection, query: EntityQuery) -> Page[Entity]:
    """The page that `query` asks for."""
    rarest = min(sorted(query.all_of), key=lambda tag: _count(db, query, tag), default=None)
    return page_of(db, entities_of(query, rarest), query.limit, query.offset)


def _count(db: apsw.Connection, query: EntityQuery, tag: str) -> int:
    return sum(n for _, _, n in counted(db, List.ENTITIES, TAG + tag, query.spaces))

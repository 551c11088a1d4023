"""Entities by tags: the rarest wanted tag leads, the others are looked up for each of its rows."""

import apsw

from canonry.adapters.sqlite.pages import counted, page_of
from canonry.domain.things.entities import Entity
from canonry.domain.views.listing import TAG, List
from canonry.ports.views.pages import Page
from canonry.ports.views.selections import entities_of
from canonry.ports.views.state import EntityQuery


def select_entities(db: apsw.Connection, query: EntityQuery) -> Page[Entity]:
    """The page that `query` asks for."""
    rarest = min(sorted(query.all_of), key=lambda tag: _count(db, query, tag), default=None)
    return page_of(db, entities_of(query, rarest), query.limit, query.offset)


def _count(db: apsw.Connection, query: EntityQuery, tag: str) -> int:
    return sum(n for _, _, n in counted(db, List.ENTITIES, TAG + tag, query.spaces))

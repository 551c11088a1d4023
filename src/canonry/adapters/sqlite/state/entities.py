"""Entities by tags: the rarest wanted tag leads, the others are looked up for each of its rows."""

import re
from collections.abc import Sequence
from typing import Any, Final

import apsw

from canonry.adapters.sqlite.pages import Selection, counted, page_of
from canonry.domain.errors import InvalidInput
from canonry.domain.things.entities import Entity, normalised_name
from canonry.domain.views.listing import MERGED, NOBODY, TAG, List
from canonry.ports.views.pages import Page
from canonry.ports.views.state import EntityQuery

_WHOLE: Final = (NOBODY, MERGED)
_PATTERN_BYTES: Final = 40_000
_WILD: Final = re.compile(r"[*%]")
_SPECIAL: Final = re.compile(r"([*?\[])")
_SAME_ENTITY: Final = (
    "SELECT 1 FROM listing o WHERE o.list = l.list AND o.owner {owners} AND o.space = l.space"
    " AND o.facet = l.facet AND o.rank = l.rank AND o.later = l.later AND o.id = l.id"
)


def select_entities(db: apsw.Connection, query: EntityQuery) -> Page[Entity]:
    """The page that `query` asks for."""
    leaders, others = _lead(db, query)
    where, values = "", []
    for tag in sorted(others):
        where += f" AND EXISTS ({_SAME_ENTITY.format(owners='= ?')})"
        values.append(TAG + tag)
    if query.any_of and query.all_of:
        where += f" AND EXISTS ({_SAME_ENTITY.format(owners=_marks(query.any_of))})"
        values += [TAG + tag for tag in sorted(query.any_of)]
    if query.none_of:
        where += f" AND NOT EXISTS ({_SAME_ENTITY.format(owners=_marks(query.none_of))})"
        values += [TAG + tag for tag in sorted(query.none_of)]
    if query.name_pattern is not None:
        named = f"IN ({', '.join('?' * len(_WHOLE))})"
        where += f" AND EXISTS ({_SAME_ENTITY.format(owners=named)} AND o.name GLOB ?)"
        values += [*_WHOLE, _glob(query.name_pattern)]
    selection = Selection(
        listed=List.ENTITIES,
        owners=leaders,
        spaces=query.spaces,
        facet=_facet(query),
        where=where,
        values=tuple(values),
        disjoint=leaders == _WHOLE,
    )
    return page_of(db, selection, query.limit, query.offset)


def _lead(db: apsw.Connection, query: EntityQuery) -> tuple[Sequence[str], frozenset[str]]:
    """The lists to walk, and the tags to look up for each row."""
    if query.all_of:
        rarest = min(sorted(query.all_of), key=lambda tag: _count(db, query, tag))
        return (TAG + rarest,), query.all_of - {rarest}
    if query.any_of:
        return tuple(TAG + tag for tag in sorted(query.any_of)), frozenset()
    merged = query.include_merged and not query.none_of
    return _WHOLE if merged else (NOBODY,), frozenset()


def _count(db: apsw.Connection, query: EntityQuery, tag: str) -> int:
    return sum(n for _, _, n in counted(db, List.ENTITIES, TAG + tag, query.spaces))


def _facet(query: EntityQuery) -> Any:
    def fits(facet: str) -> bool:
        entity_type, entity_class, level = facet.rsplit("/", 2)
        return (
            query.entity_type in {None, entity_type}
            and query.entity_class in {None, entity_class}
            and query.level in {None, level}
        )

    return fits


def _marks(tags: frozenset[str]) -> str:
    return f"IN ({', '.join('?' * len(tags))})"


def _glob(pattern: str) -> str:
    """`pattern` for SQLite: only its own wildcards are wild."""
    if len(pattern.encode()) > _PATTERN_BYTES:
        message = f"a pattern has at most {_PATTERN_BYTES} bytes"
        raise InvalidInput("query.pattern-long", message, path="name_pattern")
    parts = _WILD.split(normalised_name(pattern))
    return "*".join(("", *(_SPECIAL.sub(r"[\1]", part) for part in parts), ""))

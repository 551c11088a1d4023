"""Arrange catalog rows for their commits: whoever takes another's place goes with the other.

Two items that swap their slugs, or two relations that swap what they join, are right together and
wrong one after the other. Projects change one after the other, in turn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from canonry.canon.session.canon import Canon
from canonry.catalog.domain.rows import CatalogRow, RowPlace, triple_of
from canonry.catalog.usecases.judge_catalog_rows import bearers_of
from canonry.log.items.relations import Relation
from canonry.log.schemas.catalog_tables import RELATION_ROWS
from canonry.readmodels.catalog import relation_id
from canonry.values.ids import SpaceId

CHUNK: Final = 500
"""So many rows are judged and committed together, and a few more where they belong together."""


async def arrange_catalog_rows(
    canon: Canon, rows: Sequence[CatalogRow]
) -> tuple[Sequence[Sequence[CatalogRow]], Mapping[RowPlace, str]]:
    """Rows of one table and project in chunks, in their order but for those that swap places.

    With them comes who has a place that any of them wants.
    """
    bearers: dict[str, str] = {}
    borne: dict[RowPlace, str] = {}
    for start in range(0, len(rows), CHUNK):
        some = rows[start : start + CHUNK]
        if rows[0].table is RELATION_ROWS:
            bearers |= await _joining(canon, some, borne)
        elif rows[0].table.unique:
            bearers |= await _bearing(canon, some, borne)
    found: list[list[CatalogRow]] = [[]]
    for together in _together(rows, bearers) if bearers else ([row] for row in rows):
        if len(found[-1]) >= CHUNK:
            found.append([])
        found[-1] += together
    return found, borne


def projects_in_turn(
    rows: Sequence[CatalogRow], slugs: Mapping[str, str]
) -> Sequence[tuple[CatalogRow, bool]]:
    """Projects in an order in which each finds its slug free, given who bears which so far.

    Each has a log of its own, so they cannot change together. In a circle one steps aside first,
    which is told beside it: it bears its own id until its turn comes.
    """
    waiting = {row.id: row for row in rows}
    found: list[tuple[CatalogRow, bool]] = []
    for row in rows:
        chain, then = list[CatalogRow](), waiting.get(row.id)
        while then is not None and (not chain or then.id != row.id):
            chain.append(then)
            bearer = slugs.get(then.word, then.id)
            then = None if bearer == then.id else waiting.get(bearer)
        if then is not None:
            found.append((replace(row, values={**row.values, "slug": row.id}), True))
        for each in reversed(chain):
            found.append((each, False))
            del waiting[each.id]
    return found


async def _bearing(
    canon: Canon, rows: Sequence[CatalogRow], borne: dict[RowPlace, str]
) -> Mapping[str, str]:
    """Row -> the other row that bears its slug or address so far."""
    held = await bearers_of(canon, rows)
    borne |= held
    found = ((row.id, held.get(row.place or ("", "", ""), row.id)) for row in rows)
    return {mine: other for mine, other in found if mine != other}


async def _joining(
    canon: Canon, rows: Sequence[CatalogRow], borne: dict[RowPlace, str]
) -> Mapping[str, str]:
    """Row -> the other row whose relation joins the same two by the same type so far."""
    triples = {row.id: triple_of(row.values) for row in rows}
    joined = await canon.catalog.joined(triples.values())
    borne |= joined
    held = {mine: joined[triple] for mine, triple in triples.items() if triple in joined}
    project = SpaceId(rows[0].project)
    others = {m: thing for m, thing in held.items() if thing != relation_id(project, m, 0)}
    things = await canon.within(project).things(others.values())
    found: dict[str, str] = {}
    for mine, thing_id in others.items():
        thing = things.get(thing_id)
        other = str(thing.properties.get("id")) if isinstance(thing, Relation) else mine
        if other != mine:
            found[mine] = other
    return found


def _together(
    rows: Sequence[CatalogRow], bearers: Mapping[str, str]
) -> Sequence[Sequence[CatalogRow]]:
    """The rows in groups, each with all whose places it takes or who take its own."""
    group = {row.id: [row] for row in rows}
    for mine, other in bearers.items():
        if other in group and group[other] is not group[mine]:
            small, large = sorted((group[mine], group[other]), key=len)
            large += small
            group |= dict.fromkeys((row.id for row in small), large)
    seen: set[str] = set()
    found: list[Sequence[CatalogRow]] = []
    for row in rows:
        if row.id not in seen:
            found.append(sorted(group[row.id], key=lambda each: each.number))
            seen.update(each.id for each in group[row.id])
    return found

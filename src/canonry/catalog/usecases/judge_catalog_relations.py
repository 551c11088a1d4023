"""Judge catalog relations: both ends are there, of the kinds that the type joins, and once only.

A relation never changes what it says: one that is told otherwise ends, and the next takes its id.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any, Final, TypeAlias

from canonry.canon.judging.making import make_relation
from canonry.canon.session.canon import Canon
from canonry.catalog.domain.rows import CatalogRow, RowPlace, RowProblem, triple_of
from canonry.catalog.usecases.judge_catalog_rows import (
    Ahead,
    JudgedRow,
    Make,
    RowVerdict,
    backing_of,
    judge_items,
    judge_projects,
    kind_of,
    no_project,
    settle,
    stamped,
    stands,
)
from canonry.log.entries import Entry, RelationEnded
from canonry.log.items.relations import Relation
from canonry.log.keys import relations_key, thing_key
from canonry.log.schemas.catalog_tables import CREATED_AT, PROJECTS, RELATION_ROWS
from canonry.readmodels.catalog import ID, is_project, relation_id
from canonry.readmodels.ports.catalog import Triple
from canonry.values.ids import EntityId, NewId, RelationId, SpaceId

REVISED: Final = "told otherwise"
NOTES: Final = "notes"
KEPT: Final = (ID, NOTES, CREATED_AT)
"""What a relation keeps of its row, beside its ends."""

HeldRelation: TypeAlias = tuple[Relation | None, RelationId]
"""The relation that holds under an id, and the thing that the next one will be."""


async def judge_rows(
    canon: Canon,
    rows: Sequence[CatalogRow],
    ahead: Ahead,
    now: str,
    borne: Mapping[RowPlace, str] | None = None,
) -> RowVerdict:
    """Judge rows of one table and, unless they are projects, of one project.

    `borne` says who has the places that they want, where that is known.
    """
    if rows[0].table is PROJECTS:
        return await judge_projects(canon, rows, ahead, now)
    if rows[0].table is RELATION_ROWS:
        return await _judge_relations(canon, rows, ahead, now, borne)
    return await judge_items(canon, rows, ahead, now, borne)


async def _judge_relations(
    canon: Canon,
    rows: Sequence[CatalogRow],
    ahead: Ahead,
    now: str,
    joined: Mapping[Triple, str] | None,
) -> RowVerdict:
    verdict, project = RowVerdict(), rows[0].project
    triples = {row.id: triple_of(row.values) for row in rows}
    ends = {end for source, _, target in triples.values() for end in (source, target)}
    there = await _look_at(canon, project, ends, ahead)
    held = await standing_relations(canon, project, list(triples))
    if joined is None:
        joined = await canon.catalog.joined(triples.values())
    verdict.reads |= {thing_key(project), *map(thing_key, ends)}
    verdict.reads |= {relations_key(source) for source, _, _ in triples.values()}
    bearers = {str(current.id): each for each, (current, _) in held.items() if current is not None}
    leaving = {
        each
        for each, (current, _) in held.items()
        if current is not None and current_triple(current) != triples[each]
    }

    def problem_of(row: CatalogRow, coming: str | None) -> RowProblem | None:
        if not there:
            return no_project(row)
        if (problem := _dangling(row, triples[row.id], ahead)) is not None:
            return problem
        bearer = joined.get(triples[row.id])
        bearer = bearers.get(bearer, bearer) if bearer else None
        if coming in {None, row.id} and (bearer in {None, row.id} or bearer in leaving):
            return None
        reason = "another relation joins these two by the same type"
        return row.problem("relationType", "relation.exists", reason)

    right, verdict.problems = settle(rows, leaving, ahead, problem_of)
    for row in right:
        current, next_id = held[row.id]
        verdict.reads.add(thing_key(next_id if current is None else current.id))
        verdict.rows.append(_judged(row, triples[row.id], held[row.id], now))
    return verdict


async def _look_at(canon: Canon, project: str, ends: AbstractSet[str], ahead: Ahead) -> bool:
    """Note the kinds of those ends that nobody looked at so far; whether the project is there."""
    unknown = [end for end in ends if end not in ahead.there]
    things = await canon.within(SpaceId(project)).things((project, *unknown))
    for end in unknown:
        thing = things.get(end)
        if (kind := kind_of(thing)) is not None:
            ahead.there[end] = kind
    return project in ahead.projects or is_project(things.get(project))


def _judged(row: CatalogRow, triple: Triple, held: HeldRelation, now: str) -> JudgedRow:
    current, _ = held
    before = None if current is None else relation_row(current)
    values = stamped(row, before, now)
    make: Make | None = partial(_entries, row, triple, held, values)
    if current is not None and current_triple(current) == triple:
        make = None if before == {name: values[name] for name in KEPT} else make
    return JudgedRow(row=row, make=make, fresh=before is None)


async def standing_relations(
    canon: Canon, project: str, ids: Sequence[str]
) -> Mapping[str, HeldRelation]:
    """For each id: the relation that holds under it, and the thing that the next one will be."""
    found: dict[str, HeldRelation] = {}
    generation, waiting = 0, list(dict.fromkeys(ids))
    while waiting:
        things = {each: relation_id(project, each, generation) for each in waiting}
        held = await canon.within(SpaceId(project)).things(things.values())
        generation += 1
        ended = []
        for each in waiting:
            thing = held.get(things[each])
            if thing is None:
                found[each] = (None, RelationId(things[each]))
            elif isinstance(thing, Relation) and thing.current:
                found[each] = (thing, RelationId(relation_id(project, each, generation)))
            else:
                ended.append(each)
        waiting = ended
    return found


def relation_row(relation: Relation) -> dict[str, Any]:
    """What a relation keeps of its row."""
    return {name: relation.properties.get(name) for name in KEPT}


def current_triple(relation: Relation) -> Triple:
    """The ends and the type of a relation."""
    return (relation.from_id, relation.rel_type, relation.to_id)


def _dangling(row: CatalogRow, triple: Triple, ahead: Ahead) -> RowProblem | None:
    for end, thing_id in (("from", triple[0]), ("to", triple[2])):
        kind = row.values[f"{end}EntityType"]
        if not stands(thing_id, kind, None, ahead):
            reason = f"the project has no {kind} with this id"
            return row.problem(f"{end}EntityId", "entity.unknown", reason)
    return None


def _entries(
    row: CatalogRow, triple: Triple, held: HeldRelation, values: Mapping[str, Any], _: NewId
) -> tuple[Entry, ...]:
    """What stores a relation."""
    current, next_id = held
    source, rel_type, target = triple
    made = make_relation(
        lambda _: next_id,
        backing_of(row.project),
        rel_type=rel_type,
        from_id=EntityId(source),
        to_id=EntityId(target),
        properties={name: values[name] for name in KEPT if values[name] is not None},
    )
    if current is None:
        return (made,)
    return (ended(current, superseded_by=next_id, reason=REVISED), made)


def ended(
    relation: Relation, *, superseded_by: RelationId | None = None, reason: str
) -> RelationEnded:
    """The entry that ends a relation."""
    return RelationEnded(
        relation_id=relation.id, until=None, superseded_by=superseded_by, reason=reason
    )

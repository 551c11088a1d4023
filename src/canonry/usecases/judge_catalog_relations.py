"""Judge catalog relations: both ends are there, of the kinds that the type joins, and once only.

A relation never changes what it says: one that is told otherwise ends, and the next takes its id.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

from canonry.domain.catalog import ID, is_project, item_id, relation_id
from canonry.domain.catalog_rows import CatalogRow, RowProblem
from canonry.domain.entries import Entry, Made, RelationEnded, Thing
from canonry.domain.ids import EntityId, RelationId, SpaceId
from canonry.domain.keys import relations_key, thing_key
from canonry.domain.making import Backing, make_relation
from canonry.domain.provenance import Authority
from canonry.domain.relations import Relation
from canonry.domain.vocabularies.catalog_tables import CREATED_AT
from canonry.ports.views.catalog import Triple
from canonry.usecases.canon import Canon
from canonry.usecases.commit_change import NewId
from canonry.usecases.judge_catalog_rows import (
    Ahead,
    JudgedRow,
    Make,
    Taken,
    Verdict,
    settle,
    stamped,
    stands,
)

REVISED: Final = "told otherwise"
NOTES: Final = "notes"
KEPT: Final = (ID, NOTES, CREATED_AT)
"""What a relation keeps of its row, beside its ends."""


async def judge_relations(
    canon: Canon, project: str, rows: Sequence[CatalogRow], ahead: Ahead, now: str
) -> Verdict:
    """Judge rows of one project that are relations."""
    verdict = Verdict()
    triples = [triple_of(row.values) for row in rows]
    ends = {end for source, _, target in triples for end in (source, target)}
    things = await canon.state.things((project, *ends))
    held = await standing_relations(canon, project, [row.id for row in rows])
    joined = await canon.catalog.joined(triples)
    there = project in ahead.projects or is_project(things.get(project))
    verdict.reads |= {thing_key(project), *map(thing_key, ends)}
    verdict.reads |= {relations_key(source) for source, _, _ in triples}

    def problem_of(row: CatalogRow, taken: Taken, leaving: AbstractSet[str]) -> RowProblem | None:
        if not there:
            return _no_project(row)
        triple = triple_of(row.values)
        problem = _dangling(row, triple, things, ahead)
        coming = taken.get(triple) or ahead.joined.get(triple, row.id)
        bearer = joined.get(triple)
        bearer = bearers.get(bearer, bearer) if bearer else None
        free = bearer in {None, row.id} or bearer in leaving
        return problem or (None if free and coming == row.id else _twice(row))

    bearers = {str(current.id): each for each, (current, _) in held.items() if current is not None}
    leaving = {row.id for row in rows if _leaves(row, held[row.id][0])}
    right, verdict.problems, taken = settle(rows, leaving, _place_of, problem_of)
    ahead.joined |= taken
    for row in right:
        current, next_id = held[row.id]
        verdict.reads.add(thing_key(next_id if current is None else current.id))
        verdict.rows.append(_judged(row, current, next_id, now))
    return verdict


def _judged(row: CatalogRow, current: Relation | None, next_id: RelationId, now: str) -> JudgedRow:
    triple = triple_of(row.values)
    before = None if current is None else relation_row(current)
    values = stamped(row, before, now)
    kept = {name: values[name] for name in KEPT}
    same = before == kept and current is not None and current_triple(current) == triple
    make = None if same else _relation(row, triple, current, next_id, values)
    return JudgedRow(row=row, make=make, fresh=before is None)


async def standing_relations(
    canon: Canon, project: str, ids: Sequence[str]
) -> Mapping[str, tuple[Relation | None, RelationId]]:
    """For each id: the relation that holds under it, and the thing that the next one will be."""
    found: dict[str, tuple[Relation | None, RelationId]] = {}
    generation, waiting = 0, list(dict.fromkeys(ids))
    while waiting:
        things = {each: relation_id(project, each, generation) for each in waiting}
        held = await canon.state.things(things.values())
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


def triple_of(values: Mapping[str, Any]) -> Triple:
    """The ends and the type of a row, as things."""
    project = values["projectId"]
    return (
        item_id(project, values["fromEntityType"], values["fromEntityId"]),
        values["relationType"],
        item_id(project, values["toEntityType"], values["toEntityId"]),
    )


def current_triple(relation: Relation) -> Triple:
    """The ends and the type of a relation."""
    return (relation.from_id, relation.rel_type, relation.to_id)


def _no_project(row: CatalogRow) -> RowProblem:
    return row.problem("projectId", "project.unknown", "there is no project with this id")


def _dangling(
    row: CatalogRow, triple: Triple, things: Mapping[str, Thing], ahead: Ahead
) -> RowProblem | None:
    for end, thing_id in (("from", triple[0]), ("to", triple[2])):
        kind = row.values[f"{end}EntityType"]
        if not stands(thing_id, kind, things, ahead):
            reason = f"the project has no {kind} with this id"
            return row.problem(f"{end}EntityId", "entity.unknown", reason)
    return None


def _place_of(row: CatalogRow) -> Triple:
    return triple_of(row.values)


def _leaves(row: CatalogRow, current: Relation | None) -> bool:
    return current is not None and current_triple(current) != triple_of(row.values)


def _twice(row: CatalogRow) -> RowProblem:
    reason = "another relation joins these two by the same type"
    return row.problem("relationType", "relation.exists", reason)


def _relation(
    row: CatalogRow,
    triple: Triple,
    current: Relation | None,
    next_id: RelationId,
    values: Mapping[str, Any],
) -> Make:
    backing = Backing(
        space=SpaceId(row.project), authority=Authority.SOURCE, confidence=1.0, evidence=()
    )
    source, rel_type, target = triple
    properties = {name: values[name] for name in KEPT if values[name] is not None}

    def make(_: NewId) -> tuple[Entry, ...]:
        made: Made = make_relation(
            lambda _: next_id,
            backing,
            rel_type=rel_type,
            from_id=EntityId(source),
            to_id=EntityId(target),
            properties=properties,
        )
        if current is None:
            return (made,)
        return (ended(current, superseded_by=next_id, reason=REVISED), made)

    return make


def ended(
    relation: Relation, *, superseded_by: RelationId | None = None, reason: str
) -> RelationEnded:
    """The entry that ends a relation."""
    return RelationEnded(
        relation_id=relation.id, until=None, superseded_by=superseded_by, reason=reason
    )

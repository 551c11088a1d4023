"""Judge rows and relations of catalogs before they are saved."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, Final, TypeAlias

from canonry.canon.judging.known_items import Backing, make_entity, make_observation, make_relation
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change
from canonry.catalog.domain.rows import CatalogRow, RowProblem, UniqueValue, triple_of
from canonry.log.entries import Entry, Made, RelationEnded, SpaceRevised, StoredItem
from canonry.log.folding import item_key, listing_key, relations_key
from canonry.log.items.entities import Entity, EntityClass
from canonry.log.items.facts import Relation
from canonry.log.schemas.catalog_tables import CREATED_AT, PROJECTS, RELATION_ROWS, UPDATED_AT
from canonry.log.schemas.narrative import DESCRIPTION, NAME, PROPERTY_PREFIX
from canonry.readmodels.catalog import (
    ID,
    TABLE_OF,
    is_project,
    item_fields,
    item_id,
    item_of,
    item_row,
    project_row,
    relation_id,
)
from canonry.readmodels.ports.documents import Triple
from canonry.values.ids import EntityId, NewId, RelationId, Space, SpaceDraft, SpaceId, SpaceKind
from canonry.values.provenance import Authority

# Judge catalog rows against the canon: what each would change, or why it must not be stored.
# Nothing is ever stored that refers to what is not there, or lies in another project, or bears
# another's slug: whoever commits what is judged here does so under the keys that were read.

STAMPS: Final = (CREATED_AT, UPDATED_AT)
CAPTURED_AT: Final = "capturedAt"
INSTANTS: Final = (CREATED_AT, CAPTURED_AT, UPDATED_AT)
"""Optional instants of a row; the one that depends on the others is last."""

Make = Callable[[NewId], tuple[Entry, ...]]
"""Builds the entries that store a row; the argument creates ids."""


@dataclass(slots=True, kw_only=True)
class EarlierResults:
    """Results of rows judged earlier, which count as stored."""

    projects: dict[str, str] = field(default_factory=dict)
    items: dict[str, str] = field(default_factory=dict)
    """Item id -> its kind."""

    there: dict[str, str] = field(default_factory=dict)
    """Kinds of the stored items to which rows refer."""

    unique_values: dict[UniqueValue, str] = field(default_factory=dict)
    """Unique value -> the row that has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRow:
    """A row that may be stored; `make` is None if nothing changes, `fresh` if the item is new."""

    row: CatalogRow
    make: Make | None
    fresh: bool = False


@dataclass(slots=True, kw_only=True)
class RowVerdict:
    """Verdict on some rows, with the keys that it read."""

    rows: list[JudgedRow] = field(default_factory=list)
    problems: list[RowProblem] = field(default_factory=list)
    reads: set[str] = field(default_factory=set)

    def make_change(self, new_id: NewId) -> Change:
        """The entries of all rows that change something; values are freed before they are taken."""
        found = [e for judged in self.rows if judged.make for e in judged.make(new_id)]
        found.sort(key=lambda entry: not isinstance(entry, RelationEnded))
        return Change(entries=tuple(found), reads=frozenset(self.reads))


async def judge_projects(
    canon: Canon, rows: Sequence[CatalogRow], ahead: EarlierResults, now: str
) -> RowVerdict:
    """Judge rows that are projects; each is a space of its own."""
    verdict = RowVerdict()
    items = await canon.state.items_by_id(row.id for row in rows)
    called = await canon.catalog.projects_called(row.handle for row in rows)
    spaces = {each: item for each, item in items.items() if isinstance(item, Space)}
    before = {row.id: project_row(spaces[row.id]) if row.id in spaces else None for row in rows}

    def problem_of(row: CatalogRow, coming: str | None) -> RowProblem | None:
        held = items.get(row.id)
        if held is not None and not is_project(held):
            reason = "This id belongs to an item that is not a project. Use another id."
            return row.make_problem("id", "id.taken", reason)
        owner = called.get(row.handle)
        gone = owner in leaving or ahead.projects.get(str(owner), row.handle) != row.handle
        if coming in {None, row.id} and (gone or owner in {None, row.id}):
            return None
        return row.make_problem("slug", "slug.taken", "Another project has this slug.")

    leaving = {row.id for row in rows if _frees_value(row, before[row.id])}
    right, verdict.problems = settle_rows(rows, leaving, ahead, problem_of)
    for row in right:
        was, values = before[row.id], with_instants(row, before[row.id], now)
        ahead.projects[row.id] = row.handle
        verdict.reads.add(item_key(row.id))
        make = None if was == values else partial(_project_entries, values, was is None)
        verdict.rows.append(JudgedRow(row=row, make=make, fresh=was is None))
    return verdict


async def owners_of(canon: Canon, rows: Sequence[CatalogRow]) -> Mapping[UniqueValue, str]:
    """Return the items that have the unique values of these rows of one project."""
    project = rows[0].project
    wanted = ((row.kind, row.handle) for row in rows)
    owners = await canon.catalog.handle_owners(SpaceId(project), wanted)
    return {(project, kind, text): owner for (kind, text), owner in owners.items()}


async def judge_items(
    canon: Canon,
    rows: Sequence[CatalogRow],
    ahead: EarlierResults,
    now: str,
    owners: Mapping[UniqueValue, str] | None,
) -> RowVerdict:
    """Judge rows of one project and one table that are items; `owners` as `owners_of` them."""
    verdict, project = RowVerdict(), rows[0].project
    item_id_of = {row.id: item_id(project, row.kind, row.id) for row in rows}
    # The entities of the announcements.
    about_of = {
        row.id: item_id(project, row.values["primaryEntityType"], row.values["primaryEntityId"])
        for row in rows
        if "primaryEntityId" in row.values
    }
    ids, primary = item_id_of.values(), list(about_of.values())
    items = await canon.state.items_by_id((project, *ids, *primary))
    unique = bool(rows[0].table.unique)
    if owners is None:
        owners = await owners_of(canon, rows) if unique else {}
    there = project in ahead.projects or is_project(items.get(project))
    verdict.reads |= {item_key(project), *map(item_key, ids)}
    verdict.reads |= set(map(item_key, primary))
    if unique:
        verdict.reads.add(listing_key("entity", project))

    def problem_of(row: CatalogRow, coming: str | None) -> RowProblem | None:
        if not there:
            return missing_project(row)
        owner = owners.get(row.unique_value) if row.unique_value else None
        return (
            _kind_problem(row, items.get(item_id_of[row.id]))
            or _taken_problem(row, None if owner in leaving else owner, coming)
            or _base_problem(row, about_of.get(row.id), items, ahead)
        )

    held = {row.id: items.get(item_id_of[row.id]) for row in rows}
    before = {each: item_row(t) if isinstance(t, Entity) else None for each, t in held.items()}
    leaving = {row.id for row in rows if unique and _frees_value(row, before[row.id])}
    right, verdict.problems = settle_rows(rows, leaving, ahead, problem_of)
    for row in right:
        own_id, was, values = (
            item_id_of[row.id],
            before[row.id],
            with_instants(row, before[row.id], now),
        )
        ahead.items[own_id] = row.kind
        make = None if was == values else partial(_item_entries, row, own_id, was, values)
        verdict.rows.append(JudgedRow(row=row, make=make, fresh=was is None))
    return verdict


def settle_rows(
    rows: Sequence[CatalogRow],
    leaving: set[str],
    ahead: EarlierResults,
    problem_of: Callable[[CatalogRow, str | None], RowProblem | None],
) -> tuple[list[CatalogRow], list[RowProblem]]:
    """Return the rows that are right, whose unique values are now taken, and the other's problems.

    A value that a row of `leaving` frees may be taken by another. A refused row frees nothing, and
    goes from that set. `problem_of` judges a row, given the row before it that has its value.
    """
    while True:
        right: list[CatalogRow] = []
        problems: list[RowProblem] = []
        taken: dict[UniqueValue, str] = {}
        stuck: set[str] = set()
        for row in rows:
            value = row.unique_value
            coming = (taken.get(value) or ahead.unique_values.get(value)) if value else None
            problem = problem_of(row, coming)
            if problem is not None:
                problems.append(problem)
                stuck.add(row.id)
                continue
            right.append(row)
            if value:
                taken[value] = row.id
        if leaving.isdisjoint(stuck):
            ahead.unique_values |= taken
            return right, problems
        leaving -= stuck


def with_instants(row: CatalogRow, before: Mapping[str, Any] | None, now: str) -> Mapping[str, Any]:
    """The row's fields with the instants that it leaves out: as they are, else now."""
    given = row.values
    missing = [name for name in INSTANTS if name in given and given[name] is None]
    if not missing:
        return given
    values, held = dict(given), before or {}
    for name in missing:
        values[name] = held.get(name) or now
    if UPDATED_AT in missing:
        values[UPDATED_AT] = held.get(UPDATED_AT)
        if values != dict(held):
            values[UPDATED_AT] = now
    return values


def missing_project(row: CatalogRow) -> RowProblem:
    """The row lies in a project that is not there."""
    return row.make_problem("projectId", "project.unknown", "There is no project with this id.")


def _kind_problem(row: CatalogRow, held: StoredItem | None) -> RowProblem | None:
    if held is None:
        return None
    if not isinstance(held, Entity):
        reason = "The item with this id was erased. Use another id."
        return row.make_problem("id", "item.erased", reason)
    if kind_of(held) is None:
        reason = "The item with this id was merged or retracted. Undo that or use another id."
        return row.make_problem("id", "item.gone", reason)
    if held.entity_type != row.kind:
        reason = f"The entity is a {held.entity_type}; an entity's type cannot change."
        return row.make_problem("entityType", "item.kind", reason)
    return None


def _frees_value(row: CatalogRow, before: Mapping[str, Any] | None) -> bool:
    return before is not None and before[row.table.unique] != row.handle


def _taken_problem(row: CatalogRow, owner: str | None, coming: str | None) -> RowProblem | None:
    if coming not in {None, row.id}:
        owner = coming
    elif owner in {None, row.id}:
        return None
    name = row.table.unique
    reason = f"Another {row.table.noun} of this type and project has this {name}: {owner}."
    return row.make_problem(name, f"{name}.taken", reason)


def _base_problem(
    row: CatalogRow, about: str | None, items: Mapping[str, StoredItem], ahead: EarlierResults
) -> RowProblem | None:
    if about is None or is_available(
        about, row.values["primaryEntityType"], items.get(about), ahead
    ):
        return None
    kind = row.values["primaryEntityType"]
    reason = f"The project has no {kind} with this id."
    return row.make_problem("primaryEntityId", "entity.unknown", reason)


def is_available(item_id: str, kind: str, held: StoredItem | None, ahead: EarlierResults) -> bool:
    """Return whether an item of this kind exists, as `held` or found before, or will exist."""
    return (kind_of(held) or ahead.there.get(item_id) or ahead.items.get(item_id)) == kind


def kind_of(held: StoredItem | None) -> str | None:
    """Return the kind of a catalog item that agents can find, else None."""
    item = item_of(held)
    return None if item is None else item.kind


def _project_entries(values: Mapping[str, Any], fresh: bool, _: NewId) -> tuple[Entry, ...]:  # noqa: FBT001
    name, description = values["name"], values["description"] or ""
    space, kept = SpaceId(values["id"]), ("slug", "description", *STAMPS)
    members: dict[str, Any] = {
        "name": name,
        "description": description,
        "properties": {k: values[k] for k in kept},
    }
    if not fresh:
        return (SpaceRevised(space_id=space, **members),)
    return (Made(thing=SpaceDraft(id=space, kind=SpaceKind.PROJECT, parent=None, **members)),)


def _item_entries(
    row: CatalogRow,
    item_id: Any,
    before: Mapping[str, Any] | None,
    values: Mapping[str, Any],
    new_id: NewId,
) -> tuple[Entry, ...]:
    table, backing = TABLE_OF[row.kind], provenance_of(row.project)
    name, description, properties = item_fields(table, values)

    def id_of(label: str) -> str:
        return str(item_id) if label == "entity" else new_id(f"{label}:{item_id}")

    if before is None:
        _, entries = make_entity(
            id_of,
            backing,
            entity_class=EntityClass.INSTANCE,
            entity_type=row.kind,
            name=name,
            description=description,
            properties=properties,
        )
        return entries
    was = _field_values(*item_fields(table, before))
    now = _field_values(name, description, properties)
    # Fields that are removed are null.
    fields = {n: now.get(n) for n in was.keys() | now.keys() if was.get(n) != now.get(n)}
    return (make_observation(id_of, backing, item_id, fields),)


@lru_cache(maxsize=64)  # each row of a project asks for it
def provenance_of(project: str) -> Backing:
    """Return the provenance of a catalog's rows."""
    return Backing(space=SpaceId(project), authority=Authority.SOURCE, confidence=1.0, evidence=())


def _field_values(name: str, description: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    own = {PROPERTY_PREFIX + key: value for key, value in properties.items()}
    return {NAME: name, DESCRIPTION: description, **own}


# Judge catalog relations: both ends are there, of the kinds that the type joins, and once only. A
# relation never changes what it says: one that is stated otherwise ends, and the next takes its id.

REVISED: Final = "told otherwise"
NOTES: Final = "notes"
KEPT: Final = (ID, NOTES, CREATED_AT)
"""Fields of a row that its relation stores beside its ends."""

HeldRelation: TypeAlias = tuple[Relation | None, RelationId]
"""The current relation of an id, and the id of the next relation."""


async def judge_rows(
    canon: Canon,
    rows: Sequence[CatalogRow],
    ahead: EarlierResults,
    now: str,
    owners: Mapping[UniqueValue, str] | None = None,
) -> RowVerdict:
    """Judge rows of one table and, unless they are projects, of one project.

    `owners` has the items with the unique values that they want, where that is known.
    """
    if rows[0].table is PROJECTS:
        return await judge_projects(canon, rows, ahead, now)
    if rows[0].table is RELATION_ROWS:
        return await _judge_relations(canon, rows, ahead, now, owners)
    return await judge_items(canon, rows, ahead, now, owners)


async def _judge_relations(
    canon: Canon,
    rows: Sequence[CatalogRow],
    ahead: EarlierResults,
    now: str,
    joined: Mapping[Triple, str] | None,
) -> RowVerdict:
    verdict, project = RowVerdict(), rows[0].project
    triples = {row.id: triple_of(row.values) for row in rows}
    ends = {end for source, _, target in triples.values() for end in (source, target)}
    there = await _load_ends(canon, project, ends, ahead)
    held = await standing_relations(canon, project, list(triples))
    if joined is None:
        joined = await canon.catalog.current_relations(triples.values())
    verdict.reads |= {item_key(project), *map(item_key, ends)}
    verdict.reads |= {relations_key(source) for source, _, _ in triples.values()}
    ids_by_relation = {str(c.id): each for each, (c, _) in held.items() if c is not None}
    leaving = {
        each
        for each, (current, _) in held.items()
        if current is not None and current_triple(current) != triples[each]
    }

    def problem_of(row: CatalogRow, coming: str | None) -> RowProblem | None:
        if not there:
            return missing_project(row)
        if (problem := _end_problem(row, triples[row.id], ahead)) is not None:
            return problem
        owner = joined.get(triples[row.id])
        owner = ids_by_relation.get(owner, owner) if owner else None
        if coming in {None, row.id} and (owner in {None, row.id} or owner in leaving):
            return None
        reason = "Another relation of this type already joins these two items."
        return row.make_problem("relationType", "relation.exists", reason)

    right, verdict.problems = settle_rows(rows, leaving, ahead, problem_of)
    for row in right:
        current, next_id = held[row.id]
        verdict.reads.add(item_key(next_id if current is None else current.id))
        before = None if current is None else relation_row(current)
        values, triple = with_instants(row, before, now), triples[row.id]
        same = current is not None and current_triple(current) == triple
        same = same and before == {name: values[name] for name in KEPT}
        make = None if same else partial(_relation_entries, row, triple, held[row.id], values)
        verdict.rows.append(JudgedRow(row=row, make=make, fresh=before is None))
    return verdict


async def _load_ends(
    canon: Canon, project: str, ends: AbstractSet[str], ahead: EarlierResults
) -> bool:
    """Load the kinds of unknown ends; return whether the project exists."""
    unknown = [end for end in ends if end not in ahead.there]
    items = await canon.space_scope(SpaceId(project)).items_by_id((project, *unknown))
    for end in unknown:
        item = items.get(end)
        if (kind := kind_of(item)) is not None:
            ahead.there[end] = kind
    return project in ahead.projects or is_project(items.get(project))


async def standing_relations(
    canon: Canon, project: str, ids: Sequence[str]
) -> Mapping[str, HeldRelation]:
    """Return for each id its current relation and the id of the next one."""
    found: dict[str, HeldRelation] = {}
    generation, waiting = 0, list(dict.fromkeys(ids))
    while waiting:
        items = {each: relation_id(project, each, generation) for each in waiting}
        held = await canon.space_scope(SpaceId(project)).items_by_id(items.values())
        generation += 1
        ended = []
        for each in waiting:
            item = held.get(items[each])
            if item is None:
                found[each] = (None, RelationId(items[each]))
            elif isinstance(item, Relation) and item.current:
                found[each] = (item, RelationId(relation_id(project, each, generation)))
            else:
                ended.append(each)
        waiting = ended
    return found


def relation_row(relation: Relation) -> dict[str, Any]:
    """Return the fields of a row that a relation stores."""
    return {name: relation.properties.get(name) for name in KEPT}


def joined_row(relation: Relation, items: Mapping[str, StoredItem]) -> dict[str, Any]:
    """Return the row of a relation, with those of its ends that are items among `items`."""
    row = {**relation_row(relation), "projectId": relation.space, "relationType": relation.rel_type}
    for side, end in (("from", relation.from_id), ("to", relation.to_id)):
        if (item := item_of(items.get(end))) is not None:
            row |= {f"{side}EntityType": item.kind, f"{side}EntityId": item.id}
    return row


def current_triple(relation: Relation) -> Triple:
    """The ends and the type of a relation."""
    return (relation.from_id, relation.rel_type, relation.to_id)


def _end_problem(row: CatalogRow, triple: Triple, ahead: EarlierResults) -> RowProblem | None:
    for end, end_id in (("from", triple[0]), ("to", triple[2])):
        kind = row.values[f"{end}EntityType"]
        if not is_available(end_id, kind, None, ahead):
            reason = f"The project has no {kind} with this id."
            return row.make_problem(f"{end}EntityId", "entity.unknown", reason)
    return None


def _relation_entries(
    row: CatalogRow, triple: Triple, held: HeldRelation, values: Mapping[str, Any], _: NewId
) -> tuple[Entry, ...]:
    current, next_id = held
    source, rel_type, target = triple
    made = make_relation(
        lambda _: next_id,
        provenance_of(row.project),
        rel_type=rel_type,
        from_id=EntityId(source),
        to_id=EntityId(target),
        properties={name: values[name] for name in KEPT if values[name] is not None},
    )
    if current is None:
        return (made,)
    ended = RelationEnded(relation_id=current.id, until=None, superseded_by=next_id, reason=REVISED)
    return (ended, made)

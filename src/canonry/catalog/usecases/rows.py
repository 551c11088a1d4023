"""Browse catalogs, and read, save, move and arrange their rows."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from canonry.canon.judging.known_items import make_observation
from canonry.canon.session.caller import Caller, unknown_item
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change
from canonry.catalog.domain.rows import CatalogRow, RowProblem, UniqueValue, read_row, triple_of
from canonry.catalog.usecases import judging
from canonry.log.entries import RelationEnded
from canonry.log.folding import item_key, relations_key
from canonry.log.items.entities import Entity, EntityDraft
from canonry.log.items.facts import Relation, RelationDraft
from canonry.log.schemas.catalog_tables import (
    ARCHIVED,
    CONCEPT_KINDS,
    CONTENT_KINDS,
    CREATED_AT,
    DRAFT,
    ENTITIES,
    PROJECTS,
    PUBLISH_REQUESTED,
    PUBLISHED,
    RELATION_ROWS,
    RELATIONS,
    TABLES,
    UPDATED_AT,
    CatalogTable,
)
from canonry.log.schemas.narrative import PROPERTY_PREFIX
from canonry.readmodels import catalog
from canonry.readmodels.ports.documents import BEFORE_ALL_ITEMS, CatalogQuery
from canonry.readmodels.ports.state import EntityQuery
from canonry.readmodels.ports.view import Page
from canonry.values.errors import Conflict, InvalidInput, NotFound
from canonry.values.ids import NewId, Space, SpaceDraft, SpaceId
from canonry.values.provenance import CanonLevel

PROJECTS_MAX: Final = 100  # bounds a reply, which says that there are more


async def list_projects(canon: Canon, caller: Caller) -> tuple[Sequence[Space], bool]:
    """The first hundred projects that the caller may see, by name, and whether there are more."""
    found = await canon.catalog.projects(caller.spaces, limit=PROJECTS_MAX + 1)
    return found[:PROJECTS_MAX], len(found) > PROJECTS_MAX


async def search_catalog(
    canon: Canon, caller: Caller, project: SpaceId, text: str, *, kinds: Iterable[str], limit: int
) -> Page[Entity]:
    """Entities of a project whose text contains `text`; no `kinds` means all.

    Raises:
        NotFound: `project.unknown`.
    """
    await require_project(canon, caller, project)
    query = CatalogQuery(project=project, text=text, kinds=frozenset(kinds), limit=limit)
    return await canon.catalog.search(query)


async def list_items(
    canon: Canon, caller: Caller, query: EntityQuery
) -> tuple[Sequence[Entity], int]:
    """Queried content of the projects that the caller may see, kind by kind, and its number."""
    spaces = frozenset(each.id for each in (await list_projects(canon, caller))[0])
    found: list[Entity] = []
    total, skip = 0, query.offset
    asked = replace(query, spaces=spaces, level=CanonLevel.CANON)
    for kind in CONTENT_KINDS if spaces else ():
        left = query.limit - len(found)
        page = await canon.state.entities(
            replace(asked, entity_type=kind, limit=max(left, 1), offset=skip)
        )
        found += page.items[: max(left, 0)]
        total, skip = total + page.total, max(0, skip - page.total)
    return found, total


async def project_of(canon: Canon, caller: Caller, entity_id: str) -> SpaceId:
    """The project that holds this content, the first by name of those that the caller may see.

    Raises:
        NotFound: `entity.unknown`.
    """
    projects, _ = await list_projects(canon, caller)
    ids = {catalog.item_id(each.id, CONTENT_KINDS[0], entity_id): each.id for each in projects}
    known = await canon.caller_scope(caller).items_by_id(ids)
    for stored_id, project in ids.items():
        if stored_id in known:
            return project
    raise unknown_item("entity", entity_id)


async def require_project(canon: Canon, caller: Caller, project: SpaceId) -> None:
    """Refuse a project that the caller may not see, exactly as if it did not exist.

    Raises:
        NotFound: `project.unknown`.
    """
    if not await canon.caller_scope(caller).may_see_space(project):
        raise NotFound("project.unknown", "There is no project with this id.", path="/projectId")


# Arrange catalog rows for their commits. Two items that swap their slugs, or two relations that
# swap what they join, are right together and wrong one after the other. Projects change one after
# the other, in turn.

CHUNK: Final = 500
"""The number of rows that one commit judges and stores; rows that swap values stay together."""


async def arrange_catalog_rows(
    canon: Canon, rows: Sequence[CatalogRow]
) -> tuple[Sequence[Sequence[CatalogRow]], Mapping[UniqueValue, str]]:
    """Return rows of one table and project in ordered chunks, but those that swap values together.

    The second result is the owners of the unique values that they want.
    """
    partners: dict[str, str] = {}
    owners: dict[UniqueValue, str] = {}
    for start in range(0, len(rows), CHUNK):
        some = rows[start : start + CHUNK]
        if rows[0].table is RELATION_ROWS:
            partners |= await _exchanging_rows(canon, some, owners)
        elif rows[0].table.unique:
            held = await judging.owners_of(canon, some)
            owners |= held
            others = ((row.id, held.get(row.unique_value or ("", "", ""), row.id)) for row in some)
            partners |= {mine: other for mine, other in others if mine != other}
    found: list[list[CatalogRow]] = [[]]
    for group in _group_exchanges(rows, partners) if partners else ([row] for row in rows):
        if len(found[-1]) >= CHUNK:
            found.append([])
        found[-1] += group
    return found, owners


def order_projects(
    rows: Sequence[CatalogRow], slugs: Mapping[str, str]
) -> Sequence[tuple[CatalogRow, bool]]:
    """Return projects in an order in which each slug is free, given the present owners.

    Each has a log of its own, so they cannot change together. In a circle one steps aside first,
    which is stated beside it: its slug is its own id until then.
    """
    waiting = {row.id: row for row in rows}
    found: list[tuple[CatalogRow, bool]] = []
    for row in rows:
        chain, then = list[CatalogRow](), waiting.get(row.id)
        while then is not None and (not chain or then.id != row.id):
            chain.append(then)
            owner = slugs.get(then.handle, then.id)
            then = None if owner == then.id else waiting.get(owner)
        if then is not None:
            found.append((replace(row, values={**row.values, "slug": row.id}), True))
        for each in reversed(chain):
            found.append((each, False))
            del waiting[each.id]
    return found


async def _exchanging_rows(
    canon: Canon, rows: Sequence[CatalogRow], owners: dict[UniqueValue, str]
) -> Mapping[str, str]:
    """Row -> the other row with a relation of the same type between the same items."""
    triples = {row.id: triple_of(row.values) for row in rows}
    joined = await canon.catalog.current_relations(triples.values())
    owners |= joined
    held = {mine: joined[triple] for mine, triple in triples.items() if triple in joined}
    project = SpaceId(rows[0].project)
    others = {m: item for m, item in held.items() if item != catalog.relation_id(project, m, 0)}
    items = await canon.space_scope(project).items_by_id(others.values())
    found: dict[str, str] = {}
    for mine, other_id in others.items():
        item = items.get(other_id)
        other = str(item.properties.get("id")) if isinstance(item, Relation) else mine
        if other != mine:
            found[mine] = other
    return found


def _group_exchanges(
    rows: Sequence[CatalogRow], partners: Mapping[str, str]
) -> Sequence[Sequence[CatalogRow]]:
    """Group rows that exchange unique values with each other."""
    group = {row.id: [row] for row in rows}
    for mine, other in partners.items():
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


def read_catalog_arrays(
    arrays: Mapping[str, Sequence[Any]],
) -> tuple[Mapping[str, list[CatalogRow]], list[RowProblem]]:
    """The rows that are right by themselves, by array, and what is wrong with the others.

    None of the rows repeats another.

    Raises:
        InvalidInput: `catalog.malformed`, an array has an unknown name or is none.
    """
    for name, rows in arrays.items():
        if name not in TABLES:
            message = f"A catalog has no array {name!r:.80}. Use {', '.join(TABLES)}."
            raise InvalidInput("catalog.malformed", message, path=f"/{name}"[:80])
        if not isinstance(rows, list | tuple):
            message = f"{name} must be an array of objects."
            raise InvalidInput("catalog.malformed", message, path=f"/{name}")
    problems: list[RowProblem] = []
    read = {n: _read_table(table, arrays.get(n, ()), problems) for n, table in TABLES.items()}
    return read, problems


def _read_table(
    table: CatalogTable, raw: Sequence[Any], problems: list[RowProblem]
) -> list[CatalogRow]:
    seen: dict[Any, int] = {}
    rows = []
    for number, each in enumerate(raw):
        row, wrong = read_row(table, number, each)
        problems.extend(wrong)
        if row is not None and (repeats := _repeat_problem(row, seen)) is not None:
            problems.append(repeats)
        elif row is not None:
            rows.append(row)
    return rows


def _repeat_problem(row: CatalogRow, seen: dict[Any, int]) -> RowProblem | None:
    """Return a problem if an earlier row of the table has the same id or unique value."""
    own, value = (row.values.get("projectId"), row.id), row.unique_value
    if own in seen:
        return row.make_problem("id", "id.repeated", f"Row {seen[own]} has the same id.")
    if value in seen:
        name = row.table.unique or "relationType"
        code = f"{row.table.unique or 'relation'}.repeated"
        return row.make_problem(name, code, f"Row {seen[value]} has the same value.")
    seen[own] = row.number
    if value is not None:
        seen[value] = row.number
    return None


# Save one row of a catalog, or withdraw a relation. Omitted fields do not change, and a new entity
# is a draft.

_NEW_IDS: Final = SpaceId("catalog")
"""The namespace of ids of new rows: a retry of a request gives the same id."""

STATUS: Final = "status"
_REACHED: Final = {PUBLISHED: "publishedAt", ARCHIVED: "archivedAt"}
"""Status -> the field that says since when."""

_MISSING: Final = frozenset(("project.unknown", "entity.unknown"))


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedRow:
    """The id of a saved row; `made` if it is new, `same` if it was stored already."""

    id: str
    made: bool
    same: bool


async def save_catalog_row(
    canon: Canon, caller: Caller, table: CatalogTable, given: Mapping[str, Any]
) -> SavedRow:
    """Store the row under its id, or under a new one where it has none.

    Raises:
        InvalidInput: what is wrong with a field, with its path.
        NotFound: `project.unknown` or `entity.unknown`, what the row refers to is not there.
        Conflict: what is there stands against it: another has the slug, the id was erased, ...
    """
    contract_id = str(
        given.get("id") or caller.commit_id(_NEW_IDS, canon.identities.new_id)
    ).lower()
    project = SpaceId(str(given.get("projectId") or contract_id).lower())
    if table is not PROJECTS or given.get("id"):
        await require_project(canon, caller, project)
    elif caller.spaces is not None:
        raise NotFound("project.unknown", "This caller may not create projects.", path="/id")
    now = catalog.format_instant(canon.clock.now())

    async def read_wanted() -> CatalogRow:
        held = await _stored_row(canon, table, project, contract_id, given)
        status = given.get(STATUS)
        found = {}
        if status != held.get(STATUS) and status in _REACHED and _REACHED[status] in table.names:
            found[_REACHED[status]] = now
        if table is ENTITIES and not held and given.get("entityType") == "concept":
            found["conceptKind"] = CONCEPT_KINDS[0]
        wanted = {**held, **found, **given, "id": contract_id}
        wanted[CREATED_AT] = held.get(CREATED_AT)
        if UPDATED_AT in table.names:
            wanted[UPDATED_AT] = None
        row, problems = read_row(table, 0, wanted)
        if row is None:
            first = problems[0]
            raise InvalidInput(first.code, f"{first.field}: {first.reason}", path=f"/{first.field}")
        return row

    async with canon.ledger.lock_appends() if table is PROJECTS else nullcontext():
        made, same = await store_row(canon, caller, project, read_wanted, now)
    return SavedRow(id=contract_id, made=made, same=same)


async def store_row(
    canon: Canon,
    caller: Caller,
    space: SpaceId,
    read: Callable[[], Awaitable[CatalogRow]],
    now: str,
) -> tuple[bool, bool]:
    """Judge and commit the row that `read` gives; return whether it is new, or the same.

    It is read again when others have written meanwhile, so that it may rest on what is stored.

    Raises:
        CanonryError: what `read` objects.
        NotFound, Conflict: the first problem of the row, as the caller can act on it.
    """
    verdict = judging.RowVerdict()

    async def prepare_change(new_id: NewId) -> Change:
        nonlocal verdict
        verdict = await judging.judge_rows(canon, (await read(),), judging.EarlierResults(), now)
        for each in verdict.problems:
            kind = NotFound if each.code in _MISSING else Conflict
            raise kind(each.code, f"{each.field}: {each.reason}", path=f"/{each.field}")
        return verdict.make_change(new_id)

    receipt = await commit_change(canon, caller, space, prepare_change)
    if verdict.rows:
        return verdict.rows[0].fresh, verdict.rows[0].make is None
    return bool(
        receipt.drafts_made(SpaceDraft, EntityDraft, RelationDraft)
    ), False  # as it was stated then


async def _stored_row(
    canon: Canon, table: CatalogTable, project: SpaceId, contract_id: str, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the stored row, or an empty mapping."""
    if table is RELATION_ROWS:
        current, _ = (await judging.standing_relations(canon, project, (contract_id,)))[contract_id]
        if current is None:
            return {}
        ends = (current.from_id, current.to_id)
        return judging.joined_row(current, await canon.space_scope(project).items_by_id(ends))
    if table is PROJECTS:
        space = await canon.space_scope(project).find_item(project)
        return (
            catalog.project_row(space)
            if isinstance(space, Space) and catalog.is_project(space)
            else {}
        )
    kind = table.kind or str(given.get("entityType", "guide"))
    stored_id = catalog.item_id(project, kind, contract_id)
    entity = await canon.space_scope(project).find_item(stored_id)
    return catalog.item_row(entity) if isinstance(entity, Entity) else {}


async def withdraw_catalog_relation(
    canon: Canon, caller: Caller, project: SpaceId, contract_id: str, reason: str
) -> None:
    """End the relation with this id; its history stays in the log.

    Raises:
        NotFound: `relation.unknown`.
    """

    async def prepare_change(_: NewId) -> Change:
        current = (await judging.standing_relations(canon, project, (contract_id,)))[contract_id][0]
        if current is None or not await canon.caller_scope(caller).may_see_space(project):
            message = "The project has no relation with this id."
            raise NotFound("relation.unknown", message, path="/relationId")
        entry = RelationEnded(relation_id=current.id, until=None, superseded_by=None, reason=reason)
        return Change(entries=(entry,), reads=frozenset((item_key(current.id),)))

    await commit_change(canon, caller, project, prepare_change)


_RELATIONS_MAX: Final = 500  # bounds the memory of a walk through all relations
_FOLDERS: Final = {"guide": "guides", "concept": "concepts", "project": "projects", "news": "news"}


class StatusMove(StrEnum):
    """Status changes of an entity."""

    REQUEST_PUBLISH = "request_publish"
    PUBLISH = "publish"
    REJECT = "reject"
    ARCHIVE = "archive"


_STEPS: Final[Mapping[StatusMove, tuple[frozenset[str], str]]] = {
    StatusMove.REQUEST_PUBLISH: (frozenset((DRAFT,)), PUBLISH_REQUESTED),
    StatusMove.PUBLISH: (frozenset((PUBLISH_REQUESTED,)), PUBLISHED),
    StatusMove.REJECT: (frozenset((PUBLISH_REQUESTED,)), DRAFT),
    StatusMove.ARCHIVE: (frozenset((DRAFT, PUBLISH_REQUESTED, PUBLISHED)), ARCHIVED),
}
"""For each move the statuses from which it leads, and the one to which."""


async def move_catalog_entity(
    canon: Canon,
    caller: Caller,
    project: SpaceId,
    entity_id: str,
    *,
    move: StatusMove,
    reason: str = "",
) -> str:
    """Move the entity to the next status, with its dependents; return the status.

    The log keeps `reason`.

    Raises:
        NotFound: `entity.unknown`.
        Conflict: `entity.wrong-status`, or `entity.unfinished` with what is missing.
    """
    stored_id = catalog.item_id(project, CONTENT_KINDS[0], entity_id)
    before, after = _STEPS[move]

    async def prepare_change(new_id: NewId) -> Change:
        entity = await canon.caller_scope(caller).find_item(stored_id)
        if not isinstance(entity, Entity) or catalog.item_of(entity) is None:
            message = "The project has no entity with this id."
            raise NotFound("entity.unknown", message, path="/entityId")
        row = catalog.item_row(entity)
        if row["status"] not in before:
            message = f"{move} needs the status {' or '.join(sorted(before))}, not {row['status']}."
            raise Conflict("entity.wrong-status", message, path="/action")
        await _require_finished(canon, entity, row, move)
        now = catalog.format_instant(canon.clock.now())
        fields: dict[str, Any] = {"status": after, "updatedAt": now}
        if move is StatusMove.PUBLISH:
            address = f"/{_FOLDERS[entity.entity_type]}/{row['slug']}"
            fields |= {"publishedAt": now, "canonicalUrl": row["canonicalUrl"] or address}
        if move is StatusMove.ARCHIVE:
            fields["archivedAt"] = now
        stated = {PROPERTY_PREFIX + name: value for name, value in fields.items()}
        if reason:
            stated[f"{PROPERTY_PREFIX}moveReason"] = reason
        seen = make_observation(new_id, judging.provenance_of(project), stored_id, stated)
        reads = frozenset((item_key(stored_id), relations_key(stored_id)))
        return Change(entries=(seen,), reads=reads)

    await commit_change(canon, caller, project, prepare_change)
    return after


async def _require_finished(
    canon: Canon, entity: Entity, row: Mapping[str, Any], move: StatusMove
) -> None:
    """Refuse a status change if required fields are missing."""
    needed = _NEEDED.get(move, ())
    missing = [name for name in needed if _LACKS[name](entity.entity_type, row)]
    if (
        move is StatusMove.REQUEST_PUBLISH
        and entity.entity_type == "guide"
        and not await _has_concept(canon, entity)
    ):
        missing.append("a relation to a concept")
    if missing:
        message = f"The entity cannot be published without {', '.join(missing)}."
        raise Conflict("entity.unfinished", message, path="/entityId", missing=missing)


async def _has_concept(canon: Canon, guide: Entity) -> bool:
    after = BEFORE_ALL_ITEMS
    while page := await canon.catalog.relations_from(guide.id, after=after, limit=_RELATIONS_MAX):
        for relation in page:
            edge = catalog.edge_of(relation)
            if edge is not None and RELATIONS[edge.rel_type].target == "concept":
                return True
        after = (page[-1].to_id, page[-1].rel_type)
    return False


_LACKS: Final[Mapping[str, Callable[[str, Mapping[str, Any]], bool]]] = {
    "title": lambda _, row: not row["title"].strip(),
    "slug": lambda _, row: not row["slug"].strip(),
    "repoUrl": lambda kind, row: (
        kind == "project" and not str(row["repoUrl"] or "").startswith(("https://", "http://"))
    ),
    "contentRef": lambda kind, row: kind in {"guide", "news"} and not row["contentRef"],
}
_NEEDED: Final[Mapping[StatusMove, tuple[str, ...]]] = {
    StatusMove.REQUEST_PUBLISH: tuple(_LACKS),
    StatusMove.PUBLISH: ("slug",),
}

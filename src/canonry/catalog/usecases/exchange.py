"""Export and import catalogs."""

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any, Final, TypeAlias

from canonry.canon.session.caller import Caller, unknown_item
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change
from canonry.canon.session.paging import every_item
from canonry.catalog.domain.rows import CatalogRow, RowProblem, UniqueValue
from canonry.catalog.usecases.judging import EarlierResults, RowVerdict, joined_row, judge_rows
from canonry.catalog.usecases.rows import (
    CHUNK,
    arrange_catalog_rows,
    order_projects,
    read_catalog_arrays,
)
from canonry.log.items.entities import Entity
from canonry.log.schemas import catalog_tables
from canonry.readmodels.catalog import format_instant, item_of, item_row, project_row
from canonry.readmodels.ports.documents import BEFORE_ALL_ITEMS
from canonry.readmodels.ports.state import Spaces
from canonry.readmodels.ports.view import PAGE_MAX, MaintenanceProgress
from canonry.values.errors import InvalidInput, Unavailable
from canonry.values.ids import NewId, Space, SpaceId, SpaceKind

TableRow: TypeAlias = tuple[str, Mapping[str, Any]]
"""The array that a row belongs to, and the row."""

_ARRAYS: Final = {
    catalog_tables.ENTITIES.array: catalog_tables.CONTENT_KINDS,
    catalog_tables.SOURCE_ITEMS.array: (catalog_tables.SOURCE_ITEM,),
    catalog_tables.DISTRIBUTION_EVENTS.array: (catalog_tables.DISTRIBUTION_EVENT,),
    catalog_tables.VIDEOS.array: (catalog_tables.VIDEO,),
}


async def export_catalog(
    canon: Canon, spaces: Spaces, progress: MaintenanceProgress
) -> AsyncIterator[TableRow]:
    """(array, row) for every row of these projects, array by array; None: all projects.

    All rows are of one state, or the last of them is followed by an error.

    Raises:
        NotFound: `project.unknown`.
        Unavailable: `catalog.moved`, somebody wrote into a project meanwhile.
    """
    heads = {
        space.id: await canon.ledger.head_position(space.id)
        for space in await _find_projects(canon, spaces)
    }
    projects = await _find_projects(canon, frozenset(heads))
    done = 0
    for space in projects:
        yield catalog_tables.PROJECTS.array, project_row(space)
    async for each in _export_rows(canon, projects):
        yield each
        done += 1
        progress(done, None)
    for project, head in heads.items():
        if await canon.ledger.head_position(project) != head:
            message = "The catalog changed during the export. Run it again, or make a backup."
            raise Unavailable("catalog.moved", message)


async def _export_rows(canon: Canon, projects: Sequence[Space]) -> AsyncIterator[TableRow]:
    for array, kinds in _ARRAYS.items():
        for space, kind in product(projects, kinds):
            async for entity in _items_of(canon, space.id, kind):
                yield array, item_row(entity)
    for space, kind in product(projects, catalog_tables.ITEM_KINDS):
        async for entity in _items_of(canon, space.id, kind):
            async for row in _relation_rows(canon, entity):
                yield catalog_tables.RELATION_ROWS.array, row


async def _find_projects(canon: Canon, spaces: Spaces) -> list[Space]:
    if spaces is not None:
        found = list(await canon.catalog.projects(spaces, limit=len(spaces)))
        for missing in spaces - {space.id for space in found}:
            raise unknown_item("project", missing)
        return sorted(found, key=lambda space: space.id)
    pages = partial(canon.state.spaces, kind=SpaceKind.PROJECT, parent=None)
    return sorted([each async for each in every_item(pages)], key=lambda space: space.id)


async def _items_of(canon: Canon, project: SpaceId, kind: str) -> AsyncIterator[Entity]:
    after = BEFORE_ALL_ITEMS
    while page := await canon.catalog.list_items(project, kind, after=after, limit=PAGE_MAX):
        for entity in page:
            yield entity
        last = item_of(page[-1])
        if last is None:
            return
        after = (last.handle, last.id)


async def _relation_rows(canon: Canon, source: Entity) -> AsyncIterator[Mapping[str, Any]]:
    after = BEFORE_ALL_ITEMS
    while page := await canon.catalog.relations_from(source.id, after=after, limit=PAGE_MAX):
        targets = await canon.space_scope(source.space).items_by_id(each.to_id for each in page)
        items = {**targets, source.id: source}
        for row in (joined_row(relation, items) for relation in page):
            if "toEntityId" in row:
                columns = catalog_tables.RELATION_ROWS.columns
                yield {column.name: row[column.name] for column in columns}
        after = (page[-1].to_id, page[-1].rel_type)


# Import a catalog: all is checked before anything is written, and a second run adds nothing. Rows
# are judged as a whole, counting what earlier rows will have stored, and again when they are
# written, since others may have written meanwhile.

NAMED_MAX: Final = 50
"""The most problems that an error names."""


@dataclass(slots=True, kw_only=True)
class CatalogImported:
    """Counts of the imported rows by array, and the problems of refused ones."""

    made: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)
    unchanged: Counter[str] = field(default_factory=Counter)
    problems: list[RowProblem] = field(default_factory=list)
    dry_run: bool = False

    @property
    def refused(self) -> int:
        """The number of refused rows."""
        return len({(each.array, each.row) for each in self.problems})


async def import_catalog(
    canon: Canon,
    caller: Caller,
    arrays: Mapping[str, Sequence[Any]],
    progress: MaintenanceProgress,
    *,
    lenient: bool = False,
    dry_run: bool = False,
) -> CatalogImported:
    """Store the rows, each under its id; existing items are updated.

    `lenient` stores what is right, a `dry_run` nothing.

    Raises:
        InvalidInput: `catalog.malformed` or `catalog.invalid`, with array, row and field of what
            is wrong; nothing was written.
        Unavailable: as for every write; run it again to go on.
    """
    rows_of, problems = read_catalog_arrays(arrays)
    total = sum(map(len, rows_of.values()))
    now = format_instant(canon.clock.now())
    report = CatalogImported(dry_run=dry_run, problems=problems)
    steps = total if dry_run else 2 * total
    ahead, done, chunks = EarlierResults(), 0, list[Sequence[CatalogRow]]()
    for table in catalog_tables.TABLES:
        async for rows, owners in _chunk_rows(canon, rows_of[table]):
            verdict = await judge_rows(canon, rows, ahead, now, owners)
            report.problems += verdict.problems
            if dry_run:
                _count_rows(report, verdict)
            elif verdict.rows:
                chunks.append([each.row for each in verdict.rows])
            done += len(rows)
            progress(done, steps)
    if report.problems and not lenient:
        raise _invalid_rows(report.problems)
    for chunk in chunks:
        verdict = await _store_rows(canon, caller, chunk, now)
        report.problems += verdict.problems
        _count_rows(report, verdict)
        done += len(chunk)
        progress(done, steps)
    if not dry_run:
        progress(steps, steps)
    return report


async def _store_rows(
    canon: Canon, caller: Caller, rows: Sequence[CatalogRow], now: str
) -> RowVerdict:
    """One commit, or one a project.

    While a project is stored nobody else writes, since no space guards another's slug.
    """
    if rows[0].table is not catalog_tables.PROJECTS:
        return await _commit_rows(canon, caller, rows, now)
    stored = RowVerdict()
    owners = await canon.catalog.projects_called(row.handle for row in rows)
    for row, aside in order_projects(rows, owners):
        async with canon.ledger.lock_appends():
            verdict = await _commit_rows(canon, caller, (row,), now)
        stored.rows += () if aside else verdict.rows
        stored.problems += verdict.problems
    return stored


async def _commit_rows(
    canon: Canon, caller: Caller, rows: Sequence[CatalogRow], now: str
) -> RowVerdict:
    space, verdict = SpaceId(rows[0].project), RowVerdict()

    async def prepare_change(new_id: NewId) -> Change:
        nonlocal verdict
        verdict = await judge_rows(canon, rows, EarlierResults(), now)
        return verdict.make_change(new_id)

    await commit_change(canon, caller, space, prepare_change)
    return verdict


async def _chunk_rows(
    canon: Canon, rows: Sequence[CatalogRow]
) -> AsyncIterator[tuple[Sequence[CatalogRow], Mapping[UniqueValue, str] | None]]:
    """Yield rows of one table and project, and the owners of their unique values, if known."""
    if rows and rows[0].table is catalog_tables.PROJECTS:
        for start in range(0, len(rows), CHUNK):
            yield rows[start : start + CHUNK], None
        return
    of_project: dict[str, list[CatalogRow]] = {}
    for row in rows:
        of_project.setdefault(row.project, []).append(row)
    for group in of_project.values():
        arranged, owners = await arrange_catalog_rows(canon, group)
        for some in arranged:
            yield some, owners


def _count_rows(report: CatalogImported, verdict: RowVerdict) -> None:
    for judged in verdict.rows:
        array = judged.row.table.array
        if judged.make is None:
            report.unchanged[array] += 1
        elif judged.fresh:
            report.made[array] += 1
        else:
            report.changed[array] += 1


def _invalid_rows(problems: Sequence[RowProblem]) -> InvalidInput:
    first = problems[0]
    rest = f", and {len(problems) - 1} more" if len(problems) > 1 else ""
    return InvalidInput(
        "catalog.invalid",
        f"Nothing was stored: {first}{rest}",
        path=f"/{first.array}/{first.row}/{first.field}".rstrip("/"),
        problem=first.code,
        problems=[str(each) for each in problems[:NAMED_MAX]],
        total=len(problems),
    )

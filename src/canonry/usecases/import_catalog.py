"""Import a catalog: all is checked before anything is written, and a second run adds nothing.

Rows are judged twice: once as a whole, counting what earlier rows will have stored, and again when
they are written, because others may have written meanwhile.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from canonry.domain.catalog import stamp
from canonry.domain.catalog_rows import CatalogRow, RowProblem
from canonry.domain.errors import InvalidInput
from canonry.domain.ids import SpaceId
from canonry.domain.vocabularies.catalog_tables import PROJECTS, RELATION_ROWS, TABLES
from canonry.ports.views.upkeep import Told
from canonry.usecases.arrange_catalog_rows import CHUNK, arrange_catalog_rows
from canonry.usecases.caller import Caller
from canonry.usecases.canon import Canon
from canonry.usecases.commit_change import Change, NewId, commit_change
from canonry.usecases.judge_catalog_relations import judge_relations
from canonry.usecases.judge_catalog_rows import (
    Ahead,
    Verdict,
    judge_items,
    judge_projects,
    of_one_project,
)
from canonry.usecases.read_catalog_arrays import read_catalog_arrays

NAMED_MAX: Final = 50
"""So many problems are named in an error."""

Judge = Callable[[Ahead], Awaitable[Verdict]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogImportRequest:
    """What to import; `lenient` stores what is right, a `dry_run` nothing."""

    arrays: Mapping[str, Sequence[Any]]
    lenient: bool = False
    dry_run: bool = False


@dataclass(slots=True, kw_only=True)
class CatalogImported:
    """What became of the rows, counted by array, and why some were refused."""

    made: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)
    unchanged: Counter[str] = field(default_factory=Counter)
    problems: list[RowProblem] = field(default_factory=list)
    dry_run: bool = False

    @property
    def refused(self) -> int:
        """How many rows were refused."""
        return len({(each.array, each.row) for each in self.problems})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chunk:
    """Rows of one table and, unless they are projects, of one project."""

    rows: Sequence[CatalogRow]

    def judge(self, canon: Canon, now: str) -> Judge:
        table, project = self.rows[0].table, self.rows[0].project
        if table is PROJECTS:
            return lambda ahead: judge_projects(canon, self.rows, ahead, now)
        if table is RELATION_ROWS:
            return lambda ahead: judge_relations(canon, project, self.rows, ahead, now)
        return lambda ahead: judge_items(canon, project, self.rows, ahead, now)


async def import_catalog(
    canon: Canon, caller: Caller, request: CatalogImportRequest, told: Told
) -> CatalogImported:
    """Store the rows, each under its id: what is there is brought up to the row.

    Raises:
        InvalidInput: `catalog.malformed` or `catalog.invalid`, with array, row and field of what
            is wrong; nothing was written.
        Unavailable: as for every write; run it again to go on.
    """
    read = read_catalog_arrays(request.arrays)
    now = stamp(canon.clock.now())
    report = CatalogImported(dry_run=request.dry_run, problems=list(read.problems))
    steps = read.total if request.dry_run else 2 * read.total
    ahead, done, chunks = Ahead(), 0, list[_Chunk]()
    for table in TABLES:
        for chunk in await _chunks(canon, read.rows[table]):
            verdict = await chunk.judge(canon, now)(ahead)
            report.problems += verdict.problems
            right = [judged.row for judged in verdict.rows]
            if request.dry_run:
                _count(report, verdict)
            elif right:
                chunks.append(_Chunk(rows=right))
            done += len(chunk.rows)
            told(done, steps)
    if report.problems and not request.lenient:
        raise _invalid(report.problems)
    if request.dry_run:
        return report
    for chunk in chunks:
        _count(report, await store_rows(canon, caller, chunk.rows, now, report))
        done += len(chunk.rows)
        told(done, steps)
    told(steps, steps)
    return report


async def store_rows(
    canon: Canon,
    caller: Caller,
    rows: Sequence[CatalogRow],
    now: str,
    report: CatalogImported | None = None,
) -> Verdict:
    """Judge rows of one table and project once more and commit what they change.

    Raises:
        InvalidInput: `catalog.invalid`, unless a `report` takes the problems.
    """
    if rows[0].table is PROJECTS:
        return await _store_projects(canon, caller, rows, now, report)
    judge = _Chunk(rows=rows).judge(canon, now)
    return await _commit(canon, caller, SpaceId(rows[0].project), judge, report)


async def _store_projects(
    canon: Canon,
    caller: Caller,
    rows: Sequence[CatalogRow],
    now: str,
    report: CatalogImported | None,
) -> Verdict:
    """One commit a project; nobody else writes meanwhile, since no space guards another's slug."""
    stored = Verdict()
    for row in rows:
        judge = _Chunk(rows=(row,)).judge(canon, now)
        async with canon.ledger.exclusive():
            verdict = await _commit(canon, caller, SpaceId(row.id), judge, report)
        stored.rows += verdict.rows
    return stored


async def _commit(
    canon: Canon, caller: Caller, space: SpaceId, judge: Judge, report: CatalogImported | None
) -> Verdict:
    verdict = Verdict()

    async def prepare(new_id: NewId) -> Change:
        nonlocal verdict
        verdict = await judge(Ahead())
        if verdict.problems and report is None:
            raise _invalid(verdict.problems)
        return Change(entries=verdict.entries(new_id), reads=frozenset(verdict.reads))

    await commit_change(canon, caller, space, prepare)
    if report is not None:
        report.problems += verdict.problems
    return verdict


async def _chunks(canon: Canon, rows: Sequence[CatalogRow]) -> Sequence[_Chunk]:
    if not rows:
        return ()
    if rows[0].table is PROJECTS:
        return [_Chunk(rows=rows[n : n + CHUNK]) for n in range(0, len(rows), CHUNK)]
    return [
        _Chunk(rows=chunk)
        for group in of_one_project(rows).values()
        for chunk in await arrange_catalog_rows(canon, group)
    ]


def _count(report: CatalogImported, verdict: Verdict) -> None:
    for judged in verdict.rows:
        array = judged.row.table.array
        if judged.make is None:
            report.unchanged[array] += 1
        elif judged.fresh:
            report.made[array] += 1
        else:
            report.changed[array] += 1


def _invalid(problems: Sequence[RowProblem]) -> InvalidInput:
    first = problems[0]
    rest = f", and {len(problems) - 1} more" if len(problems) > 1 else ""
    return InvalidInput(
        "catalog.invalid",
        f"nothing was stored: {first}{rest}",
        path=f"/{first.array}/{first.row}/{first.field}".rstrip("/"),
        problem=first.code,
        problems=[str(each) for each in problems[:NAMED_MAX]],
        total=len(problems),
    )

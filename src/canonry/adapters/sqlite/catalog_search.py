"""Search in a catalog: exact substrings, counted before the limit, the newest entities first.

How a question is answered depends on how much there is to look at: few texts are read one by one,
the trigram index tells where three characters or more occur, and for one or two there are counts.
A question whose answers are many is answered by walking the newest texts until the page is full.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import apsw

from canonry.adapters.sqlite.catalog_grams import UNINDEXED, expression
from canonry.adapters.sqlite.packing import Packed, pack
from canonry.domain.catalog import fold
from canonry.domain.vocabularies.catalog_kinds import CONTENT_KINDS
from canonry.ports.views.catalog import CatalogQuery

FEW: Final = 2_000
"""So many texts are read one by one rather than through an index."""

WALKED_MAX: Final = 20_000
"""So many of the newest texts are read before the index is asked for the others."""

_GRAM: Final = 3
_HOLDS: Final = "(instr(t.title, :text) OR instr(t.slug, :text) OR instr(t.summary, :text))"
_KINDS: Final = "t.kind IN (:kind0, :kind1, :kind2, :kind3)"
_N: Final = "SELECT kind, n FROM catalog_counts WHERE space = ? AND gram = ? AND kind = ?"
_ALL: Final = "SELECT coalesce(sum(n), 0) FROM catalog_counts WHERE space <> ? AND gram = ''"
_READ: Final = (
    f"SELECT t.n FROM catalog_texts t WHERE t.space = :space AND {_KINDS} AND {_HOLDS}"  # noqa: S608
    " ORDER BY t.updated DESC, t.id"
)
_WALK: Final = (
    "SELECT t.n FROM (SELECT * FROM catalog_texts WHERE space = :space"  # noqa: S608
    f" ORDER BY updated DESC, id LIMIT :walked) t WHERE {_KINDS} AND {_HOLDS} LIMIT :limit"
)
_INDEXED: Final = "SELECT count(*) FROM catalog_grams WHERE catalog_grams MATCH ?"
_HITS: Final = (
    "SELECT t.n FROM catalog_grams g CROSS JOIN catalog_texts t ON t.n = g.rowid"  # noqa: S608
    " WHERE g.catalog_grams MATCH :match AND t.space = :space"
    f" AND {_KINDS} ORDER BY t.updated DESC, t.id LIMIT :limit"
)
_BEGUN: Final = (
    "SELECT t.n FROM (SELECT DISTINCT doc FROM catalog_terms"  # noqa: S608
    " WHERE term >= :text AND term <= :last AND col IN ('title', 'slug', 'summary')) g"
    " CROSS JOIN catalog_texts t ON t.n = g.doc"
    f" WHERE t.space = :space AND {_KINDS} ORDER BY t.updated DESC, t.id LIMIT :limit"
)
_LAST: Final = "\U0010ffff"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sought:
    """A question in the forms in which statements take it."""

    space: Packed
    project: str
    text: str
    kinds: frozenset[str]
    limit: int

    @property
    def among(self) -> Sequence[str]:
        return sorted(self.kinds or CONTENT_KINDS)

    def values(self, **more: Any) -> dict[str, Any]:
        among = (*self.among, *("",) * len(CONTENT_KINDS))
        named = {f"kind{i}": among[i] for i in range(len(CONTENT_KINDS))}
        return {"space": self.space, "text": self.text, "limit": self.limit, **named, **more}


def search_texts(db: apsw.Connection, query: CatalogQuery) -> tuple[Sequence[int], int]:
    """The numbers of the things on the page, and how many match in all."""
    sought = _Sought(
        space=pack(query.project),
        project=query.project,
        text=fold(query.text),
        kinds=query.kinds,
        limit=query.limit,
    )
    there = _counted(db, sought, "")
    if not there or "\0" in sought.text:
        return (), 0
    if there <= FEW or not UNINDEXED.isdisjoint(sought.text):
        found = _numbers(db, _READ, sought.values())
        return found[: query.limit], len(found)
    total = _total(db, sought)
    if not total:
        return (), 0
    wanted = min(query.limit, total)
    if _is_walked(sought, wanted, total, there):
        page = _numbers(db, _WALK, sought.values(walked=WALKED_MAX))
        if len(page) == wanted:
            return page, total
    return _indexed(db, sought, there), total


def _is_walked(sought: _Sought, wanted: int, total: int, there: int) -> bool:
    """Whether the page is found sooner among the newest texts than among all that match."""
    share = 1 if not sought.kinds else len(CONTENT_KINDS)
    walked = wanted * there * share // total
    return walked <= min(total, WALKED_MAX)


def _total(db: apsw.Connection, sought: _Sought) -> int:
    if len(sought.text) < _GRAM:
        return _counted(db, sought, sought.text)
    return int(_one(db, _INDEXED, (_expression(db, sought),)))


def _indexed(db: apsw.Connection, sought: _Sought, there: int) -> Sequence[int]:
    if len(sought.text) >= _GRAM:
        return _numbers(db, _HITS, sought.values(match=_expression(db, sought)))
    if there <= WALKED_MAX:
        return _numbers(db, _READ, sought.values())[: sought.limit]
    last = sought.text + _LAST * (_GRAM - len(sought.text))
    return _numbers(db, _BEGUN, sought.values(last=last))


def _expression(db: apsw.Connection, sought: _Sought) -> str:
    alone = not sought.kinds and not _one(db, _ALL, (sought.space,))
    return expression(sought.project, sought.kinds, sought.text, alone=alone)


def _counted(db: apsw.Connection, sought: _Sought, gram: str) -> int:
    rows: list[Any] = [
        db.execute(_N, (sought.space, gram, kind)).fetchone() for kind in sought.among
    ]
    return sum(row[1] for row in rows if row is not None)


def _numbers(db: apsw.Connection, sql: str, values: dict[str, Any]) -> Sequence[int]:
    rows: list[Any] = db.execute(sql, values).fetchall()
    return [row[0] for row in rows]


def _one(db: apsw.Connection, sql: str, values: tuple[Any, ...]) -> Any:
    row: Any = db.execute(sql, values).fetchone()
    return row[0]

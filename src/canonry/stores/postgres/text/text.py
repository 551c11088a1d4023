"""Keyword search in PostgreSQL: an index of terms finds candidates, the formula ranks them.

The figures of the formula are those of the spaces asked for, and of nothing else. Frequent terms do
not pick candidates as long as rarer ones do; they still count in the scores of what is found.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar

from typing_extensions import override

from canonry.language.texts.stems import lengths_near
from canonry.readmodels.keywords import (
    Figures,
    Sought,
    alike,
    doubted,
    measure,
    most_frequent,
    picked,
    sought_in,
)
from canonry.readmodels.listing import List
from canonry.readmodels.ports.text import Hit, Text, TextFound, TextQuery
from canonry.readmodels.ranking import Asked
from canonry.stores.postgres.database import PgConnection, PgRow, Values, fetched, together
from canonry.stores.postgres.keeping import PostgresView
from canonry.stores.postgres.text.passages import kept, term_of
from canonry.values.errors import CanonryError, Unavailable

T = TypeVar("T")

CANDIDATES_MAX: Final = 8_000
RUN_MAX: Final = 20_000
"""So many stems of a first letter are compared with a misspelled one."""

_LAST: Final = "\U0010ffff"
_SIZES: Final = (
    "SELECT space, facet, n FROM counts WHERE owner = %(collection)s AND n > 0"
    f" AND list = {int(List.PASSAGES)}"
    " AND (%(spaces)s::text[] IS NULL OR space = ANY(%(spaces)s))"
)
_VOCABULARY: Final = (
    "SELECT stem, sum(n)::bigint FROM stem_counts WHERE collection = %(collection)s"
    " AND (%(spaces)s::text[] IS NULL OR space = ANY(%(spaces)s)) AND {which} GROUP BY stem"
)
_NAMED: Final = "stem = ANY(%(stems)s)"
_BEGUN: Final = "stem >= %(low)s AND stem < %(high)s"
_NEAR: Final = f"{_BEGUN} AND length(stem) BETWEEN %(short)s AND %(long)s"
_AT_START: Final = (
    "(substr(stem, 2, 3) = ANY(%(rests)s) OR left(stem, 3) = %(cut)s"
    " OR left(stem, 2) = %(swapped)s) AND length(stem) BETWEEN %(short)s AND %(long)s"
)
_WITH_BEGINNING: Final = f"{_VOCABULARY.format(which=_BEGUN)} LIMIT {RUN_MAX}"
_ALIKE: Final = f"{_VOCABULARY.format(which=_NEAR)} LIMIT {RUN_MAX}"
_ALIKE_AT_START: Final = f"{_VOCABULARY.format(which=_AT_START)} LIMIT {RUN_MAX}"
_FIND: Final = (
    "SELECT id, scene, place, entities, stems FROM passages WHERE ({found})"
    " AND (%(entities)s::text[] IS NULL OR entities && %(entities)s::text[])"
    " AND (%(source)s::text IS NULL OR source = %(source)s)"
    " AND (%(without)s::text IS NULL OR scene IS DISTINCT FROM %(without)s) LIMIT %(most)s"
)
_PLACED: Final = (
    "SELECT id, scene, place, entities FROM passages WHERE id = ANY(%(ids)s)"
    " AND collection = %(collection)s"
    " AND (%(spaces)s::text[] IS NULL OR space = ANY(%(spaces)s))"
    " AND (%(entities)s::text[] IS NULL OR entities && %(entities)s::text[])"
    " AND (%(source)s::text IS NULL OR source = %(source)s)"
    " AND (%(without)s::text IS NULL OR scene IS DISTINCT FROM %(without)s)"
)


class PostgresText(PostgresView, Text):
    """Reads what the ledger folded in its own transactions."""

    @override
    async def search(self, query: TextQuery) -> TextFound:
        sought = sought_in(query.text)
        if not (sought.stems or sought.begun) or query.limit < 1:
            return TextFound(hits=(), asked=Asked(terms={}, strongest=0.0))
        try:
            return await self._database.reading(
                lambda db: search_in(alone(db, query), query, sought)
            )
        except CanonryError as error:
            raise silent(error) from error

    @override
    async def figures(self, stems: Iterable[str], query: TextQuery) -> Figures:
        named = frozenset(stems)
        try:
            figures, _ = await self._database.reading(
                lambda db: figures_in(alone(db, query), named)
            )
        except CanonryError as error:
            raise silent(error) from error
        return figures

    @override
    async def placed(self, ids: Iterable[str], query: TextQuery) -> Sequence[Hit]:
        wanted = list(ids)
        if not wanted:
            return ()
        try:
            rows = await self._database.rows(_PLACED, {**_filters(query), "ids": wanted})
        except CanonryError as error:
            raise silent(error) from error
        return [Hit(one, 0.0, {}, scene, place, tuple(about)) for one, scene, place, about in rows]


def silent(error: CanonryError) -> Unavailable:
    """The error of whoever can go on without this search."""
    message = "keyword search did not answer; go on without it"
    return Unavailable("text.unavailable", message, cause=error.code)


def _filters(query: TextQuery) -> dict[str, Any]:
    return {
        "collection": str(query.collection),
        "spaces": None if query.spaces is None else list(query.spaces),
        "entities": list(query.entities) or None,
        "source": query.source_id,
        "without": query.without_scene,
    }


class AskAll(Protocol):
    """Asks the same wherever the passages of a query are, each place for those that it has."""

    async def __call__(
        self, ask: Callable[[PgConnection, TextQuery], Awaitable[T]], /
    ) -> Sequence[T]:
        """What each place answers."""


def alone(db: PgConnection, query: TextQuery) -> AskAll:
    """All passages are in one place."""

    async def asked(ask: Callable[[PgConnection, TextQuery], Awaitable[T]], /) -> Sequence[T]:
        return [await ask(db, query)]

    return asked


async def search_in(asked: AskAll, query: TextQuery, sought: Sought) -> TextFound:
    """The best passages, as if those of all places were in one."""
    named = {*sought.stems, *(stem for phrase in sought.phrases for stem in phrase)}
    figures, spaces = await figures_in(asked, named)
    unknown = doubted(sought, figures.found_in)
    corrected, begun = await _meant(asked, unknown, sought.begun)
    figures = figures.knowing((*corrected.values(), *begun.values()))
    scores = measure(sought, figures, corrected=corrected, begun=begun)
    rows = await _candidates(asked, sought, picked(figures, scores), figures, spaces)
    hits = [
        Hit(identity, raw / (raw + 1), shares, scene, place, tuple(about))
        for identity, scene, place, about, stems in rows
        if (shares := scores.shares(stems.split(" "))) and (raw := sum(shares.values()))
    ]
    hits.sort(key=lambda hit: (-hit.score, hit.id))
    told = scores.asked(hits[0].shares if hits else {})
    return TextFound(hits=hits[: query.limit], asked=told)


async def figures_in(asked: AskAll, stems: Iterable[str]) -> tuple[Figures, Sequence[str]]:
    """The figures of the spaces asked for, and which of them have passages."""
    stored = {kept(stem): stem for stem in stems}

    async def count(db: PgConnection, query: TextQuery) -> Sequence[Sequence[PgRow]]:
        values = _filters(query)
        return await together(
            db,
            (_SIZES, values),
            (_VOCABULARY.format(which=_NAMED), {**values, "stems": list(stored)}),
        )

    found = await asked(count)
    sizes = [row for each, _ in found for row in each]
    passages = {space: n for space, facet, n in sizes if facet == "passages"}
    words = sum(n for _, facet, n in sizes if facet == "words")
    total = sum(passages.values())
    found_in = Counter[str]()
    for _, known in found:
        found_in.update({stored[stem]: n for stem, n in known})
    figures = Figures(passages=total, length=words / (total or 1) or 1, found_in=found_in)
    return figures, sorted(passages)


async def _meant(
    asked: AskAll, wrong: Sequence[str], begun: Sequence[str]
) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, int]]]:
    """The words that each stem may be a misspelling of, and those that begin with each letters."""
    if not wrong and not begun:
        return {}, {}

    async def look(db: PgConnection, query: TextQuery) -> Sequence[Sequence[PgRow]]:
        return await together(db, *_asking_for(_filters(query), wrong, begun))

    found = [_added(each) for each in zip(*await asked(look), strict=True)]
    beginning = dict(zip(begun, map(most_frequent, found), strict=False))
    rest = iter(found[len(begun) :])
    return {
        stem: most_frequent(alike(stem, near)) or most_frequent(alike(stem, others, at_start=True))
        for stem, near, others in zip(wrong, rest, rest, strict=True)
    }, beginning


def _asking_for(
    values: Mapping[str, Any], wrong: Sequence[str], begun: Sequence[str]
) -> Sequence[tuple[str, Values]]:
    asking: list[tuple[str, Values]] = [(_WITH_BEGINNING, _run(values, each)) for each in begun]
    for stem in wrong:
        short, long = lengths_near(len(stem))
        near = {**values, "short": short, "long": long}
        starts = {"rests": [stem[1:4], stem[:3]], "cut": stem[1:4], "swapped": stem[1::-1]}
        asking += [(_ALIKE, _run(near, stem[0])), (_ALIKE_AT_START, {**near, **starts})]
    return asking


def _added(counts: Iterable[Sequence[PgRow]]) -> list[tuple[str, int]]:
    """How often each word occurs in all places together."""
    words = Counter[str]()
    for rows in counts:
        words.update(dict(rows))
    return list(words.items())


def _run(values: Mapping[str, Any], letters: str) -> dict[str, Any]:
    return {**values, "low": letters, "high": letters + _LAST}


async def _candidates(
    asked: AskAll,
    sought: Sought,
    rare: frozenset[str],
    figures: Figures,
    spaces: Sequence[str],
) -> Sequence[PgRow]:
    """The passages that have one of the rare words, or a phrase of frequent ones."""
    if not rare or not spaces:
        return ()

    async def find(db: PgConnection, query: TextQuery) -> Sequence[PgRow]:
        among = query.collection
        values = {**_filters(query), "most": CANDIDATES_MAX}
        values["any"] = [term_of(space, among, stem) for space in spaces for stem in rare]
        found = ["terms && %(any)s::bigint[]"]
        for n, phrase in enumerate(sought.phrases):
            if not rare.issuperset(phrase) and min(figures.found_in.get(s, 0) for s in phrase):
                for m, space in enumerate(spaces):
                    values[f"p{n}_{m}"] = [term_of(space, among, s) for s in phrase]
                    found.append(f"terms @> %(p{n}_{m})s::bigint[]")
        return await fetched(db, _FIND.format(found=" OR ".join(found)), values)

    # While a space moves, two places may have the same.
    return list({row[0]: row for rows in await asked(find) for row in rows}.values())

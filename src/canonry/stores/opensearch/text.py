"""Keyword search in OpenSearch: its index finds candidates and counts words, the formula ranks.

A commit is written in two steps: its passages, each safe to write again, and then the cursor, which
shows together with them. Whoever reads in between may see passages early, and never wrong ones.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from opensearchpy import AsyncHttpConnection, AsyncOpenSearch
from typing_extensions import override

from canonry.language.texts.stems import LONGEST
from canonry.log.commits import Position
from canonry.log.entries import Thing
from canonry.readmodels.keywords import (
    Figures,
    Measure,
    Sought,
    alike,
    doubted,
    measure,
    most_frequent,
    picked,
    sought_in,
)
from canonry.readmodels.passages import Passage
from canonry.readmodels.ports.text import Hit, Text, TextFound, TextQuery
from canonry.readmodels.ports.view import Folded
from canonry.readmodels.ranking import Asked
from canonry.stores.opensearch import questions
from canonry.stores.opensearch.index import QuickSerializer, SearchIndex
from canonry.stores.opensearch.passages import bulks_of, document_of, hit_of, is_written, stems_in
from canonry.values.errors import Conflict
from canonry.values.ids import SpaceId

DEADLINE: Final = 30.0
"""So many seconds a question may take where no call says less."""

_PLACED_MAX: Final = 1_000
"""So many ids one question holds."""


def open_text(
    url: str,
    *,
    user: str | None = None,
    password: str | None = None,
    name: str = "canonry",
    deadline: float = DEADLINE,
) -> "OpenSearchText":
    """Open the text view of the store `name` on the server at `url`; nothing is asked yet.

    The index is made when it is first needed, also where it was lost: then the view stands at the
    beginning of every log, and whoever projects brings it up.
    """
    # What the driver raises is told by whoever asked; its log would repeat it with addresses.
    logging.getLogger("opensearch").setLevel(logging.CRITICAL)
    client = AsyncOpenSearch(
        hosts=[url],
        http_auth=None if user is None else (user, password or ""),
        connection_class=AsyncHttpConnection,
        serializer=QuickSerializer(),
        timeout=deadline,
        max_retries=2,
    )
    return OpenSearchText(SearchIndex(client, name, deadline))


class OpenSearchText(Text):
    """The passages of one store; OpenSearch 2 or newer."""

    def __init__(self, index: SearchIndex) -> None:
        """Share the index with nobody: `close` closes it."""
        self._index = index

    @override
    async def cursor(self, space: SpaceId) -> Position:
        return Position(await self._index.shown(_cursor_of(space), routing=space))

    @override
    async def apply(self, folded: Sequence[Folded]) -> None:
        if not folded:
            return
        space = folded[0].space
        start = cursor = await self.cursor(space)
        things: dict[str, Thing] = {}
        for each in folded:
            if each.position <= cursor:
                continue
            if each.position > cursor + 1:
                message = "commits are missing: apply those after the cursor first"
                raise Conflict("view.gap", message)
            things |= {thing.id: thing for thing in each.things}
            cursor = each.position
        if cursor == start:
            return
        for lines in bulks_of(space, things.values()):
            await self._index.write(lines)
        about = {"_id": _cursor_of(space), "routing": space}
        moved = {"index": {**about, "version": cursor, "version_type": "external"}}
        await self._index.write([moved, {"shown": cursor}], shows=True)

    @override
    async def search(self, query: TextQuery) -> TextFound:
        sought = sought_in(query.text)
        if not (sought.stems or sought.begun) or query.limit < 1:
            return TextFound(hits=(), asked=Asked(terms={}, strongest=0.0))
        named = dict.fromkeys((*sought.stems, *(s for phrase in sought.phrases for s in phrase)))
        figures, begun = await self._figures(query, tuple(named), sought.begun)
        unknown = [s for s in doubted(sought, figures.found_in) if len(s) <= LONGEST]
        near = await self._index.search([questions.misspelled(query, stem) for stem in unknown])
        corrected = {
            stem: most_frequent(alike(stem, words))
            or most_frequent(alike(stem, words, at_start=True))
            for stem, words in zip(unknown, map(_words, near), strict=True)
        }
        figures = figures.knowing((*corrected.values(), *begun.values()))
        scores = measure(sought, figures, corrected=corrected, begun=begun)
        hits = await self._hits(query, sought, scores, figures)
        hits.sort(key=lambda hit: (-hit.score, hit.id))
        asked = scores.asked(hits[0].shares if hits else {})
        return TextFound(hits=hits[: query.limit], asked=asked)

    @override
    async def figures(self, stems: Iterable[str], query: TextQuery) -> Figures:
        figures, _ = await self._figures(query, tuple(frozenset(stems)), ())
        return figures

    async def _figures(
        self, query: TextQuery, stems: Sequence[str], begun: Sequence[str]
    ) -> tuple[Figures, dict[str, dict[str, int]]]:
        """The figures of the spaces asked for, and the words that begin with each letters."""
        short = [each for each in begun if len(each) <= LONGEST]
        total, *more = await self._index.search(
            [
                questions.sizes(query),
                *(questions.beginning(query, each) for each in short),
                *questions.counts(query, stems),
            ]
        )
        found = iter(more)
        beginning = {each: dict(_words(told)) for each, told in zip(short, found, strict=False)}
        counted = {
            stems[int(n)]: told["doc_count"]
            for each in found
            for n, told in each["aggregations"]["n"]["buckets"].items()
            if told["doc_count"]
        }
        passages = total["hits"]["total"]["value"]
        words = total["aggregations"]["words"]["value"]
        length = words / (passages or 1) or 1
        return Figures(passages=passages, length=length, found_in=counted), beginning

    async def _hits(
        self, query: TextQuery, sought: Sought, scores: Measure, figures: Figures
    ) -> list[Hit]:
        rare = picked(figures, scores)
        if not rare:
            return []
        phrases = [
            phrase
            for phrase in sought.phrases
            if not rare.issuperset(phrase) and min(figures.found_in.get(s, 0) for s in phrase)
        ]
        (told,) = await self._index.search([questions.holding(query, rare, phrases)])
        return [
            hit_of(each, shares)
            for each in told.get("hits", {}).get("hits", ())
            if (shares := scores.shares(stems_in(each)))
        ]

    @override
    async def placed(self, ids: Iterable[str], query: TextQuery) -> Sequence[Hit]:
        wanted = sorted(set(ids))
        parts = [wanted[n : n + _PLACED_MAX] for n in range(0, len(wanted), _PLACED_MAX)]
        answers = await self._index.search([questions.placing(query, part) for part in parts])
        found = (each for told in answers for each in told.get("hits", {}).get("hits", ()))
        return [hit_of(each, {}) for each in found]

    async def differing(self, passages: Mapping[str, Passage | None]) -> Sequence[str]:
        """The ids of those that are not indexed as they would be written; None: not at all.

        Raises:
            Unavailable: `text.unavailable`.
        """
        made = {i: None if each is None else document_of(each) for i, each in passages.items()}
        answers = await self._index.search([questions.exactly(i, d) for i, d in made.items()])
        found = (told.get("hits", {}).get("hits", ()) for told in answers)
        return [
            identity
            for (identity, document), hits in zip(made.items(), found, strict=True)
            if bool(hits) != (document is not None)
            or (document is not None and not is_written(hits[0], document))
        ]

    async def passages(self) -> int:
        """How many passages are indexed.

        Raises:
            Unavailable: `text.unavailable`.
        """
        (told,) = await self._index.search([questions.all_passages()])
        return int(told["hits"]["total"]["value"])

    async def purge(self) -> bool:
        """Leave no byte of passages that are gone in any file of the index; erasing calls it.

        Whether none is left; else ask again in a minute: the server keeps them for its recovery.

        Raises:
            Unavailable: `text.unavailable`; a server that was only slow goes on, so ask again.
        """
        await self._index.merge()
        return await self._index.gone() == 0

    async def drop(self) -> None:
        """Forget everything: whoever projects fills the view again from the log.

        Raises:
            Unavailable: `text.unavailable`.
        """
        await self._index.drop()

    async def close(self) -> None:
        """Let go of the server; closing twice is allowed."""
        await self._index.close()


def _cursor_of(space: SpaceId) -> str:
    return f"cursor/{space}"


def _words(told: Mapping[str, Any]) -> list[tuple[str, int]]:
    """The words that were counted, the most frequent first."""
    return [(each["key"], each["doc_count"]) for each in told["aggregations"]["n"]["buckets"]]

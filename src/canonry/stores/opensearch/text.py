"""Text search in OpenSearch: one index, its passages, and its queries."""

import asyncio
import logging
from base64 import b64decode, b64encode, urlsafe_b64decode
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final
from urllib.parse import quote

import orjson
from opensearchpy import AsyncHttpConnection, AsyncOpenSearch, JSONSerializer
from opensearchpy.exceptions import OpenSearchException, TransportError
from typing_extensions import override

from canonry.language.texts.stems import LONGEST, allowed_slips, near_lengths, stems_of
from canonry.log.commits import Position
from canonry.log.entries import StoredItem
from canonry.log.ports.world import time_left
from canonry.readmodels import ranking
from canonry.readmodels.passages import Passage, is_silenced, passages_of
from canonry.readmodels.ports.text import Hit, Text, TextFound, TextQuery, no_keyword_search
from canonry.readmodels.ports.view import Folded, Projection, advance_items
from canonry.values.data_files import read_toml
from canonry.values.ids import SpaceId

# The index of one store: requests with a deadline, and the translation of errors.
#
# All requests use an alias and require it. If the index was lost, Canonry creates it again with the
# right fields; the first passage written must not create it.

_NEWER: Final = 409
_MISSING: Final = 404
_REFUSED: Final = 400
_ALL: Final = {"force": "true"}
_MADE: Final = "resource_already_exists_exception"
_WHOLE: Final = {"allow_partial_search_results": False}
"""A partial answer would look complete."""

_ANSWERED: Final = ",".join(
    f"responses.{each}"
    for each in ("status", "error.type", "hits.total", "hits.hits.fields", "aggregations")
)
_DONE: Final = "items.*.status,items.*.error.type"

_MAPPING: Final = read_toml(__package__, "mapping.toml")
FIELDS: Final[dict[str, Any]] = _MAPPING["fields"]
SETTINGS: Final[dict[str, Any]] = _MAPPING["settings"]


class SearchIndex:
    """One index on one server, by its alias."""

    def __init__(self, client: AsyncOpenSearch, name: str, deadline: float) -> None:
        """Connect with the first request."""
        self._client = client
        self._deadline = deadline
        self.name: Final = f"{name}-passages"

    async def run_queries(self, asked: Sequence[Mapping[str, Any]]) -> list[Any]:
        """Return the answers to several queries, in one request.

        Raises:
            Unavailable: `text.unavailable`.
        """
        if not asked:
            return []
        lines = [line for each in asked for line in (_WHOLE, each)]
        answers: list[Any] = []
        for _ in range(2):
            reply = await self._post_lines("_msearch", lines, {"filter_path": _ANSWERED})
            answers = reply["responses"]
            if all(each["status"] != _MISSING for each in answers):
                break
            await self._create_index()
        for each in answers:
            if "error" in each:
                raise no_keyword_search(each["error"]["type"])
        return answers

    async def write_documents(
        self, lines: Sequence[Mapping[str, Any]], *, shows: bool = False
    ) -> None:
        """Write documents in one request. With `shows`, all earlier writes become visible too.

        Newer versions of documents stay.

        Raises:
            Unavailable: `text.unavailable`; some of the documents may have been written.
        """
        asked = {"require_alias": "true", "refresh": "true" if shows else "false"}
        failed: list[Any] = []
        for _ in range(2):
            reply = await self._post_lines("_bulk", lines, {**asked, "filter_path": _DONE})
            items = [item for each in reply.get("items", ()) for item in each.values()]
            failed = [item for item in items if "error" in item and item["status"] != _NEWER]
            if all(item["status"] != _MISSING for item in failed):
                break
            await self._create_index()
        for item in failed:
            raise no_keyword_search(item["error"]["type"])

    async def visible_cursor(self, identity: str, routing: str) -> int:
        """Return the visible number of a cursor, not the last written one; 0 without a cursor.

        Raises:
            Unavailable: `text.unavailable`.
        """
        path = f"/{self.name}/_doc/{quote(identity, safe='')}"
        asked = {"routing": routing, "realtime": "false", "stored_fields": "shown"}
        reply = await self._send_request("GET", path, ignore=(_MISSING,), params=asked)
        return int(reply.get("fields", {"shown": [0]})["shown"][0])

    async def merge_segments(self) -> None:
        """Rewrite the segments with deleted documents that are not kept for recovery any more.

        Raises:
            Unavailable: `text.unavailable`.
        """
        for what, asked in (
            ("flush", {"force": "true"}),
            ("forcemerge", {"only_expunge_deletes": "true"}),
            ("refresh", {}),
        ):
            await self._send_request(
                "POST", f"/{self.name}/_{what}", ignore=(_MISSING,), params=asked
            )

    async def count_deleted(self) -> int:
        """Return the number of deleted documents in the files of the index.

        Raises:
            Unavailable: `text.unavailable`.
        """
        reply = await self._send_request("GET", f"/{self.name}/_stats/docs", ignore=(_MISSING,))
        return int(reply["_all"]["total"]["docs"]["deleted"]) if "_all" in reply else 0

    async def drop_index(self) -> None:
        """Delete the index.

        Raises:
            Unavailable: `text.unavailable`.
        """
        await self._send_request("DELETE", f"/{self.name}-1", ignore=(_MISSING,))

    async def close(self) -> None:
        """Close the client."""
        await self._client.close()

    async def _create_index(self) -> None:
        """Create the index, unless another process has."""
        body = {
            "aliases": {self.name: {}},
            "settings": {"index": SETTINGS},
            "mappings": {"dynamic": "strict", "_source": {"enabled": False}, "properties": FIELDS},
        }
        reply = await self._send_request("PUT", f"/{self.name}-1", body, ignore=(_REFUSED,))
        cause = reply.get("error", {}).get("type", _MADE)
        if cause != _MADE:
            raise no_keyword_search(cause)

    async def _post_lines(
        self, path: str, lines: Sequence[Mapping[str, Any]], params: Mapping[str, str]
    ) -> Any:
        body = "".join(f"{_json_text(line)}\n" for line in lines)
        return await self._send_request("POST", f"/{self.name}/{path}", body, params=params)

    async def _send_request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        ignore: Collection[int] = (),
        params: Mapping[str, str] | None = None,
    ) -> Any:
        """Return the server's answer, or fail when the call ends."""
        left = time_left(self._deadline)
        try:
            async with asyncio.timeout(left):
                return await self._client.transport.perform_request(
                    method, path, params=params, body=body, timeout=left, ignore=ignore
                )
        except (OpenSearchException, TimeoutError, RuntimeError) as error:
            raise no_keyword_search(_error_text(error)) from error


class QuickSerializer(JSONSerializer):
    """JSON for the driver, several times as fast, because passages come by the thousand."""

    @override
    def loads(self, s: str) -> Any:
        return orjson.loads(s)

    @override
    def dumps(self, data: Any) -> Any:
        return data if isinstance(data, str) else _json_text(data)


def _error_text(error: Exception) -> str:
    if isinstance(error, TransportError) and isinstance(error.status_code, int):
        return str(error.error)
    return type(error).__name__


def _json_text(value: Any) -> str:
    return orjson.dumps(value).decode()


# Passages as documents: Canonry computes their stems, so the server analyses nothing.
#
# Each write carries the version of its item, and the server refuses an older version than it has.
# Late and repeated writes do no harm.

_HASH_BYTES: Final = 8  # indexed with stems of the same beginning: few can collide
_STEM_MAX: Final = 400
"""Longer stems are indexed by their beginning and hash, because keys have a maximal length."""

_LINES_MAX: Final = 1_000  # servers index a request as a whole, in memory
_BYTES_MAX: Final = 4_000_000  # hosted servers refuse requests above 10 MB

BulkLine = dict[str, Any]


def indexed_form(stem: str) -> str:
    """Return the indexed form of a stem."""
    if len(stem) <= _STEM_MAX:
        return stem
    return stem[:_STEM_MAX] + blake2b(stem.encode(), digest_size=_HASH_BYTES).hexdigest()


def bulks_of(space: SpaceId, items: Iterable[StoredItem]) -> Iterator[Sequence[BulkLine]]:
    """Yield the writes for these items, in requests of bounded size."""
    lines: list[BulkLine] = []
    size = 0
    for item in items:
        passage = next(passages_of(item), None)
        about = {
            "_id": item.id,
            "routing": space,
            "version": item.changed_at,
            "version_type": "external_gte",
        }
        if passage is not None:
            lines += ({"index": about}, document_of(passage))
            size += len(passage.text)
        elif is_silenced(item):
            lines.append({"delete": about})
        if len(lines) >= _LINES_MAX or size >= _BYTES_MAX:
            yield lines
            lines, size = [], 0
    if lines:
        yield lines


def document_of(passage: Passage) -> BulkLine:
    """Return the document of a passage."""
    stems = stems_of(passage.text)
    where = (passage.id, passage.scene_id, passage.turn_index, passage.entities)
    return {
        "space": passage.space,
        "collection": str(passage.collection),
        "scene": passage.scene_id,
        "source": passage.source_id,
        "entities": passage.entities,
        "terms": sorted({indexed_form(stem) for stem in stems}),
        "words": len(stems),
        "where": b64encode(orjson.dumps(where)).decode(),
        "stems": b64encode(" ".join(stems).encode()).decode(),
    }


def hit_of(found: Mapping[str, Any], shares: Mapping[str, float]) -> Hit:
    """Return the hit of a document, with the contributions of the query's words to its score."""
    identity, scene, position, entities = orjson.loads(_bytes_in(found, "where"))
    raw = sum(shares.values())
    return Hit(identity, raw / (raw + 1), shares, scene, position, tuple(entities))


def is_written(found: Mapping[str, Any], document: BulkLine) -> bool:
    """Return whether a document equals the one that would be written."""
    return (
        found["fields"]["words"] == [document["words"]]
        and sorted(found["fields"].get("terms", ())) == document["terms"]
        and all(_bytes_in(found, each) == b64decode(document[each]) for each in ("where", "stems"))
    )


def _bytes_in(found: Mapping[str, Any], field: str) -> bytes:
    # The server omits the padding of base64. Extra padding does no harm.
    return urlsafe_b64decode(found["fields"].get(field, ("",))[0] + "==")


CANDIDATES_MAX: Final = 8_000  # as many as POSTINGS_MAX lets one word select in SQLite
ALIKE_MAX: Final = 20_000
"""Words of similar length that are compared with a misspelled word."""

_TOGETHER: Final = 16  # stems that are counted in one pass over the passages with any of them

Question = dict[str, Any]

_FILTERS: Final = ("space", "collection", "scene", "source", "entities")


def sizes_query(query: TextQuery) -> Question:
    """Ask for the number of passages and their total length."""
    words = {"words": {"sum": {"field": "words"}}}
    return {**_counting_query(_space_filters(query)), "track_total_hits": True, "aggs": words}


def counts_queries(query: TextQuery, stems: Sequence[str]) -> Iterable[Question]:
    """Ask for the number of passages with each stem, several stems per query."""
    for n in range(0, len(stems), _TOGETHER):
        some = [indexed_form(stem) for stem in stems[n : n + _TOGETHER]]
        each = {str(n + m): {"term": {"terms": stem}} for m, stem in enumerate(some)}
        found = _counting_query([*_space_filters(query), {"terms": {"terms": some}}])
        yield {**found, "aggs": {"n": {"filters": {"filters": each}}}}


def prefix_query(query: TextQuery, begun: str) -> Question:
    """Ask for the most frequent words with this beginning."""
    found = _counting_query([*_space_filters(query), {"prefix": {"terms": {"value": begun}}}])
    return {**found, "aggs": _words_aggregation(f"{begun}.*", ranking.MEANT_MAX)}


def misspelling_query(query: TextQuery, stem: str) -> Question:
    """Ask for words that a stem may be a misspelling of. Canonry then filters them.

    The server matches swapped letters only if no letter was inserted between them or removed. A
    pattern finds the other cases.
    """
    slips = allowed_slips(len(stem))
    short, long = near_lengths(len(stem))
    forms = [f"{stem[0]}.{{{short - 1},{long - 1}}}"]
    if len(stem) >= ranking.START_LENGTH:
        start = stem[1:4]
        forms += [f".{start}.*", f".{stem[:3]}.*", f"{start}.*", f"{stem[1::-1]}{stem[2:4]}.*"]
    near: list[Question] = [
        {"fuzzy": {"terms": {"value": stem, "fuzziness": slips, "rewrite": "constant_score"}}}
    ]
    if slips > 1:
        near.append({"regexp": {"terms": {"value": "|".join(_swapped_forms(stem))}}})
    found = _counting_query([*_space_filters(query), {"bool": {"should": near}}])
    return {**found, "aggs": _words_aggregation("|".join(forms), ALIKE_MAX)}


def passages_query(
    query: TextQuery, stems: Iterable[str], phrases: Iterable[Sequence[str]]
) -> Question:
    """Ask for the passages with any of the stems, or with all words of a phrase."""
    either: list[Question] = [{"terms": {"terms": sorted(map(indexed_form, stems))}}]
    for phrase in phrases:
        every = [{"term": {"terms": indexed_form(stem)}} for stem in phrase]
        either.append({"bool": {"filter": every}})
    found = _filtered_query(query, {"bool": {"should": either}}, CANDIDATES_MAX)
    return {**found, "docvalue_fields": ["where", "stems"]}


def hits_query(query: TextQuery, ids: Sequence[str]) -> Question:
    """Ask for the passages of these items that the filters allow."""
    found = _filtered_query(query, {"ids": {"values": ids}}, len(ids))
    return {**found, "docvalue_fields": ["where"]}


def exact_query(identity: str, document: Mapping[str, Any] | None) -> Question:
    """Ask for the passage of an item if every filter matches `document`; None: any passage."""
    chosen: list[Question] = [{"ids": {"values": [identity]}}]
    if document is not None:
        for field in _FILTERS:
            value = document[field]
            values = value if isinstance(value, tuple | list) else (value,)
            chosen += [{"term": {field: each}} for each in values if each is not None]
    return {
        "query": {"bool": {"filter": chosen}},
        "size": 1,
        "stored_fields": "_none_",
        "docvalue_fields": ["where", "stems", "terms", "words"],
    }


def _filtered_query(query: TextQuery, what: Question, limit: int) -> Question:
    chosen = [*_space_filters(query), what]
    if query.entities:
        chosen.append({"terms": {"entities": sorted(query.entities)}})
    if query.source_id is not None:
        chosen.append({"term": {"source": query.source_id}})
    asked: Question = {"filter": chosen}
    if query.without_scene is not None:
        asked["must_not"] = {"term": {"scene": query.without_scene}}
    return {
        "query": {"bool": asked},
        "size": limit,
        "sort": ["_doc"],
        "stored_fields": "_none_",
        "track_total_hits": False,
    }


def _space_filters(query: TextQuery) -> list[Question]:
    """Return the filters for the requested collection and spaces."""
    chosen: list[Question] = [{"term": {"collection": str(query.collection)}}]
    if query.spaces is not None:
        chosen.append({"terms": {"space": sorted(query.spaces)}})
    return chosen


def _counting_query(chosen: Sequence[Question]) -> Question:
    return {"query": {"bool": {"filter": chosen}}, "size": 0, "track_total_hits": False}


def _words_aggregation(form: str, most: int) -> Question:
    """Ask for the words that match a pattern, the most frequent first, with passage counts."""
    return {"n": {"terms": {"field": "terms", "include": form, "size": most}}}


def _swapped_forms(stem: str) -> Iterable[str]:
    """Yield the forms of a stem with two swapped letters and one slip between them."""
    yield from (f"{stem[:n]}{stem[n + 1]}.{stem[n]}{stem[n + 2 :]}" for n in range(len(stem) - 1))
    yield from (f"{stem[:n]}{stem[n + 2]}{stem[n]}{stem[n + 3 :]}" for n in range(len(stem) - 2))


# Keyword search in OpenSearch: the index finds candidates and counts words, and BM25 ranks.
#
# A commit is written in two steps: first its passages, which are safe to write again, then the
# cursor, which becomes visible together with them. A reader in between may see passages early, but
# never wrong ones.

DEADLINE: Final = 30.0
"""Seconds that a query may take if the call has no earlier deadline."""

_IDS_MAX: Final = 1_000  # ids in one query


def open_text(
    url: str,
    *,
    user: str | None = None,
    password: str | None = None,
    name: str = "canonry",
    deadline: float = DEADLINE,
) -> "OpenSearchText":
    """Open the text view of the store `name` on the server at `url`, without a request.

    The index is created when it is first needed, also after it was lost. The view then starts at
    the beginning of every log, and a projector fills it.
    """
    # The caller reports errors. The driver's log would repeat them with addresses.
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


class OpenSearchText(Text, Projection):
    """The passages of one store. Needs OpenSearch 2 or newer."""

    def __init__(self, index: SearchIndex) -> None:
        """Own `index`: `close` closes it."""
        self._index = index

    @override
    async def cursor(self, space: SpaceId) -> Position:
        return Position(await self._index.visible_cursor(_cursor_of(space), routing=space))

    @override
    async def apply(self, folded: Sequence[Folded]) -> None:
        if not folded:
            return
        space = folded[0].space
        start = await self.cursor(space)
        items, cursor = advance_items(folded, start)
        if cursor == start:
            return
        for lines in bulks_of(space, items.values()):
            await self._index.write_documents(lines)
        about = {"_id": _cursor_of(space), "routing": space}
        moved = {"index": {**about, "version": cursor, "version_type": "external"}}
        await self._index.write_documents([moved, {"shown": cursor}], shows=True)

    @override
    async def search(self, query: TextQuery) -> TextFound:
        sought = ranking.parse_query(query.text)
        if not (sought.stems or sought.begun) or query.limit < 1:
            return TextFound(hits=(), asked=ranking.Asked(terms={}, strongest=0.0))
        named = dict.fromkeys((*sought.stems, *(s for phrase in sought.phrases for s in phrase)))
        figures, begun = await self._read_figures(query, tuple(named), sought.begun)
        unknown = [s for s in ranking.doubted_stems(sought, figures.found_in) if len(s) <= LONGEST]
        near = await self._index.run_queries([misspelling_query(query, stem) for stem in unknown])
        corrected = {
            stem: ranking.most_frequent(ranking.words_alike(stem, words))
            or ranking.most_frequent(ranking.words_alike(stem, words, at_start=True))
            for stem, words in zip(unknown, map(_counted_words, near), strict=True)
        }
        figures = figures.with_words((*corrected.values(), *begun.values()))
        scores = ranking.make_measure(sought, figures, corrected=corrected, begun=begun)
        return TextFound.best_hits(
            await self._find_hits(query, sought, scores, figures), scores, query.limit
        )

    @override
    async def figures(self, stems: Iterable[str], query: TextQuery) -> ranking.Figures:
        figures, _ = await self._read_figures(query, tuple(frozenset(stems)), ())
        return figures

    async def _read_figures(
        self, query: TextQuery, stems: Sequence[str], begun: Sequence[str]
    ) -> tuple[ranking.Figures, dict[str, dict[str, int]]]:
        """Return the figures of the requested spaces, and the words with each beginning."""
        short = [each for each in begun if len(each) <= LONGEST]
        total, *more = await self._index.run_queries(
            [
                sizes_query(query),
                *(prefix_query(query, each) for each in short),
                *counts_queries(query, stems),
            ]
        )
        found = iter(more)
        begun_with = {each: dict(_counted_words(r)) for each, r in zip(short, found, strict=False)}
        counted = {
            stems[int(n)]: reply["doc_count"]
            for each in found
            for n, reply in each["aggregations"]["n"]["buckets"].items()
            if reply["doc_count"]
        }
        passages = total["hits"]["total"]["value"]
        words = total["aggregations"]["words"]["value"]
        length = words / (passages or 1) or 1
        return ranking.Figures(passages=passages, length=length, found_in=counted), begun_with

    async def _find_hits(
        self,
        query: TextQuery,
        sought: ranking.Sought,
        scores: ranking.Measure,
        figures: ranking.Figures,
    ) -> list[Hit]:
        rare = ranking.pick_rare(figures, scores)
        if not rare:
            return []
        phrases = [
            phrase
            for phrase in sought.phrases
            if not rare.issuperset(phrase) and min(figures.found_in.get(s, 0) for s in phrase)
        ]
        (reply,) = await self._index.run_queries([passages_query(query, rare, phrases)])
        # The stems of a document, in order.
        return [
            hit_of(each, shares)
            for each in reply.get("hits", {}).get("hits", ())
            if (shares := scores.term_shares(_bytes_in(each, "stems").decode().split(" ")))
        ]

    @override
    async def hits_of_items(self, ids: Iterable[str], query: TextQuery) -> Sequence[Hit]:
        wanted = sorted(set(ids))
        parts = [wanted[n : n + _IDS_MAX] for n in range(0, len(wanted), _IDS_MAX)]
        answers = await self._index.run_queries([hits_query(query, part) for part in parts])
        found = (each for reply in answers for each in reply.get("hits", {}).get("hits", ()))
        return [hit_of(each, {}) for each in found]

    async def find_differing(self, passages: Mapping[str, Passage | None]) -> Sequence[str]:
        """Return the ids of passages that differ in the index; None: the item has no passage.

        Raises:
            Unavailable: `text.unavailable`.
        """
        made = {i: None if each is None else document_of(each) for i, each in passages.items()}
        answers = await self._index.run_queries([exact_query(i, d) for i, d in made.items()])
        found = (reply.get("hits", {}).get("hits", ()) for reply in answers)
        return [
            identity
            for (identity, document), hits in zip(made.items(), found, strict=True)
            if bool(hits) != (document is not None)
            or (document is not None and not is_written(hits[0], document))
        ]

    async def count_passages(self) -> int:
        """Return the number of indexed passages.

        Raises:
            Unavailable: `text.unavailable`.
        """
        every = {**_counting_query([{"exists": {"field": "words"}}]), "track_total_hits": True}
        (reply,) = await self._index.run_queries([every])
        return int(reply["hits"]["total"]["value"])

    async def purge_deleted(self) -> bool:
        """Remove deleted passages from all files of the index. Erasing calls this.

        Return whether none is left. Otherwise call again in a minute, because the server keeps them
        for its recovery.

        Raises:
            Unavailable: `text.unavailable`. A server that was only slow continues, so call
                again.
        """
        await self._index.merge_segments()
        return await self._index.count_deleted() == 0

    async def drop_index(self) -> None:
        """Delete the index. A projector fills it again from the log.

        Raises:
            Unavailable: `text.unavailable`.
        """
        await self._index.drop_index()

    async def close(self) -> None:
        """Close the client. Closing twice is allowed."""
        await self._index.close()


def _cursor_of(space: SpaceId) -> str:
    return f"cursor/{space}"


def _counted_words(reply: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return the counted words, the most frequent first."""
    return [(each["key"], each["doc_count"]) for each in reply["aggregations"]["n"]["buckets"]]

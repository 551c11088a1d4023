"""Vectors in Qdrant."""

import asyncio
from bisect import bisect_left
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, TypeVar
from uuid import UUID

from qdrant_client import AsyncQdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ApiException, UnexpectedResponse
from typing_extensions import override

from canonry.log.ports.world import Identities, time_left
from canonry.readmodels.ports.text import (
    NUMBER_BYTES,
    EmbeddingModel,
    VectorBatch,
    VectorEntry,
    VectorHit,
    VectorQuery,
    Vectors,
    VectorStatus,
    numbers_of,
    require_sizes,
)
from canonry.values.errors import Unavailable

KEYWORDS: Final = ("id", "collection", "entities", "scene", "source")
"""Indexed fields besides `space`, `turn` and `rank`: every filter of the port, and the ids."""

_LETTERS: Final = "-0123456789abcdef"
_RANKED: Final = 12
"""Letters of an id that make its rank. In version 7, they hold its time to some milliseconds."""

_BASE: Final = 2 * len(_LETTERS) + 2


def point_id(*parts: object) -> str:
    """Return a point id that is equal for equal parts."""
    text = "\n".join(map(str, parts))
    return str(UUID(bytes=blake2b(text.encode(), digest_size=16).digest()))


def key_of(model: EmbeddingModel) -> str:
    """Return the id of the point that describes a model."""
    return point_id(model.name, model.version, model.dimensions, model.digest or "")


def point_of(entry: VectorEntry, batch_number: int) -> models.PointStruct:
    """Return the point of a vector that this batch writes."""
    payload = {
        "id": entry.id,
        "part": entry.part,
        "collection": str(entry.collection),
        "space": entry.space,
        "entities": list(entry.entities),
        "scene": entry.scene_id,
        "source": entry.source_id,
        "digest": entry.digest.hex(),
        "rank": rank_of(entry.id),
        "turn": batch_number,
    }
    numbers = list(numbers_of(entry.vector))
    return models.PointStruct(id=point_id(entry.id, entry.part), vector=numbers, payload=payload)


def rank_of(identity: str) -> int:
    """Return a number in the order of ids, because Qdrant sorts by numbers.

    Ids with the same beginning share a rank. A character that ids never contain ends the rank and
    counts by its position between their letters.
    """
    rank = 0
    for n in range(_RANKED):
        letter = identity[n : n + 1]
        is_one = letter != "" and letter in _LETTERS
        between = 2 * bisect_left(_LETTERS, letter) + 1 if letter else 0
        rank = rank * _BASE + between + is_one
        if not is_one:
            return int(rank * _BASE ** (_RANKED - 1 - n))
    return rank


def is_any(key: str, values: Iterable[str]) -> models.FieldCondition:
    """Return the condition that a field contains any of these values."""
    return models.FieldCondition(key=key, match=models.MatchAny(any=list(values)))


def is_equal(key: str, value: str | int) -> models.FieldCondition:
    """Return the condition that a field contains this value."""
    return models.FieldCondition(key=key, match=models.MatchValue(value=value))


def is_before(batch_number: int) -> models.FieldCondition:
    """Return the condition that an earlier batch wrote a point."""
    return models.FieldCondition(key="turn", range=models.Range(lt=batch_number))


_MISSING: Final = 404


class MissingPoints(Exception):  # noqa: N818 - no error of anybody who indexes or searches
    """The requested points are gone, because another process dropped them."""


@contextmanager
def translated_errors() -> Iterator[None]:
    """Raise Canonry's errors in place of the client's.

    Raises:
        MissingPoints: the requested points do not exist.
        Unavailable: `vectors.unavailable`.
    """
    try:
        yield
    except (ApiException, QdrantException, TimeoutError) as error:
        if isinstance(error, UnexpectedResponse) and error.status_code == _MISSING:
            raise MissingPoints from error
        raise _unavailable_error(error) from error
    except ValueError as error:  # the local mode's form of a 404
        if "not found" not in str(error):
            raise
        raise MissingPoints from error
    except RuntimeError as error:
        if "closed" not in str(error):
            raise
        raise _unavailable_error(error) from error


def moved_error() -> Unavailable:
    """Return the error for a batch that does not follow the stored cursor."""
    return Unavailable("vectors.moved", "Another process changed the index. Try again.")


def _unavailable_error(error: Exception) -> Unavailable:
    message = "The vector index did not answer. Search by words instead."
    return Unavailable("vectors.unavailable", message, cause=type(error).__name__)


# Stored state of each model: the collection of its points, its cursor, and the current batch.
#
# Qdrant has no transactions, but it updates one point under a condition. A batch takes the
# next number by an update, and its points carry the number as `turn`. Points of earlier batches do
# not replace them. The cursor moves only while no later batch has taken a number.

T = TypeVar("T")
MODELS_MAX: Final = 1_000
"""Models that are read at most."""

_STRONG: Final = models.WriteOrdering.STRONG
_Schema: Final = models.PayloadSchemaType


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredModel:
    """One model with its collection `points`; `token` names the owner of `batch_number`."""

    model: EmbeddingModel
    points: str
    cursor: str = ""
    batch_number: int = 0
    token: str = ""
    born: int = 0


class StoredModels:
    """The models of one store, in a collection without vectors."""

    def __init__(
        self, client: AsyncQdrantClient, identities: Identities, name: str, deadline: float
    ) -> None:
        """Connect with the first request."""
        self.client: Final = client
        self._identities = identities
        self._name = f"{name}-models"
        self._points = f"{name}-of-"
        self._deadline = deadline
        self._known: dict[EmbeddingModel, StoredModel] = {}

    async def await_reply(self, work: Awaitable[T]) -> T:
        """Return the server's answer, or fail when the call ends.

        Raises:
            MissingPoints: the requested points do not exist.
            Unavailable: `vectors.unavailable`.
        """
        with translated_errors():
            async with asyncio.timeout(time_left(self._deadline)):
                return await work

    async def list_models(self) -> list[StoredModel]:
        """Return every model, in order of their first batches."""
        try:
            found, _ = await self.await_reply(self.client.scroll(self._name, limit=MODELS_MAX))
        except MissingPoints:
            return []
        kept = [_model_in(point.payload or {}) for point in found]
        self._known = {each.model: each for each in kept}
        return sorted(kept, key=lambda each: (each.born, each.points))

    async def read_model(self, model: EmbeddingModel) -> StoredModel | None:
        """Return the present state of a model."""
        key = [key_of(model)]
        try:
            found = await self.await_reply(self.client.retrieve(self._name, key))
        except MissingPoints:
            found = []
        self._known.pop(model, None)
        for point in found:
            self._known[model] = _model_in(point.payload or {})
        return self._known.get(model)

    async def points_of(self, model: EmbeddingModel) -> str | None:
        """Return the collection of a model's points, cached in this process."""
        known = self._known.get(model) or await self.read_model(model)
        return None if known is None else known.points

    def forget_model(self, model: EmbeddingModel) -> None:
        """Drop the cached collection of a model."""
        self._known.pop(model, None)

    async def claim_batch(self, batch: VectorBatch) -> StoredModel:
        """Take the next number for a batch before it writes anything.

        Raises:
            Unavailable: `vectors.moved`.
        """
        kept, token = await self.read_model(batch.model), self._identities.new_id()
        if batch.follows not in {None, "" if kept is None else kept.cursor}:
            raise moved_error()
        if kept is None:
            await self._begin_model(batch.model, token)
        else:
            claim = {"turn": kept.batch_number + 1, "token": token}
            same = (is_equal("turn", kept.batch_number), is_equal("cursor", kept.cursor))
            await self._set_payload(batch.model, claim, *same)
        taken = await self.read_model(batch.model)
        if taken is None or taken.token != token:
            raise moved_error()
        return taken

    async def move_cursor(self, taken: StoredModel, cursor: str) -> None:
        """Move the cursor if no later batch has begun.

        Raises:
            Unavailable: `vectors.moved`; the later batch writes the same data or newer data.
        """
        same = (is_equal("turn", taken.batch_number), is_equal("token", taken.token))
        await self._set_payload(taken.model, {"cursor": cursor}, *same)
        now = await self.read_model(taken.model)
        if now is None or now.token != taken.token:
            raise moved_error()

    async def drop_model(self, kept: StoredModel) -> None:
        """Delete a model and its points."""
        chosen = models.PointIdsList(points=[key_of(kept.model)])
        await self.await_reply(self.client.delete(self._name, chosen, ordering=_STRONG))
        await self.await_reply(self.client.delete_collection(kept.points))
        self.forget_model(kept.model)

    async def _begin_model(self, model: EmbeddingModel, token: str) -> None:
        """Create the collection of a new model, unless another process has."""
        if not await self.await_reply(self.client.collection_exists(self._name)):
            await self._make_collection(self._name, {})
            for key in ("cursor", "token"):
                await self._index_field(self._name, key, _Schema.KEYWORD)
            await self._index_field(self._name, "turn", _Schema.INTEGER)
        points = f"{self._points}{self._identities.new_id()}"
        size = models.VectorParams(size=model.dimensions, distance=models.Distance.DOT)
        await self._make_collection(points, size)
        for key in KEYWORDS:
            await self._index_field(points, key, _Schema.KEYWORD)
        for key in ("turn", "rank"):
            await self._index_field(points, key, _Schema.INTEGER)
        tenant = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
        await self._index_field(points, "space", tenant)
        born = 1 + max((each.born for each in await self.list_models()), default=0)
        payload = {
            "name": model.name,
            "version": model.version,
            "dimensions": model.dimensions,
            "weights": model.digest,
            "points": points,
            "cursor": "",
            "turn": 1,
            "token": token,
            "born": born,
        }
        point = models.PointStruct(id=key_of(model), vector={}, payload=payload)
        none = models.Filter(must=[is_before(1)])  # existing points stay
        await self.await_reply(
            self.client.upsert(self._name, [point], update_filter=none, ordering=_STRONG)
        )
        stored = await self.read_model(model)
        if stored is None or stored.points != points:
            await self.await_reply(self.client.delete_collection(points))

    async def _make_collection(self, name: str, vectors: Any) -> None:
        try:
            await self.await_reply(self.client.create_collection(name, vectors))
        except Unavailable:
            if not await self.await_reply(self.client.collection_exists(name)):
                raise

    async def _index_field(self, name: str, key: str, kind: Any) -> None:
        await self.await_reply(self.client.create_payload_index(name, key, kind))

    async def _set_payload(
        self, model: EmbeddingModel, payload: Mapping[str, Any], *same: models.FieldCondition
    ) -> None:
        only = models.HasIdCondition(has_id=[key_of(model)])
        chosen = models.Filter(must=[only, *same])
        await self.await_reply(
            self.client.set_payload(self._name, dict(payload), chosen, ordering=_STRONG)
        )


def _model_in(payload: Mapping[str, Any]) -> StoredModel:
    about = {name: payload[name] for name in ("name", "version", "dimensions")}
    model = EmbeddingModel(**about, digest=payload["weights"])
    own = {name: payload[name] for name in ("points", "cursor", "token", "born")}
    return StoredModel(model=model, batch_number=payload["turn"], **own)


# Vectors in Qdrant: each model has a collection, and payloads are filtered.
#
# Qdrant indexes new points by itself, and searches them exactly until then. It has no transactions:
# if a process dies within a batch, some of its points are found early, but not wrong. The cursor
# has not moved, and the next batch writes them again.

DEADLINE: Final = 30.0
"""Seconds that a query may take if the call has no earlier deadline."""

_AT_ONCE: Final = 500  # points or ids in one request

_CANDIDATES: Final = 64  # minimal number of candidates, so that ties are ordered here

_DIGITS: Final = 6
"""Qdrant computes with four-byte numbers. Scores that these cannot distinguish are ties."""


def open_vectors(
    url: str,
    *,
    identities: Identities,
    api_key: str | None = None,
    name: str = "canonry",
    deadline: float = DEADLINE,
) -> "QdrantVectors":
    """Open the vectors of the store `name` on the server at `url`, without a request.

    `:memory:` as `url` is the local mode of the client, which ends with the process.
    """
    client = AsyncQdrantClient(
        location=url, api_key=api_key, timeout=int(deadline), check_compatibility=False
    )
    return QdrantVectors(client, identities=identities, name=name, deadline=deadline)


class QdrantVectors(Vectors):
    """The vectors of every model of one store. Needs Qdrant 1.16 or newer."""

    def __init__(
        self,
        client: AsyncQdrantClient,
        *,
        identities: Identities,
        name: str = "canonry",
        deadline: float = DEADLINE,
    ) -> None:
        """Own `client`: `close` closes it. Collections begin with `name`."""
        self._client = client
        self._models = StoredModels(client, identities, name, deadline)

    @override
    async def apply(self, batch: VectorBatch) -> None:
        require_sizes(batch)
        taken = await self._models.claim_batch(batch)
        try:
            await self._put_points(taken, batch)
            # Delete points of these ids from earlier batches; those of this batch are complete.
            for some in split_requests([*batch.removed, *(entry.id for entry in batch.entries)]):
                chosen = models.Filter(must=[is_any("id", some), is_before(taken.batch_number)])
                await self._models.await_reply(self._client.delete(taken.points, chosen, wait=True))
        except MissingPoints:
            raise moved_error() from None
        await self._models.move_cursor(taken, batch.cursor)

    async def _put_points(self, taken: StoredModel, batch: VectorBatch) -> None:
        older = models.Filter(must=[is_before(taken.batch_number)])
        for some in split_requests(batch.entries):
            points = [point_of(entry, taken.batch_number) for entry in some]
            await self._models.await_reply(
                self._client.upsert(taken.points, points, update_filter=older, wait=True)
            )

    @override
    async def search(self, query: VectorQuery) -> Sequence[VectorHit]:
        if len(query.vector) != NUMBER_BYTES * query.model.dimensions or query.limit < 1:
            return []
        if query.spaces is not None and not query.spaces:
            return []
        hits = [
            VectorHit(payload["id"], payload["part"], round(point.score, _DIGITS))
            for point in await self._nearest_points(query)
            if (payload := point.payload)
        ]
        hits.sort(key=lambda hit: (-hit.similarity, hit.id, hit.part))
        return hits[: query.limit]

    async def _nearest_points(self, query: VectorQuery) -> Sequence[models.ScoredPoint]:
        for _ in range(2):  # another process may have dropped the collection
            points = await self._models.points_of(query.model)
            if points is None:
                break
            try:
                # The filters of a search.
                must: list[Any] = [is_equal("collection", str(query.collection))]
                if query.spaces is not None:
                    must.append(is_any("space", query.spaces))
                if query.entities:
                    must.append(is_any("entities", query.entities))
                if query.source_id is not None:
                    must.append(is_equal("source", query.source_id))
                without: list[Any] = []
                if query.without_scene is not None:
                    without.append(is_equal("scene", query.without_scene))
                found = await self._models.await_reply(
                    self._client.query_points(
                        points,
                        query=list(numbers_of(query.vector)),
                        query_filter=models.Filter(must=must, must_not=without),
                        limit=max(query.limit, _CANDIDATES),
                        with_payload=["id", "part"],
                    )
                )
            except MissingPoints:
                self._models.forget_model(query.model)
            else:
                return found.points
        return ()

    @override
    async def status(self) -> Sequence[VectorStatus]:
        return [
            VectorStatus(
                model=each.model,
                count=await self._count_points(each.points),
                cursor=each.cursor,
                waiting=await self._count_unindexed(each.points),
            )
            for each in await self._models.list_models()
        ]

    async def _count_points(self, points: str) -> int:
        try:
            return (await self._models.await_reply(self._client.count(points, exact=True))).count
        except MissingPoints:
            return 0

    async def _count_unindexed(self, points: str) -> int:
        """Return the number of points that wait while Qdrant builds an index."""
        try:
            info = await self._models.await_reply(self._client.get_collection(points))
        except MissingPoints:
            return 0
        if info.status is models.CollectionStatus.GREEN:
            return 0
        return max(0, (info.points_count or 0) - (info.indexed_vectors_count or 0))

    @override
    async def cursors(self) -> Mapping[EmbeddingModel, str]:
        # A turn that was taken but not finished has no cursor yet.
        return {each.model: each.cursor for each in await self._models.list_models() if each.cursor}

    @override
    async def vector_digests(
        self, model: EmbeddingModel, ids: Sequence[str]
    ) -> Mapping[str, Sequence[bytes]]:
        found: dict[str, dict[int, bytes]] = defaultdict(dict)
        for some in split_requests(ids):
            chosen = models.Filter(must=[is_any("id", some)])
            async for payload in self._scroll_payloads(model, chosen, ["id", "part", "digest"]):
                found[payload["id"]][payload["part"]] = bytes.fromhex(payload["digest"])
        return {i: tuple(parts[n] for n in sorted(parts)) for i, parts in found.items()}

    async def _scroll_payloads(
        self, model: EmbeddingModel, chosen: models.Filter, fields: Sequence[str]
    ) -> AsyncIterator[dict[str, Any]]:
        """Yield the payloads of a model's points that match a filter."""
        points, offset = await self._models.points_of(model), None
        while points is not None:
            try:
                found, offset = await self._models.await_reply(
                    self._client.scroll(
                        points, chosen, limit=_AT_ONCE, offset=offset, with_payload=list(fields)
                    )
                )
            except MissingPoints:
                self._models.forget_model(model)
                return
            for point in found:
                yield point.payload or {}
            if offset is None:
                return

    @override
    async def passages_about(
        self, model: EmbeddingModel, entity: str, *, after: str = "", limit: int
    ) -> Sequence[str]:
        points = await self._models.points_of(model)
        if points is None or limit < 1:
            return []
        chosen = models.Filter(must=[is_equal("entities", entity)])
        found: set[str] = set()
        begins, size = rank_of(after), max(_AT_ONCE, 2 * limit)
        while True:
            order = models.OrderBy(key="rank", start_from=begins)
            try:
                page, _ = await self._models.await_reply(
                    self._client.scroll(
                        points, chosen, limit=size, order_by=order, with_payload=["id"]
                    )
                )
            except MissingPoints:
                self._models.forget_model(model)
                return []
            ids = [(point.payload or {})["id"] for point in page]
            found.update(each for each in ids if each > after)
            if len(page) < size:
                break
            last = rank_of(ids[-1])  # other points of this rank may follow
            if sum(rank_of(each) < last for each in found) >= limit:
                break
            begins, size = last, 2 * size if last == begins else size
        return sorted(found)[:limit]

    @override
    async def remove(self, ids: Sequence[str]) -> None:
        for each in await self._models.list_models():
            for some in split_requests(ids):
                chosen = models.Filter(must=[is_any("id", some)])
                try:
                    await self._models.await_reply(
                        self._client.delete(each.points, chosen, wait=True)
                    )
                except MissingPoints:
                    break

    @override
    async def purge(self) -> None:
        """Do nothing: Qdrant rewrites its segments itself, and no request can start it."""

    @override
    async def compact_updates(self, model: EmbeddingModel) -> bool:
        return False

    @override
    async def drop(self, model: EmbeddingModel | None = None) -> None:
        for each in await self._models.list_models():
            if model in {None, each.model}:
                await self._models.drop_model(each)

    @override
    async def close(self) -> None:
        await self._client.close()


def split_requests(many: Sequence[Any]) -> list[Sequence[Any]]:
    """Split into parts that fit into one request."""
    return [many[n : n + _AT_ONCE] for n in range(0, len(many), _AT_ONCE)]

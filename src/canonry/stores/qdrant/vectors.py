"""Vectors in Qdrant: the points of each model in a collection of their own, filtered by payload.

Qdrant indexes by itself what is taken in, and searches exactly until then. It has no transactions:
a process that dies within a batch leaves points of it to be found, early and not wrong, and whoever
indexes next begins at the cursor, which has not moved, and writes them again.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final

from qdrant_client import AsyncQdrantClient, models
from typing_extensions import override

from canonry.log.ports.world import Identities
from canonry.readmodels.ports.embedder import EmbeddingModel
from canonry.readmodels.ports.vectors import (
    VectorBatch,
    VectorHit,
    VectorQuery,
    Vectors,
    VectorStatus,
)
from canonry.stores.qdrant.faults import MissingPoints, moved
from canonry.stores.qdrant.kept_models import KeptModel, KeptModels
from canonry.stores.qdrant.points import (
    BYTES,
    before,
    equals,
    is_any,
    numbers_of,
    point_of,
    rank_of,
    require_sizes,
    selected_by,
)

DEADLINE: Final = 30.0
"""So many seconds a question may take where no call says less."""

_AT_ONCE: Final = 500
"""So many points, or ids, one request holds."""

_CANDIDATES: Final = 64
"""So many of the best are asked for at least, so that ties are ordered here."""

_DIGITS: Final = 6
"""Qdrant computes in four-byte numbers; what they cannot tell apart is a tie."""


def open_vectors(
    url: str,
    *,
    identities: Identities,
    api_key: str | None = None,
    name: str = "canonry",
    deadline: float = DEADLINE,
) -> "QdrantVectors":
    """Open the vectors of the store `name` on the server at `url`; nothing is asked yet.

    `:memory:` in place of an address is the local mode of the client, which ends with the process.
    """
    client = AsyncQdrantClient(
        location=url, api_key=api_key, timeout=int(deadline), check_compatibility=False
    )
    return QdrantVectors(client, identities=identities, name=name, deadline=deadline)


class QdrantVectors(Vectors):
    """The vectors of every model of one store; Qdrant 1.16 or newer."""

    def __init__(
        self,
        client: AsyncQdrantClient,
        *,
        identities: Identities,
        name: str = "canonry",
        deadline: float = DEADLINE,
    ) -> None:
        """Share the client with nobody: `close` closes it. Collections begin with `name`."""
        self._client = client
        self._kept = KeptModels(client, identities, name, deadline)

    @override
    async def apply(self, batch: VectorBatch) -> None:
        require_sizes(batch)
        taken = await self._kept.take_turn(batch)
        try:
            await self._put(taken, batch)
            await self._gone(taken, [*batch.removed, *(entry.id for entry in batch.entries)])
        except MissingPoints:
            raise moved() from None
        await self._kept.finish(taken, batch.cursor)

    async def _put(self, taken: KeptModel, batch: VectorBatch) -> None:
        older = models.Filter(must=[before(taken.turn)])
        for some in parted(batch.entries):
            points = [point_of(entry, taken.turn) for entry in some]
            await self._kept.asked(
                self._client.upsert(taken.points, points, update_filter=older, wait=True)
            )

    async def _gone(self, taken: KeptModel, ids: Sequence[str]) -> None:
        """Delete what earlier turns wrote of these ids; what this turn wrote is there already."""
        for some in parted(ids):
            chosen = models.Filter(must=[is_any("id", some), before(taken.turn)])
            await self._kept.asked(self._client.delete(taken.points, chosen, wait=True))

    @override
    async def search(self, query: VectorQuery) -> Sequence[VectorHit]:
        if len(query.vector) != BYTES * query.model.dimensions or query.limit < 1:
            return []
        if query.spaces is not None and not query.spaces:
            return []
        hits = [
            VectorHit(told["id"], told["part"], round(point.score, _DIGITS))
            for point in await self._nearest(query)
            if (told := point.payload)
        ]
        hits.sort(key=lambda hit: (-hit.similarity, hit.id, hit.part))
        return hits[: query.limit]

    async def _nearest(self, query: VectorQuery) -> Sequence[models.ScoredPoint]:
        for _ in range(2):  # where points were may have been dropped by another process
            points = await self._kept.points_of(query.model)
            if points is None:
                break
            try:
                found = await self._kept.asked(
                    self._client.query_points(
                        points,
                        query=list(numbers_of(query.vector)),
                        query_filter=selected_by(query),
                        limit=max(query.limit, _CANDIDATES),
                        with_payload=["id", "part"],
                    )
                )
            except MissingPoints:
                self._kept.forget(query.model)
            else:
                return found.points
        return ()

    @override
    async def status(self) -> Sequence[VectorStatus]:
        return [
            VectorStatus(
                model=each.model,
                count=await self._count(each.points),
                cursor=each.cursor,
                waiting=await self._waiting(each.points),
            )
            for each in await self._kept.all()
        ]

    async def _count(self, points: str) -> int:
        try:
            return (await self._kept.asked(self._client.count(points, exact=True))).count
        except MissingPoints:
            return 0

    async def _waiting(self, points: str) -> int:
        """How many points wait for the index, while Qdrant makes one."""
        try:
            told = await self._kept.asked(self._client.get_collection(points))
        except MissingPoints:
            return 0
        if told.status is models.CollectionStatus.GREEN:
            return 0
        return max(0, (told.points_count or 0) - (told.indexed_vectors_count or 0))

    @override
    async def cursors(self) -> Mapping[EmbeddingModel, str]:
        # A turn that was taken and never finished has no cursor of its own yet.
        return {each.model: each.cursor for each in await self._kept.all() if each.cursor}

    @override
    async def digests(
        self, model: EmbeddingModel, ids: Sequence[str]
    ) -> Mapping[str, Sequence[bytes]]:
        found: dict[str, dict[int, bytes]] = defaultdict(dict)
        for some in parted(ids):
            chosen = models.Filter(must=[is_any("id", some)])
            async for told in self._told(model, chosen, ["id", "part", "digest"]):
                found[told["id"]][told["part"]] = bytes.fromhex(told["digest"])
        return {i: tuple(parts[n] for n in sorted(parts)) for i, parts in found.items()}

    async def _told(
        self, model: EmbeddingModel, chosen: models.Filter, fields: Sequence[str]
    ) -> AsyncIterator[dict[str, Any]]:
        """What the points of a model say that a filter selects."""
        points, offset = await self._kept.points_of(model), None
        while points is not None:
            try:
                found, offset = await self._kept.asked(
                    self._client.scroll(
                        points, chosen, limit=_AT_ONCE, offset=offset, with_payload=list(fields)
                    )
                )
            except MissingPoints:
                self._kept.forget(model)
                return
            for point in found:
                yield point.payload or {}
            if offset is None:
                return

    @override
    async def about(
        self, model: EmbeddingModel, entity: str, *, after: str = "", limit: int
    ) -> Sequence[str]:
        points = await self._kept.points_of(model)
        if points is None or limit < 1:
            return []
        chosen = models.Filter(must=[equals("entities", entity)])
        found: set[str] = set()
        begins, size = rank_of(after), max(_AT_ONCE, 2 * limit)
        while True:
            order = models.OrderBy(key="rank", start_from=begins)
            try:
                page, _ = await self._kept.asked(
                    self._client.scroll(
                        points, chosen, limit=size, order_by=order, with_payload=["id"]
                    )
                )
            except MissingPoints:
                self._kept.forget(model)
                return []
            ids = [(point.payload or {})["id"] for point in page]
            found.update(each for each in ids if each > after)
            if len(page) < size:
                break
            last = rank_of(ids[-1])  # whose equals may not all be on this page
            if sum(rank_of(each) < last for each in found) >= limit:
                break
            begins, size = last, 2 * size if last == begins else size
        return sorted(found)[:limit]

    @override
    async def remove(self, ids: Sequence[str]) -> None:
        for each in await self._kept.all():
            for some in parted(ids):
                chosen = models.Filter(must=[is_any("id", some)])
                try:
                    await self._kept.asked(self._client.delete(each.points, chosen, wait=True))
                except MissingPoints:
                    break

    @override
    async def purge(self) -> None:
        """Qdrant rewrites its segments by itself, when enough of one is gone; nobody can ask it."""

    @override
    async def tend(self, model: EmbeddingModel) -> bool:
        return False

    @override
    async def drop(self, model: EmbeddingModel | None = None) -> None:
        for each in await self._kept.all():
            if model in {None, each.model}:
                await self._kept.drop(each)

    @override
    async def close(self) -> None:
        await self._client.close()


def parted(many: Sequence[Any]) -> list[Sequence[Any]]:
    """The same in parts that one request may hold."""
    return [many[n : n + _AT_ONCE] for n in range(0, len(many), _AT_ONCE)]

"""What is kept of each model: where its points lie, how far the log is read, and whose turn it is.

Qdrant has no transactions, but it updates one point under a condition. A batch takes a turn by such
an update, every point that it writes bears the turn's number and gives way to none of an earlier
one, and the cursor moves only while the turn is still the batch's own.
"""

import asyncio
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from qdrant_client import AsyncQdrantClient, models

from canonry.log.ports.call_scope import scope
from canonry.log.ports.world import Identities
from canonry.readmodels.ports.embedder import EmbeddingModel
from canonry.readmodels.ports.vectors import VectorBatch
from canonry.stores.qdrant.faults import MissingPoints, moved, translated
from canonry.stores.qdrant.points import KEYWORDS, before, equals, key_of
from canonry.values.errors import Unavailable

T = TypeVar("T")
MODELS_MAX: Final = 1_000
"""So many models are told of."""

_STRONG: Final = models.WriteOrdering.STRONG
_Schema: Final = models.PayloadSchemaType


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptModel:
    """One model: its points lie in the collection `points`; `token` says who took the `turn`."""

    model: EmbeddingModel
    points: str
    cursor: str = ""
    turn: int = 0
    token: str = ""
    born: int = 0


class KeptModels:
    """The models of one store, in a collection without vectors."""

    def __init__(
        self, client: AsyncQdrantClient, identities: Identities, name: str, deadline: float
    ) -> None:
        """Ask nothing yet."""
        self.client: Final = client
        self._identities = identities
        self._name = f"{name}-models"
        self._points = f"{name}-of-"
        self._deadline = deadline
        self._known: dict[EmbeddingModel, KeptModel] = {}

    async def asked(self, work: Awaitable[T]) -> T:
        """What the server answers before the call ends.

        Raises:
            MissingPoints: the points that were asked for are not there.
            Unavailable: `vectors.unavailable`.
        """
        call = scope()
        left = self._deadline
        if call is not None:
            left = min(left, call.ends - asyncio.get_running_loop().time())
        with translated():
            async with asyncio.timeout(left):
                return await work

    async def all(self) -> list[KeptModel]:
        """Every model, in order of their first batches."""
        try:
            found, _ = await self.asked(self.client.scroll(self._name, limit=MODELS_MAX))
        except MissingPoints:
            return []
        kept = [_told(point.payload or {}) for point in found]
        self._known = {each.model: each for each in kept}
        return sorted(kept, key=lambda each: (each.born, each.points))

    async def of(self, model: EmbeddingModel) -> KeptModel | None:
        """What is kept of a model now."""
        key = [key_of(model)]
        try:
            found = await self.asked(self.client.retrieve(self._name, key))
        except MissingPoints:
            found = []
        self._known.pop(model, None)
        for point in found:
            self._known[model] = _told(point.payload or {})
        return self._known.get(model)

    async def points_of(self, model: EmbeddingModel) -> str | None:
        """Where the points of a model lie, as far as this process knows."""
        known = self._known.get(model) or await self.of(model)
        return None if known is None else known.points

    def forget(self, model: EmbeddingModel) -> None:
        """Look anew where the points of a model lie."""
        self._known.pop(model, None)

    async def take_turn(self, batch: VectorBatch) -> KeptModel:
        """Take the turn of a batch, before anything of it is written.

        Raises:
            Unavailable: `vectors.moved`.
        """
        kept, token = await self.of(batch.model), self._identities.fresh()
        if batch.follows not in {None, "" if kept is None else kept.cursor}:
            raise moved()
        if kept is None:
            await self._begin(batch.model, token)
        else:
            turn = {"turn": kept.turn + 1, "token": token}
            same = (equals("turn", kept.turn), equals("cursor", kept.cursor))
            await self._set(batch.model, turn, *same)
        taken = await self.of(batch.model)
        if taken is None or taken.token != token:
            raise moved()
        return taken

    async def finish(self, taken: KeptModel, cursor: str) -> None:
        """Move the cursor if the turn is still the batch's own.

        Raises:
            Unavailable: `vectors.moved`: whoever took the turn writes the same again, or later.
        """
        same = (equals("turn", taken.turn), equals("token", taken.token))
        await self._set(taken.model, {"cursor": cursor}, *same)
        now = await self.of(taken.model)
        if now is None or now.token != taken.token:
            raise moved()

    async def drop(self, kept: KeptModel) -> None:
        """Forget a model and its points."""
        chosen = models.PointIdsList(points=[key_of(kept.model)])
        await self.asked(self.client.delete(self._name, chosen, ordering=_STRONG))
        await self.asked(self.client.delete_collection(kept.points))
        self.forget(kept.model)

    async def _begin(self, model: EmbeddingModel, token: str) -> None:
        """Make a place for the points of a new model, unless somebody is quicker."""
        if not await self.asked(self.client.collection_exists(self._name)):
            await self._make(self._name, {})
            for key in ("cursor", "token"):
                await self._index(self._name, key, _Schema.KEYWORD)
            await self._index(self._name, "turn", _Schema.INTEGER)
        points = f"{self._points}{self._identities.fresh()}"
        size = models.VectorParams(size=model.dimensions, distance=models.Distance.DOT)
        await self._make(points, size)
        for key in KEYWORDS:
            await self._index(points, key, _Schema.KEYWORD)
        for key in ("turn", "rank"):
            await self._index(points, key, _Schema.INTEGER)
        tenant = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
        await self._index(points, "space", tenant)
        born = 1 + max((each.born for each in await self.all()), default=0)
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
        none = models.Filter(must=[before(1)])  # a point that is there already stays as it is
        await self.asked(
            self.client.upsert(self._name, [point], update_filter=none, ordering=_STRONG)
        )
        told = await self.of(model)
        if told is None or told.points != points:
            await self.asked(self.client.delete_collection(points))

    async def _make(self, name: str, vectors: Any) -> None:
        try:
            await self.asked(self.client.create_collection(name, vectors))
        except Unavailable:
            if not await self.asked(self.client.collection_exists(name)):
                raise

    async def _index(self, name: str, key: str, kind: Any) -> None:
        await self.asked(self.client.create_payload_index(name, key, kind))

    async def _set(
        self,
        model: EmbeddingModel,
        payload: Mapping[str, Any],
        *same: models.FieldCondition,
    ) -> None:
        only = models.HasIdCondition(has_id=[key_of(model)])
        chosen = models.Filter(must=[only, *same])
        await self.asked(
            self.client.set_payload(self._name, dict(payload), chosen, ordering=_STRONG)
        )


def _told(payload: Mapping[str, Any]) -> KeptModel:
    model = EmbeddingModel(
        name=payload["name"],
        version=payload["version"],
        dimensions=payload["dimensions"],
        digest=payload["weights"],
    )
    return KeptModel(
        model=model,
        points=payload["points"],
        cursor=payload["cursor"],
        turn=payload["turn"],
        token=payload["token"],
        born=payload["born"],
    )

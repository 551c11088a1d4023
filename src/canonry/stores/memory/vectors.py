"""Vectors in memory: every question is a scan that says what the question means."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from operator import mul
from typing import Final

from typing_extensions import override

from canonry.readmodels.ports.vectors import (
    EmbeddingModel,
    Vector,
    VectorBatch,
    VectorEntry,
    VectorHit,
    VectorQuery,
    Vectors,
    VectorStatus,
)
from canonry.values.errors import BrokenInvariant, Unavailable


@dataclass(slots=True)
class _Kept:
    """What is kept of one model: the parts of each passage in order, and the cursor."""

    cursor: str = ""
    entries: dict[str, list[VectorEntry]] = field(default_factory=dict)


class MemoryVectors(Vectors):
    """All vectors of every model, in the order of their first batches."""

    def __init__(self) -> None:
        """Begin with none."""
        self._models: dict[EmbeddingModel, _Kept] = {}

    @override
    async def apply(self, batch: VectorBatch) -> None:
        size = _BYTES * batch.model.dimensions
        if any(len(entry.vector) != size for entry in batch.entries):
            message = "an embedder gave a vector of another size than its model says"
            raise BrokenInvariant("vectors.wrong-size", message)
        kept = self._models.get(batch.model)
        if batch.follows is not None and batch.follows != ("" if kept is None else kept.cursor):
            raise Unavailable("vectors.moved", "somebody else indexed meanwhile; look again")
        kept = self._models.setdefault(batch.model, _Kept())
        kept.cursor = batch.cursor
        for gone in (*batch.removed, *(entry.id for entry in batch.entries)):
            kept.entries.pop(gone, None)
        for entry in sorted(batch.entries, key=lambda each: each.part):
            kept.entries.setdefault(entry.id, []).append(entry)

    @override
    async def search(self, query: VectorQuery) -> Sequence[VectorHit]:
        if query.model not in self._models or len(query.vector) != _BYTES * query.model.dimensions:
            return []
        hits = [
            VectorHit(entry.id, entry.part, _similarity(entry.vector, query.vector))
            for entries in self._models[query.model].entries.values()
            for entry in entries
            if _allows(query, entry)
        ]
        hits.sort(key=lambda hit: (-hit.similarity, hit.id, hit.part))
        return hits[: max(0, query.limit)]

    @override
    async def status(self) -> Sequence[VectorStatus]:
        return [
            VectorStatus(
                model=model,
                count=sum(map(len, kept.entries.values())),
                cursor=kept.cursor,
                waiting=0,
            )
            for model, kept in self._models.items()
        ]

    @override
    async def cursors(self) -> Mapping[EmbeddingModel, str]:
        return {model: kept.cursor for model, kept in self._models.items()}

    @override
    async def digests(
        self, model: EmbeddingModel, ids: Sequence[str]
    ) -> Mapping[str, Sequence[bytes]]:
        known = self._entries(model)
        return {i: tuple(entry.digest for entry in known[i]) for i in ids if i in known}

    @override
    async def about(
        self, model: EmbeddingModel, entity: str, *, after: str = "", limit: int
    ) -> Sequence[str]:
        found = (
            identity
            for identity, entries in self._entries(model).items()
            if identity > after and any(entity in entry.entities for entry in entries)
        )
        return sorted(found)[:limit]

    @override
    async def remove(self, ids: Sequence[str]) -> None:
        for kept in self._models.values():
            for identity in ids:
                kept.entries.pop(identity, None)

    @override
    async def purge(self) -> None:
        """Nothing of what was removed is kept anywhere."""

    @override
    async def tend(self, model: EmbeddingModel) -> bool:
        return False

    @override
    async def drop(self, model: EmbeddingModel | None = None) -> None:
        if model is None:
            self._models.clear()
        else:
            self._models.pop(model, None)

    @override
    async def close(self) -> None:
        """There is nothing to let go of."""

    def _entries(self, model: EmbeddingModel) -> Mapping[str, Sequence[VectorEntry]]:
        kept = self._models.get(model)
        return {} if kept is None else kept.entries


_BYTES: Final = 4
"""A number of a vector is a little-endian float of so many bytes."""


def _allows(query: VectorQuery, entry: VectorEntry) -> bool:
    return (
        entry.collection is query.collection
        and (query.spaces is None or entry.space in query.spaces)
        and (not query.entities or not query.entities.isdisjoint(entry.entities))
        and query.source_id in {None, entry.source_id}
        and (query.without_scene is None or entry.scene_id != query.without_scene)
    )


def _similarity(one: Vector, two: Vector) -> float:
    numbers = f"<{len(one) // _BYTES}f"
    return fsum(map(mul, struct.unpack(numbers, one), struct.unpack(numbers, two)))

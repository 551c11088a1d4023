"""Points: what a vector becomes in Qdrant, and the conditions by which points are selected."""

import struct
from bisect import bisect_left
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, Final
from uuid import UUID

from qdrant_client import models

from canonry.readmodels.ports.embedder import EmbeddingModel, Vector
from canonry.readmodels.ports.vectors import VectorBatch, VectorEntry, VectorQuery
from canonry.values.errors import BrokenInvariant

KEYWORDS: Final = ("id", "collection", "entities", "scene", "source")
"""What is indexed beside `space`, `turn` and `rank`: every filter of the port, and the ids."""

BYTES: Final = 4
"""A number of a vector is a little-endian float of so many bytes."""

_LETTERS: Final = "-0123456789abcdef"
_RANKED: Final = 12
"""So many letters of an id make its rank, in a whole number of Qdrant: of an id of version 7 its
time to some milliseconds."""

_BASE: Final = 2 * len(_LETTERS) + 2


def point_id(*parts: object) -> str:
    """The id of a point, equal for equal parts."""
    text = "\n".join(map(str, parts))
    return str(UUID(bytes=blake2b(text.encode(), digest_size=16).digest()))


def key_of(model: EmbeddingModel) -> str:
    """The id of the point that tells what there is of a model."""
    return point_id(model.name, model.version, model.dimensions, model.digest or "")


def point_of(entry: VectorEntry, turn: int) -> models.PointStruct:
    """The point of a vector, which was written in this turn."""
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
        "turn": turn,
    }
    numbers = list(numbers_of(entry.vector))
    return models.PointStruct(id=point_id(entry.id, entry.part), vector=numbers, payload=payload)


def numbers_of(vector: Vector) -> tuple[float, ...]:
    """The numbers of a vector."""
    return struct.unpack(f"<{len(vector) // BYTES}f", vector)


def rank_of(identity: str) -> int:
    """A number in the order of ids, for Qdrant orders by numbers; ids that begin alike share one.

    It ends at the first letter that ids do not have, and counts between which two that one lies.
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
    """The condition that a field holds any of these."""
    return models.FieldCondition(key=key, match=models.MatchAny(any=list(values)))


def equals(key: str, value: str | int) -> models.FieldCondition:
    """The condition that a field holds this."""
    return models.FieldCondition(key=key, match=models.MatchValue(value=value))


def before(turn: int) -> models.FieldCondition:
    """The condition that a point was written in an earlier turn."""
    return models.FieldCondition(key="turn", range=models.Range(lt=turn))


def selected_by(query: VectorQuery) -> models.Filter:
    """The filters of a search."""
    must: list[Any] = [equals("collection", str(query.collection))]
    if query.spaces is not None:
        must.append(is_any("space", query.spaces))
    if query.entities:
        must.append(is_any("entities", query.entities))
    if query.source_id is not None:
        must.append(equals("source", query.source_id))
    without: list[Any] = []
    if query.without_scene is not None:
        without.append(equals("scene", query.without_scene))
    return models.Filter(must=must, must_not=without)


def require_sizes(batch: VectorBatch) -> None:
    """Refuse a batch with a vector that its model cannot have made.

    Raises:
        BrokenInvariant: `vectors.wrong-size`.
    """
    size = BYTES * batch.model.dimensions
    if any(len(entry.vector) != size for entry in batch.entries):
        message = "an embedder gave a vector of another size than its model says"
        raise BrokenInvariant("vectors.wrong-size", message)

"""Passages as documents: their stems are the domain's own, and no analyser of the server's is used.

Each write says of which change of its thing it is, and the server refuses one that is older than
what it has. So whoever is late, or writes again, does no harm.
"""

from base64 import b64decode, b64encode, urlsafe_b64decode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final

import orjson

from canonry.language.texts.stems import stems_of
from canonry.log.entries import Thing
from canonry.readmodels.passages import Passage, is_silenced, passages_of
from canonry.readmodels.ports.text import Hit
from canonry.values.ids import SpaceId

_HASH_BYTES: Final = 8
_STEM_MAX: Final = 400
"""A longer stem is indexed by its beginning and its hash: no index holds a key of any length."""

_LINES_MAX: Final = 1_000
_BYTES_MAX: Final = 4_000_000

BulkLine = dict[str, Any]


def kept(stem: str) -> str:
    """A stem as it is indexed."""
    if len(stem) <= _STEM_MAX:
        return stem
    return stem[:_STEM_MAX] + blake2b(stem.encode(), digest_size=_HASH_BYTES).hexdigest()


def bulks_of(space: SpaceId, things: Iterable[Thing]) -> Iterator[Sequence[BulkLine]]:
    """What has to be written of things, as requests of a bounded size."""
    lines: list[BulkLine] = []
    size = 0
    for thing in things:
        passage = next(passages_of(thing), None)
        about = {
            "_id": thing.id,
            "routing": space,
            "version": thing.changed_at,
            "version_type": "external_gte",
        }
        if passage is not None:
            lines += ({"index": about}, document_of(passage))
            size += len(passage.text)
        elif is_silenced(thing):
            lines.append({"delete": about})
        if len(lines) >= _LINES_MAX or size >= _BYTES_MAX:
            yield lines
            lines, size = [], 0
    if lines:
        yield lines


def document_of(passage: Passage) -> BulkLine:
    """A passage as it is indexed."""
    stems = stems_of(passage.text)
    where = (passage.id, passage.scene_id, passage.place, passage.entities)
    return {
        "space": passage.space,
        "collection": str(passage.collection),
        "scene": passage.scene_id,
        "source": passage.source_id,
        "entities": passage.entities,
        "terms": sorted({kept(stem) for stem in stems}),
        "words": len(stems),
        "where": b64encode(orjson.dumps(where)).decode(),
        "stems": b64encode(" ".join(stems).encode()).decode(),
    }


def hit_of(found: Mapping[str, Any], shares: Mapping[str, float]) -> Hit:
    """A passage that was found, with what the words of a query add to its score."""
    identity, scene, place, entities = orjson.loads(_bytes_in(found, "where"))
    raw = sum(shares.values())
    return Hit(identity, raw / (raw + 1), shares, scene, place, tuple(entities))


def stems_in(found: Mapping[str, Any]) -> list[str]:
    """The stems of a passage that was found, in order."""
    return _bytes_in(found, "stems").decode().split(" ")


def is_written(found: Mapping[str, Any], document: BulkLine) -> bool:
    """Whether a passage that was found is what would be written."""
    return (
        found["fields"]["words"] == [document["words"]]
        and sorted(found["fields"].get("terms", ())) == document["terms"]
        and all(_bytes_in(found, each) == b64decode(document[each]) for each in ("where", "stems"))
    )


def _bytes_in(found: Mapping[str, Any], field: str) -> bytes:
    # The server leaves out what fills up the last four letters, and more than that does no harm.
    return urlsafe_b64decode(found["fields"].get(field, ("",))[0] + "==")

"""Passages as rows, and in how many of them each stem occurs.

The terms of a passage are hashes of its space, its collection and a stem. So the passages of a stem
are listed for each space apart: a small space in a large store is searched as if it were alone.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final

from canonry.language.texts.stems import stems_of
from canonry.log.entries import Thing
from canonry.readmodels.listing import List
from canonry.readmodels.passages import Collection, Passage, passages_of
from canonry.stores.postgres.database import Values

_HASH_BYTES: Final = 8
_STEM_MAX: Final = 400
"""A longer stem is kept by its beginning and its hash: no index holds a key of any length."""

_DROP: Final = (
    "DELETE FROM passages p USING unnest(%s::text[], %s::text[]) AS g (space, id)"
    " WHERE p.space = g.space AND p.id = g.id"
)
_PUT: Final = (
    "INSERT INTO passages SELECT space, id, collection, scene, place, source,"
    " coalesce(string_to_array(entities, ' '), '{}'), stems, string_to_array(terms, ' ')::bigint[]"
    " FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[], %s::bigint[], %s::text[],"
    " %s::text[], %s::text[], %s::text[])"
    " AS g (space, id, collection, scene, place, source, entities, stems, terms)"
)
_COUNT: Final = (
    "INSERT INTO stem_counts SELECT * FROM unnest(%s::text[], %s::text[], %s::text[], %s::bigint[])"
    " ON CONFLICT (space, collection, stem) DO UPDATE SET n = stem_counts.n + excluded.n"
)
_UNCOUNT: Final = (
    "DELETE FROM stem_counts c USING unnest(%s::text[], %s::text[], %s::text[])"
    " AS g (space, collection, stem) WHERE c.space = g.space AND c.collection = g.collection"
    " AND c.stem = g.stem AND c.n <= 0"
)


def passages_in(thing: Thing) -> Iterator[Passage]:
    """The passages of a thing."""
    return iter(passages_of(thing))


def term_of(space: str, collection: Collection, stem: str) -> int:
    """What is indexed of a stem in one collection of one space."""
    return int.from_bytes(
        blake2b(stem.encode(), digest_size=_HASH_BYTES, key=_key_of(space, collection)).digest(),
        "big",
        signed=True,
    )


@lru_cache(maxsize=4096)
def _key_of(space: str, collection: Collection) -> bytes:
    return blake2b(f"{space}/{collection}".encode(), digest_size=_HASH_BYTES).digest()


def kept(stem: str) -> str:
    """A stem as it is counted."""
    if len(stem) <= _STEM_MAX:
        return stem
    return stem[:_STEM_MAX] + blake2b(stem.encode(), digest_size=_HASH_BYTES).hexdigest()


class PassageCounts:
    """What becomes of the counts of passages, words and stems."""

    def __init__(self, counted: Counter[tuple[str, int, str, str]]) -> None:
        """Add passages and words to `counted`."""
        self._counted = counted
        self._stems: Counter[tuple[str, str, str]] = Counter()

    def put(self, passage: Passage) -> None:
        """Count a passage that has come."""
        self._measure(passage, 1)

    def take(self, passage: Passage) -> None:
        """Count one that has gone."""
        self._measure(passage, -1)

    def _measure(self, passage: Passage, change: int) -> None:
        stems = stems_of(passage.text)
        place = (passage.space, int(List.PASSAGES), str(passage.collection))
        self._counted[*place, "passages"] += change
        self._counted[*place, "words"] += change * len(stems)
        for stem in set(stems):
            self._stems[passage.space, str(passage.collection), kept(stem)] += change

    def statements(
        self, dropped: Sequence[Passage], put: Sequence[Passage]
    ) -> Iterator[tuple[str, Values]]:
        """What has to be run, in order."""
        if dropped:
            yield _DROP, _columns((p.space, p.id) for p in dropped)
        if put:
            yield _PUT, _columns(map(_row, put))
        ordered = sorted((*key, n) for key, n in self._stems.items() if n)
        if ordered:
            yield _COUNT, _columns(ordered)
        less = [row[:-1] for row in ordered if row[-1] < 0]
        if less:
            yield _UNCOUNT, _columns(less)


def _row(passage: Passage) -> tuple[Any, ...]:
    stems = stems_of(passage.text)
    terms = {term_of(passage.space, passage.collection, stem) for stem in stems}
    return (
        passage.space,
        passage.id,
        str(passage.collection),
        passage.scene_id,
        passage.place,
        passage.source_id,
        " ".join(passage.entities) or None,
        " ".join(stems),
        " ".join(map(str, sorted(terms))),
    )


def _columns(rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]

"""Passages as SQLite indexes them: each stem is written behind a mark of its space and collection.

So the passages of a stem are listed, and counted, for each space apart: a small space in a large
store is searched as fast as if it were alone, and its results show nothing of other spaces.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final, TypeAlias

import apsw

from canonry.language.texts.stems import stems_of
from canonry.log.entries import Thing
from canonry.readmodels.listing import List
from canonry.readmodels.passages import Collection, Passage, passages_of
from canonry.stores.sqlite.bodies import pack
from canonry.stores.sqlite.lookups import CountKey

StemKey: TypeAlias = tuple[str, str]
"""A mark and a stem."""

BATCH: Final = 128
"""So many passages enter the index at once: fewer wait until there are so many; see waiting.py."""

_MARK_BYTES: Final = 6
_INDEX: Final = "INSERT INTO passages (rowid, words, marks) VALUES (?, ?, ?)"
_UNINDEX: Final = "INSERT INTO passages (passages, rowid, words, marks) VALUES ('delete', ?, ?, ?)"
_KEEP: Final = "INSERT INTO passage_stems VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_DROP: Final = "DELETE FROM passage_stems WHERE n = ?"
_COUNT: Final = (
    "INSERT INTO stem_counts VALUES (?, ?, ?)"
    " ON CONFLICT (mark, stem) DO UPDATE SET n = n + excluded.n"
)
_UNCOUNT: Final = "DELETE FROM stem_counts WHERE mark = ? AND stem = ? AND n <= 0"


@lru_cache(maxsize=4096)
def mark_of(space: str, collection: Collection) -> str:
    """The mark that precedes the words of one collection of one space."""
    return blake2b(f"{space}/{collection}".encode(), digest_size=_MARK_BYTES).hexdigest()


def word_in(mark: str, term: str) -> str:
    """A term as it is indexed behind its mark; terms never hold an underscore."""
    return f"{mark}_{term}"


def entity_in(mark: str, entity: str) -> str:
    """The word by which passages that name an entity are found."""
    return f"{mark}@e{_plain(entity)}"


def source_in(mark: str, source: str) -> str:
    """The word by which passages from a source are found."""
    return f"{mark}@s{_plain(source)}"


def scene_in(mark: str, scene: str) -> str:
    """The word by which passages from a scene are found."""
    return f"{mark}@c{_plain(scene)}"


def passage_of(thing: Thing | None) -> Passage | None:
    """The passage of a thing; None for a thing that is not searched."""
    return None if thing is None else next(passages_of(thing), None)


def index(
    db: apsw.Connection,
    passages: Iterable[tuple[int, Passage]],
    counted: Counter[CountKey],
    stem_counts: Counter[StemKey],
) -> None:
    """Put passages of things into the index, and count them; `count_stems` must follow."""
    indexed: list[tuple[int, str, str]] = []
    kept: list[tuple[Any, ...]] = []
    for n, passage in passages:
        stems = stems_of(passage.text)
        mark = mark_of(passage.space, passage.collection)
        indexed.append((n, _words(mark, stems), _all_marks(mark, passage)))
        # Most passages are an entity's own, and about nobody else.
        about = None if passage.entities == (passage.id,) else " ".join(passage.entities)
        told = " ".join(stems)
        scene, place, source = passage.scene_id, passage.place, passage.source_id
        kept.append((n, passage.id, mark, scene, place, source, about, told))
        _measure(passage, counted, 1, len(stems))
        stem_counts.update([(mark, stem) for stem in set(stems)])
    db.executemany(_INDEX, indexed)
    db.executemany(_KEEP, kept)


def unindex(db: apsw.Connection, n: int, passage: Passage, counted: Counter[CountKey]) -> None:
    """Take the passage of the thing `n` out of the index."""
    stems = stems_of(passage.text)
    mark = mark_of(passage.space, passage.collection)
    db.execute(_UNINDEX, (n, _words(mark, stems), _all_marks(mark, passage)))
    db.execute(_DROP, (n,))
    _measure(passage, counted, -1, -len(stems))
    count_stems(db, {(mark, stem): -1 for stem in set(stems)})


def count_stems(db: apsw.Connection, changes: Mapping[StemKey, int]) -> None:
    """Add `changes` to the counts of stems; a count that falls to zero loses its row."""
    ordered = sorted(changes.items())
    db.executemany(_COUNT, [(*key, change) for key, change in ordered])
    db.executemany(_UNCOUNT, [key for key, change in ordered if change < 0])


def _words(mark: str, stems: Sequence[str]) -> str:
    behind = word_in(mark, "")
    return " ".join([behind + stem for stem in stems])


def _measure(passage: Passage, counted: Counter[CountKey], passages: int, words: int) -> None:
    place = (int(List.PASSAGES), str(passage.collection), pack(passage.space))
    counted[*place, "passages"] += passages
    counted[*place, "words"] += words


def _all_marks(mark: str, passage: Passage) -> str:
    return " ".join(_marks(mark, passage))


def _marks(mark: str, passage: Passage) -> Iterator[str]:
    for entity in passage.entities:
        yield entity_in(mark, entity)
    if passage.scene_id is not None:
        yield scene_in(mark, passage.scene_id)
    if passage.source_id is not None:
        yield source_in(mark, passage.source_id)


def _plain(identity: str) -> str:
    return blake2b(identity.encode(), digest_size=_MARK_BYTES).hexdigest()

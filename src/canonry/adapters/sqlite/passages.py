"""Passages as indexed: each word behind a mark of its space and collection.

So a word's list of passages, and how often it occurs, is that of one space alone: a small space in
a large store is searched as fast as if it were alone, and learns nothing about the others.
"""

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from typing import Final

import apsw

from canonry.adapters.sqlite.listing import CountKey, List
from canonry.adapters.sqlite.packing import pack
from canonry.domain.entries import Thing
from canonry.domain.passages import Collection, Passage, passages_of
from canonry.domain.words import terms_of

_MARK_BYTES: Final = 6
_INDEX: Final = "INSERT INTO passages (rowid, words, marks) VALUES (?, ?, ?)"
_UNINDEX: Final = "INSERT INTO passages (passages, rowid, words, marks) VALUES ('delete', ?, ?, ?)"


@lru_cache(maxsize=4096)
def mark_of(space: str, collection: Collection) -> str:
    """What the words of a collection of a space begin with."""
    return blake2b(f"{space}/{collection}".encode(), digest_size=_MARK_BYTES).hexdigest()


def word_in(mark: str, term: str) -> str:
    """A term as indexed; terms never hold an underscore."""
    return f"{mark}_{term}"


def entity_in(mark: str, entity: str) -> str:
    """The mark of passages that name an entity."""
    return f"{mark}@e{_plain(entity)}"


def source_in(mark: str, source: str) -> str:
    """The mark of passages from a source."""
    return f"{mark}@s{_plain(source)}"


def scene_in(mark: str, scene: str) -> str:
    """The mark of passages from a scene."""
    return f"{mark}@c{_plain(scene)}"


def passage_of(thing: Thing | None) -> Passage | None:
    """The passage of a thing, if it is searched."""
    return None if thing is None else next(passages_of(thing), None)


def index(db: apsw.Connection, n: int, passage: Passage, counted: Counter[CountKey]) -> None:
    """Put the passage of the thing `n` into the index, and count it."""
    words, marks, length = _indexed(passage)
    db.execute(_INDEX, (n, words, marks))
    _measure(passage, counted, 1, length)


def unindex(db: apsw.Connection, n: int, passage: Passage, counted: Counter[CountKey]) -> None:
    """Take the passage of the thing `n` out of the index."""
    words, marks, length = _indexed(passage)
    db.execute(_UNINDEX, (n, words, marks))
    _measure(passage, counted, -1, -length)


def _indexed(passage: Passage) -> tuple[str, str, int]:
    """The words and marks of a passage as indexed, and how many words that is."""
    mark = mark_of(passage.space, passage.collection)
    terms = terms_of(passage.text)
    words = " ".join([word_in(mark, term) for term in terms])
    return words, " ".join(_marks(mark, passage)), len(terms)


def _measure(passage: Passage, counted: Counter[CountKey], passages: int, words: int) -> None:
    place = (int(List.PASSAGES), str(passage.collection), pack(passage.space))
    counted[*place, "passages"] += passages
    counted[*place, "words"] += words


def _marks(mark: str, passage: Passage) -> Iterator[str]:
    for entity in passage.entities:
        yield entity_in(mark, entity)
    if passage.scene_id is not None:
        yield scene_in(mark, passage.scene_id)
    if passage.source_id is not None:
        yield source_in(mark, passage.source_id)


def _plain(identity: str) -> str:
    return blake2b(identity.encode(), digest_size=_MARK_BYTES).hexdigest()

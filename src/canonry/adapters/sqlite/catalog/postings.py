"""Postings: where one, two and three characters in a row occur in the documents of a segment.

A document is the folded title, slug and summary of an entity, and has a number in its segment.
Of three characters every place is kept, so that a longer text is found exactly; of one and two
only the documents, since nothing longer is made of them. Longer grams have postings of their own
where they are common, since a long text that many share would else be found by many long postings.
"""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.int64]
Posts: TypeAlias = NDArray[np.uint32]
Flags: TypeAlias = NDArray[np.bool_]
Posting: TypeAlias = tuple[int, bytes]
"""A gram's key and its posts.

Of three characters: `document << 16 | place`, four bytes each. Of fewer: the documents, two bytes
each, or a bit for each document of the segment where that is shorter. Of more: as of three, behind
the gram itself and a NUL, because its key is only a hash; such keys are negative.
"""

GRAM: Final = 3
_CHARACTER_BITS: Final = 21
_PLACE_BITS: Final = 16
_PLACE_MASK: Final = (1 << _PLACE_BITS) - 1
_RANK_BITS: Final = 32
_RANKED_MAX: Final = 1 << 16
_POST: Final = np.dtype("<u4")
_DOCUMENT: Final = np.dtype("<u2")
COMMON_SHARE: Final = 1_000
"""A gram is common that begins at one of so many characters of a segment."""

_COMMON_MIN: Final = 2
_LONGEST: Final = 192
_KEY_BYTES: Final = 8
NONE: Final[Numbers] = np.zeros(0, np.int64)


def key_of(gram: str) -> int:
    """One to three characters as a number; shorter grams have smaller ones."""
    key = 0
    for character in gram:
        key = key << _CHARACTER_BITS | ord(character)
    return key


def long_key_of(gram: str) -> int:
    """More than three characters as a negative number, which others may share."""
    digest = blake2b(gram.encode(), digest_size=_KEY_BYTES).digest()
    return -1 - (int.from_bytes(digest) >> 1)


def head_of(gram: str) -> bytes:
    """What stands before the posts of a gram of more than three characters."""
    return gram.encode() + b"\0"


def common(length: int) -> int:
    """How many posts make a gram common in a segment of so many characters."""
    return max(_COMMON_MIN, length // COMMON_SHARE)


def postings(
    texts: Sequence[Sequence[str]], documents: Sequence[int], size: int
) -> Iterator[Posting]:
    """The postings of `texts`, those of up to three characters by key, and then the longer ones.

    `documents` are the numbers of the texts among `size`, ascending.
    """
    if not texts:
        return
    # No text holds a NUL, so that no gram reaches from one text into the next.
    whole = "".join(f"{part}\0" for text in texts for part in text)
    lengths = [sum(map(len, text)) + len(text) for text in texts]
    characters = np.frombuffer(whole.encode("utf-32-le"), _POST)
    owners: Posts = np.repeat(np.asarray(documents, _POST), lengths)
    posts = owners << np.uint32(_PLACE_BITS) | _places(lengths)
    runs: list[Numbers] = []
    for width, sorted_places in enumerate(_orders(characters), 1):
        keys = _keys(characters, width)[sorted_places]
        at, keys = sorted_places[keys > 0], keys[keys > 0]
        if width < GRAM:
            yield from _documents_of(keys, owners[at], size)
            continue
        for key, start, end in _groups(keys):
            runs.append(at[start:end])
            yield key, posts[runs[-1]].tobytes()
    del characters, sorted_places, keys
    yield from _longer(whole, posts, runs)


def _places(lengths: Sequence[int]) -> Posts:
    """Where every character stands in its document."""
    starts = np.cumsum([0, *lengths])[:-1].astype(_POST)
    return np.arange(sum(lengths), dtype=_POST) - np.repeat(starts, lengths)


def _longer(whole: str, posts: Posts, runs: Sequence[Numbers]) -> Iterator[Posting]:
    """The postings of common grams of six characters, twelve, and so on.

    Both halves of a common gram are common, so that only where one such half follows another has
    to be looked at.
    """
    enough, width = common(len(whole)), GRAM
    while 2 * width <= _LONGEST:
        ranks = np.zeros(len(whole), np.int64)
        for rank, run in enumerate((run for run in runs if len(run) >= enough), 1):
            ranks[run] = rank
        there = np.flatnonzero((ranks[:-width] > 0) & (ranks[width:] > 0))
        there = there[np.lexsort((ranks[there + width], ranks[there]))]
        pairs = ranks[there] << _RANK_BITS | ranks[there + width]
        runs = [there[start:end] for _, start, end in _groups(pairs) if end - start >= enough]
        width *= 2
        for run in runs:
            gram = whole[run[0] : run[0] + width]
            yield long_key_of(gram), head_of(gram) + posts[run].tobytes()
        if not runs:
            return


def _orders(characters: Posts) -> Iterator[Numbers]:
    """The places of all grams of one character, two and three, by gram and then ascending.

    Sorted by what follows them, places are in order once they are stably sorted by their own
    character; such a sort of 16 bits takes no comparisons.
    """
    present = np.flatnonzero(np.bincount(characters))  # there is a NUL at least
    ranks = np.zeros(int(present[-1]) + 1, np.uint16 if len(present) <= _RANKED_MAX else np.uint32)
    ranks[present] = np.arange(len(present))
    ranked = ranks[characters]
    order: Numbers = np.argsort(ranked, kind="stable")
    yield order
    for _ in range(1, GRAM):
        order = order[order > 0] - 1
        order = order[np.argsort(ranked[order], kind="stable")]
        yield order


def _keys(characters: Posts, width: int) -> Numbers:
    """The key of the gram that begins at each character; 0 where none does."""
    keys = np.zeros(len(characters), np.int64)
    whole = np.ones(len(characters), np.bool_)
    for step in range(width):
        shown = np.zeros(len(characters), _POST)
        shown[: len(characters) - step] = characters[step:]
        keys <<= _CHARACTER_BITS
        keys |= shown
        whole &= shown != 0
    keys *= whole
    return keys


def _documents_of(keys: Numbers, documents: Posts, size: int) -> Iterator[Posting]:
    once = is_first(keys) | is_first(documents)
    keys, documents = keys[once], documents[once]
    for key, start, end in _groups(keys):
        yield key, _documents_as_bytes(documents[start:end], size)


def _groups(keys: Numbers) -> Iterator[tuple[int, int, int]]:
    """(key, start, end) of each run of equal keys."""
    if not len(keys):
        return
    starts = np.flatnonzero(is_first(keys))
    ends = [*starts[1:].tolist(), len(keys)]
    yield from zip(keys[starts].tolist(), starts.tolist(), ends, strict=True)


def bits_of(documents: Sequence[int] | Posts, size: int) -> bytes:
    """A bit for each of `size` documents, set for those in `documents`."""
    flags = np.zeros(size, np.bool_)
    flags[np.asarray(documents, np.int64)] = True
    return np.packbits(flags, bitorder="little").tobytes()


def flags_of(bits: bytes, size: int) -> Flags:
    """What `bits_of` was made of, as a flag for each document."""
    packed = np.frombuffer(bits, np.uint8)
    return np.unpackbits(packed, count=size, bitorder="little").astype(np.bool_)


def _documents_as_bytes(documents: Posts, size: int) -> bytes:
    listed = documents.astype(_DOCUMENT).tobytes()
    bits = bits_of(documents, size)
    return listed if len(listed) < len(bits) else bits


def documents_in(posts: bytes, size: int) -> Numbers:
    """The documents of a posting of one or two characters, ascending."""
    if len(posts) == (size + 7) // 8:
        return np.flatnonzero(flags_of(posts, size))
    return np.frombuffer(posts, _DOCUMENT).astype(np.int64)


def places_in(posts: bytes, start: int = 0) -> Numbers:
    """The `document << 16 | place` of a posting of three characters or more, ascending."""
    return np.frombuffer(posts, _POST, offset=start).astype(np.int64)


def document_of(places: Numbers) -> Numbers:
    """The documents of places, as often as they have one."""
    return places >> _PLACE_BITS


def beginnings(places: Numbers, place: int) -> Numbers:
    """Where a text begins that has a gram `place` characters after its beginning."""
    return places[(places & _PLACE_MASK) >= place] - place if place else places


def each_once(ascending: Numbers) -> Numbers:
    """The numbers without those that repeat."""
    # `numpy.unique` gathers them in a table of hashes, which takes ten times as long.
    return ascending[is_first(ascending)]


def is_first(ascending: Numbers | Posts) -> Flags:
    """Whether each number differs from the one before it."""
    first = np.ones(len(ascending), np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=first[1:])
    return first


def told_otherwise(held: Iterable[Posting], true: Iterable[Posting], alive: Flags) -> Iterator[int]:
    """The documents that two sequences of postings tell otherwise, as often as they do.

    Both ascend by key, and have no grams of more than three characters. Only documents that are
    `alive` count.

    Raises:
        ValueError: posts are of no such form.
        IndexError: posts tell of a document that the segment never had.
    """
    sides = merge(((*one, 0) for one in held), ((*one, 1) for one in true), key=itemgetter(0))
    for key, group in groupby(sides, key=itemgetter(0)):
        told = [NONE, NONE]
        shift = _PLACE_BITS if key >> (GRAM - 1) * _CHARACTER_BITS else 0
        for _, posts, side in group:
            found = places_in(posts) if shift else documents_in(posts, len(alive))
            told[side] = found[alive[found >> shift]]
        yield from (np.setxor1d(told[0], told[1]) >> shift).tolist()

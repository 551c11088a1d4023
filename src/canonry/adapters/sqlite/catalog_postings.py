"""Postings: where one, two and three characters in a row occur in the documents of a segment.

A document is the folded title, slug and summary of an entity, and has a number in its segment.
Of three characters every place is kept, so that a longer text is found exactly; of one and two
only the documents, since nothing longer is made of them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
Posting: TypeAlias = tuple[int, bytes]
"""A gram's key and its posts.

Of three characters: `document << 16 | place`, four bytes each. Of fewer: the documents, two bytes
each, or a bit for each document of the segment where that is shorter.
"""

GRAM: Final = 3
_CHARACTER_BITS: Final = 21
_PLACE_BITS: Final = 16
_PLACE_MASK: Final = (1 << _PLACE_BITS) - 1
_POST: Final = np.dtype("<u4")
_DOCUMENT: Final = np.dtype("<u2")
_FEWER: Final = 8
"""So many times fewer numbers are looked up one by one among the others."""

_NONE: Final[Numbers] = np.zeros(0, np.int64)


def key_of(gram: str) -> int:
    """One to three characters as a number; shorter grams have smaller ones."""
    key = 0
    for character in gram:
        key = key << _CHARACTER_BITS | ord(character)
    return key


def postings(
    texts: Sequence[Sequence[str]], documents: Sequence[int], size: int
) -> Iterator[Posting]:
    """The postings of `texts` by key; `documents` are their numbers among `size`, ascending."""
    # No text holds a NUL, so that no gram reaches from one text into the next.
    whole = "".join(f"{part}\0" for text in texts for part in text)
    lengths = [sum(map(len, text)) + len(text) for text in texts]
    characters = np.frombuffer(whole.encode("utf-32-le"), _POST).astype(np.int64)
    numbers = np.repeat(np.asarray(documents, np.int64), lengths)
    starts = np.cumsum([0, *lengths])[:-1]
    places = np.arange(len(characters)) - np.repeat(starts, lengths)
    for width in range(1, GRAM):
        yield from _documents_of(_keys(characters, width), numbers, size)
    yield from _places_of(_keys(characters, GRAM), numbers << _PLACE_BITS | places)


def _keys(characters: Numbers, width: int) -> Numbers:
    """The key of the gram that begins at each character; 0 where none does."""
    count = len(characters) - width + 1
    keys = np.zeros(max(count, 0), np.int64)
    whole = np.ones(len(keys), np.bool_)
    for step in range(width if count > 0 else 0):
        shown = characters[step : step + count]
        keys = keys << _CHARACTER_BITS | shown
        whole &= shown != 0
    return np.where(whole, keys, 0)


def _documents_of(keys: Numbers, numbers: Numbers, size: int) -> Iterator[Posting]:
    there = np.flatnonzero(keys)
    pairs = _each_once(np.sort(keys[there] << _PLACE_BITS | numbers[there]))
    for key, start, end in _groups(pairs >> _PLACE_BITS):
        documents = pairs[start:end] & _PLACE_MASK
        yield key, _documents_as_bytes(documents, size)


def _places_of(keys: Numbers, posts: Numbers) -> Iterator[Posting]:
    there = np.flatnonzero(keys)
    keys = keys[there]
    order = np.argsort(keys, kind="stable")
    sorted_posts = posts[there[order]].astype(_POST)
    for key, start, end in _groups(keys[order]):
        yield key, sorted_posts[start:end].tobytes()


def _groups(keys: Numbers) -> Iterator[tuple[int, int, int]]:
    """(key, start, end) of each run of equal keys."""
    if not len(keys):
        return
    starts = np.flatnonzero(_is_first(keys))
    ends = [*starts[1:].tolist(), len(keys)]
    yield from zip(keys[starts].tolist(), starts.tolist(), ends, strict=True)


def bits_of(documents: Sequence[int] | Numbers, size: int) -> bytes:
    """A bit for each of `size` documents, set for those in `documents`."""
    flags = np.zeros(size, np.bool_)
    flags[np.asarray(documents, np.int64)] = True
    return np.packbits(flags, bitorder="little").tobytes()


def flags_of(bits: bytes, size: int) -> Flags:
    """What `bits_of` was made of, as a flag for each document."""
    packed = np.frombuffer(bits, np.uint8)
    return np.unpackbits(packed, count=size, bitorder="little").astype(np.bool_)


def _documents_as_bytes(documents: Numbers, size: int) -> bytes:
    listed = documents.astype(_DOCUMENT).tobytes()
    bits = bits_of(documents, size)
    return listed if len(listed) < len(bits) else bits


def _documents_in(posts: bytes, size: int) -> Numbers:
    """The documents of a posting of one or two characters, ascending."""
    if len(posts) == (size + 7) // 8:
        return np.flatnonzero(flags_of(posts, size))
    return np.frombuffer(posts, _DOCUMENT).astype(np.int64)


def _places_in(posts: bytes) -> Numbers:
    """The `document << 16 | place` of a posting of three characters, ascending."""
    return np.frombuffer(posts, _POST).astype(np.int64)


def documents_with(
    text: str, size: int, fetch: Callable[[int], bytes | None], weigh: Callable[[int], int]
) -> Numbers:
    """The documents of a segment that hold `text`, ascending, each once.

    `fetch` gives the posts of a key, if there are any, and `weigh` how many bytes they have, 0 for
    none: the rarest gram is read first, and what follows is only compared with what it left.
    """
    if len(text) < GRAM:
        posts = fetch(key_of(text))
        return _NONE if posts is None else _documents_in(posts, size)
    last = len(text) - GRAM
    # Grams side by side and one at the end cover the text: where all stand right, it stands there.
    grams = [(place, key_of(text[place : place + GRAM])) for place in (*range(0, last, GRAM), last)]
    weights = {key: weigh(key) for _, key in grams}
    if not all(weights.values()):
        return _NONE
    found: Numbers | None = None
    for place, key in sorted(grams, key=lambda gram: weights[gram[1]]):
        begins = _beginnings(_places_in(fetch(key) or b""), place)
        found = begins if found is None else _both(found, begins)
        if not len(found):
            return _NONE
    return _NONE if found is None else _each_once(found >> _PLACE_BITS)


def _each_once(ascending: Numbers) -> Numbers:
    # `numpy.unique` gathers them in a table of hashes, which takes ten times as long.
    return ascending[_is_first(ascending)]


def _is_first(ascending: Numbers) -> Flags:
    """Whether each differs from the one before it."""
    first = np.ones(len(ascending), np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=first[1:])
    return first


def _beginnings(places: Numbers, place: int) -> Numbers:
    """Where a text begins that has a gram `place` characters after its beginning."""
    if not place:
        return places
    return places[(places & _PLACE_MASK) >= place] - place


def _both(some: Numbers, others: Numbers) -> Numbers:
    """Those of `some` that are in `others`; both ascend and have each once."""
    if not len(others):
        return _NONE
    if len(some) * _FEWER < len(others):
        at = np.minimum(np.searchsorted(others, some), len(others) - 1)
        there: Flags = others[at] == some
        return some[there]
    together = np.concatenate((some, others))
    together.sort(kind="stable")  # it merges two runs, which is cheaper than to look each up
    return together[:-1][~_is_first(together)[1:]]


def told_otherwise(held: Iterable[Posting], true: Iterable[Posting], alive: Flags) -> Iterator[int]:
    """The documents that two sequences of postings tell otherwise, as often as they do.

    Both ascend by key. Only documents that are `alive` count.

    Raises:
        ValueError: posts are of no such form.
        IndexError: posts tell of a document that the segment never had.
    """
    sides = merge(((*one, 0) for one in held), ((*one, 1) for one in true), key=itemgetter(0))
    for key, group in groupby(sides, key=itemgetter(0)):
        told = [_NONE, _NONE]
        shift = _PLACE_BITS if key >> (GRAM - 1) * _CHARACTER_BITS else 0
        for _, posts, side in group:
            found = _places_in(posts) if shift else _documents_in(posts, len(alive))
            told[side] = found[alive[found >> shift]]
        yield from (np.setxor1d(told[0], told[1]) >> shift).tolist()

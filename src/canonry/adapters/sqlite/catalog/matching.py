"""Matching: the documents of a segment that hold a text, told by its postings alone where it can.

A text is cut into grams that lie side by side, as long as the segment has them, and one at the end.
Where all of them stand at their distances, the text stands there. The rarest gram comes first, and
what few documents are left are read where the other postings are long.
"""

from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np

from canonry.adapters.sqlite.catalog.postings import (
    GRAM,
    NONE,
    Flags,
    Numbers,
    beginnings,
    common,
    document_of,
    documents_in,
    each_once,
    head_of,
    is_first,
    key_of,
    long_key_of,
    places_in,
)

FEWER: Final = 8
"""So many times fewer numbers are looked up one by one among the others."""

READING: Final = 16_384
"""Reading a document takes as long as comparing with so many bytes of postings."""

_POST_BYTES: Final = 4


class Postings(Protocol):
    """The postings of a segment of so many characters, one more for each of its texts."""

    @property
    def length(self) -> int:
        """How many characters."""

    def posts(self, key: int) -> bytes | None:
        """The posts of a gram."""

    def weight(self, key: int) -> int:
        """How many bytes these are; 0 for none."""


class Segment(Postings, Protocol):
    """A segment that began with so many documents, and can read them."""

    @property
    def size(self) -> int:
        """How many documents."""

    def holds(self, document: int, text: str) -> bool:
        """Whether a document holds the text; one that is gone holds none."""


class _Piece:
    """A gram of a text, and how many characters after its beginning it stands."""

    __slots__ = ("gram", "key", "place", "weight")

    def __init__(self, segment: Postings, text: str, place: int, width: int) -> None:
        self.gram = text[place : place + width]
        self.place = place
        self.key = key_of(self.gram) if width == GRAM else long_key_of(self.gram)
        self.weight = segment.weight(self.key)

    def beginnings(self, segment: Postings) -> Numbers | None:
        """Where the text may begin; None if the posts are of another gram with the same key."""
        posts, head = segment.posts(self.key) or b"", b""
        if self.key < 0:
            head = head_of(self.gram)
            if not posts.startswith(head):
                return None
        return beginnings(places_in(posts, len(head)), self.place)


def documents_with(text: str, segment: Segment) -> Numbers:
    """The documents that hold `text`, ascending, each once; of those that are gone, any or none."""
    if len(text) < GRAM:
        posts = segment.posts(key_of(text))
        return NONE if posts is None else documents_in(posts, segment.size)
    places = _places_with(text, segment, _pieces(text, segment, common(segment.length)))
    if places is None:  # a hash stands for two grams
        places = _places_with(text, segment, _pieces(text, segment, segment.length))
    return NONE if places is None else each_once(document_of(places))


def places_with(text: str, segment: Postings) -> Numbers:
    """Where `text` begins, told by its grams of three characters alone."""
    found: Numbers | None = None
    for piece in _pieces(text, segment, segment.length):
        begins = piece.beginnings(segment)
        found = begins if found is None or begins is None else _both(found, begins)
    return NONE if found is None else found


def _pieces(text: str, segment: Postings, enough: int) -> Sequence[_Piece]:
    """The grams that cover a text; grams with `enough` posts may have a longer one."""
    pieces: list[_Piece] = []
    place = 0
    while place < len(text):
        piece = _Piece(segment, text, min(place, len(text) - GRAM), GRAM)
        width = GRAM
        while piece.weight >= enough * _POST_BYTES and piece.place + 2 * width <= len(text):
            longer = _Piece(segment, text, piece.place, 2 * width)
            if not longer.weight:
                break
            piece, width = longer, 2 * width
        pieces.append(piece)
        if not piece.weight:
            break
        place += width
    return pieces


def _places_with(text: str, segment: Segment, pieces: Sequence[_Piece]) -> Numbers | None:
    """Where the text begins; None if a piece is not what its key says."""
    if not all(piece.weight for piece in pieces):
        return NONE
    found: Numbers | None = None
    left = sum(piece.weight for piece in pieces)
    for piece in sorted(pieces, key=lambda piece: piece.weight):
        if found is not None and len(found) * READING < left:
            held = [segment.holds(number, text) for number in document_of(found).tolist()]
            return found[held]
        begins = piece.beginnings(segment)
        if begins is None:
            return None
        found = begins if found is None else _both(found, begins)
        left -= piece.weight
    return found


def _both(some: Numbers, others: Numbers) -> Numbers:
    """Those of `some` that are in `others`; both ascend and have each once."""
    if not len(others):
        return NONE
    if len(some) * FEWER < len(others):
        at = np.minimum(np.searchsorted(others, some), len(others) - 1)
        there: Flags = others[at] == some
        return some[there]
    together = np.concatenate((some, others))
    together.sort(kind="stable")  # it merges two runs, which is cheaper than to look each up
    return together[:-1][~is_first(together)[1:]]

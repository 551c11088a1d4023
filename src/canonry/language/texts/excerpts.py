"""Excerpts: a document cut into pieces small enough to cite, each a verbatim stretch of it.

The borders are those of sections, paragraphs and sentences, in this order; only a sentence that is
longer than a whole excerpt is cut between words. Neighbours of one section share some words, so
that what stands at a border is found from both sides.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import Final, NamedTuple

from canonry.language.texts.sentences import (
    is_ended,
    paragraph_starts,
    sentence_starts,
    token_starts,
)

_GAP: Final = re.compile(r"\s+")
_MID_PARAGRAPH: Final = 1.5
"""How much farther from the ideal length the end of a paragraph may be than that of a sentence."""


class DocumentType(StrEnum):
    """The kinds of documents that can be read."""

    PLAIN = "text/plain"
    MARKDOWN = "text/markdown"
    PDF = "application/pdf"


class Box(NamedTuple):
    """Where something stands on a page, in points from the upper left corner of what is shown."""

    left: float
    top: float
    right: float
    bottom: float

    def around(self, other: "Box") -> "Box":
        """The smallest box that holds both."""
        left, top = min(self.left, other.left), min(self.top, other.top)
        return Box(left, top, max(self.right, other.right), max(self.bottom, other.bottom))


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A stretch of a document on one page and under one heading, where it has pages or headings.

    `boxes` has one for each word of the text, where it is known how the page is laid out.
    """

    text: str
    page: int | None = None
    section: str | None = None
    boxes: tuple[Box, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """A piece of a document; `page` is where the text begins that is not in the piece before."""

    text: str
    page: int | None
    section: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The most that an excerpt may hold, and the most that it may share with the one before."""

    tokens: int = 500
    overlap: int = 50
    characters: int = 10_000


def cut(parts: Sequence[Part], how: Cut) -> Iterator[Excerpt]:
    """The excerpts of a document in reading order; parts of one section are read as one text."""
    for section, run in groupby(parts, key=lambda part: part.section):
        flow = _Flow.of([part for part in run if part.text.strip()])
        for begin, fresh, end in _spans(flow.text, how):
            text = flow.text[begin:end].strip()
            if text:
                yield Excerpt(text=text, page=flow.page_at(fresh), section=section)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Flow:
    """The text of a section across its pages, and where each page begins in it."""

    text: str
    starts: tuple[int, ...]
    pages: tuple[int | None, ...]

    @classmethod
    def of(cls, parts: Sequence[Part]) -> "_Flow":
        pieces: list[str] = []
        starts = []
        length = 0
        for before, part in zip((None, *parts), parts, strict=False):
            if before is not None:  # a sentence may run on from one page to the next
                pieces.append("\n\n" if is_ended(before.text) else "\n")
                length += len(pieces[-1])
            starts.append(length)
            pieces.append(part.text.strip())
            length += len(pieces[-1])
        pages = tuple(part.page for part in parts)
        return cls(text="".join(pieces), starts=tuple(starts), pages=pages)

    def page_at(self, offset: int) -> int | None:
        return self.pages[bisect_right(self.starts, offset) - 1] if self.pages else None


def _spans(text: str, how: Cut) -> Iterator[tuple[int, int, int]]:
    """(begin, begin of what is new, end) of each excerpt; together they cover the whole text."""
    ruler, borders = _Ruler(text, how), _Borders(text)
    fresh = begin = 0
    while fresh < len(text):
        most = ruler.farthest(begin)
        if most >= len(text):
            yield begin, fresh, len(text)
            return
        end = borders.end(fresh, ruler.ideal(fresh), most)
        yield begin, fresh, end
        begin, fresh = borders.begin(end, ruler.shared(end)), end


class _Ruler:
    """Measures a text: where so many tokens, and at most so many characters, end."""

    def __init__(self, text: str, how: Cut) -> None:
        self._length = len(text)
        self._how = how
        self._starts = token_starts(text)

    def farthest(self, begin: int) -> int:
        """The latest place where the excerpt may end."""
        reached = self._after(begin, self._how.tokens)
        return min(reached, begin + self._how.characters)

    def ideal(self, begin: int) -> int:
        """The place where the excerpt ends best, so that the last one is not much shorter."""
        tokens = len(self._starts) - bisect_left(self._starts, begin)
        own = self._how.tokens - min(self._how.overlap, self._how.tokens // 4)
        characters = max(1, self._how.characters * 3 // 4)
        pieces = max(2, -(-tokens // own), -(-(self._length - begin) // characters))
        return self._after(begin, tokens // pieces)

    def shared(self, end: int) -> int:
        """How much of the end is best repeated in the next excerpt; most of that is its own."""
        overlap = min(self._how.overlap, self._how.tokens // 4)
        place = max(0, bisect_left(self._starts, end) - overlap)
        begin = self._starts[place] if place < len(self._starts) else end
        return max(0, min(end - begin, self._how.characters // 4))

    def _after(self, begin: int, tokens: int) -> int:
        place = bisect_left(self._starts, begin) + tokens
        return self._starts[place] if place < len(self._starts) else self._length


class _Borders:
    """Where a text may be cut, in order; the ends of paragraphs are better places than others."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._paragraphs = frozenset(paragraph_starts(text))
        self._all = sorted(self._paragraphs.union(sentence_starts(text)))

    def end(self, begin: int, ideal: int, most: int) -> int:
        """The best border after `begin` and not after `most`."""
        near = self._all[bisect_right(self._all, begin) : bisect_right(self._all, most)]
        if near:
            return min(near, key=lambda border: self._distance(border, ideal))
        gaps = [found.end() for found in _GAP.finditer(self._text, begin, most)]
        return gaps[-1] if gaps and gaps[-1] > begin else most

    def _distance(self, border: int, ideal: int) -> float:
        return abs(border - ideal) * (1 if border in self._paragraphs else _MID_PARAGRAPH)

    def begin(self, end: int, shared: int) -> int:
        """Where the next excerpt begins: about `shared` before `end`, at the start of a sentence.

        Half a sentence may say the opposite of the whole one, so part of one is repeated only where
        `end` itself is within a sentence.
        """
        near = self._all[bisect_left(self._all, end - 2 * shared) : bisect_left(self._all, end)]
        if near:
            return min(near, key=lambda border: abs(border - (end - shared)))
        place = bisect_left(self._all, end)
        if self._all[place : place + 1] == [end]:
            return end
        gap = _GAP.search(self._text, max(0, end - shared), end)
        return gap.end() if gap else end

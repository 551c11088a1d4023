"""Sentences and excerpts: texts split, and cut into pieces small enough to cite."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import groupby
from typing import Final, NamedTuple

from canonry.values.json_values import folded

# Sentences and tokens: where a text may be cut, and how long it is; one rule for everybody.
#
# A token is about what a language model reads at once: up to six letters or digits of a word, one
# character of a script that writes no gaps, or one sign. Counted so, conversations, rules and JSON
# come within five per cent of a word-piece tokenizer; four characters a token miss by up to 20.

_UNSPACED: Final = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_TOKEN: Final = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]{{1,6}}|[^\w\s]")

# Closing quotes are spelled by their numbers, as they look like others.
CLOSING: Final = "\"'\u201d\u2019\u00bb)]"
_CLOSING: Final = rf"[{re.escape(CLOSING)}]*"
_FULL_STOPS: Final = r"\u3002\uff01\uff1f"
_END: Final = re.compile(
    rf"[.!?\u2026]{_CLOSING}\s+"  # an end mark, what closes with it, and the gap
    rf"|[{_FULL_STOPS}]{_CLOSING}\s*"  # end marks of scripts that write no gap
    r"|\n[^\S\n]*(?=[-*+\u2022|]\s|\d{1,3}[.)]\s)"  # the next item of a list, or row of a table
    r"|\n[^\S\n]*\n\s*"  # the end of a paragraph
)
_PARAGRAPH: Final = re.compile(r"\n[^\S\n]*\n\s*")
_ENDED: Final = re.compile(rf"[.!?:;\u2026{_FULL_STOPS}]{_CLOSING}$")
_TAIL: Final = 8  # characters, enough for an end mark and what closes with it
_NO_END: Final = re.compile(
    r"(?:^|[\s(\"'])(?:bzw|ca|cf|dr|e\.g|i\.e|mr|mrs|ms|prof|st|vs|z\.b)$"  # a word cut short
    r"|(?:^|\n)[^\S\n]*\d{1,3}$",  # the number of an item in a list
    re.IGNORECASE,
)
_LOOKED_AT: Final = 8  # characters before a full stop that tell whether it ends a sentence


def tokens_in(text: str) -> int:
    """About how many tokens the text takes."""
    return len(_TOKEN.findall(text))


def token_starts(text: str) -> Sequence[int]:
    """Where each token begins, in order."""
    return [found.start() for found in _TOKEN.finditer(text)]


def sentence_starts(text: str) -> Sequence[int]:
    """Where each sentence but the first begins, in order; the last may be the end of the text."""
    return list(_starts(text))


def paragraph_starts(text: str) -> Sequence[int]:
    """Where each paragraph but the first begins, in order; a sentence begins there too."""
    return [found.end() for found in _PARAGRAPH.finditer(text)]


def is_ended(text: str) -> bool:
    """Whether the text ends with the end of a sentence."""
    return _ENDED.search(text.rstrip()[-_TAIL:]) is not None


def first_sentence(text: str) -> str:
    """The first sentence, with its end mark."""
    return text[: next(_starts(text), len(text))].rstrip()


def last_between(places: Sequence[int], low: int, high: int) -> int | None:
    """The last of these sorted places from `low` to `high`; None where there is none."""
    found = bisect_right(places, high) - 1
    return places[found] if found >= bisect_left(places, low) else None


def _starts(text: str) -> Iterator[int]:
    for found in _END.finditer(text):
        begin = found.start()
        before = text[max(0, begin - _LOOKED_AT) : begin]
        if text[begin] != "." or not _NO_END.search(before):
            yield found.end()


_ARTICLES: Final = frozenset({"a", "an", "the"})
_SIGNS: Final = frozenset("'+#&%/\u00b0")
_INNER: Final = re.compile(r"((?<=\d)[.,:](?=\d)|(?<=\w)-(?=\d))")
"""Signs within a number count."""


@lru_cache(maxsize=16_384)
def plain_statement(statement: str) -> str:
    """The statement without case, punctuation and articles; what nothing is left of stays."""
    plain = folded(statement)
    parts = _INNER.split(plain)  # the signs within numbers are every second one
    parts[::2] = [part.translate(_SAID) for part in parts[::2]]
    kept = "".join(parts)
    words = [word.strip("'") for word in kept.split()]
    told = [word for word in words if word and word not in _ARTICLES]
    return " ".join(told) or plain


class _Said(dict[int, int]):
    """What becomes of each sign: itself, or a space."""

    def __missing__(self, code: int) -> int:
        sign = chr(code)
        said = sign.isalnum() or sign in _SIGNS or unicodedata.category(sign)[0] in "MS"
        return code if said else ord(" ")


_SAID: Final = _Said()
_SAID.update({code: _SAID[code] for code in range(128)})  # which nearly all signs are


_ENDS: Final = (".", "!", "?", "\u2026")


class Said(NamedTuple):
    """A statement, and how much it counts."""

    text: str
    weight: int


def digest(said: Sequence[Said], *, limit: int) -> str:
    """The statements in their order, as sentences; at most `limit` characters.

    Where there is no room for all, those that count most are kept, and of equal ones the later:
    how it ended is worth more than how it began. What is said twice is told once.
    """
    sentences = {_sentence(each.text): n for n, each in reversed([*enumerate(said)])}
    ranked = sorted(sentences, key=lambda one: (-said[sentences[one]].weight, -sentences[one]))
    kept: list[str] = []
    left = limit + 1
    for sentence in ranked:
        if 1 < len(sentence) + 1 <= left:
            kept.append(sentence)
            left -= len(sentence) + 1
    return " ".join(sorted(kept, key=sentences.__getitem__))


def _sentence(text: str) -> str:
    words = " ".join(text.split())
    return words if not words or words.endswith(_ENDS) else f"{words}."


SIZE: Final = 500
OVERLAP: Final = 50


def chunks_of(text: str, *, size: int = SIZE, overlap: int = OVERLAP) -> Sequence[str]:
    """The parts of `text` in order; each has at most `size` tokens, and a short text is whole.

    A part begins `overlap` tokens, or a little more, before the end of the one before it. Parts
    end with a sentence where one ends in their second half, else with a word. `size` is larger
    than `overlap`.
    """
    starts = token_starts(text)
    if len(starts) <= size:
        return (text,)
    sentences = sorted({bisect_left(starts, place) for place in sentence_starts(text)})
    words = [
        n
        for n, start in enumerate(starts)
        if (start == 0 or not (text[start].isalnum() and text[start - 1].isalnum()))
    ]

    def best(low: int, high: int) -> int:
        """The last token from `low` to `high` that begins a sentence, else a word."""
        found = last_between(sentences, low, high) or last_between(words, low, high)
        return high if found is None else found

    parts: list[str] = []
    first = 0
    while first + size < len(starts):
        end = best(first + max(size // 2, overlap + 1), first + size)
        parts.append(text[starts[first] : starts[end]].rstrip())
        first = best(max(first + 1, end - 2 * overlap), end - overlap)
    parts.append(text[starts[first] :].rstrip())
    return tuple(parts)


# Excerpts: a document cut into pieces small enough to cite, each a verbatim stretch of it.
#
# The borders are those of sections, paragraphs and sentences, in this order; only a sentence that
# is longer than a whole excerpt is cut between words. Neighbours of one section share some words,
# so that what stands at a border is found from both sides.

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

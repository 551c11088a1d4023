"""Sentences and excerpts: divide texts, and cut them into pieces short enough to cite."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import groupby
from typing import Final, NamedTuple

from canonry.values.json_values import fold_text

# Sentences and tokens: the positions where a text may be cut, and its length.
#
# A token is about the unit of a language model: up to six letters or digits of a word, one
# character of a script without spaces, or one sign. This estimate is within five per cent of a
# word-piece tokenizer for conversations, rules and JSON. Four characters a token miss by up to 20
# per cent.

_UNSPACED: Final = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_TOKEN: Final = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]{{1,6}}|[^\w\s]")

# Closing quotes are escaped, because they look like other characters.
CLOSING: Final = "\"'\u201d\u2019\u00bb)]"
_CLOSING: Final = rf"[{re.escape(CLOSING)}]*"
_FULL_STOPS: Final = r"\u3002\uff01\uff1f"
_END: Final = re.compile(
    rf"[.!?\u2026]{_CLOSING}\s+"  # an end mark, closing characters, and the gap
    rf"|[{_FULL_STOPS}]{_CLOSING}\s*"  # end marks of scripts without gaps
    r"|\n[^\S\n]*(?=[-*+\u2022|]\s|\d{1,3}[.)]\s)"  # the next item of a list, or row of a table
    r"|\n[^\S\n]*\n\s*"  # the end of a paragraph
)
_PARAGRAPH: Final = re.compile(r"\n[^\S\n]*\n\s*")
_ENDED: Final = re.compile(rf"[.!?:;\u2026{_FULL_STOPS}]{_CLOSING}$")
_TAIL: Final = 8  # characters, enough for an end mark and closing ones
_NO_END: Final = re.compile(
    r"(?:^|[\s(\"'])(?:bzw|ca|cf|dr|e\.g|i\.e|mr|mrs|ms|prof|st|vs|z\.b)$"  # an abbreviation
    r"|(?:^|\n)[^\S\n]*\d{1,3}$",  # the number of an item in a list
    re.IGNORECASE,
)
_ABBREVIATION_MAX: Final = 8  # characters before a full stop that show whether it ends a sentence


def tokens_in(text: str) -> int:
    """Estimate the number of tokens."""
    return len(_TOKEN.findall(text))


def token_starts(text: str) -> Sequence[int]:
    """Return the start of each token, in order."""
    return [found.start() for found in _TOKEN.finditer(text)]


def sentence_starts(text: str) -> Sequence[int]:
    """Return the start of each sentence but the first; the last may be the end of the text."""
    return list(_next_starts(text))


def paragraph_starts(text: str) -> Sequence[int]:
    """Return the start of each paragraph but the first; a sentence starts there too."""
    return [found.end() for found in _PARAGRAPH.finditer(text)]


def is_ended(text: str) -> bool:
    """Return whether the text ends with the end of a sentence."""
    return _ENDED.search(text.rstrip()[-_TAIL:]) is not None


def first_sentence(text: str) -> str:
    """Return the first sentence, with its end mark."""
    return text[: next(_next_starts(text), len(text))].rstrip()


def last_between(positions: Sequence[int], low: int, high: int) -> int | None:
    """Return the last of these sorted positions from `low` to `high`; None: there is none."""
    found = bisect_right(positions, high) - 1
    return positions[found] if found >= bisect_left(positions, low) else None


def _next_starts(text: str) -> Iterator[int]:
    for found in _END.finditer(text):
        begin = found.start()
        before = text[max(0, begin - _ABBREVIATION_MAX) : begin]
        if text[begin] != "." or not _NO_END.search(before):
            yield found.end()


_SIGNS: Final = frozenset("'+#&%/\u00b0")
_INNER: Final = re.compile(r"((?<=\d)[.,:](?=\d)|(?<=\w)-(?=\d))")
"""Signs within a number count."""


@lru_cache(maxsize=16_384)  # a verdict compares a statement 23 times: bench compare, propose
def plain_statement(statement: str) -> str:
    """Return the statement without case, punctuation and articles, unless that is empty."""
    plain = fold_text(statement)
    parts = _INNER.split(plain)  # the signs within numbers are every second part
    parts[::2] = [part.translate(_PLAIN_CHARACTERS) for part in parts[::2]]
    kept = "".join(parts)
    words = [word.strip("'") for word in kept.split()]
    kept_words = [word for word in words if word and word not in {"a", "an", "the"}]
    return " ".join(kept_words) or plain


class _PlainCharacters(dict[int, int]):
    """Maps each character to itself or to a space."""

    def __missing__(self, code: int) -> int:
        sign = chr(code)
        mark = sign.isalnum() or sign in _SIGNS or unicodedata.category(sign)[0] in "MS"
        return code if mark else ord(" ")


_PLAIN_CHARACTERS: Final = _PlainCharacters()
_PLAIN_CHARACTERS.update(
    {code: _PLAIN_CHARACTERS[code] for code in range(128)}
)  # nearly all characters are ASCII


class WeightedStatement(NamedTuple):
    """A statement, and its weight."""

    text: str
    weight: int


def digest_statements(statements: Sequence[WeightedStatement], *, limit: int) -> str:
    """Join the statements in order as sentences, within `limit` characters.

    If not all fit, the weightiest are kept, and of equal ones the later, because endings matter
    more than beginnings. Repeated statements are dropped.
    """
    sentences = {_as_sentence(each.text): n for n, each in reversed([*enumerate(statements)])}
    ranked = sorted(
        sentences, key=lambda one: (-statements[sentences[one]].weight, -sentences[one])
    )
    kept: list[str] = []
    left = limit + 1
    for sentence in ranked:
        if 1 < len(sentence) + 1 <= left:
            kept.append(sentence)
            left -= len(sentence) + 1
    return " ".join(sorted(kept, key=sentences.__getitem__))


def _as_sentence(text: str) -> str:
    words = " ".join(text.split())
    return words if not words or words.endswith((".", "!", "?", "\u2026")) else f"{words}."


SIZE: Final = 500
OVERLAP: Final = 50


def chunks_of(text: str, *, size: int = SIZE, overlap: int = OVERLAP) -> Sequence[str]:
    """Return the parts of `text` with at most `size` tokens each; a short text is whole.

    A part starts `overlap` tokens, or a little more, before the end of the previous one. It ends
    with a sentence if one ends in its second half, else with a word. `size` must exceed `overlap`.
    """
    starts = token_starts(text)
    if len(starts) <= size:
        return (text,)
    sentences = sorted({bisect_left(starts, position) for position in sentence_starts(text)})
    words = [
        n
        for n, start in enumerate(starts)
        if (start == 0 or not (text[start].isalnum() and text[start - 1].isalnum()))
    ]

    def best_break(low: int, high: int) -> int:
        """Return the last token from `low` to `high` that starts a sentence, else a word."""
        found = last_between(sentences, low, high) or last_between(words, low, high)
        return high if found is None else found

    parts: list[str] = []
    first = 0
    while first + size < len(starts):
        end = best_break(first + max(size // 2, overlap + 1), first + size)
        parts.append(text[starts[first] : starts[end]].rstrip())
        first = best_break(max(first + 1, end - 2 * overlap), end - overlap)
    parts.append(text[starts[first] :].rstrip())
    return tuple(parts)


# Excerpts: verbatim pieces of a document that are short enough to cite.
#
# Cuts are at sections, paragraphs and sentences, in this order. Only a sentence longer than a whole
# excerpt is cut between words. Neighbours of one section share some words, so that a passage at a
# cut is found from both sides.

_GAP: Final = re.compile(r"\s+")
_MID_PARAGRAPH: Final = 1.5
"""An end of a sentence counts as so many times farther away than an end of a paragraph."""


class DocumentType(StrEnum):
    """The kinds of documents that can be read."""

    PLAIN = "text/plain"
    MARKDOWN = "text/markdown"
    PDF = "application/pdf"


class Box(NamedTuple):
    """A rectangle on a page, in points from the upper left corner of the visible page."""

    left: float
    top: float
    right: float
    bottom: float

    def enclosing_box(self, other: "Box") -> "Box":
        """Return the smallest box that contains both."""
        left, top = min(self.left, other.left), min(self.top, other.top)
        return Box(left, top, max(self.right, other.right), max(self.bottom, other.bottom))


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a document on one page and under one heading, if it has pages or headings.

    `boxes` has one for each word of the text, if the page layout is known.
    """

    text: str
    page: int | None = None
    section: str | None = None
    boxes: tuple[Box, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """A piece of a document; `page` is that of the first text not in the piece before."""

    text: str
    page: int | None
    section: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The most that an excerpt may have, and may share with the one before."""

    tokens: int = 500
    overlap: int = 50
    characters: int = 10_000


def cut_excerpts(parts: Sequence[Part], how: Cut) -> Iterator[Excerpt]:
    """Yield the excerpts of a document in reading order; a section's parts are one text."""
    for section, run in groupby(parts, key=lambda part: part.section):
        flow = _Flow.from_parts([part for part in run if part.text.strip()])
        for begin, fresh, end in _excerpt_spans(flow.text, how):
            text = flow.text[begin:end].strip()
            if text:
                at = bisect_right(flow.starts, fresh) - 1
                page = flow.pages[at] if flow.pages else None
                yield Excerpt(text=text, page=page, section=section)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Flow:
    """The text of a section across its pages, and the start of each page in it."""

    text: str
    starts: tuple[int, ...]
    pages: tuple[int | None, ...]

    @classmethod
    def from_parts(cls, parts: Sequence[Part]) -> "_Flow":
        pieces: list[str] = []
        starts, length = [], 0
        for before, part in zip((None, *parts), parts, strict=False):
            if before is not None:  # a sentence may continue on the next page
                pieces.append("\n\n" if is_ended(before.text) else "\n")
                length += len(pieces[-1])
            starts.append(length)
            pieces.append(part.text.strip())
            length += len(pieces[-1])
        pages = tuple(part.page for part in parts)
        return cls(text="".join(pieces), starts=tuple(starts), pages=pages)


def _excerpt_spans(text: str, how: Cut) -> Iterator[tuple[int, int, int]]:
    """Yield (start, start of new text, end) of each excerpt; together they cover the text."""
    if len(text) <= min(how.tokens, how.characters):  # each token has a character
        yield 0, 0, len(text)
        return
    ruler, borders = _Ruler(text, how), _Borders(text)
    fresh = begin = 0
    while fresh < len(text):
        most = min(ruler.after(begin, how.tokens), begin + how.characters)
        if most >= len(text):
            yield begin, fresh, len(text)
            return
        end = borders.best_end(fresh, ruler.ideal_end(fresh), most)
        yield begin, fresh, end
        begin, fresh = borders.best_begin(end, ruler.shared_length(end)), end


class _Ruler:
    """Measures a text in tokens and characters."""

    def __init__(self, text: str, how: Cut) -> None:
        self._length = len(text)
        self._how = how
        self._starts = token_starts(text)

    def ideal_end(self, begin: int) -> int:
        """Return the best end of the excerpt, so that the last one is not much shorter."""
        tokens = len(self._starts) - bisect_left(self._starts, begin)
        own = self._how.tokens - min(self._how.overlap, self._how.tokens // 4)
        characters = max(1, self._how.characters * 3 // 4)
        pieces = max(2, -(-tokens // own), -(-(self._length - begin) // characters))
        return self.after(begin, tokens // pieces)

    def shared_length(self, end: int) -> int:
        """Return how much of the end to repeat in the next excerpt, at most a quarter."""
        overlap = min(self._how.overlap, self._how.tokens // 4)
        index = max(0, bisect_left(self._starts, end) - overlap)
        begin = self._starts[index] if index < len(self._starts) else end
        return max(0, min(end - begin, self._how.characters // 4))

    def after(self, begin: int, tokens: int) -> int:
        index = bisect_left(self._starts, begin) + tokens
        return self._starts[index] if index < len(self._starts) else self._length


class _Borders:
    """The positions where a text may be cut; ends of paragraphs are preferred."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._paragraphs = frozenset(paragraph_starts(text))
        self._all = sorted(self._paragraphs.union(sentence_starts(text)))

    def best_end(self, begin: int, ideal: int, most: int) -> int:
        """Return the best border after `begin`, at most `most`."""
        near = self._all[bisect_right(self._all, begin) : bisect_right(self._all, most)]
        if near:
            far = {border: _MID_PARAGRAPH for border in near if border not in self._paragraphs}
            return min(near, key=lambda border: abs(border - ideal) * far.get(border, 1))
        gaps = [found.end() for found in _GAP.finditer(self._text, begin, most)]
        return gaps[-1] if gaps and gaps[-1] > begin else most

    def best_begin(self, end: int, shared: int) -> int:
        """Return the start of the next excerpt, at a sentence about `shared` before `end`.

        Half a sentence may mean the opposite, so part of one is repeated only if `end` itself is
        within a sentence.
        """
        near = self._all[bisect_left(self._all, end - 2 * shared) : bisect_left(self._all, end)]
        if near:
            return min(near, key=lambda border: abs(border - (end - shared)))
        index = bisect_left(self._all, end)
        if self._all[index : index + 1] == [end]:
            return end
        gap = _GAP.search(self._text, max(0, end - shared), end)
        return gap.end() if gap else end

"""Sentences: split texts, chunk them, and choose the best for a summary."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
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
    words = [n for n, start in enumerate(starts) if _begins_word(text, start)]

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


def _begins_word(text: str, place: int) -> bool:
    return place == 0 or not (text[place].isalnum() and text[place - 1].isalnum())

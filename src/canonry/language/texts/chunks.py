"""Chunks: a long text becomes parts of about 500 tokens that overlap, cut where sentences end."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from canonry.language.texts.sentences import last_between, sentence_starts, token_starts

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

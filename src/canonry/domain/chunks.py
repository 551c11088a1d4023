"""Chunks: a long text becomes parts of about 500 tokens that overlap, cut where sentences end."""

import re
from collections.abc import Sequence
from typing import Final

SIZE: Final = 500
OVERLAP: Final = 50

# A token is a word, a single character of a script without spaces, or a sign.
_UNSPACED: Final = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_TOKEN: Final = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+|[^\w\s]")
_FULL_STOPS: Final = r"\u3002\uff01\uff1f"
_CLOSING: Final = r"\"'\u201d\u2019\u00bb)\]"
_SENTENCE_END: Final = re.compile(rf"[.!?\u2026{_FULL_STOPS}][{_CLOSING}]*\s+|[{_FULL_STOPS}]|\n+")


def chunks_of(text: str, *, size: int = SIZE, overlap: int = OVERLAP) -> Sequence[str]:
    """The parts of `text` in order; each has at most `size` tokens, and a short text is whole.

    A part begins `overlap` tokens, or a little more, before the end of the one before it. Parts
    end with a sentence where one ends in their second half. `size` is larger than `overlap`.
    """
    starts = [token.start() for token in _TOKEN.finditer(text)]
    if len(starts) <= size:
        return (text,)
    ends = {match.end() for match in _SENTENCE_END.finditer(text)}
    begins_sentence = [
        any(place in ends for place in range(before + 1, start + 1))
        for before, start in zip((-1, *starts), starts, strict=False)
    ]
    parts: list[str] = []
    first = 0
    while first + size < len(starts):
        end = _last(begins_sentence, first + max(size // 2, overlap + 1), first + size)
        parts.append(text[starts[first] : starts[end]].rstrip())
        first = _last(begins_sentence, max(first + 1, end - 2 * overlap), end - overlap)
    parts.append(text[starts[first] :].rstrip())
    return tuple(parts)


def _last(begins_sentence: Sequence[bool], low: int, high: int) -> int:
    """The last token between `low` and `high` that begins a sentence, else `high`."""
    return next((i for i in range(high, low - 1, -1) if begins_sentence[i]), high)

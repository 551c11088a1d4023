"""Long questions: cut to the sentences that weigh most, wherever in the text they stand.

A text of any length is read in slices, so that other threads come in between them.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from heapq import nlargest
from itertools import islice, pairwise
from typing import Final

from canonry.language.texts.sentences import sentence_starts
from canonry.language.texts.stems import STOP_WORDS, languages_of, stem_of
from canonry.language.texts.words import terms_of

WORDS_MAX: Final = 16_384
"""So many different words of a text are weighed, those that it says most often."""
_SLICE: Final = 4_000
_KEPT: Final = 4 * WORDS_MAX
_SENTENCES: Final = 1_024


def stems_asked(text: str) -> Mapping[str, str]:
    """The words of a text that say something, each with its stem, the most frequent first."""
    counts: Counter[str] = Counter()
    for piece in _slices(text):
        counts.update(terms_of(piece))
        if len(counts) > _KEPT:
            counts = Counter(dict(counts.most_common(WORDS_MAX)))
    language = languages_of(counts.elements())[0]
    told = (term for term, _ in counts.most_common(_KEPT) if term not in STOP_WORDS[language])
    return {term: stem_of(language, term) for term in islice(told, WORDS_MAX)}


def weightiest(text: str, worth: Mapping[str, float], limit: int) -> str:
    """The sentences of a long text that weigh most by what their words are worth, in their order.

    As much as fits into `limit` characters. The first sentence and the last come before all others,
    as that is where people ask; what is said again is left out, and a sentence that is longer than
    a quarter of the limit is cut.
    """
    text = text.strip()
    if len(text) <= limit:
        return text
    size = limit // 4
    said: dict[str, int] = {}
    for at, sentence in _sentences(text, size):
        said.setdefault(sentence, at)
    heavy = nlargest(_SENTENCES, said, key=lambda each: (_weight(each, worth), -said[each]))
    *_, last = (sentence for _, sentence in _sentences(text[-_SLICE:], size))
    said[last] = len(text)
    chosen: set[str] = set()
    left = limit
    for sentence in (next(iter(said)), last, *heavy):
        if sentence not in chosen and len(sentence) < left:
            chosen.add(sentence)
            left -= len(sentence) + 1
    return " ".join(sorted(chosen, key=said.__getitem__))


def _slices(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = start + _SLICE
        if end < len(text):
            end = max(text.rfind(sign, start + 1, end) for sign in " \n") + 1 or end
        yield text[start:end]
        start = end


def _sentences(text: str, limit: int) -> Iterator[tuple[int, str]]:
    """Each sentence with the place where it begins, at most so many characters of it."""
    at = 0
    while at < len(text):
        piece = text[at : at + _SLICE]
        starts = [0, *sentence_starts(piece)]
        if at + _SLICE >= len(text) or len(starts) == 1:
            starts.append(len(piece))
        for start, end in pairwise(starts):
            if sentence := piece[start:end].strip()[:limit]:
                yield at + start, sentence
        at += starts[-1]


def _weight(sentence: str, worth: Mapping[str, float]) -> float:
    """What the words of a sentence are worth for each of its characters."""
    found = sum(worth.get(term, 0.0) for term in frozenset(terms_of(sentence)))
    return found / (len(sentence) or 1)

"""Questions: what is asked, and a second round for long ones."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from heapq import nlargest
from itertools import islice, pairwise
from typing import Final

from canonry.language.texts.sentences import sentence_starts
from canonry.language.texts.stems import (
    STOP_WORDS,
    asked_stems,
    languages_of,
    stem_of,
    stems_of,
    terms_of,
)
from canonry.readmodels.keywords import Figures, Measure
from canonry.readmodels.ranking import Asked, breadth, scale_of
from canonry.values.policy import RankingWeights

# Questions: what of a question is compared by meaning, and what it denies.
#
# Its words are looked up as they are. Its meaning is that of a sentence, and the name of somebody
# who speaks makes every greeting of them alike to it.

_LEAST: Final = 3
"""So many words that say something are left of a question without its names, or these stay."""
_DENIED: Final = 5
_DENIALS: Final = {
    "english": (
        "not no never nobody nothing nowhere none neither nor without cannot"
        " aint cant didnt doesnt dont isnt wasnt wont"
    ),
    "german": (
        "nicht kein keine keinem keinen keiner keines nie niemals niemand niemandem niemanden"
        " nichts nirgends weder ohne"
    ),
    "french": "n ne pas jamais rien aucun aucune ni sans",
    "spanish": "no nunca jamas nadie ningun ninguna ninguno tampoco ni sin",
    "italian": "non mai nessun nessuna nessuno niente nulla neanche senza",
    "portuguese": "nao nunca jamais ninguem nenhum nenhuma nem sem",
    "dutch": "niet geen nooit niemand niets nergens noch zonder",
}
_DENYING: Final = {language: frozenset(words.split()) for language, words in _DENIALS.items()}
"""Words that deny, as `terms_of` cuts them. Of each language its own: a sin is not what is lacking,
and a Portuguese "no" says where something is."""
_LASTING: Final = frozenset(
    {"longer", "anymore", "more", "yet", "ever", "mehr", "plus", "mas", "piu", "mais", "meer"}
)
"""Words that go with a denial and say nothing of what is denied."""
_CONTRACTED: Final = "t"
_WORD: Final = re.compile(r"\w+(?:['\u2019]s\b)?")
_SPACES: Final = re.compile(r"\s{2,}")


def without_names(text: str, names: frozenset[str]) -> str:
    """The question without the words that are `names`, as `terms_of` cuts them.

    As it is where little would be left that tells it from others.
    """
    if names.isdisjoint(terms_of(text)):
        return text

    def kept(match: re.Match[str]) -> str:
        return "" if names.intersection(terms_of(match[0])) else match[0]

    bare = _SPACES.sub(" ", _WORD.sub(kept, text)).strip()
    return bare if len(asked_stems(bare)) >= _LEAST else text


def denied_in(text: str) -> frozenset[str]:
    """The stems that a question denies: of the words that follow a denial in it.

    Where none follow, as in German, whose denials often end a sentence, of those before it.
    """
    terms = terms_of(text)
    language = languages_of(terms)[0]
    stops = STOP_WORDS[language] | _DENYING[language] | _LASTING | {_CONTRACTED}
    denied: set[str] = set()
    for place in _denials(terms, language):
        after = terms[place + 1 : place + 1 + _DENIED]
        before = terms[max(0, place - _DENIED) : place]
        told = [[term for term in near if term not in stops] for near in (after, before)]
        denied.update(stem_of(language, term) for term in told[0] or told[1])
    return frozenset(denied)


def denies(text: str, stems: frozenset[str]) -> bool:
    """Whether a sentence of the text has a denial and one of these stems."""
    starts = [0, *sentence_starts(text)]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        terms = terms_of(text[start:end])
        denial = next(_denials(terms, languages_of(terms)[0]), None)
        if denial is not None and not stems.isdisjoint(stems_of(text[start:end])):
            return True
    return False


def _denials(terms: Sequence[str], language: str) -> Iterator[int]:
    """The places of the words that deny; of "can't" that of the "t", which is cut from it."""
    words = _DENYING[language]
    for place, term in enumerate(terms):
        if term in words or (term == _CONTRACTED and place and terms[place - 1].endswith("n")):
            yield place


# Long questions: cut to the sentences that weigh most, wherever in the text they stand.
#
# A text of any length is read in slices, so that other threads come in between them.

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


# A second round among the first passages found, by what the best of them say beside the question.
#
# Who greets somebody, or asks the same, shares words with a question and says nothing else; what
# answers it says more. So the rare words that the best passages say, and the question does not,
# count a little, the less the broader the question. Which passages are the first stays as it is;
# only their order changes, and not where the best says the question word for word.

FIRST: Final = 5
"""So many passages are ordered again, whatever the limit."""
TELLING: Final = 3
"""So many of them tell the words."""
_WORDS: Final = 5
_SHARE: Final = 0.2
"""What such a word counts, of what a word of the question does."""
_MOST: Final = 0.5
"""The most that all of them count, of the strength that a passage has by the question itself."""
_VERBATIM: Final = 0.95
_STOPS: Final = frozenset[str]().union(*STOP_WORDS.values())


def may_reorder(asked: Asked, weights: RankingWeights, *, said: float) -> bool:
    """Whether a second round can change anything; looking its words up costs what it costs.

    `said` tells how far the best says what was asked, 1 where it does so word for word.
    """
    return said < _VERBATIM and bool(asked.terms) and breadth(len(asked.terms), weights) < 1


def said_beside(asked: Asked, stems: Collection[str], names: Collection[str]) -> frozenset[str]:
    """Those of the stems that say something and are neither asked for nor a name."""
    others = frozenset(stem for stem in stems if len(stem) >= _LEAST)
    return others.difference(asked.terms, names, _STOPS)


def ordered_again(
    asked: Asked,
    first: Sequence[tuple[float, Sequence[str]]],
    figures: Figures,
    weights: RankingWeights,
    *,
    said: float,
) -> Sequence[int]:
    """The numbers of the first passages, the best first; each has its strength and its stems.

    `figures` know the words that may count: those that are `said_beside`.
    """
    if not may_reorder(asked, weights, said=said):
        return range(len(first))
    found_in = figures.found_in
    said_by = Counter(s for _, stems in first[:TELLING] for s in found_in.keys() & frozenset(stems))
    each = {stem: figures.worth(found_in[stem]) for stem in said_by}
    told = sorted(said_by, key=lambda stem: (-said_by[stem] * each[stem], stem))[:_WORDS]
    meant = {stem: ((stem, _SHARE * each[stem]),) for stem in told}
    measure = Measure(meant=meant, phrases=(), most={}, length=figures.length)
    scale = scale_of(asked, weights) * (1 - breadth(len(asked.terms), weights))
    gains = [
        strength + min(_MOST * strength, scale * sum(measure.shares(stems).values()))
        for strength, stems in first
    ]
    return sorted(range(len(first)), key=lambda number: -gains[number])

"""A second round among the first passages found, by what the best of them say beside the question.

Who greets somebody, or asks the same, shares words with a question and says nothing else; what
answers it says more. So the rare words that the best passages say, and the question does not, count
a little, the less the broader the question. Which passages are the first stays as it is; only their
order changes, and not where the best says the question word for word.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final

from canonry.language.texts.stems import STOP_WORDS
from canonry.readmodels.keywords import Figures, Measure
from canonry.readmodels.ranking import Asked, breadth, scale_of
from canonry.values.policy import RankingWeights

FIRST: Final = 5
"""So many passages are ordered again, whatever the limit."""
TELLING: Final = 3
"""So many of them tell the words."""
_WORDS: Final = 5
_SHARE: Final = 0.2
"""What such a word counts, of what a word of the question does."""
_MOST: Final = 0.5
"""The most that all of them count, of the strength that a passage has by the question itself."""
_LEAST: Final = 3
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

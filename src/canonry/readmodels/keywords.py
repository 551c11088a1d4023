"""Keywords: what a passage scores by the words of a query, the same formula in every backend.

It is BM25 over stems. A word of the query that occurs in no passage counts as the words that it may
be a misspelling of, and a beginning ("kragh*") as all words that begin with it. A phrase in double
quotes is a term of its own: where its words follow each other, it adds as much as all of them can
add apart, so that passages with the phrase come before passages that have only its words.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, TypeAlias

from canonry.language.texts.stems import (
    asked_stems,
    is_near,
    phrases_in,
    prefixes_in,
    slips_forgiven,
    stems_of,
)
from canonry.readmodels.ranking import Asked

K1: Final = 0.9
B: Final = 0.4
"""With the usual 0.75 a long turn, which has more to say, is punished for its length."""
CORRECTED: Final = 0.7
"""What a term counts that stands for another one, misspelled."""
SOUGHT_MAX: Final = 1_024
"""So many terms of a query are looked up, from its beginning."""
WEIGHED_MAX: Final = 256
"""So many of them count, those that weigh most."""
DOUBTED_MAX: Final = 8
"""So many words that nobody uses are taken for misspelled."""
DOUBTED_LENGTH: Final = 4
START_LENGTH: Final = 5
"""Shorter words are not taken for misspelled at their beginning: too many end alike."""
_START: Final = 4
"""So many letters are compared where the first one is wrong."""
MEANT_MAX: Final = 16
"""So many words stand for one that is misspelled, or for a beginning; the most frequent ones."""

POSTINGS_MIN: Final = 1_500
POSTINGS_MAX: Final = 8_000
POSTINGS_SHARE: Final = 8
"""Words pick candidates, the rarest first, while their lists together are no longer than an eighth
of all passages, within these bounds; the rarest always does."""

_ASKED_MAX: Final = 32

Shares: TypeAlias = dict[str, float]
"""What each term of the query adds to the score of a passage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """What a query looks for: stems, beginnings of words, and phrases as stems in a row.

    `said` are all stems of its text, as a passage of the same text has them.
    """

    stems: tuple[str, ...]
    begun: tuple[str, ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()
    said: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Passages searched, their mean length, and in how many of them each stem occurs."""

    passages: int
    length: float
    found_in: Mapping[str, int]

    def knowing(self, words: Iterable[Mapping[str, int]]) -> "Figures":
        """The same with other words, which were not looked for at first."""
        others = {stem: n for some in words for stem, n in some.items()}
        return replace(self, found_in={**others, **self.found_in})

    def worth(self, found_in: int) -> float:
        """The most that a word adds which occurs in so many passages."""
        left = max(self.passages - found_in, 0)
        return math.log(1 + (left + 0.5) / (found_in + 0.5)) * (K1 + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """What the words of a passage add to its score for one query.

    `meant` leads from a stem to the terms of the query that it counts for; `most` has the most that
    each term can add. `said` are the stems of the query as those of a passage.
    """

    meant: Mapping[str, Sequence[tuple[str, float]]]
    phrases: Sequence[tuple[tuple[str, ...], float]]
    most: Mapping[str, float]
    length: float
    said: Sequence[str] = ()

    def shares(self, stems: Sequence[str]) -> Shares:
        """What each term of the query adds to the score of a passage with these stems."""
        meant = self.meant
        held = list(filter(meant.__contains__, stems))
        shares: Shares = {}
        if not held:
            return shares
        slack = K1 * (1 - B + B * len(stems) / self.length)
        once = 1 + slack
        for stem in held:
            times = held.count(stem) if len(held) > 1 else 1
            for term, worth in meant[stem]:
                share = worth / once if times == 1 else worth * times / (times + slack)
                if term not in shares or share > shares[term]:
                    shares[term] = share
        for phrase, worth in self.phrases:
            if _holds(stems, phrase):
                shares[named(phrase)] = worth
        return shares

    def asked(self, best: Mapping[str, float]) -> Asked:
        """What ranking needs to know of the query; `best` has the shares of the best passage."""
        itself = sum(self.shares(self.said).values())
        return Asked(terms=self.most, strongest=sum(best.values()), itself=itself)


@lru_cache(maxsize=_ASKED_MAX)
def sought_in(text: str) -> Sought:
    """What a query text looks for; cached, because one search asks several times."""
    begun = prefixes_in(text)
    covered = frozenset(asked_stems(" ".join(begun))) if begun else frozenset()
    stems = [stem for stem in asked_stems(text) if stem not in covered][:SOUGHT_MAX]
    return Sought(stems=tuple(stems), begun=begun, phrases=phrases_in(text), said=stems_of(text))


def doubted(sought: Sought, found_in: Mapping[str, int]) -> tuple[str, ...]:
    """The stems that occur nowhere and are long enough to be misspelled."""
    unknown = (s for s in sought.stems if not found_in.get(s) and len(s) >= DOUBTED_LENGTH)
    return tuple(unknown)[:DOUBTED_MAX]


def alike(
    stem: str, vocabulary: Iterable[tuple[str, int]], *, at_start: bool = False
) -> Iterator[tuple[str, int]]:
    """The words, with their counts, that `stem` may be a misspelling of.

    They have its first letter or, with `at_start`, begin as `begins_alike` says. A first letter is
    rarely wrong, so callers ask for that only where no other word is alike.
    """
    if at_start and len(stem) < START_LENGTH:
        return
    letters, most = set(stem), 2 * slips_forgiven(len(stem))
    for other, n in vocabulary:
        fits = begins_alike(stem, other) if at_start else other[0] == stem[0]
        if not fits or len(letters.symmetric_difference(other)) > most:
            continue  # far cheaper than the distance, and rules out most
        if is_near(stem, other):
            yield other, n


def begins_alike(stem: str, other: str) -> bool:
    """Whether two words begin alike, but for a first letter wrong, missing, too many or swapped."""
    return (
        other[1:_START] == stem[1:_START]
        or other[1:_START] == stem[: _START - 1]
        or other[: _START - 1] == stem[1:_START]
        or (other[:2] == stem[1::-1] and other[2:_START] == stem[2:_START])
    )


def beginnings_alike(stem: str, letters: Iterable[str]) -> frozenset[str]:
    """The beginnings to look up for words that may begin as `stem` does.

    `letters` are those with which any word begins.
    """
    if len(stem) < START_LENGTH:
        return frozenset()
    ends = (stem[1:_START], stem[: _START - 1])
    wrong = {letter + end for letter in letters for end in ends}
    return frozenset((*wrong, stem[1:_START], stem[1::-1] + stem[2:_START]))


def most_frequent(words: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Of the words that one of the query may mean, the few that occur most often."""
    ordered = sorted(words, key=lambda word: (-word[1], word[0]))
    return dict(ordered[:MEANT_MAX])


def measure(
    sought: Sought,
    figures: Figures,
    *,
    corrected: Mapping[str, Iterable[str]],
    begun: Mapping[str, Iterable[str]],
) -> Measure:
    """The measure of a query; `corrected` and `begun` have the words that its terms stand for."""
    found_in = figures.found_in
    meant: dict[str, list[tuple[str, float]]] = {}
    most: dict[str, float] = {}
    stems = sought.stems
    if len(stems) > WEIGHED_MAX:
        stems = tuple(sorted(stems, key=lambda stem: found_in.get(stem) or math.inf)[:WEIGHED_MAX])
    for stem in stems:
        most[stem] = figures.worth(found_in.get(stem, 0))
        meant.setdefault(stem, []).append((stem, most[stem]))
        for other in corrected.get(stem, ()):
            worth = CORRECTED * figures.worth(found_in.get(other, 0))
            meant.setdefault(other, []).append((stem, worth))
    for beginning in sought.begun:
        words = tuple(begun.get(beginning, ()))
        term = f"{beginning}*"
        most[term] = figures.worth(sum(found_in.get(word, 0) for word in words))
        for word in words:
            meant.setdefault(word, []).append((term, most[term]))
    phrases = []
    for phrase in sought.phrases:
        worth = sum(figures.worth(found_in.get(stem, 0)) for stem in phrase)
        most[named(phrase)] = worth
        phrases.append((phrase, worth))
    return Measure(meant=meant, phrases=phrases, most=most, length=figures.length, said=sought.said)


def picked(figures: Figures, scores: Measure) -> frozenset[str]:
    """The rarest of the words that count, as long as the lists of their passages are short."""
    present = sorted((n, stem) for stem in scores.meant if (n := figures.found_in.get(stem, 0)))
    room = min(POSTINGS_MAX, max(POSTINGS_MIN, figures.passages // POSTINGS_SHARE))
    found: set[str] = set()
    for n, stem in present:
        room -= n
        if found and room < 0:
            break
        found.add(stem)
    return frozenset(found)


def figures_of(
    passages: Sequence[Sequence[str]], *, among: frozenset[str] | None = None
) -> Figures:
    """The figures of these passages, each given by its stems; `among`: of these stems alone."""
    held = (set(stems) if among is None else among.intersection(stems) for stems in passages)
    return Figures(
        passages=len(passages),
        length=sum(map(len, passages)) / (len(passages) or 1) or 1,
        found_in=Counter(stem for stems in held for stem in stems),
    )


def measure_of(sought: Sought, passages: Sequence[Sequence[str]]) -> Measure:
    """What words are worth among these passages, each given by its stems."""
    figures = figures_of(passages)
    found_in = figures.found_in
    return measure(
        sought,
        figures,
        corrected={each: _meant(each, found_in) for each in doubted(sought, found_in)},
        begun={each: _begun(each, found_in) for each in sought.begun},
    )


def _meant(stem: str, found_in: Mapping[str, int]) -> Mapping[str, int]:
    words = found_in.items()
    return most_frequent(alike(stem, words)) or most_frequent(alike(stem, words, at_start=True))


def _begun(beginning: str, found_in: Mapping[str, int]) -> Mapping[str, int]:
    return most_frequent(word for word in found_in.items() if word[0].startswith(beginning))


def named(phrase: Sequence[str]) -> str:
    """How a phrase is written as a term."""
    return f'"{" ".join(phrase)}"'


def _holds(stems: Sequence[str], phrase: tuple[str, ...]) -> bool:
    """Whether the stems of a phrase follow each other somewhere."""
    size = len(phrase)
    starts = (n for n, stem in enumerate(stems) if stem == phrase[0])
    return any(tuple(stems[n : n + size]) == phrase for n in starts)

"""Ranking: the order in which passages are shown, by keywords, meaning and neighbours."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice, pairwise
from math import fsum
from operator import add, attrgetter
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from canonry.language.texts.stems import (
    asked_stems,
    is_near,
    phrases_in,
    prefixes_in,
    slips_forgiven,
    stems_of,
    terms_of,
)
from canonry.values.policy import RankingWeights, Strengths

# Ranking: the order in which the passages found are shown, by keywords, meaning and neighbours.
#
# Keywords and meaning each score one passage alone, and turns of a conversation are short: what a
# question is about is often said in the turn before, or in parts over twenty turns. So the passages
# around a passage add to its score, the nearer ones more. Each word counts once, at the place where
# it scores most, so that a name that everybody repeats does not outweigh all other words.
#
# Recency and importance are not part of it. Measured on the first episode of `crd3` with a
# half-life of a tenth of the conversation, a weight of 0.05 for recency takes hit@1 of single
# sentences from .597 to .580, one of 0.2 to .514, and on `tuning` hit@10 from .967 to .900: people
# ask about old turns as often as about new ones. Only memories have an importance, which
# `memory_order` weighs.
#
# Laws:
# - A limit is a prefix: taking the first n is what a limit of n means.
# - The order of arrival changes nothing, each passage comes once, and ties are broken by id.
# - A signal that grows, of the passage or of a neighbour, never lowers the passage's score.
# - A passage whose signals are all zero, and whose neighbours' are, scores zero.
# - A similarity that was not measured counts as the mean of those that were: it is neither a merit
#   nor a fault of a passage that the index does not hold it yet. Of one that lies beyond the
#   nearest it is known that it is no nearer than the last of them, so callers hand on that bound.

Signals: TypeAlias = list[float]
"""A figure for each candidate of one thread, in the order of their places."""

_Placed: TypeAlias = "tuple[float, str, PassageCandidate, float, float, float, float, float]"
"""A candidate behind what orders it, the negative of its score and its id, which no other has;
then what keywords, meaning, neighbours, names and times add to its strength."""


_NO_TERMS: Final[Mapping[str, float]] = MappingProxyType({})
_BY_PLACE: Final = attrgetter("place")  # between equal places nothing fades, in either order
STEEPER: Final = 1.5
"""The exponent that takes chance likeness of words or meaning below 0.3; `bench.recall.scores` has
the data."""
WIDER: Final = 4
"""So many times more passages are ranked where the query asks of a time: that itself finds none."""
_NAME_LENGTH: Final = 3
"""Shorter words of a name ("of", "de") name nobody."""
_KNOWN_NAMES: Final = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is known of a query: its terms, each with the most that it can add to a passage's score.

    Terms that occur in no passage are among them. `strongest` is the best keyword score of all
    passages searched. It belongs to the query, so that the score of a passage does not depend on
    which others are ranked with it. `itself` is the keyword score of a passage that says the query
    word for word.
    """

    terms: Mapping[str, float]
    strongest: float
    itself: float = 0.0


class PassageCandidate(NamedTuple):
    """A passage to rank: what each term adds to its score, and how near its meaning is.

    `thread` and `place` say where it is, such as turn 7 of a scene. `similarity` is None where it
    was not measured. `named` is 1 where the query names the speaker or somebody whom the passage is
    about; `dated` is up to 1, where it was said when the query asks of. A neighbour that no search
    found may be a candidate too. A tuple, because hundreds are made for each query, and a frozen
    dataclass takes five times as long to make.
    """

    id: str
    thread: str | None = None
    place: int = 0
    terms: Mapping[str, float] = _NO_TERMS
    similarity: float | None = 0.0
    named: float = 0.0
    dated: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """Why a passage was found, in parts that sum up to `strength`.

    `terms` are its own terms with what each adds, strongest first; `nearby` is what its neighbours
    add.
    """

    terms: tuple[tuple[str, float], ...]
    similarity: float
    keywords: float
    meaning: float
    nearby: float
    named: float
    dated: float = 0.0

    @property
    def strength(self) -> float:
        """The sum of all parts."""
        return self.keywords + self.meaning + self.nearby + self.named + self.dated


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A passage in its place of the order; `score` is its strength, mapped to [0, 1).

    `shown` is what a reader can go by: 1 for a passage that says the query word for word, near 0
    for one that has nothing to do with it, and never more than that of a passage before it.
    """

    id: str
    score: float
    shown: float
    why: Why


def breadth(terms: int, weights: RankingWeights) -> float:
    """0 for a pointed question, 1 for a broad description, growing with the number of terms."""
    return min(1.0, max(0.0, (terms - weights.few) / (weights.many - weights.few)))


def strengths_for(terms: int, weights: RankingWeights) -> Strengths:
    """How strongly each signal counts for a query of so many terms."""
    share = breadth(terms, weights)

    def between(pointed: float, broad: float) -> float:
        return (1 - share) * pointed + share * broad

    low, high = weights.pointed, weights.broad
    return Strengths(
        keywords_alone=between(low.keywords_alone, high.keywords_alone),
        meaning=between(low.meaning, high.meaning),
        meaning_alone=between(low.meaning_alone, high.meaning_alone),
        named=between(low.named, high.named),
        dated=between(low.dated, high.dated),
        possible=between(low.possible, high.possible),
    )


def pool_for(terms: int, weights: RankingWeights) -> int:
    """How many passages each of keywords and meaning should find for ranking."""
    return round(weights.pool * (1 + breadth(terms, weights)))


def scale_of(asked: Asked, weights: RankingWeights) -> float:
    """What keyword scores are multiplied by: between what is possible and the best found."""
    possible = strengths_for(len(asked.terms), weights).possible
    most = possible * sum(asked.terms.values()) + (1 - possible) * asked.strongest
    return 1 / most if most > 0 else 0.0


def rank_passages(
    asked: Asked,
    candidates: Iterable[PassageCandidate],
    weights: RankingWeights,
    *,
    limit: int | None = None,
) -> Sequence[Ranked]:
    """Each candidate once, strongest first; with a limit only so many of them."""
    known = {candidate.id: candidate for candidate in candidates}
    strengths, scale = strengths_for(len(asked.terms), weights), scale_of(asked, weights)
    typical = _typical(known.values())
    found: list[_Placed] = []
    for stretch in _stretches(known.values()):
        found += _placed(stretch, typical, scale, strengths, weights)
    found.sort()
    worth = 1 / (asked.itself * scale) if asked.itself > 0 and scale else 0.0
    likely = _likely(found, worth, weights.unrelated)
    return [
        Ranked(id=identity, score=-score, shown=shown, why=_why(each, parts, scale))
        for shown, (score, identity, each, *parts) in islice(zip(likely, found, strict=True), limit)
    ]


def _likely(found: Sequence[_Placed], worth: float, unrelated: float) -> Signals:
    """How far each passage says what was asked, by itself; no less than any that is ranked below.

    What its words and its meaning leave open is multiplied, so that either is enough. Neighbours
    and names count for the order alone: they make nobody say what was asked. A turn is embedded
    with the one before it; what that one says in its own words is not this one's meaning.
    """
    said = {(one.thread, one.place): words for _, _, one, words, *_ in found if words}
    shown = [0.0] * len(found)
    best = 0.0
    for n in range(len(found) - 1, -1, -1):
        each = found[n][2]
        words = min(1.0, found[n][3] * worth)
        sense = max(0.0, ((each.similarity or 0.0) - unrelated) / (1 - unrelated))
        if words + sense > best:  # else it cannot be more than one below it
            if each.thread is not None:
                before = said.get((each.thread, each.place - 1), 0.0) * worth
                sense *= 1 - min(1.0, before)
            own = 1 - (1 - words**STEEPER) * (1 - min(1.0, sense) ** STEEPER)
            best = max(best, own)
        shown[n] = best
    return shown


def _placed(
    stretch: Sequence[PassageCandidate],
    typical: float,
    scale: float,
    strengths: Strengths,
    weights: RankingWeights,
) -> Iterator[_Placed]:
    """The candidates of one stretch with their parts; fast code, run for hundreds a query."""
    own = [sum(each.terms.values()) if each.terms else 0.0 for each in stretch]
    sense = _likeness(stretch, typical, weights.unrelated)
    words, around = own, sense
    if len(stretch) > 1:
        fading = _fading(stretch, weights.reach)
        words = _words_nearby(stretch, fading)
        around = _nearby(sense, fading, 0, len(sense) - 1)
    by_words = scale / (1 + strengths.keywords_alone)
    by_sense = strengths.meaning / (1 + strengths.meaning_alone)
    for each, words_here, sense_here, words_best, sense_best in zip(
        stretch, own, sense, words, around, strict=True
    ):
        keywords, meaning = words_here * scale, sense_here * strengths.meaning
        nearby = (words_best - words_here) * by_words if words_best > words_here else 0.0
        nearby += (sense_best - sense_here) * by_sense
        named = each.named * strengths.named
        dated = each.dated * strengths.dated
        strength = keywords + meaning + nearby + named + dated
        yield -strength / (1 + strength), each.id, each, keywords, meaning, nearby, named, dated


def _typical(candidates: Iterable[PassageCandidate]) -> float:
    """The mean of the similarities that are known."""
    measured = [each.similarity for each in candidates if each.similarity is not None]
    return fsum(measured) / len(measured) if measured else 0.0


def _likeness(stretch: Sequence[PassageCandidate], typical: float, unrelated: float) -> Signals:
    """By how much each candidate is more similar than a passage that has nothing to do with it."""
    measured = [each.similarity for each in stretch]
    known = [typical if similarity is None else similarity for similarity in measured]
    return [similarity - unrelated if similarity > unrelated else 0.0 for similarity in known]


def _why(candidate: PassageCandidate, parts: Sequence[float], scale: float) -> Why:
    keywords, meaning, nearby, named, dated = parts
    terms = sorted(candidate.terms.items(), key=lambda pair: (-pair[1], pair[0]))
    return Why(
        terms=tuple((term, value * scale) for term, value in terms),
        similarity=candidate.similarity or 0.0,
        keywords=keywords,
        meaning=meaning,
        nearby=nearby,
        named=named,
        dated=dated,
    )


def _stretches(candidates: Iterable[PassageCandidate]) -> Iterable[Sequence[PassageCandidate]]:
    """The candidates of each thread in the order of their places; one without a thread is alone."""
    threads: dict[str, list[PassageCandidate]] = defaultdict(list)
    for candidate in candidates:
        if candidate.thread is None:
            yield (candidate,)
        else:
            threads[candidate.thread].append(candidate)
    for members in threads.values():
        members.sort(key=_BY_PLACE)
        yield members


def _fading(stretch: Sequence[PassageCandidate], reach: float) -> Signals:
    """The share of a signal that one candidate passes on to the next."""
    places = [each.place for each in stretch]
    return [float(reach ** (after - before)) for before, after in pairwise(places)]


def _words_nearby(stretch: Sequence[PassageCandidate], fading: Signals) -> Signals:
    """For each candidate the sum over all terms of the best that a place around it adds."""
    nothing = [0.0] * len(stretch)
    signals: dict[str, Signals] = {}
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for n, candidate in enumerate(stretch):
        for term, value in candidate.terms.items():
            if term not in signals:
                signals[term] = nothing.copy()
                first[term] = n
            signals[term][n] = value
            last[term] = n
    total = nothing
    for term, signal in sorted(signals.items()):
        total = list(map(add, total, _nearby(signal, fading, first[term], last[term])))
    return total


def _nearby(signal: Signals, fading: Signals, first: int, last: int) -> Signals:
    """For each place the strongest signal of itself and its neighbours, weakened by their distance.

    Places before `first` and behind `last` have none, so nothing is passed on from there.
    """
    best = signal.copy()
    carried = best[first]
    for n in range(first, len(fading)):
        carried *= fading[n]
        if carried > best[n + 1]:
            best[n + 1] = carried
        else:
            carried = best[n + 1]
    carried = best[last]
    for n in range(last - 1, -1, -1):
        carried *= fading[n]
        if carried > best[n]:
            best[n] = carried
        else:
            carried = best[n]
    return best


def naming(asked: frozenset[str], names: Iterable[str]) -> float:
    """1 where the query holds a whole name, or any word of it that can be a name; else 0.

    Names and queries are cut into words by the same rule, that of `canonry.language.texts.stems`.
    """
    return float(not asked.isdisjoint(names_in(names)))


def names_in(names: Iterable[str]) -> frozenset[str]:
    """The words of names that can be a name by themselves."""
    return frozenset[str]().union(*map(_words_in, names))


@lru_cache(maxsize=_KNOWN_NAMES)
def _words_in(name: str) -> frozenset[str]:
    return frozenset(word for word in terms_of(name) if len(word) >= _NAME_LENGTH)


# Keywords: what a passage scores by the words of a query, the same formula in every backend.
#
# It is BM25 over stems. A word of the query that occurs in no passage counts as the words that it
# may be a misspelling of, and a beginning ("kragh*") as all words that begin with it. A phrase in
# double quotes is a term of its own: where its words follow each other, it adds as much as all of
# them can add apart, so that passages with the phrase come before passages that have only its
# words.

K1: Final = 0.9
B: Final = 0.4
"""With the usual 0.75 a long turn, which has more to say, is punished for its length."""
CORRECTED: Final = 0.7
"""The weight of a term that stands for another one, misspelled."""
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
"""The share of each term of the query in the score of a passage."""


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
        """The share of each term of the query in the score of a passage with these stems."""
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
        """The query as ranking needs it; `best` has the shares of the best passage."""
        itself = sum(self.shares(self.said).values())
        return Asked(terms=self.most, strongest=sum(best.values()), itself=itself)


@lru_cache(maxsize=_ASKED_MAX)
def sought_in(text: str) -> Sought:
    """The terms that a query text looks for; cached, because one search asks several times."""
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
    """The worth of words among these passages, each given by its stems."""
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

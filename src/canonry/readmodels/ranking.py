"""Rank found passages by keywords, meaning and neighbours."""

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
    allowed_slips,
    is_near,
    phrases_in,
    prefixes_in,
    query_stems,
    stems_of,
    terms_of,
)
from canonry.values.fields import field_values
from canonry.values.policy import RankingWeights, Strengths

# Ranking: the order of found passages, by keywords, meaning and neighbours.
#
# Keywords and meaning score one passage alone, but turns of a conversation are short: the subject
# of a question is often in the turn before, or spread over twenty turns. The passages around a
# passage therefore add to its score, nearer ones more. Each word counts once, where its
# score is highest, so that a name that all speakers repeat does not outweigh the other words.
#
# Recency and importance are not part of it. Measured on the first episode of `crd3` with a
# half-life of a tenth of the conversation, a weight of 0.05 for recency takes hit@1 of single
# sentences from .597 to .580, one of 0.2 to .514, and on `tuning` hit@10 from .967 to .900: people
# ask about old turns as often as about new ones. Only memories have an importance, which
# `memory_order` weighs.
#
# Laws:
# - A limit of n returns the first n of the unlimited result.
# - The order of the candidates changes nothing, each passage comes once, and ties break by id.
# - A higher signal, of the passage or of a neighbour, never lowers the passage's score.
# - A passage scores zero if its signals and its neighbours' signals are all zero.
# - An unmeasured similarity counts as the mean of the measured ones, so that a passage which the
#   index does not have yet gains and loses nothing. A passage beyond the nearest hits is at most as
#   similar as the last hit, so callers pass that bound.

Signals: TypeAlias = list[float]
"""A value for each candidate of one thread, in the order of their positions."""

_Scored: TypeAlias = "tuple[float, str, PassageCandidate, float, float, float, float, float]"
"""A candidate after its sort key: the negative score and the unique id.

The score's parts for keywords, meaning, neighbours, names and times follow.
"""


_NO_TERMS: Final[Mapping[str, float]] = MappingProxyType({})
_BY_POSITION: Final = attrgetter("position")  # equal positions may come in any order
STEEPER: Final = 1.5
"""The exponent that puts accidental matches below 0.3; see `bench.recall.scores`."""
WIDER: Final = 4
"""The factor on the number of ranked passages for a query with a time, which finds none itself."""
_NAME_LENGTH: Final = 3
"""The shortest word that identifies a name; shorter ones ("of", "de") do not."""
_KNOWN_NAMES: Final = 4_096  # the names of one large space: bench compare, find


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The analysed query: its terms, each with its highest possible share of a passage's score.

    Terms that occur in no passage are included. `strongest` is the best keyword score of all
    searched passages. It belongs to the query, so that a passage's score does not depend on the
    other ranked ones. `itself` is the keyword score of a passage with the query's exact words.
    """

    terms: Mapping[str, float]
    strongest: float
    itself: float = 0.0


class PassageCandidate(NamedTuple):
    """A passage to rank: the score of each term, and the similarity of its meaning.

    `position` is that in its `thread`, such as turn 7 of a scene. `similarity` is None if it was
    not measured. `named` is 1 if the query names the speaker or a subject of the passage; `dated`
    is up to 1 for the time that the query asks about. An unmatched neighbour may be a candidate
    too. It is a tuple, because hundreds are made for each query, and a frozen dataclass takes five
    times as long to make.
    """

    id: str
    thread: str | None = None
    position: int = 0
    terms: Mapping[str, float] = _NO_TERMS
    similarity: float | None = 0.0
    named: float = 0.0
    dated: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """The parts of a passage's score, whose sum is `strength`.

    `terms` are its own terms with their shares, highest first; `nearby` is the share of its
    neighbours.
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
        """Return the sum of all parts."""
        return self.keywords + self.meaning + self.nearby + self.named + self.dated


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A passage in ranked order; `score` is its strength, mapped to [0, 1).

    `shown` is a value for readers: 1 for a passage with the query's exact words, near 0 for an
    unrelated one, and never more than that of a passage before it.
    """

    id: str
    score: float
    shown: float
    why: Why


def query_breadth(terms: int, weights: RankingWeights) -> float:
    """Return 0 for a pointed question up to 1 for a broad description, by the number of terms."""
    return min(1.0, max(0.0, (terms - weights.few) / (weights.many - weights.few)))


def strengths_for(terms: int, weights: RankingWeights) -> Strengths:
    """Return the weight of each signal for a query with this number of terms."""
    share = query_breadth(terms, weights)

    low, high = field_values(weights.pointed), field_values(weights.broad)
    return Strengths(**{name: (1 - share) * low[name] + share * high[name] for name in low})


def pool_for(terms: int, weights: RankingWeights) -> int:
    """Return the number of passages that keywords and meaning should each find for ranking."""
    return round(weights.pool * (1 + query_breadth(terms, weights)))


def scale_of(asked: Asked, weights: RankingWeights) -> float:
    """Return the factor on keyword scores, between the possible and the best found score."""
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
    """Return each candidate once, highest score first, up to the limit."""
    known = {candidate.id: candidate for candidate in candidates}
    strengths, scale = strengths_for(len(asked.terms), weights), scale_of(asked, weights)
    # The mean of the known similarities.
    measured = [each.similarity for each in known.values() if each.similarity is not None]
    typical = fsum(measured) / len(measured) if measured else 0.0
    found: list[_Scored] = []
    for members in _group_threads(known.values()):
        found += _score_thread(members, typical, scale, strengths, weights)
    found.sort()
    worth = 1 / (asked.itself * scale) if asked.itself > 0 and scale else 0.0
    likely = _answer_likelihoods(found, worth, weights.unrelated)
    return [
        Ranked(id=identity, score=-score, shown=shown, why=_explain_score(each, parts, scale))
        for shown, (score, identity, each, *parts) in islice(zip(likely, found, strict=True), limit)
    ]


def _answer_likelihoods(found: Sequence[_Scored], worth: float, unrelated: float) -> Signals:
    """Return how well each passage answers by itself; no less than any ranked below it.

    The remaining doubts of words and of meaning are multiplied, so that either is enough.
    Neighbours and names only affect the order: they do not make a passage an answer. A turn is
    embedded with the one before it, whose own matching words are subtracted from its meaning.
    """
    word_scores = {(one.thread, one.position): words for _, _, one, words, *_ in found if words}
    shown = [0.0] * len(found)
    best = 0.0
    for n in range(len(found) - 1, -1, -1):
        each = found[n][2]
        words = min(1.0, found[n][3] * worth)
        sense = max(0.0, ((each.similarity or 0.0) - unrelated) / (1 - unrelated))
        if words + sense > best:  # otherwise it cannot exceed one below it
            if each.thread is not None:
                before = word_scores.get((each.thread, each.position - 1), 0.0) * worth
                sense *= 1 - min(1.0, before)
            own = 1 - (1 - words**STEEPER) * (1 - min(1.0, sense) ** STEEPER)
            best = max(best, own)
        shown[n] = best
    return shown


def _score_thread(
    members: Sequence[PassageCandidate],
    typical: float,
    scale: float,
    strengths: Strengths,
    weights: RankingWeights,
) -> Iterator[_Scored]:
    """Yield the candidates of one thread with their parts; hot code, run for hundreds per query."""
    own = [sum(each.terms.values()) if each.terms else 0.0 for each in members]
    measured = [each.similarity for each in members]
    known = [typical if similarity is None else similarity for similarity in measured]
    sense = [
        similarity - weights.unrelated if similarity > weights.unrelated else 0.0
        for similarity in known
    ]
    words, around = own, sense
    if len(members) > 1:
        # The share of a signal that each candidate passes on to the next.
        positions = [each.position for each in members]
        fading = [float(weights.reach ** (after - before)) for before, after in pairwise(positions)]
        words = _words_nearby(members, fading)
        around = _nearby_signal(sense, fading, 0, len(sense) - 1)
    by_words = scale / (1 + strengths.keywords_alone)
    by_sense = strengths.meaning / (1 + strengths.meaning_alone)
    for each, words_here, sense_here, words_best, sense_best in zip(
        members, own, sense, words, around, strict=True
    ):
        keywords, meaning = words_here * scale, sense_here * strengths.meaning
        nearby = (words_best - words_here) * by_words if words_best > words_here else 0.0
        nearby += (sense_best - sense_here) * by_sense
        named = each.named * strengths.named
        dated = each.dated * strengths.dated
        strength = keywords + meaning + nearby + named + dated
        yield -strength / (1 + strength), each.id, each, keywords, meaning, nearby, named, dated


def _explain_score(candidate: PassageCandidate, parts: Sequence[float], scale: float) -> Why:
    terms = sorted(candidate.terms.items(), key=lambda pair: (-pair[1], pair[0]))
    return Why(
        terms=tuple((term, value * scale) for term, value in terms),
        similarity=candidate.similarity or 0.0,
        **dict(zip(("keywords", "meaning", "nearby", "named", "dated"), parts, strict=True)),
    )


def _group_threads(candidates: Iterable[PassageCandidate]) -> Iterable[Sequence[PassageCandidate]]:
    """Group the candidates by thread, in order of their positions; without a thread, alone."""
    threads: dict[str, list[PassageCandidate]] = defaultdict(list)
    for candidate in candidates:
        if candidate.thread is None:
            yield (candidate,)
        else:
            threads[candidate.thread].append(candidate)
    for members in threads.values():
        members.sort(key=_BY_POSITION)
        yield members


def _words_nearby(members: Sequence[PassageCandidate], fading: Signals) -> Signals:
    """Return for each candidate the sum over all terms of their best nearby share."""
    nothing = [0.0] * len(members)
    signals: dict[str, Signals] = {}
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for n, candidate in enumerate(members):
        for term, value in candidate.terms.items():
            if term not in signals:
                signals[term] = nothing.copy()
                first[term] = n
            signals[term][n] = value
            last[term] = n
    total = nothing
    for term, signal in sorted(signals.items()):
        total = list(map(add, total, _nearby_signal(signal, fading, first[term], last[term])))
    return total


def _nearby_signal(signal: Signals, fading: Signals, first: int, last: int) -> Signals:
    """Return for each position the strongest nearby signal, weakened by distance.

    Places before `first` and after `last` have no signal to pass on.
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


def name_match(asked: frozenset[str], names: Iterable[str]) -> float:
    """Return 1 if the query has a whole name, or a distinctive word of one; else 0.

    Names and queries are split by the same rule, that of `canonry.language.texts.stems`.
    """
    return float(not asked.isdisjoint(names_in(names)))


def names_in(names: Iterable[str]) -> frozenset[str]:
    """Return the words of names that identify a name by themselves."""
    return frozenset[str]().union(*map(_words_in, names))


@lru_cache(maxsize=_KNOWN_NAMES)  # one search asks 29 times for known names: bench compare, find
def _words_in(name: str) -> frozenset[str]:
    return frozenset(word for word in terms_of(name) if len(word) >= _NAME_LENGTH)


# Keywords: the score of a passage by the words of a query, with one formula for all backends.
#
# The formula is BM25 over stems. A query word without occurrences counts as the words that it may
# be a misspelling of, and a prefix ("kragh*") as all words that begin with it. A phrase in double
# quotes is a separate term: a match adds as much as all its words can add apart, so that passages
# with the phrase come before passages with only its words.

K1: Final = 0.9
B: Final = 0.4
"""The usual 0.75 would lower long turns, which contain more, for their length."""
CORRECTED: Final = 0.7
"""The weight of a term that replaces a misspelled one."""
SOUGHT_MAX: Final = 1_024
"""The number of terms of a query that are looked up, from its beginning."""
WEIGHED_MAX: Final = 256
"""The number of terms that count, by weight."""
DOUBTED_MAX: Final = 8
"""The number of unknown words that are treated as misspelled."""
DOUBTED_LENGTH: Final = 4
START_LENGTH: Final = 5
"""Shorter words are not corrected at their beginning, because too many have the same end."""
_START: Final = 4  # the number of letters that are compared if the first one is wrong
MEANT_MAX: Final = 16
"""The number of most frequent words that replace a misspelled one or a prefix."""

POSTINGS_MIN: Final = 1_500
POSTINGS_MAX: Final = 8_000
POSTINGS_SHARE: Final = 8
"""Words select candidates, rarest first, while their lists together have at most an eighth of all
passages, within these bounds; the rarest word always selects."""

_ASKED_MAX: Final = 32  # one search asks for its few queries again: bench compare, find

Shares: TypeAlias = dict[str, float]
"""The share of each query term in the score of a passage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """The terms of a query: stems, prefixes, and phrases as sequences of stems.

    `all_stems` are all stems of its text, like those of a passage with the same text.
    """

    stems: tuple[str, ...]
    begun: tuple[str, ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()
    all_stems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The number of searched passages, their mean length, and the document frequency of stems."""

    passages: int
    length: float
    found_in: Mapping[str, int]

    def with_words(self, words: Iterable[Mapping[str, int]]) -> "Figures":
        """Return the same with further words, which were looked up later."""
        others = {stem: n for some in words for stem, n in some.items()}
        return replace(self, found_in={**others, **self.found_in})

    def word_worth(self, found_in: int) -> float:
        """Return the most that a word with this document frequency adds."""
        left = max(self.passages - found_in, 0)
        return math.log(1 + (left + 0.5) / (found_in + 0.5)) * (K1 + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """The scoring of passages by keywords for one query.

    `meant` maps a stem to the query terms that it counts for; `most` has the highest share of each
    term. `all_stems` are the stems of the query as those of a passage.
    """

    meant: Mapping[str, Sequence[tuple[str, float]]]
    phrases: Sequence[tuple[tuple[str, ...], float]]
    most: Mapping[str, float]
    length: float
    all_stems: Sequence[str] = ()

    def term_shares(self, stems: Sequence[str]) -> Shares:
        """Return the share of each query term in the score of a passage with these stems."""
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
            size = len(phrase)
            starts = (n for n, stem in enumerate(stems) if stem == phrase[0])
            if any(tuple(stems[n : n + size]) == phrase for n in starts):
                shares[phrase_term(phrase)] = worth
        return shares

    def analyse_query(self, best: Mapping[str, float]) -> Asked:
        """Return the query for ranking; `best` has the shares of the best passage."""
        itself = sum(self.term_shares(self.all_stems).values())
        return Asked(terms=self.most, strongest=sum(best.values()), itself=itself)


@lru_cache(maxsize=_ASKED_MAX)
def parse_query(text: str) -> Sought:
    """Parse a query into terms; cached, because one search needs them several times."""
    begun = prefixes_in(text)
    covered = frozenset(query_stems(" ".join(begun))) if begun else frozenset()
    stems = [stem for stem in query_stems(text) if stem not in covered][:SOUGHT_MAX]
    return Sought(
        stems=tuple(stems), begun=begun, phrases=phrases_in(text), all_stems=stems_of(text)
    )


def doubted_stems(sought: Sought, found_in: Mapping[str, int]) -> tuple[str, ...]:
    """Return the unknown stems that are long enough to be misspelled."""
    unknown = (s for s in sought.stems if not found_in.get(s) and len(s) >= DOUBTED_LENGTH)
    return tuple(unknown)[:DOUBTED_MAX]


def words_alike(
    stem: str, vocabulary: Iterable[tuple[str, int]], *, at_start: bool = False
) -> Iterator[tuple[str, int]]:
    """Yield the words, with their counts, that `stem` may be a misspelling of.

    They have its first letter or, with `at_start`, begin as in `begins_alike`. A first letter is
    rarely wrong, so callers set `at_start` only if no other word is similar.
    """
    if at_start and len(stem) < START_LENGTH:
        return
    letters, most = set(stem), 2 * allowed_slips(len(stem))
    for other, n in vocabulary:
        fits = begins_alike(stem, other) if at_start else other[0] == stem[0]
        if not fits or len(letters.symmetric_difference(other)) > most:
            continue  # much cheaper than the distance, and excludes most words
        if is_near(stem, other):
            yield other, n


def begins_alike(stem: str, other: str) -> bool:
    """Return whether two words begin alike, but for a wrong, missing, extra or swapped letter."""
    return (
        other[1:_START] == stem[1:_START]
        or other[1:_START] == stem[: _START - 1]
        or other[: _START - 1] == stem[1:_START]
        or (other[:2] == stem[1::-1] and other[2:_START] == stem[2:_START])
    )


def beginnings_alike(stem: str, letters: Iterable[str]) -> frozenset[str]:
    """Return the prefixes to look up for words that may begin like `stem`.

    `letters` are the first letters of all words.
    """
    if len(stem) < START_LENGTH:
        return frozenset()
    ends = (stem[1:_START], stem[: _START - 1])
    wrong = {letter + end for letter in letters for end in ends}
    return frozenset((*wrong, stem[1:_START], stem[1::-1] + stem[2:_START]))


def most_frequent(words: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return the few most frequent words that a query word may mean."""
    ordered = sorted(words, key=lambda word: (-word[1], word[0]))
    return dict(ordered[:MEANT_MAX])


def make_measure(
    sought: Sought,
    figures: Figures,
    *,
    corrected: Mapping[str, Iterable[str]],
    begun: Mapping[str, Iterable[str]],
) -> Measure:
    """Make the scoring of a query; `corrected` and `begun` have the words for its terms."""
    found_in = figures.found_in
    meant: dict[str, list[tuple[str, float]]] = {}
    most: dict[str, float] = {}
    stems = sought.stems
    if len(stems) > WEIGHED_MAX:
        stems = tuple(sorted(stems, key=lambda stem: found_in.get(stem) or math.inf)[:WEIGHED_MAX])
    for stem in stems:
        most[stem] = figures.word_worth(found_in.get(stem, 0))
        meant.setdefault(stem, []).append((stem, most[stem]))
        for other in corrected.get(stem, ()):
            worth = CORRECTED * figures.word_worth(found_in.get(other, 0))
            meant.setdefault(other, []).append((stem, worth))
    for beginning in sought.begun:
        words = tuple(begun.get(beginning, ()))
        term = f"{beginning}*"
        most[term] = figures.word_worth(sum(found_in.get(word, 0) for word in words))
        for word in words:
            meant.setdefault(word, []).append((term, most[term]))
    phrases = []
    for phrase in sought.phrases:
        worth = sum(figures.word_worth(found_in.get(stem, 0)) for stem in phrase)
        most[phrase_term(phrase)] = worth
        phrases.append((phrase, worth))
    return Measure(
        meant=meant, phrases=phrases, most=most, length=figures.length, all_stems=sought.all_stems
    )


def pick_rare(figures: Figures, scores: Measure) -> frozenset[str]:
    """Return the rarest counting words while their passage lists are short."""
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
    """Return the statistics of passages, each given by its stems; `among`: of these stems only."""
    held = (set(stems) if among is None else among.intersection(stems) for stems in passages)
    return Figures(
        passages=len(passages),
        length=sum(map(len, passages)) / (len(passages) or 1) or 1,
        found_in=Counter(stem for stems in held for stem in stems),
    )


def measure_of(sought: Sought, passages: Sequence[Sequence[str]]) -> Measure:
    """Return the scoring by these passages, each given by its stems."""
    figures = figures_of(passages)
    found_in, words = figures.found_in, figures.found_in.items()
    return make_measure(
        sought,
        figures,
        corrected={
            each: most_frequent(words_alike(each, words))
            or most_frequent(words_alike(each, words, at_start=True))
            for each in doubted_stems(sought, found_in)
        },
        begun={
            each: most_frequent(word for word in words if word[0].startswith(each))
            for each in sought.begun
        },
    )


def phrase_term(phrase: Sequence[str]) -> str:
    """Format a phrase as a term."""
    return f'"{" ".join(phrase)}"'

"""The final ranking as the use case has it, on turns in memory; each remedy can be left out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bench.recall.conversations import Conversation, embedded_text
from bench.recall.keywords import Keywords, in_order
from bench.recall.meaning import vectors_of
from bench.recall.measures import FIRST
from canonry.language.texts.stems import stems_of, terms_of
from canonry.readmodels.ports.text import Purpose
from canonry.readmodels.ranking import (
    K1,
    WIDER,
    B,
    PassageCandidate,
    name_match,
    names_in,
    pool_for,
    rank_passages,
)
from canonry.recall.domain.questions import FIRST as AGAIN
from canonry.recall.domain.questions import (
    SUPPLYING,
    additional_stems,
    read_times,
    reordered_first,
    time_nearness,
    without_names,
)
from canonry.values.calendars.reckoning import GREGORIAN
from canonry.values.moments import Instant
from canonry.values.policy import RankingWeights

WEIGHTS = RankingWeights()


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedies:
    """The steps of a ranking; `lengths` are k1 and b of the keywords.

    `bound`: words found outside the nearest count as the last of these, else as unlike. `bare`: the
    question is compared by meaning without the names of speakers. `dated`: the time in the question
    is a signal, and more turns are read. `again`: a second round orders the first ones.
    """

    weights: RankingWeights = WEIGHTS
    bound: bool = True
    bare: bool = True
    lengths: tuple[float, float] = (K1, B)
    dated: bool = True
    again: bool = True
    limit: int = FIRST


def former(weights: RankingWeights) -> RankingWeights:
    """The figures before: keywords measured by what is possible alone, names counting more."""
    pointed = replace(weights.pointed, possible=1.0, named=0.2)
    broad = replace(weights.broad, keywords_alone=0.5, meaning=1.0)
    return replace(weights, pointed=pointed, broad=broad)


BEFORE = Remedies(
    weights=former(WEIGHTS),
    bound=False,
    bare=False,
    lengths=(1.2, 0.75),
    dated=False,
    again=False,
)


NOW = Remedies()


def final_orders(conversation: Conversation, remedies: Remedies = NOW) -> Sequence[Sequence[int]]:
    """For each question the first turns, best first."""
    turns, questions = conversation.turns, conversation.questions
    k1, b = remedies.lengths
    keywords = Keywords(conversation, k1=k1, b=b)
    speakers = (turn.speaker for turn in turns if remedies.bare)
    names = names_in(name for each in speakers for name in each.split("/"))
    asked = vectors_of([without_names(q.text, names) for q in questions], Purpose.QUERY)
    rows = vectors_of([embedded_text(turns, n) for n in range(len(turns))], Purpose.PASSAGE)
    return [
        ranked(conversation, question.text, near, keywords, remedies)
        for question, near in zip(questions, asked @ rows.T, strict=True)
    ]


def ranked(
    conversation: Conversation,
    text: str,
    near: NDArray[np.float32],
    keywords: Keywords,
    remedies: Remedies,
) -> Sequence[int]:
    """The first turns for one question, by how near each turn is to it and by its words."""
    asked, hits = keywords.search(text)
    words = frozenset(terms_of(text))
    near_in_time = _near_in_time(conversation, text) if remedies.dated else {}
    size = pool_for(len(asked.terms), remedies.weights) * (WIDER if near_in_time else 1)
    nearest = [int(n) for n in (-near).argsort(kind="stable")[:size]]
    found = frozenset(nearest)
    least = float(near[nearest[-1]]) if remedies.bound and len(nearest) == size else 0.0
    candidates = [
        PassageCandidate(
            id=f"{number:06}",
            thread=conversation.turns[number].thread,
            position=conversation.turns[number].place,
            terms=hits.get(number, {}),
            similarity=float(near[number]) if number in found else least,
            named=name_match(words, conversation.turns[number].speaker.split("/")),
            dated=near_in_time.get(conversation.turns[number].said_at, 0.0),
        )
        for number in dict.fromkeys((*in_order(hits)[:size], *sorted(found)))
    ]
    best = rank_passages(asked, candidates, remedies.weights, limit=remedies.limit)
    order = [int(each.id) for each in best]
    if remedies.again and best:
        said = [stems_of(conversation.turns[number].text) for number in order[:AGAIN]]
        names = names_in(name for turn in conversation.turns for name in turn.speaker.split("/"))
        stems = frozenset(stem for each in said[:SUPPLYING] for stem in each)
        figures = keywords.figures(additional_stems(asked, stems, names))
        first = [(each.why.strength, stems) for each, stems in zip(best, said, strict=False)]
        again = reordered_first(asked, first, figures, remedies.weights, overlap=best[0].shown)
        order = [*(order[number] for number in again), *order[AGAIN:]]
    return order


def _near_in_time(conversation: Conversation, text: str) -> Mapping[Instant | None, float]:
    """Return how near each time of a turn is to the time in the question."""
    times = {turn.said_at for turn in conversation.turns if turn.said_at is not None}
    asked = read_times(text, GREGORIAN, max(times)) if times else None
    return {
        when: max(time_nearness(when, each) for each in asked.intervals)
        for when in times
        if asked is not None and asked.intervals
    }

"""Run `python -m bench.recall.scores`: what scores say of turns asked verbatim and of strangers.

The first turns of `crd3` are searched by words and meaning: every tenth turn word for word,
and questions of the written conversations, which have nothing to do with them.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from bench.recall.conversations import Conversation, crd3, embedded_text, written
from bench.recall.keywords import Keywords
from bench.recall.meaning import vectors_of
from canonry.readmodels.ports.text import Purpose
from canonry.readmodels.ranking import PassageCandidate, rank_passages
from canonry.values.policy import RankingWeights

TURNS, EVERY, WORDS = 1_500, 10, 4
WEIGHTS = RankingWeights()


def main() -> int:
    """Print the share of scores that are as the contract says."""
    conversation = crd3()
    if conversation is None:
        sys.stdout.write("skipped: crd3 is not there\n")
        return 0
    conversation = replace(conversation, turns=conversation.turns[:TURNS])
    turns = conversation.turns
    chosen = [n for n in range(0, len(turns), EVERY) if len(turns[n].text.split()) >= WORDS]
    asked = [turns[n].text for n in chosen]
    strange = [q.text for name in ("tuning", "heldout") for q in written(name).questions]
    for meaning in (True, False):
        result = _scores(conversation, asked, meaning=meaning)
        unlike = _scores(conversation, strange, meaning=meaning)
        verbatim = [dict(found).get(own, 0.0) for own, found in zip(chosen, result, strict=True)]
        others = [score for found in unlike for _, score in found[:10]]
        kind = "words and meaning" if meaning else "words alone"
        high = np.mean(np.array(verbatim) >= 0.95)
        low = np.mean(np.array(others) < 0.3)
        sys.stdout.write(
            f"{kind}: {len(verbatim)} verbatim, {high:.3f} score 0.95 or more (least "
            f"{min(verbatim):.3f}); {len(others)} strangers, {low:.3f} score less than 0.3 "
            f"(95 % of them {np.quantile(others, 0.95):.3f} or less)\n"
        )
    return 0


def _scores(
    conversation: Conversation, texts: Sequence[str], *, meaning: bool
) -> Iterator[Sequence[tuple[int, float]]]:
    """For each text the turns found, by number, with their scores."""
    turns = conversation.turns
    keywords = Keywords(conversation)
    rows = vectors_of([embedded_text(turns, n) for n in range(len(turns))], Purpose.PASSAGE)
    likeness = vectors_of(texts, Purpose.QUERY) @ rows.T
    for text, near in zip(texts, likeness, strict=True):
        asked, hits = keywords.search(text)
        best = sorted(hits, key=lambda n: -sum(hits[n].values()))[: WEIGHTS.pool]
        nearest = [int(n) for n in (-near).argsort()[: WEIGHTS.pool]] if meaning else []
        candidates = [
            PassageCandidate(
                id=str(n),
                thread=turns[n].thread,
                position=turns[n].place,
                terms=hits.get(n, {}),
                similarity=float(near[n]) if meaning else 0.0,
            )
            for n in {*best, *nearest}
        ]
        yield [(int(one.id), one.shown) for one in rank_passages(asked, candidates, WEIGHTS)]


if __name__ == "__main__":
    sys.exit(main())

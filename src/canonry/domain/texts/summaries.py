"""Summaries: the sentences of a text that share most with the rest of it, in their own order."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

from canonry.domain.texts.words import terms_of

SENTENCES: Final = 5
_SENTENCE: Final = re.compile(r"[^.!?\n]+[.!?]*")
_SHORT: Final = 3


def extract(texts: Iterable[str], *, limit: int) -> str:
    """Up to five sentences of `texts` with the most frequent words, at most `limit` characters.

    Equal texts give equal summaries; of sentences that count the same the earlier one is taken.
    """
    found = [s for text in texts for part in _SENTENCE.findall(text) if (s := part.strip())]
    sentences = [sentence for sentence in dict.fromkeys(found) if terms_of(sentence)]
    terms = [frozenset(t for t in terms_of(s) if len(t) > _SHORT) for s in sentences]
    counts = Counter(term for each in terms for term in each)
    weights = [sum(counts[t] for t in each) / (len(each) + _SHORT) for each in terms]
    best = sorted(range(len(sentences)), key=lambda i: (-weights[i], i))[:SENTENCES]
    summary = ""
    for index in sorted(best):
        longer = f"{summary} {sentences[index]}".strip()
        if len(longer) <= limit:
            summary = longer
    return summary or (sentences[0][:limit] if sentences else "")

"""Questions: what of a question is compared by meaning, and what it denies.

Its words are looked up as they are. Its meaning is that of a sentence, and the name of somebody who
speaks makes every greeting of them alike to it.
"""

import re
from typing import Final

from canonry.domain.texts.sentences import sentence_starts
from canonry.domain.texts.stems import STOP_WORDS, asked_stems, languages_of, stem_of, stems_of
from canonry.domain.texts.words import terms_of

_LEAST: Final = 3
"""So many words that say something are left of a question without its names, or these stay."""
_DENIED: Final = 5
_DENIALS: Final = frozenset(
    {
        *("not", "no", "never", "nobody", "nothing", "without", "cannot", "isn", "aren", "wasn"),
        *("weren", "don", "doesn", "didn", "won", "wouldn", "hasn", "haven", "hadn", "couldn"),
        *("nicht", "kein", "keine", "keinen", "nie", "ohne", "pas", "jamais", "sans", "nunca"),
        *("sin", "senza", "niet", "geen", "nooit", "nao", "sem"),
    }
)
"""Words that deny what follows them, as `terms_of` cuts them."""
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
    """The stems that a question denies: of the words that follow a denial in it."""
    terms = terms_of(text)
    language = languages_of(terms)[0]
    stops = STOP_WORDS[language] | _DENIALS
    return frozenset(
        stem_of(language, term)
        for place, word in enumerate(terms)
        if word in _DENIALS
        for term in terms[place + 1 : place + 1 + _DENIED]
        if term not in stops
    )


def denies(text: str, stems: frozenset[str]) -> bool:
    """Whether a sentence of the text has a denial and one of these stems."""
    starts = [0, *sentence_starts(text)]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        terms = terms_of(text[start:end])
        if not _DENIALS.isdisjoint(terms) and not stems.isdisjoint(stems_of(text[start:end])):
            return True
    return False

"""Questions: what of a question is compared by meaning, and what it denies.

Its words are looked up as they are. Its meaning is that of a sentence, and the name of somebody who
speaks makes every greeting of them alike to it.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from canonry.language.texts.sentences import sentence_starts
from canonry.language.texts.stems import STOP_WORDS, asked_stems, languages_of, stem_of, stems_of
from canonry.language.texts.words import terms_of

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

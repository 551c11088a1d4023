"""Words and their stems."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

import snowballstemmer  # type: ignore[import-untyped] # it carries no types
from jellyfish import damerau_levenshtein_distance

from canonry.values.json_values import plain_signs

_WORD: Final = re.compile(r"\w+", re.UNICODE)


def terms_of(text: str) -> tuple[str, ...]:
    """The words of `text` in order: letters and digits, with signs, case and accents folded."""
    plain = plain_signs(text).casefold()
    if not plain.isascii():  # otherwise there are no accents to fold, which is the common case
        decomposed = unicodedata.normalize("NFKD", plain)
        plain = "".join(c for c in decomposed if not unicodedata.combining(c))
        plain = plain.casefold()  # a sign such as the service mark decomposes into capitals
    return tuple(_WORD.findall(plain.replace("_", " ")))


# Stems: words without their endings, so that "climbed" finds "climbing".
#
# The language of a text is told by its stop words; a text without any counts as English. A query is
# stemmed in every language that it may be in, because a short text gives little evidence.

DEFAULT: Final = "english"

_LONG_ENOUGH: Final = 4
_LONG: Final = 7
"""Letters from which on one slip, and two, are forgiven."""

LONGEST: Final = 64
"""A word of more letters has no forms and no slips: cutting and comparing such take long."""

_PREFIX_LENGTH: Final = 3
_QUOTED: Final = re.compile(r'"([^"]+)"')
_BEGUN: Final = re.compile(r"(?<!\w)(\w++)\*")

_STOP_WORDS: Final = {
    "english": (
        "a about after all also am an and any are as at be because been before being but by can"
        " could did do does doing for from had has have having he her here hers him his how i if in"
        " into is it its just me more most my no nor not of off on once only or other our out over"
        " own s same she should so some such t than that the their them then there these they this"
        " those to too until up very was we were what when where which while who whom why will"
        " with would you your"
    ),
    "german": (
        "aber als am an auch auf aus bei bin bis das dass dem den der des die doch du durch ein"
        " eine einem einen einer er es fur hat hatte ich ihm ihn ihr im in ist ja kein man mein mit"
        " nach nicht noch nun nur oder ohne sein sich sie sind so uber um und uns von vor war warum"
        " was wenn wer wie wir wird wo zu zum zur"
    ),
    "french": (
        "a au aux avec c ce ces cette d dans de des du elle en est et eux il ils j je l la le les"
        " leur lui m ma mais me mes mon n ne nos notre nous on ou par pas pour qu que qui s sa sans"
        " se ses son sont sur ta te toi tu un une vos votre vous y"
    ),
    "spanish": (
        "a al algo como con cual cuando de del donde el ella ellos en era es esta este fue ha hay"
        " la las le lo los mas me mi muy no nos o para pero por porque que quien se ser si sin"
        " sobre son su sus te tiene tu un una y ya yo"
    ),
    "italian": (
        "a ad al alla anche che chi ci come con cosa cui da dal dei del della di dove e ed era gli"
        " ha ho i il in io la le lei lo lui ma mi mia mio ne nei nel nella non o per perche piu"
        " quando quello questo se si sono su sua suo tra un una"
    ),
    "portuguese": (
        "a ao aos as com como da das de do dos e ela ele em entre era essa esse esta este eu foi"
        " ha isso ja mais mas me meu na nao nas no nos o onde os ou para pela pelo por qual quando"
        " que quem se sem seu sua tem um uma voce"
    ),
    "dutch": (
        "aan al als bij dan dat de den der deze die dit door een en er ge geen had heb hebben"
        " heeft het hier hij hoe ik in is ja je kan maar me mijn naar niet nog nu of om onder ons"
        " ook op over te tot u uit van voor waar was wat we wel werd wie wij ze zich zijn"
        " zo"
    ),
}
STOP_WORDS: Final = {language: frozenset(words.split()) for language, words in _STOP_WORDS.items()}
"""Words that say nothing about a text, as `terms_of` cuts them, by the name of their language."""

_STOPPED_IN: Final = {
    word: tuple(language for language, stops in STOP_WORDS.items() if word in stops)
    for word in frozenset[str]().union(*STOP_WORDS.values())
}


def is_stop_word(term: str) -> bool:
    """Whether a term, as `terms_of` cuts it, says nothing about a text in some language."""
    return term in _STOPPED_IN


def languages_of(terms: Iterable[str]) -> tuple[str, ...]:
    """The languages with the most stop words among `terms`; several where they are equal."""
    stops = [term for term in terms if term in _STOPPED_IN]
    if not stops:
        return (DEFAULT,)
    evidence = Counter([language for term in stops for language in _STOPPED_IN[term]])
    most = max(evidence.values())
    return tuple([language for language in STOP_WORDS if evidence.get(language) == most])


def stems_of(text: str) -> tuple[str, ...]:
    """The stems of a passage in order, stop words included: phrases need them."""
    terms = terms_of(text)
    language = languages_of(terms)[0]
    return tuple([stem_of(language, term) for term in terms])


def asked_stems(text: str) -> tuple[str, ...]:
    """The stems that a query looks for, each once and in order.

    Stop words are left out unless it has no others; English is tried beside the languages that the
    query shows.
    """
    terms = terms_of(text)
    languages = dict.fromkeys((*languages_of(terms), DEFAULT))
    spoken = languages_of(terms)
    told = [t for t in terms if not any(t in STOP_WORDS[language] for language in spoken)]
    found = [stem_of(language, term) for term in told or terms for language in languages]
    return tuple(dict.fromkeys(found))


def phrases_in(text: str) -> tuple[tuple[str, ...], ...]:
    """The texts in double quotes, each as stems in a row; a single word is no phrase."""
    spoken = languages_of(terms_of(text))[0]
    cut = (tuple(stem_of(spoken, t) for t in terms_of(quoted)) for quoted in _QUOTED.findall(text))
    return tuple(dict.fromkeys(phrase for phrase in cut if len(phrase) > 1))


def prefixes_in(text: str) -> tuple[str, ...]:
    """The beginnings before an asterisk, as in "kragh*"; those of one or two letters are not."""
    cut = (terms_of(begun)[-1:] for begun in _BEGUN.findall(text))
    found = (term for terms in cut for term in terms if len(term) >= _PREFIX_LENGTH)
    return tuple(dict.fromkeys(found))


def is_near(one: str, other: str) -> bool:
    """Whether two stems may be the same word misspelled: one slip, or two in a long word.

    A slip is a letter too many, too few, wrong, or two letters swapped. Short words are never
    near: too many of them differ by one letter.
    """
    if max(len(one), len(other)) > LONGEST:
        return one == other
    slips = slips_forgiven(min(len(one), len(other)))
    if abs(len(one) - len(other)) > slips:
        return False
    return damerau_levenshtein_distance(one, other) <= slips


def slips_forgiven(letters: int) -> int:
    """How many slips are allowed between two words; `letters` is the length of the shorter one."""
    return 0 if letters < _LONG_ENOUGH else 1 if letters < _LONG else 2


def lengths_near(letters: int) -> tuple[int, int]:
    """The fewest and the most letters of a word that may be a misspelling of one of `letters`."""
    most = slips_forgiven(letters)
    less = (n for n in range(1, most + 1) if n <= slips_forgiven(letters - n))
    return letters - max(less, default=0), letters + most


def stem_of(language: str, term: str) -> str:
    """The stem of a word in a language; a very long word and a number have none but themselves."""
    return term if len(term) > LONGEST or term.isdecimal() else _known_stem(language, term)


@lru_cache(maxsize=16_384)
def _known_stem(language: str, term: str) -> str:
    return str(_stemmer(language).stemWord(term))


@lru_cache(maxsize=16)
def _stemmer(language: str) -> Any:
    stemmer = snowballstemmer.stemmer(language)
    stemmer.maxCacheSize = 0  # what it would remember besides is remembered here
    return stemmer

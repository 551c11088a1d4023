"""Words for reading clauses, and words that negate."""

from importlib.resources import files
from typing import Final

# The words that divide and compare English statements, from `english.txt`.
#
# They belong to the language, not to any world. Names and nouns of a story do not occur here.


def _read() -> dict[str, list[str]]:
    """Return the words of each group; a line that begins with a space continues a group."""
    text = (files("canonry.language.words") / "english.txt").read_text("utf-8")
    groups = text.replace("\n ", " ").splitlines()
    return {name: words.split() for name, _colon, words in (g.partition(": ") for g in groups)}


_GROUPS: Final = _read()


def _words(name: str) -> frozenset[str]:
    return frozenset(_GROUPS[name])


def _pairs(name: str) -> dict[str, str]:
    return dict(each.split("/") for each in _GROUPS[name])


def _phrases(name: str) -> tuple[str, ...]:
    return tuple(each.replace("_", " ") for each in _GROUPS[name])


BE: Final = _words("be")
HAVE: Final = _words("have")
DO: Final = _words("do")
MODALS: Final = _pairs("modals")
PAST: Final = _words("past")
FUTURE: Final = _words("future")
PRONOUNS: Final = _words("pronouns")
REFLEXIVES: Final = _words("reflexives")
INDEFINITE: Final = _words("indefinite")
DEFINITE: Final = _words("definite")
DETERMINERS: Final = INDEFINITE | DEFINITE
PREPOSITIONS: Final = _words("prepositions")
ADVERBS: Final = _words("adverbs")
HEDGES: Final = _words("hedges")
SCOPES: Final = _words("scopes")
ALONE: Final = _words("alone")
LIMITS: Final = _words("limits")
FORMER: Final = _words("former")
QUANTIFIERS: Final = _pairs("quantifiers")
PERSONS: Final = _words("persons")
OPINIONS: Final = _words("opinions")
KNOWLEDGE: Final = _words("knowledge")
SOURCES: Final = _phrases("sources")
ENDING_VERBS: Final = _words("ending_verbs")
ENDED: Final = _words("ended")
DEPOSED: Final = _words("deposed")
"""Verbs that end an unnamed office."""
OFFICES: Final = _words("offices")
RULING: Final = _words("ruling")
IRREGULAR: Final = tuple(each.split("/") for each in _GROUPS["irregular"])
"""Irregular words with their other forms."""
BASES: Final = _words("bases")
"""Verbs whose past looks the same or has no recognisable ending."""
NOT_PARTICIPLES: Final = _words("not_participles")
NOT_PASTS: Final = _words("not_pasts")
"""Forms of nouns that look like past verbs."""
ONE_VALUED: Final = _words("one_valued")
"""Attributes with one value at a time, so that two values contradict each other."""
ONCE: Final = _words("once")
PLACING: Final = _words("placing")
BOUND: Final = tuple(each.split("/") for each in _GROUPS["bound"])
"""Ties to a single other at a time: a word and what follows it."""
RESTING: Final = _words("resting")
"""Actions that the dead can be subject of."""
PLACES_OF: Final = _words("places_of")
TIMES: Final = _words("times")
TEMPORAL: Final = _words("temporal")
NUMBERS: Final = {word: int(number) for word, number in _pairs("numbers").items()}
SCALES: Final = {word: int(number) for word, number in _pairs("scales").items()}
APPROXIMATE: Final = _words("approximate")
AT_LEAST: Final = _phrases("at_least")
MORE_THAN: Final = _phrases("more_than")
AT_MOST: Final = _phrases("at_most")
FEWER_THAN: Final = _phrases("fewer_than")
UNITS: Final = {
    unit: (kind, float(factor))
    for unit, kind, factor in (each.split("/") for each in _GROUPS["units"])
}
"""Units by dimension. Units with several definitions, such as mile or gallon, stand apart."""
COINS: Final = _words("coins")


_NEGATIONS: Final = {
    "english": (
        "not never no nolonger nobody nothing none neither nor without hardly unless except cannot"
        " nowhere"
    ),
    "german": (
        "nicht nie niemals niemand niemanden niemandem nichts nirgends ohne weder"
        " kein keine keinen keinem keiner keines"
    ),
    "french": "pas jamais rien personne aucun aucune nul nulle sans ni",
    "spanish": "no nunca jamas nadie nada ningun ninguno ninguna sin tampoco",
    "italian": "non mai nessuno nessuna nessun niente nulla senza",
    "portuguese": "nao nunca jamais ninguem nada nenhum nenhuma sem",
    "dutch": "niet nooit niemand niets geen nergens zonder",
}
NEGATIONS: Final = {language: frozenset(words.split()) for language, words in _NEGATIONS.items()}
"""Negations as `terms_of` cuts them, without accents."""

_CLOSING: Final = (
    "all every everybody everyone everything always never whole entire only alone nobody nothing"
    " none whoever last unanimously exclusively except ever"
)
CLOSING: Final = frozenset(_CLOSING.split())
"""Words that make a statement exclusive, so that more statements may contradict it."""

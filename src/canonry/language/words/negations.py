"""Words that deny, by language, and English ones that leave nothing open."""

from typing import Final

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
"""As `terms_of` cuts them, without accents."""

_CLOSING: Final = (
    "all every everybody everyone everything always never whole entire only alone nobody nothing"
    " none whoever last unanimously exclusively except ever"
)
CLOSING: Final = frozenset(_CLOSING.split())
"""With these a statement says that there is nothing else, so that more may speak against it."""

"""English words: the stem that the forms of a word share, and the negations."""

from functools import lru_cache
from typing import Final

from canonry.language.reading.tokens import word_table
from canonry.language.texts.stems import WORDS, stem_of

NEGATIONS: Final = frozenset(WORDS["english"]["negations"].split())

_BASES: Final = {
    **{form: base for form, (base, _category) in word_table("en").irregular.items()},
    **dict(each.split("/") for each in WORDS["english"]["forms"].split()),
}


@lru_cache(maxsize=32_768)  # players and narrators repeat words: bench.table, narrations
def lemma_of(word: str) -> str:
    """Return the stem that all forms of a word share."""
    return stem_of("english", _BASES.get(word, word))

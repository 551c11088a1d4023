"""English words: the stem that the forms of a word share, and the negations."""

from functools import lru_cache
from typing import Final

from canonry.language.reading.tokens import language
from canonry.language.texts.stems import stem_of

_OTHERS: Final = """
men/man women/woman children/child feet/foot teeth/tooth geese/goose mice/mouse wolves/wolf
thieves/thief wives/wife knives/knife dwarves/dwarf oxen/ox halves/half loaves/loaf shelves/shelf
calves/calf wharves/wharf people/person brethren/brother color/colour favorite/favourite meter/metre
honor/honour gray/grey armor/armour harbor/harbour center/centre liter/litre realize/realise
elves/elf hanged/hang
"""
"""Forms and spellings, each with its word, that neither the stemmer nor the table of verbs has."""

_NEGATIONS: Final = "not never no nolonger nobody nothing none neither nor without hardly unless"
NEGATIONS: Final = frozenset(_NEGATIONS.split()) | {"except", "cannot", "nowhere"}

_BASES: Final = {
    **{form: base for form, (base, _category) in language("en").irregular.items()},
    **dict(each.split("/") for each in _OTHERS.split()),
}


@lru_cache(maxsize=32_768)
def lemma(word: str) -> str:
    """Return the stem that all forms of a word share."""
    return stem_of("english", _BASES.get(word, word))

"""WordPiece: texts become the numbers of tokens, exactly as the default model has learnt them.

It is the published uncased BERT tokenization; the vocabulary beside it has a notice of its own.
"""

import unicodedata
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final

_CONTROLS: Final = frozenset({"Cc", "Cf", "Co", "Cs"})
_WORD_MAX: Final = 100
_KNOWN_WORDS: Final = 65_536
_KNOWN_CHARACTERS: Final = 8_192
_IDEOGRAPHS: Final = (
    range(0x4E00, 0xA000),
    range(0x3400, 0x4DC0),
    range(0x20000, 0x2A6E0),
    range(0x2A700, 0x2B740),
    range(0x2B740, 0x2B820),
    range(0x2B920, 0x2CEB0),
    range(0xF900, 0xFB00),
    range(0x2F800, 0x2FA20),
)


class _CharacterTable:
    """What `str.translate` asks for every character; few are asked for often."""

    def __init__(self, replacement: Callable[[int], str]) -> None:
        self._replacement = lru_cache(_KNOWN_CHARACTERS)(replacement)

    def __getitem__(self, code: int) -> str:
        return self._replacement(code)


class WordPiece:
    """Tokens of a vocabulary, whose lines are the tokens in the order of their numbers."""

    def __init__(self, tokens: Sequence[str]) -> None:
        """Raise KeyError where the vocabulary lacks the three tokens that every text needs."""
        self._numbers = {token: number for number, token in enumerate(tokens)}
        self._unknown = (self._numbers["[UNK]"],)
        self.begin, self.end = self._numbers["[CLS]"], self._numbers["[SEP]"]
        self._pieces = lru_cache(_KNOWN_WORDS)(self._split)

    def encode(self, text: str) -> list[int]:
        """The numbers of the tokens of a text, without those for its beginning and its end."""
        plain = unicodedata.normalize("NFD", text.translate(_CLEAN)).translate(_FOLD)
        return [number for word in plain.split() for number in self._pieces(word)]

    def _split(self, word: str) -> tuple[int, ...]:
        """The longest token that a word begins with, the longest that the rest does, and so on."""
        found: list[int] = []
        start = 0
        while start < len(word) <= _WORD_MAX:
            prefix = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if prefix + word[start:end] in self._numbers), None)
            if end is None:
                return self._unknown
            found.append(self._numbers[prefix + word[start:end]])
            start = end
        return tuple(found) or self._unknown


@cache
def uncased() -> WordPiece:
    """The tokens of the English uncased models."""
    file = files(__package__).joinpath("vocabulary/uncased.txt")
    return WordPiece(file.read_text(encoding="utf-8").splitlines())


def _cleaned(code: int) -> str:
    """Nothing for what controls or is no character; an ideograph is a word of its own."""
    character = chr(code)
    if character.isspace() and (character in "\t\n\r" or unicodedata.category(character) != "Cc"):
        return " "
    if character == "\N{REPLACEMENT CHARACTER}" or unicodedata.category(character) in _CONTROLS:
        return ""
    return f" {character} " if any(code in each for each in _IDEOGRAPHS) else character


def _folded(code: int) -> str:
    """A small letter without accents; a mark of punctuation is a word of its own."""
    character = chr(code)
    category = unicodedata.category(character)
    if category == "Mn":
        return ""
    marks = category[0] == "P" or (character.isascii() and category[0] == "S")
    return f" {character} " if marks else character.lower()


_CLEAN: Final = _CharacterTable(_cleaned)
_FOLD: Final = _CharacterTable(_folded)

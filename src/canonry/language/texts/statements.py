"""Statements as texts: the form in which two wordings of one statement are the same."""

import re
import unicodedata
from functools import lru_cache
from typing import Final

from canonry.values.normal_forms import folded

_ARTICLES: Final = frozenset({"a", "an", "the"})
_SIGNS: Final = frozenset("'+#&%/\u00b0")
_INNER: Final = re.compile(r"((?<=\d)[.,:](?=\d)|(?<=\w)-(?=\d))")
"""Signs within a number count."""


@lru_cache(maxsize=16_384)
def plain_statement(statement: str) -> str:
    """The statement without case, punctuation and articles; what nothing is left of stays."""
    plain = folded(statement)
    parts = _INNER.split(plain)  # the signs within numbers are every second one
    parts[::2] = [part.translate(_SAID) for part in parts[::2]]
    kept = "".join(parts)
    words = [word.strip("'") for word in kept.split()]
    told = [word for word in words if word and word not in _ARTICLES]
    return " ".join(told) or plain


class _Said(dict[int, int]):
    """What becomes of each sign: itself, or a space."""

    def __missing__(self, code: int) -> int:
        sign = chr(code)
        said = sign.isalnum() or sign in _SIGNS or unicodedata.category(sign)[0] in "MS"
        return code if said else ord(" ")


_SAID: Final = _Said()
_SAID.update({code: _SAID[code] for code in range(128)})  # which nearly all signs are

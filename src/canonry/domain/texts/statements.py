"""Statements as texts: the form in which two wordings of one statement are the same."""

import re
import unicodedata
from functools import lru_cache
from typing import Final

from canonry.domain.normal_forms import folded

_SILENT: Final = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'"})
_ARTICLES: Final = frozenset({"a", "an", "the"})
_SIGNS: Final = frozenset("'+#&%/\u00b0")
_INNER: Final = re.compile(r"(?<=\d)[.,:](?=\d)|(?<=\w)-(?=\d)")
"""Signs within a number count."""


@lru_cache(maxsize=16_384)
def plain_statement(statement: str) -> str:
    """The statement without case, punctuation and articles; what nothing is left of stays."""
    plain = folded(statement).translate(_SILENT)
    inner = {match.start() for match in _INNER.finditer(plain)}
    kept = "".join(
        sign if place in inner or _is_said(sign) else " " for place, sign in enumerate(plain)
    )
    words = [word.strip("'") for word in kept.split()]
    told = [word for word in words if word and word not in _ARTICLES]
    return " ".join(told) or plain


def _is_said(sign: str) -> bool:
    return sign.isalnum() or sign in _SIGNS or unicodedata.category(sign)[0] in "MS"

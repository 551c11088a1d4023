"""Frames: the tokens of a clause, and its subject and content."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from functools import lru_cache
from math import inf, isfinite
from operator import methodcaller
from typing import Final, TypeAlias

from canonry.language.texts.stems import stem_of
from canonry.language.words.frame_words import (
    APPROXIMATE,
    AT_LEAST,
    AT_MOST,
    BASES,
    COINS,
    DETERMINERS,
    FEWER_THAN,
    INDEFINITE,
    IRREGULAR,
    MORE_THAN,
    NOT_PARTICIPLES,
    NOT_PASTS,
    NUMBERS,
    PREPOSITIONS,
    QUANTIFIERS,
    REFLEXIVES,
    SCALES,
    UNITS,
)
from canonry.values.json_values import plain_signs


@dataclass(frozen=True, slots=True)
class Token:
    """A folded word, the stem that its forms share, and whether it is a name."""

    word: str
    stem: str
    name: bool = False


Tokens: TypeAlias = tuple[Token, ...]

_QUOTES: Final = str.maketrans({"\u201c": " ", "\u201d": " ", '"': " ", "\u2026": ".",
                                "\u2014": ", ", "\u2013": ", ", "*": " ", "_": " "})  # fmt: skip
_REWRITES: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), methodcaller("expand", to) if "\\" in to else to)
    for pattern, to in (
        (r"\([^()]*\)", ""),
        (r"\bcan(?:no|')t\b", "can not"),
        (r"\bwon't\b", "will not"),
        (r"n't\b", " not"),
        (r"\b(it|he|she|that|there|who)'s\b", r"\1 is"),
        (r"'(?:re)\b", " are"),
        (r"'ll\b", " will"),
        (r"'ve\b", " have"),
        (r"\bnot any(?:\s*|-)(?:more|longer)\b|\bno (?:longer|more)\b(?! than)", "nolonger"),
        (r"\bnot (.{0,60}?)\bany(?:\s*|-)(?:more|longer)\b", r"nolonger \1"),
        (r"\bnot (?:a|one) single\b|\bnot one\b(?= )|\bnone of\b", "no"),
        (r"\ba single \w+", " "),
        (r"\bw(?:as|ere) (?:once )?([^,]{1,60}), and (it|he|she|they) still (is|are)\b", r"\3 \1"),
        (
            (
                r"\b(one|two|three|four|five|some|all|most|many|few|half|each|several|both) of"
                r" (?:(?:the|his|her|its|their|my|your|our|those|these) |(?=\w+'s ))"
            ),
            r"\1 ",
        ),
        (r"\bha(s|ve|d) (not )?got\b(?= (?:a|an|no|any|the|two|three|\d))", r"ha\1 \2"),
        (r"\b(has|have) not (any|a|an)\b", r"\1 no"),
        (r"\bnobody (?:but|except|other than)\b|\bno one (?:but|except|other than)\b", "only"),
        (r"\bno one\b", "nobody"),
        (r"\bnobody else\b|\bno others?\b|\bnothing else\b", "exclusively"),
        (r"\b(\d{1,9})(?:st|nd|rd|th)\b", r"\1"),
        (r"\b(\d{1,3}),(\d{3})\b", r"\1\2"),
        (r"\bsquare (?=metre|meter|kilomet|foot|feet|mile)", "square_"),
        (r"\b(blood|birth) (group|type|date|place)\b", r"\1_\2"),
        (r"\bused to be\b", "was"),
        (r"\bused to\b", "did"),
        (r"\b(?:has|have) to (?=[a-z])", "must "),
    )
)
_SENTENCE: Final = re.compile(
    r"[^.;:!?]*(?:(?:(?<=\d)[.:](?=\d)|\b(?:Mr|Mrs|Dr|St)\.)[^.;:!?]*)*[.;:!?]*"
)
_WORD: Final = re.compile(r"[^\W_]+(?:[-_:.][^\W_]+)*(?:'s?(?!\w))?|[,]")
_LONG: Final = 600
"""The most characters of a statement that are read."""


@lru_cache(maxsize=16_384)
def sentences_in(statement: str) -> tuple[tuple[Token, ...], ...]:
    """Return the tokens of each sentence that states something; questions are left out."""
    text = plain_signs(statement[:_LONG]).translate(_QUOTES)
    for pattern, to in _REWRITES:
        text = pattern.sub(to, text)
    found = (part for part in _SENTENCE.findall(text) if part.strip() and not part.endswith("?"))
    tokens = (_tokens(part) for part in found)
    return tuple(one for one in tokens if one)


def _tokens(sentence: str) -> tuple[Token, ...]:
    cut = []
    for place, found in enumerate(_WORD.findall(sentence)):
        owns = found.endswith(("'s", "'"))
        plain = found.removesuffix("'s").removesuffix("'")
        word = plain.casefold()
        for part in word.split("-") if "-" in word and not plain.isupper() else (word,):
            name = plain[:1].isupper() and (place > 0 or word not in PREPOSITIONS)
            name = name and not (plain.isupper() and len(plain) > 1)
            cut.append(Token(part, lemma(part), name))
        if owns:
            cut.append(Token("'s", "'s"))
    return tuple(cut)


def _table() -> dict[str, str]:
    forms: dict[str, str] = {}
    for base, *others in IRREGULAR:
        for form in others:
            forms.setdefault(form.rstrip("_"), base)
    return forms


_FORMS: Final = _table()
_PASTS: Final = frozenset(_FORMS) - NOT_PASTS


@lru_cache(maxsize=32_768)
def lemma(word: str) -> str:
    """Return the stem that all forms of a word share."""
    if word.isdigit():
        return word
    return stem_of("english", _FORMS.get(word, word))


@lru_cache(maxsize=16_384)
def is_participle(word: str) -> bool:
    """Return whether the word may be a past participle."""
    if word in NOT_PARTICIPLES:
        return False
    return word in _PASTS or word in BASES or (word.endswith("ed") and len(word) > len("used"))


@lru_cache(maxsize=16_384)
def is_progressive(word: str) -> bool:
    """Return whether the word may be a progressive form of a verb."""
    return word.endswith("ing") and len(word) > len("sing") and word not in NOT_PARTICIPLES


def is_past(word: str) -> bool:
    """Return whether the word can only be a past form."""
    return is_participle(word) and word not in BASES


ROUNDING: Final = 0.02
"""The largest difference of equal measures after conversion, as a share of the larger."""
NEAR: Final = 0.08
"""The largest difference of rounded measures."""
ABOUT: Final = 0.06
"""The largest difference of measures that are approximate, as a share of the smaller."""
EXACT: Final = 1e-9


class Measured(StrEnum):
    """The relation between two quantities."""

    SAME = "same"
    UNCLEAR = "unclear"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A count or a measure, from a minimum to a maximum; `about` if it is approximate."""

    low: float
    high: float
    about: bool = False
    unit: str = ""


_UNITS: Final = {lemma(unit): of for unit, of in UNITS.items()} | UNITS
_PLAIN: Final = ("", 1.0)
_COINS: Final = frozenset(map(lemma, COINS))


def unit_of(word: str) -> str:
    """Return the unit that a word or a stem names; empty: none."""
    stem = lemma(word)
    return word if word in _UNITS else stem if stem in _UNITS else ""


@lru_cache(maxsize=4096)
def is_coin(word: str) -> bool:
    """Return whether the word names money, which has rates instead of conversions."""
    return lemma(word) in _COINS


@lru_cache(maxsize=4096)
def number_of(word: str) -> float | None:
    """Return the number that a word means; None: it is no number."""
    if word in NUMBERS:
        return float(NUMBERS[word])
    if word[:1].isdigit():
        try:
            return float(Decimal(word.replace(":", ".").rstrip(".")))
        except InvalidOperation:
            return None
    return None


def scale_of(word: str) -> int | None:
    """Return the factor by which the word multiplies the number before it."""
    return SCALES.get(word)


def compared(one: Quantity, other: Quantity) -> Measured:
    """Return the relation between two quantities of the same item."""
    first, second = _UNITS.get(one.unit, _PLAIN), _UNITS.get(other.unit, _PLAIN)
    if first[0] != second[0]:
        return Measured.UNCLEAR
    ends = [one.low * first[1], one.high * first[1], other.low * second[1], other.high * second[1]]
    gap = max(ends[2] - ends[1], ends[0] - ends[3])
    sizes = [abs(end) for end in ends if isfinite(end)]
    if gap <= EXACT * max(sizes):
        return Measured.SAME
    if one.about or other.about:
        return Measured.SAME if gap <= ABOUT * min(sizes) else Measured.UNCLEAR
    if one.unit == other.unit:
        return Measured.OTHER
    if gap <= ROUNDING * max(sizes):
        return Measured.SAME
    near = gap <= NEAR * max(sizes) or first[0] == "mile"
    return Measured.UNCLEAR if near else Measured.OTHER


class Standing(StrEnum):
    """How a clause is stated: about the world, or as a person's speech or knowledge."""

    TOLD = "told"
    SAID = "said"
    KNOWN = "known"


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """A head with the words before it, after a preposition or none; all are stems."""

    role: str
    head: str
    extras: frozenset[str] = frozenset()
    article: str = ""
    name: bool = False
    quantity: Quantity | None = None

    @property
    def words(self) -> frozenset[str]:
        """All its stems."""
        return self.extras | {self.head}


def words_of(phrases: Iterable[Phrase]) -> frozenset[str]:
    """Return all stems of these phrases."""
    return frozenset[str]().union(*(phrase.words for phrase in phrases))


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The content of one clause; `sure` means that its verb is a known one."""

    subject: tuple[Phrase, ...]
    verb: str
    phrases: tuple[Phrase, ...]
    sure: bool
    negative: bool = False
    never: bool = False
    ends: bool = False
    hedged: bool = False
    modal: str = ""
    past: bool = False
    perfect: bool = False
    future: bool = False
    quantifier: str = ""
    person: bool = False
    exclusive: bool = False
    marks: frozenset[str] = frozenset()
    when: frozenset[str] = frozenset()
    condition: frozenset[str] = frozenset()
    standing: Standing = Standing.TOLD
    group: bool = False
    words: frozenset[str] = field(default=frozenset())
    passive: bool = False


_BOUNDS: Final = tuple(
    sorted(
        [
            (tuple(words.split()), bound)
            for group, bound in (
                (AT_LEAST, "least"),
                (MORE_THAN, "more"),
                (AT_MOST, "most"),
                (FEWER_THAN, "fewer"),
            )
            for words in group
        ],
        key=lambda pair: -len(pair[0]),
    )
)
_BOUNDING: Final = frozenset(words[0] for words, _bound in _BOUNDS)
_SKIPPED: Final = REFLEXIVES | {"each", "other", "also", "still"}


def phrases_of(tokens: Sequence[Token]) -> tuple[Phrase, ...]:
    """Return the phrases of a sequence of tokens; `X's Y` is read as `Y of X`."""
    parts = _parts(tokens)
    found = (_phrase(role, article, part) for role, article, part in parts if part)
    return tuple(one for one in found if one is not None)


def _parts(tokens: Sequence[Token]) -> list[tuple[str, str, list[Token]]]:
    parts: list[tuple[str, str, list[Token]]] = [("", "", [])]
    i = 0
    while i < len(tokens):
        bound = _bound_at(tokens, i)
        if bound:
            parts[-1][2].append(Token(f"<{bound[1]}>", f"<{bound[1]}>"))
            i += len(bound[0])
            continue
        token = tokens[i]
        role, article, part = parts[-1]
        if token.word == "'s":
            i = _owned(tokens, i, parts)
            continue
        if (token.word in PREPOSITIONS and token.word not in APPROXIMATE) or (
            token.word in {"about", "around"} and not _number_next(tokens, i)
        ):
            parts.append((token.word, "", []))
        elif token.word in {"and", "or", "nor", ","}:
            parts.append((role, "+", []))
        elif token.word in DETERMINERS:
            kind = "a" if token.word in INDEFINITE else "the"
            if part:
                parts.append(("", kind, []))
            else:
                parts[-1] = (role, kind if article != "+" else "+" + kind, part)
        elif token.word not in _SKIPPED:
            part.append(token)
        i += 1
    return parts


def _owned(tokens: Sequence[Token], i: int, parts: list[tuple[str, str, list[Token]]]) -> int:
    """Swap owner and possession in `parts`; return the position to continue at."""
    role, article, owner = parts.pop()
    counted = [t for t in owner[:1] if number_of(t.word) is not None]
    owner = owner[len(counted) :]
    end = i + 1
    while end < len(tokens) and not (
        tokens[end].word in PREPOSITIONS or tokens[end].word in {"and", "or", ",", "'s"}
    ):
        end += 1
    own = [t for t in tokens[i + 1 : end] if t.word not in DETERMINERS]
    parts.append((role, "the", counted + own))
    parts.append(("of", article, owner))
    return end


def _bound_at(tokens: Sequence[Token], i: int) -> tuple[tuple[str, ...], str] | None:
    if tokens[i].word not in _BOUNDING:
        return None
    for words, bound in _BOUNDS:
        said = all(i + k < len(tokens) and tokens[i + k].word == w for k, w in enumerate(words))
        if said and _number_next(tokens, i + len(words) - 1):
            return words, bound
    return None


def _number_next(tokens: Sequence[Token], i: int) -> bool:
    for token in tokens[i + 1 : i + 3]:
        if number_of(token.word) is not None or scale_of(token.word):
            return True
        if token.word not in DETERMINERS | APPROXIMATE:
            return False
    return False


def _phrase(role: str, article: str, part: Sequence[Token]) -> Phrase | None:
    quantity, words, last = _quantity(part)
    if not words and quantity is None:
        return None
    article = article.removeprefix("+")
    if not words:
        return Phrase(role=role, head=last, article=article, quantity=quantity)
    head = words[-1]
    if words[0].name and all(word.name for word in words):
        head = words[0]
    extras = frozenset(word.stem for word in words if word is not head)
    return Phrase(
        role=role, head=head.stem, extras=extras, article=article, name=head.name, quantity=quantity
    )


def _quantity(part: Sequence[Token]) -> tuple[Quantity | None, list[Token], str]:
    """Return the number in a phrase, the words around it, and the number as a head."""
    words: list[Token] = []
    value: float | None = None
    partial, about, bound, unit, last = 0.0, False, "", "", ""
    for token in part:
        word = token.word
        number, scale = number_of(word), scale_of(word)
        if word.startswith("<"):
            bound = word.strip("<>")
        elif word in APPROXIMATE and (word != "some" or value is None):
            about = True
        elif number is not None:
            partial += number
            value, last = (value or 0.0), token.word
        elif scale is not None and not word.endswith("'"):
            partial, value, last = (partial or 1.0) * scale, value or 0.0, token.word
        elif value is not None and not unit and (unit_of(word) or is_coin(word)):
            unit = unit_of(word) or token.stem
            words += [] if unit_of(word) else [token]
        elif word in QUANTIFIERS and word not in {"several", "many", "few"}:
            continue
        else:
            words.append(token)
    if value is None:
        return None, words, ""
    total = value + partial
    low, high = _range(total, bound)
    unit = "" if unit and not unit_of(unit) else unit
    head = last if last.isdigit() else str(total)
    return Quantity(low=low, high=high, about=about, unit=unit), words, head


def _range(value: float, bound: str) -> tuple[float, float]:
    match bound:
        case "least":
            return value, inf
        case "more":
            return value + 1e-6, inf
        case "most":
            return -inf, value
        case "fewer":
            return -inf, value - 1e-6
        case _:
            return value, value

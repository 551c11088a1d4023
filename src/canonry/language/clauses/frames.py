"""Frames: what a clause says of whom, and the phrases that it is made of."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from typing import Final

from canonry.language.clauses.tokens import Quantity, Token, is_coin, number_of, scale_of, unit_of
from canonry.language.words.frame_words import (
    APPROXIMATE,
    AT_LEAST,
    AT_MOST,
    DETERMINERS,
    FEWER_THAN,
    INDEFINITE,
    MORE_THAN,
    PREPOSITIONS,
    QUANTIFIERS,
    REFLEXIVES,
)


class Standing(StrEnum):
    """How a clause is told: of the world, or as what somebody says or knows."""

    TOLD = "told"
    SAID = "said"
    KNOWN = "known"


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """A head with what stands before it, after a preposition or none; all are stems."""

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
    """All stems of these phrases."""
    return frozenset[str]().union(*(phrase.words for phrase in phrases))


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What one clause says; `sure` tells whether its verb is known or only the likeliest word."""

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
    """The phrases of a stretch of tokens in order; `X's Y` is read as `Y of X`."""
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
    """What is owned takes the owner's place, and the owner follows it; where to go on."""
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
    """The number in a phrase, the words around it, and the number as a head of its own."""
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

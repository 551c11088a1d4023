"""Attributes: what something has, and two values of it."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from canonry.canon.judging.comparing.findings import Clash, Setting, contradiction, possible
from canonry.canon.judging.comparing.frame_subjects import heads
from canonry.language.clauses.frames import Frame, Phrase, words_of
from canonry.language.clauses.tokens import lemma
from canonry.language.words.frame_words import ONE_VALUED

_ONE: Final = frozenset(map(lemma, ONE_VALUED))
_CALL: Final = frozenset(map(lemma, ("call", "name")))


class Attribute(NamedTuple):
    """What something has: which attribute, whose, its value, and how it is introduced."""

    name: str
    extras: frozenset[str]
    owner: frozenset[str]
    value: frozenset[str]
    article: str
    turned: bool


def attribute_differs(one: Frame, other: Frame, setting: Setting) -> Clash | None:
    """Two values of what something has one of."""
    if one.negative or other.negative or one.modal or other.modal or not setting.one_moment:
        return None
    if one.past != other.past or one.future != other.future:
        return None
    for mine in _attributes(one):
        for theirs in _attributes(other):
            if (mine.name, mine.extras, mine.owner) == (theirs.name, theirs.extras, theirs.owner):
                found = _values(mine, theirs, one, other)
                if found is not None:
                    return found
    return None


def _values(mine: Attribute, theirs: Attribute, one: Frame, other: Frame) -> Clash | None:
    if mine.value <= theirs.value or theirs.value <= mine.value:
        return None
    why = f"{mine.name} has two values"
    if one.exclusive or other.exclusive:
        return contradiction("a closed list leaves out what the other says")
    if "a" in {mine.article, theirs.article}:
        return possible(why) if mine.article != theirs.article and mine.turned else None
    several = bool(mine.value & theirs.value) and (one.group or other.group or len(mine.value) > 1)
    one_valued = mine.name in _ONE and not several
    if one_valued and not (mine.turned and theirs.turned):
        return contradiction(why)
    return possible(why, is_change=one_valued)


def _attributes(frame: Frame) -> Iterator[Attribute]:
    phrases = [p for p in frame.phrases if p.head not in _CALL]
    if frame.verb != "be" or not frame.subject or not phrases:
        return
    if len(phrases) < len(frame.phrases):
        owner, value = words_of(frame.subject), words_of(phrases)
        yield Attribute(lemma("name"), frozenset(), owner, value, "the", turned=False)
    yield from _told(frame, phrases)
    yield from _borne(frame, phrases)


def _told(frame: Frame, phrases: list[Phrase]) -> Iterator[Attribute]:
    """`The capital of X is Y`."""
    subject, rest = frame.subject[0], frame.subject[1:]
    if subject.quantity is not None or frame.quantifier or "one" in subject.extras:
        return
    if not rest or any(p.role not in {"", "of"} for p in rest):
        return
    if phrases[0].role or phrases[0].quantity is not None:
        return
    owner, value, article = words_of(rest), words_of(phrases), subject.article or "the"
    yield Attribute(subject.head, subject.extras, owner, value, article, turned=False)


def _borne(frame: Frame, phrases: list[Phrase]) -> Iterator[Attribute]:
    """`Y is the capital of X`."""
    held, *rest = phrases
    if held.role or held.name or frame.quantifier or not rest or rest[0].role != "of":
        return
    owner, article = words_of(rest), held.article or "the"
    yield Attribute(held.head, held.extras, owner, heads(frame), article, turned=True)

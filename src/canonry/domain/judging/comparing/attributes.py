"""Attributes: what something has one of, and two values of it."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from canonry.domain.frames.frames import Frame, Phrase
from canonry.domain.frames.senses import one_class, opposed
from canonry.domain.frames.tokens import lemma
from canonry.domain.judging.comparing.findings import Clash, Setting, contradiction, possible
from canonry.domain.judging.comparing.frame_subjects import heads
from canonry.domain.vocabularies.frame_words import ONE_VALUED, SEVERAL, SHADED

_ONE: Final = frozenset(map(lemma, ONE_VALUED))
_SHADED: Final = frozenset(map(lemma, SHADED))
_SEVERAL: Final = frozenset(map(lemma, SEVERAL))
_CALL: Final = frozenset(map(lemma, ("call", "name")))
_SINGLED: Final = frozenset(map(lemma, ("favourite", "best", "chief", "main", "only", "usual")))
_BODILY: Final = frozenset(map(lemma, ("eye", "hair", "skin")))
_FIXED: Final = frozenset(
    map(lemma, ("birthday", "birthplace", "birth", "mother", "father", "birth_date", "reign"))
)
"""What never changes, so that two values contradict each other at whatever time."""


class Attribute(NamedTuple):
    """What something has: which attribute, whose, its value, and how it is introduced."""

    name: str
    extras: frozenset[str]
    owner: frozenset[str]
    value: frozenset[str]
    article: str
    noun: bool
    turned: bool


def attribute_differs(one: Frame, other: Frame, setting: Setting) -> Clash | None:
    """Two values of what something has one of."""
    if one.negative or other.negative or one.modal or other.modal:
        return None
    for mine in _attributes(one):
        for theirs in _attributes(other):
            if (mine.name, mine.extras, mine.owner) == (theirs.name, theirs.extras, theirs.owner):
                found = _values(mine, theirs, one, other, setting)
                if found is not None:
                    return found
    return None


def value_denied(one: Frame, other: Frame, setting: Setting) -> Clash | None:
    """The value of an attribute that one frame gives and the other denies, said the other way."""
    if one.negative == other.negative or one.modal or other.modal or not setting.one_moment:
        return None
    for mine in _attributes(one):
        for theirs in _attributes(other):
            same = (mine.name, mine.extras, mine.owner) == (
                theirs.name,
                theirs.extras,
                theirs.owner,
            )
            if (
                same
                and mine.turned != theirs.turned
                and mine.value == theirs.value
                and (one.past == other.past)
            ):
                return contradiction("one says what the other denies")
    return None


def _values(  # noqa: C901, PLR0911 - one exclusion a line
    mine: Attribute, theirs: Attribute, one: Frame, other: Frame, setting: Setting
) -> Clash | None:
    if mine.value <= theirs.value or theirs.value <= mine.value:
        return None
    if not setting.one_moment and mine.name not in _FIXED:
        return None
    if (one.past != other.past or one.future != other.future) and mine.name not in _FIXED:
        return None
    why = f"{mine.name} has two values"
    if (one.exclusive or other.exclusive) and mine.name == theirs.name:
        return contradiction("a closed list leaves out what the other says")
    articles = {mine.article, theirs.article}
    if mine.turned and theirs.turned and mine.name not in _ONE:
        return possible(why) if "the" in articles and mine.name not in _SEVERAL - {""} else None
    if articles == {"a"}:
        return None
    if "a" in articles and mine.article != theirs.article and mine.turned and theirs.turned:
        return possible(why)
    if "a" in articles:
        return None
    if mine.value & theirs.value and (one.group or other.group or len(mine.value) > 1):
        return possible(why)
    if mine.name in _ONE:
        return contradiction(why)
    classed = any(one_class(a, b) or opposed(a, b) for a in mine.value for b in theirs.value)
    noun = (mine.noun and theirs.noun) or mine.name in _SHADED or bool(mine.extras & _SINGLED)
    return possible(why) if classed or noun else None


def _attributes(frame: Frame) -> Iterator[Attribute]:
    phrases = [p for p in frame.phrases if p.head not in _CALL]
    if frame.verb == "be" and frame.subject and phrases and len(phrases) < len(frame.phrases):
        owner = frozenset[str]().union(*(p.words for p in frame.subject))
        value = frozenset[str]().union(*(p.words for p in phrases))
        yield Attribute(lemma("name"), frozenset(), owner, value, "the", noun=True, turned=False)
    if frame.verb == "be" and frame.subject and phrases:
        yield from _told(frame, phrases)
    if frame.verb == "be" and frame.subject and phrases:
        yield from _borne(frame, phrases)
    if frame.verb == "have" and frame.subject and len(phrases) == 1 and phrases[0].extras:
        held = phrases[0]
        if held.quantity is None and held.head in _BODILY:
            owner = frozenset[str]().union(*(p.words for p in frame.subject))
            yield Attribute(
                held.head, frozenset(), owner, held.extras, "the", noun=True, turned=False
            )


def _told(frame: Frame, phrases: list[Phrase]) -> Iterator[Attribute]:
    """`The capital of X is Y`."""
    subject, rest = frame.subject[0], frame.subject[1:]
    if subject.quantity is not None or frame.quantifier or "one" in subject.extras:
        return
    if not rest or any(p.role != "of" and p.role for p in rest):
        return
    owner = frozenset[str]().union(*(p.words for p in rest))
    value = frozenset[str]().union(*(p.words for p in phrases))
    noun = bool(phrases[0].article) or phrases[0].name
    plain = not phrases[0].role and phrases[0].quantity is None
    if plain:
        yield Attribute(
            subject.head,
            subject.extras,
            owner,
            value,
            subject.article or "the",
            noun=noun,
            turned=False,
        )


def _borne(frame: Frame, phrases: list[Phrase]) -> Iterator[Attribute]:
    """`Y is the capital of X`."""
    if len(phrases) < len("of") or phrases[0].role or phrases[1].role != "of":
        return
    owner = frozenset[str]().union(*(p.words for p in phrases[1:]))
    value = heads(frame)
    article = phrases[0].article or "the"
    if frame.quantifier or phrases[0].name:
        return
    yield Attribute(
        phrases[0].head, phrases[0].extras, owner, value, article, noun=True, turned=True
    )

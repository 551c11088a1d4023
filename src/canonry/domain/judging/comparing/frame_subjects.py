"""Subjects: whether two frames speak of the same, by words and by the entities linked."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from canonry.domain.frames.frames import Frame, Phrase
from canonry.domain.frames.tokens import lemma
from canonry.domain.judging.comparing.findings import Setting
from canonry.domain.vocabularies.frame_words import PRONOUNS


class Subjects(StrEnum):
    """How the subjects of two frames stand to each other."""

    SAME = "same"
    UNCLEAR = "unclear"
    OTHER = "other"


_PRONOUNS: Final = frozenset(map(lemma, PRONOUNS))


def subjects_of(one: Frame, other: Frame, setting: Setting) -> Subjects:
    """Whether both frames speak of the same subject."""
    named = _named(one, other)
    if named is Subjects.SAME:
        return _linked(one, other, setting)
    if named is Subjects.OTHER or not one.subject or not other.subject:
        return Subjects.OTHER
    return _alias(one, other, setting)


def heads(frame: Frame) -> frozenset[str]:
    """The heads of the subject: one, or those of all that are named together."""
    return frozenset(phrase.head for phrase in _members(frame))


def _members(frame: Frame) -> Sequence[Phrase]:
    if not frame.group:
        return frame.subject[:1]
    return [phrase for phrase in frame.subject if not phrase.role]


def _named(one: Frame, other: Frame) -> Subjects:
    """By the words alone; unclear where the words are others."""
    if not one.subject or not other.subject:
        return Subjects.SAME if one.passive != other.passive else Subjects.UNCLEAR
    mine, theirs = heads(one), heads(other)
    if (mine | theirs) & _PRONOUNS and not (one.group or other.group):
        return Subjects.SAME
    if one.group or other.group:
        together = "together" in one.marks | other.marks
        if mine == theirs:
            return Subjects.SAME
        part = mine < theirs or theirs < mine or _in_names(one, other) or _in_names(other, one)
        return Subjects.OTHER if together or not part else Subjects.SAME
    first, second = one.subject[0], other.subject[0]
    if first.head != second.head:
        return Subjects.UNCLEAR
    return _modified(one.subject, other.subject)


def _rest(frame: Frame) -> frozenset[str]:
    """The words that modify the subject, such as its owner."""
    return frozenset[str]().union(*(p.words for p in frame.subject[1:]))


def _in_names(group: Frame, single: Frame) -> bool:
    if not group.group or single.group:
        return False
    words = frozenset[str]().union(*(p.words for p in _members(group) if not p.role))
    return bool(single.subject) and single.subject[0].head in words


def _modified(one: Sequence[Phrase], other: Sequence[Phrase]) -> Subjects:
    mine = frozenset[str]().union(one[0].extras, *(p.words for p in one[1:]))
    theirs = frozenset[str]().union(other[0].extras, *(p.words for p in other[1:]))
    if mine == theirs:
        return Subjects.SAME
    if mine <= theirs or theirs <= mine:
        owned = one[0].article == "the" and other[0].article == "the"
        named = one[0].name or other[0].name
        return Subjects.SAME if owned or named else Subjects.OTHER
    return (
        Subjects.SAME
        if one[0].name
        and other[0].name
        and not mine & theirs
        and (not (one[0].extras or other[0].extras))
        else Subjects.OTHER
    )


def _linked(one: Frame, other: Frame, setting: Setting) -> Subjects:
    """By the entities, where the words are the same."""
    mine, theirs = setting.standing, setting.claimed
    if mine and theirs:
        return Subjects.SAME if mine <= theirs or theirs <= mine else Subjects.OTHER
    named = any(phrase.name for phrase in (*one.subject[:1], *other.subject[:1]))
    if (mine or theirs) and named:
        return Subjects.UNCLEAR
    return Subjects.SAME


def _alias(one: Frame, other: Frame, setting: Setting) -> Subjects:
    """Other words for one subject: both are linked alike, or one is not linked at all."""
    mine, theirs = one.subject[0], other.subject[0]
    if mine.words & theirs.words or one.group or other.group:
        return Subjects.OTHER
    if mine.head in other.words or theirs.head in one.words:
        return Subjects.OTHER
    if _rest(one) & _rest(other) and not (mine.name or theirs.name):
        return Subjects.OTHER
    owned = any(p.role == "of" for p in (*one.subject[1:], *other.subject[1:]))
    if setting.standing and setting.standing == setting.claimed:
        return Subjects.SAME if not owned or len(setting.standing) == 1 else Subjects.OTHER
    linked = setting.standing if setting.claimed == frozenset() else setting.claimed
    unlinked = one if not setting.standing else other
    loose = bool(linked) and not (setting.standing and setting.claimed)
    if loose and unlinked.subject[0].article == "the":
        return Subjects.UNCLEAR
    return Subjects.OTHER

"""Subjects: whether two frames speak of the same, by words and by the entities linked."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from canonry.canon.judging.comparing.findings import Setting
from canonry.language.clauses.frames import Frame, Phrase, words_of
from canonry.language.clauses.tokens import lemma
from canonry.language.words.frame_words import PRONOUNS


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


def is_shorter(one: Phrase, other: Phrase) -> bool:
    """Whether one is the other's name or a part of it, as a first name is."""
    return one.name and other.name and one.words <= other.words


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
        part = mine < theirs or theirs < mine
        return Subjects.OTHER if together or not part else Subjects.SAME
    first, second = one.subject[0], other.subject[0]
    if first.head != second.head:
        return Subjects.UNCLEAR
    return _modified(one.subject, other.subject)


def _modified(one: Sequence[Phrase], other: Sequence[Phrase]) -> Subjects:
    named = one[0].name or other[0].name
    mine, theirs = one[0].extras | words_of(one[1:]), other[0].extras | words_of(other[1:])
    return Subjects.SAME if named or mine == theirs else Subjects.OTHER


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
    """Other words for one subject, where both are linked alike."""
    if not setting.standing or setting.standing != setting.claimed or one.group or other.group:
        return Subjects.OTHER
    mine, theirs = one.subject[0], other.subject[0]
    if is_shorter(mine, theirs) or is_shorter(theirs, mine):
        return Subjects.SAME if len(one.subject) == len(other.subject) == 1 else Subjects.OTHER
    if mine.words & theirs.words or mine.head in other.words or theirs.head in one.words:
        return Subjects.OTHER
    owned = any(p.role == "of" for p in (*one.subject[1:], *other.subject[1:]))
    return Subjects.SAME if not owned or len(setting.standing) == 1 else Subjects.OTHER

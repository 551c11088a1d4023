"""Results of comparing two statements: conflicts, subjects and similarity."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

from canonry.language.clauses.frames import Frame, Phrase, lemma, words_of
from canonry.language.clauses.keys import Gist
from canonry.language.words.frame_words import PRONOUNS
from canonry.log.items.proposals import Grade


class When(StrEnum):
    """The time of the claim relative to the standing statement."""

    ONE = "one"
    LATER = "later"
    EARLIER = "earlier"


@dataclass(frozen=True, slots=True)
class Clash:
    """A conflict with its reason in words.

    `is_change`: a subject mostly has one such value at a time. At one moment, two values need a
    review; at two times, the later value supersedes the earlier.
    """

    grade: Grade
    reason: str
    is_change: bool = False

    @property
    def ends_the_earlier(self) -> bool:
        """Tell whether the later of two statements at different times ends the earlier."""
        return self.is_change or self.grade is Grade.CONTRADICTION

    def graver_than(self, other: "Clash") -> bool:
        """Tell whether this conflict is more serious."""
        if self.grade is not other.grade:
            return self.grade is Grade.CONTRADICTION
        return self.is_change and not other.is_change

    def only_possible(self) -> "Clash":
        """Return the same conflict, downgraded to possible."""
        return Clash(Grade.POSSIBLE, self.reason)


class Setting(NamedTuple):
    """The context of a comparison: the order in time, and the entities of both statements.

    It is a tuple like `Stated`, because one is made for each pair and tuples are the cheapest.
    """

    when: When
    standing: frozenset[str]
    claimed: frozenset[str]

    @property
    def one_moment(self) -> bool:
        """Tell whether both are about one moment, as far as is known."""
        return self.when is When.ONE


def contradiction(reason: str) -> Clash:
    """Return a conflict of words that exclude each other."""
    return Clash(Grade.CONTRADICTION, reason)


def possible(reason: str, *, is_change: bool = False) -> Clash:
    """Return a conflict that needs a review."""
    return Clash(Grade.POSSIBLE, reason, is_change)


Rule: TypeAlias = Callable[[Frame, Frame, Setting], Clash | None]
"""Compares two frames: that of the standing statement, and that of the claim."""


class Subjects(StrEnum):
    """The relation between the subjects of two frames."""

    SAME = "same"
    UNCLEAR = "unclear"
    OTHER = "other"


_PRONOUNS: Final = frozenset(map(lemma, PRONOUNS))


def subjects_of(one: Frame, other: Frame, setting: Setting) -> Subjects:
    """Compare the subjects of two frames."""
    named = _named(one, other)
    if named is Subjects.SAME:
        return _linked(one, other, setting)
    if named is Subjects.OTHER or not one.subject or not other.subject:
        return Subjects.OTHER
    return _alias(one, other, setting)


def is_shorter(one: Phrase, other: Phrase) -> bool:
    """Tell whether `one` is a short form of the name `other`, such as a first name."""
    return one.name and other.name and one.words <= other.words


def heads(frame: Frame) -> frozenset[str]:
    """Return the heads of the subject: one, or several for a list."""
    return frozenset(phrase.head for phrase in _members(frame))


def _members(frame: Frame) -> Sequence[Phrase]:
    if not frame.group:
        return frame.subject[:1]
    return [phrase for phrase in frame.subject if not phrase.role]


def _named(one: Frame, other: Frame) -> Subjects:
    """Compare by the words alone; different words are unclear."""
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
    """Compare by the linked entities if the words are equal."""
    mine, theirs = setting.standing, setting.claimed
    if mine and theirs:
        return Subjects.SAME if mine <= theirs or theirs <= mine else Subjects.OTHER
    named = any(phrase.name for phrase in (*one.subject[:1], *other.subject[:1]))
    if (mine or theirs) and named:
        return Subjects.UNCLEAR
    return Subjects.SAME


def _alias(one: Frame, other: Frame, setting: Setting) -> Subjects:
    """Tell whether different words name one subject, by equal links of both."""
    if not setting.standing or setting.standing != setting.claimed or one.group or other.group:
        return Subjects.OTHER
    mine, theirs = one.subject[0], other.subject[0]
    if is_shorter(mine, theirs) or is_shorter(theirs, mine):
        return Subjects.SAME if len(one.subject) == len(other.subject) == 1 else Subjects.OTHER
    if mine.words & theirs.words or mine.head in other.words or theirs.head in one.words:
        return Subjects.OTHER
    owned = any(p.role == "of" for p in (*one.subject[1:], *other.subject[1:]))
    return Subjects.SAME if not owned or len(setting.standing) == 1 else Subjects.OTHER


# Similarity: two statements on the same subject that differ, compared by their words alone.
#
# Rules cover the patterns that they can parse; this offers the others for review.

_WIDE: Final = 4
"""Below this number of different words on both sides, the parsed frames are trusted."""
_BEGUN: Final = 3
"""The least number of letters that a word shares with a derived one."""
_LIKE: Final = 0.5
"""The least share of common words for languages without frames."""


def likeness(
    held: Gist, said: Gist, setting: Setting, *called: Callable[[], frozenset[str]]
) -> Clash | None:
    """Return a possible conflict of two statements about one moment without a matching rule.

    `called` are the words that name the entities; sharing them only shows a common subject.
    """
    mine, theirs = held.everything, said.everything
    if mine == theirs and held.negative == said.negative:
        return None
    if not (held.told and said.told) or not _about(held, said, setting):
        return None
    if held.framed and said.framed:
        closer = (mine <= theirs or theirs <= mine) and held.negative == said.negative
        if closer or not _one_time(held, said):
            return None
        why = _reason(held, said, frozenset().union(*[each() for each in called]))
        return None if why is None else possible(why)
    like = len(mine & theirs) >= _LIKE * len(mine | theirs)
    return possible("they share most of their words but differ") if like else None


def _one_time(held: Gist, said: Gist) -> bool:
    return not held.when or not said.when or held.when == said.when


def _about(held: Gist, said: Gist, setting: Setting) -> bool:
    if setting.standing and setting.claimed:
        return not setting.standing.isdisjoint(setting.claimed)
    return not held.everything.isdisjoint(said.everything)


def _reason(held: Gist, said: Gist, called: frozenset[str]) -> str | None:
    shared = (held.words & said.words) - called
    beyond = shared - (held.subject & said.subject)
    if beyond and len(held.everything | said.everything) >= _WIDE:
        return f"both are about {said.forms[min(beyond)]} but differ"
    if shared and (held.closing or said.closing):
        return "one allows nothing else on their common subject"
    mine, theirs = held.words - said.words - called, said.words - held.words - called
    for one in sorted(mine):
        for other in sorted(theirs):
            if _go_together(one, other, held, said):
                return f"{held.forms[one]} and {said.forms[other]} may exclude each other"
    return None


def _go_together(one: str, other: str, held: Gist, said: Gist) -> bool:
    """Tell whether two words share a topic, or one begins with the other."""
    mine, theirs = held.topics.get(one), said.topics.get(other)
    if mine is not None and theirs is not None and not mine.isdisjoint(theirs):
        return True
    return min(len(one), len(other)) >= _BEGUN and (one.startswith(other) or other.startswith(one))

"""Findings: what two statements say against each other, of which subjects, how alike they are."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

from canonry.language.clauses.frames import Frame, Phrase, lemma, words_of
from canonry.language.clauses.keys import Gist
from canonry.language.words.frame_words import PRONOUNS
from canonry.log.items.proposals import Grade


class When(StrEnum):
    """When the claim holds beside what stands."""

    ONE = "one"
    LATER = "later"
    EARLIER = "earlier"


@dataclass(frozen=True, slots=True)
class Clash:
    """A conflict and why it is one, in words.

    `is_change` where it is of what there mostly is one of at a time: said of one moment somebody
    should look, and said of two the later ends the earlier.
    """

    grade: Grade
    reason: str
    is_change: bool = False

    @property
    def ends_the_earlier(self) -> bool:
        """Whether of two that are said of two times the later ends the earlier."""
        return self.is_change or self.grade is Grade.CONTRADICTION

    def graver_than(self, other: "Clash") -> bool:
        """Whether this one outweighs the other."""
        if self.grade is not other.grade:
            return self.grade is Grade.CONTRADICTION
        return self.is_change and not other.is_change

    def only_possible(self) -> "Clash":
        """The same, as something to ask about."""
        return Clash(Grade.POSSIBLE, self.reason)


class Setting(NamedTuple):
    """What is known beside the words: the order in time, and the entities of both sides.

    As `Stated` it is made for each pair that is compared, which a tuple is cheapest for.
    """

    when: When
    standing: frozenset[str]
    claimed: frozenset[str]

    @property
    def one_moment(self) -> bool:
        """Whether both speak of one moment, as far as is known."""
        return self.when is When.ONE


def contradiction(reason: str) -> Clash:
    """A finding that the words exclude each other."""
    return Clash(Grade.CONTRADICTION, reason)


def possible(reason: str, *, is_change: bool = False) -> Clash:
    """A finding that somebody should look."""
    return Clash(Grade.POSSIBLE, reason, is_change)


Rule: TypeAlias = Callable[[Frame, Frame, Setting], Clash | None]
"""What compares two frames: that of what stands, and that of what is claimed."""


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


# Likenesses: two statements that speak of the same and do not say the same, by their words alone.
#
# The rules know what they have read; this offers for review what they have not.

_WIDE: Final = 4
"""Different words of both sides, below which frames are read well enough to be trusted."""
_BEGUN: Final = 3
"""Letters that a word and one derived of it share at least."""
_LIKE: Final = 0.5
"""How much of their words two statements share whose language no frames are read of."""


def likeness(
    held: Gist, said: Gist, setting: Setting, *called: Callable[[], frozenset[str]]
) -> Clash | None:
    """Whether somebody should look at the two of one moment, though no rule says why.

    `called` tell by which words the entities are called: who shares them speaks only of the same.
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
    """Whether two words are of one topic, or one is the beginning of the other."""
    mine, theirs = held.topics.get(one), said.topics.get(other)
    if mine is not None and theirs is not None and not mine.isdisjoint(theirs):
        return True
    return min(len(one), len(other)) >= _BEGUN and (one.startswith(other) or other.startswith(one))

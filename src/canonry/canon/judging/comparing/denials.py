"""Denials: the same frame with the opposite polarity, as far as scope and number allow."""

from collections.abc import Sequence
from typing import Final

from canonry.canon.judging.comparing.findings import Clash, Setting, When, contradiction, possible
from canonry.canon.judging.comparing.frame_subjects import Subjects, subjects_of
from canonry.language.clauses.frames import Frame, Phrase
from canonry.language.clauses.quantities import Measured, compared
from canonry.language.clauses.tokens import lemma
from canonry.language.words.frame_words import FORMER, SCOPES

_FORMER: Final = frozenset(map(lemma, FORMER))
_EMPTY_VERBS: Final = frozenset({"be", "have"})
_SAYS: Final = "one says what the other denies"


def denied(one: Frame, other: Frame, setting: Setting) -> Clash | None:
    """What one frame says and the other of the same verb denies."""
    if one.negative == other.negative:
        return None
    said, denial = (other, one) if one.negative else (one, other)
    if said.condition != denial.condition:
        return None
    if not covers(said.phrases, denial):
        return None
    subject = _subject(said, denial, one, other, setting)
    if subject is Subjects.OTHER:
        return None
    if not setting.one_moment or not _same_time(said, denial):
        return _again(said, denial, setting, one)
    return _graded(said, denial, subject)


def _graded(said: Frame, denial: Frame, subject: Subjects) -> Clash | None:
    if (said.marks ^ denial.marks) & SCOPES & denial.marks or said.words & _FORMER:
        return None
    tense, number = _tenses(said, denial), _numbers_alike(said, denial)
    modal = _modals(said.modal, denial.modal)
    if not tense or modal is None:
        return None
    if not (modal and number) or denial.hedged or subject is Subjects.UNCLEAR:
        return possible("one may deny what the other says")
    return contradiction(_SAYS)


def covers(said: Sequence[Phrase], denial: Frame) -> bool:
    """Whether what is said entails all that is denied: it may say more, and never less."""
    wanted = denial.phrases
    if not wanted:
        return denial.verb not in _EMPTY_VERBS or not said
    if not said or (denial.verb in _EMPTY_VERBS and not _match(said[0], wanted[0])):
        return False
    return all(any(_match(phrase, one) for phrase in said) for one in wanted)


def _match(said: Phrase, denied_one: Phrase) -> bool:
    if said.head != denied_one.head or said.role != denied_one.role:
        return False
    if not denied_one.extras <= said.extras or said.extras & _FORMER:
        return False
    if denied_one.quantity is None:
        return True
    return said.quantity is not None and (
        compared(said.quantity, denied_one.quantity) is Measured.SAME
    )


def _subject(said: Frame, denial: Frame, one: Frame, other: Frame, setting: Setting) -> Subjects:
    if denial.quantifier == "none" and (denial.person or not denial.subject):
        return Subjects.SAME
    if said.quantifier == "all" and said.person:
        return Subjects.UNCLEAR
    return subjects_of(one, other, setting)


def _same_time(said: Frame, denial: Frame) -> bool:
    if denial.when:
        return said.when == denial.when
    return True


def _again(said: Frame, denial: Frame, setting: Setting, one: Frame) -> Clash | None:
    """What is told as holding after it was said to have ended."""
    first = When.LATER if denial is one else When.EARLIER
    again = denial.ends and setting.when is first and not said.past and said.when == denial.when
    return possible("what had ended is told again as holding") if again else None


def _modals(said: str, denial: str) -> bool | None:
    """Whether what can, may or must be is what is denied; None where both can be so."""
    if denial == "can" and not said:
        return False
    alike = (said == denial and said != "might") or (said == "may" and denial == "must")
    return alike or None


def _tenses(said: Frame, denial: Frame) -> bool:
    past = (said.past or said.perfect) == (denial.past or denial.perfect)
    return past and said.future == denial.future


def _numbers_alike(said: Frame, denial: Frame) -> bool:
    """Whether what is said of so many is denied of one of them at least."""
    mine, theirs = said.quantifier, denial.quantifier
    if theirs == "none" or (mine == "all" and theirs != "all") or (theirs == "all" and not mine):
        return True
    return mine == theirs and theirs not in {"all", "some", "few"}

"""Denials: the same frame with the opposite polarity, as far as scope and number allow."""

from collections.abc import Sequence
from typing import Final

from canonry.domain.frames.frames import Frame, Phrase
from canonry.domain.frames.quantities import Measured, compared
from canonry.domain.frames.tokens import lemma
from canonry.domain.judging.comparing.findings import Clash, Setting, When, contradiction, possible
from canonry.domain.judging.comparing.frame_subjects import Subjects, subjects_of
from canonry.domain.vocabularies.frame_words import FORMER, SCOPES

_FORMER: Final = frozenset(map(lemma, FORMER))
_NEARLY: Final = frozenset(map(lemma, ("almost", "nearly", "half")))
_EMPTY_VERBS: Final = frozenset({"be", "have"})
_STATES: Final = _EMPTY_VERBS
_SAYS: Final = "one says what the other denies"


def denied(one: Frame, other: Frame, setting: Setting) -> Clash | None:
    """What one frame says and the other denies."""
    if one.negative == other.negative:
        return None
    said, denial = (other, one) if one.negative else (one, other)
    if said.verb != denial.verb or not _same_condition(said, denial):
        return _under_condition(said, denial, setting)
    subject = _subject(said, denial, one, other, setting)
    if subject is Subjects.OTHER or not covers(said.phrases, denial):
        return None
    if not setting.one_moment or not _same_time(said, denial):
        return _never(said, denial, setting, one)
    return _graded(said, denial, subject)


def _graded(said: Frame, denial: Frame, subject: Subjects) -> Clash | None:
    if (said.marks ^ denial.marks) & SCOPES & denial.marks or said.words & _NEARLY:
        return None
    modal = _modals(said.modal, denial.modal)
    tense = _tenses(said, denial)
    number = _quantifiers(said, denial)
    if modal == "unclear":
        tense = modal
    worst = [each for each in (modal, tense, number) if each != "same"]
    if "other" in worst:
        return None
    if worst or denial.hedged or subject is Subjects.UNCLEAR:
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


def _same_condition(said: Frame, denial: Frame) -> bool:
    return said.condition == denial.condition


def _under_condition(said: Frame, denial: Frame, setting: Setting) -> Clash | None:
    if said.verb != denial.verb or bool(said.condition) == bool(denial.condition):
        return None
    ruled, case = (said, denial) if said.condition else (denial, said)
    if "always" not in ruled.marks | ruled.condition and not ruled.condition & case.condition:
        return None
    same = subjects_of(said, denial, setting) is Subjects.SAME
    return possible("one may be an exception to what the other says always") if same else None


def _same_time(said: Frame, denial: Frame) -> bool:
    if denial.when:
        return said.when == denial.when
    return True


def _never(said: Frame, denial: Frame, setting: Setting, one: Frame) -> Clash | None:
    if setting.one_moment or said.when != denial.when:
        return None
    first = When.LATER if denial is one else When.EARLIER
    if denial.ends and setting.when is first and not said.past:
        return possible("what had ended is told again as holding")
    if not (said.past and denial.past) or said.verb in _STATES or not denial.never:
        return None
    return possible("one says that what the other tells never happened")


def _modals(said: str, denial: str) -> str:
    if said == denial:
        return "other" if said == "might" else "same"
    if denial == "can" and not said:
        return "unclear"
    if said == "may" and denial == "must":
        return "same"
    if said in {"can", "must"} and not denial:
        return "other"
    return "other"


def _tenses(said: Frame, denial: Frame) -> str:
    if said.future != denial.future:
        return "other"
    mine, theirs = said.past or said.perfect, denial.past or denial.perfect
    if mine == theirs:
        return "same"
    if mine and not theirs:
        return "other"
    return "unclear" if denial.never else "other"


def _quantifiers(said: Frame, denial: Frame) -> str:  # noqa: PLR0911 # a table, row by row
    mine, theirs = said.quantifier, denial.quantifier
    counted = any(p.quantity for p in denial.subject[:1])
    if theirs == "none":
        return "same"
    if mine == "all":
        if said.person:
            return "same" if theirs == "notall" or denial.person else "unclear"
        return "unclear" if theirs == "all" else "same"
    if theirs == "notall":
        return "other"
    if theirs == "all":
        return "unclear" if mine else "same"
    if mine in {"some", "few"} or theirs == "some":
        return "other" if mine or counted or theirs else "unclear"
    if mine != theirs or (counted and mine):
        return "other"
    return "same"

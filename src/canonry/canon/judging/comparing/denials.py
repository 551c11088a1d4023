"""Denials, changes and attributes: what a statement says that another does not allow."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from canonry.canon.judging.comparing.findings import (
    Clash,
    Setting,
    Subjects,
    When,
    contradiction,
    heads,
    possible,
    subjects_of,
)
from canonry.language.clauses.frames import Frame, Phrase, words_of
from canonry.language.clauses.tokens import Measured, compared, lemma
from canonry.language.words.frame_words import (
    DEPOSED,
    ENDED,
    ENDING_VERBS,
    FORMER,
    OFFICES,
    ONE_VALUED,
    RULING,
    SCOPES,
)

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


_ENDING: Final = frozenset(map(lemma, ENDING_VERBS))
_ENDED: Final = frozenset(map(lemma, ENDED))
_OFFICES: Final = frozenset(map(lemma, OFFICES))
_RULING: Final = frozenset(map(lemma, RULING))
_DEPOSED: Final = frozenset(map(lemma, DEPOSED))


def ends(held: Frame, said: Frame) -> bool:
    """Whether what is said ends what was held."""
    if held.negative or (said.negative and not said.ends):
        return False
    if said.ends:
        return held.verb == said.verb and covers(held.phrases, said)
    return _ending(said) is not None and _touches(said, held) is not None


def tells_an_end(frame: Frame) -> bool:
    """Whether the frame says that something is over."""
    return frame.ends or (not frame.negative and _ending(frame) is not None)


def ended(one: Frame, other: Frame, setting: Setting) -> Clash | None:  # noqa: PLR0911 - one exclusion a line
    """What one frame says has ended, and the other says holds."""
    if one.negative or other.negative:
        return None
    if _ending(one) is not None:
        over, holding, later = one, other, setting.when is When.LATER
    elif _ending(other) is not None:
        over, holding, later = other, one, setting.when is When.EARLIER
    else:
        return None
    exact = _touches(over, holding)
    if exact is None or holding.past or holding.modal or holding.perfect:
        return None
    if subjects_of(one, other, setting) is Subjects.OTHER and not _same_head(one, other):
        return None
    if setting.one_moment:
        if exact:
            return contradiction("one says that what the other tells has ended")
        return possible("one may have ended what the other tells")
    return possible("what had ended is told again as holding") if later else None


def _same_head(one: Frame, other: Frame) -> bool:
    return bool(one.subject and other.subject) and one.subject[0].head == other.subject[0].head


def _ending(frame: Frame) -> str | None:
    """The word by which the frame ends something."""
    if frame.modal or frame.future:
        return None
    if frame.verb in _ENDING:
        return frame.verb
    if frame.verb == "be" and frame.phrases and frame.phrases[0].head in _ENDED:
        return frame.phrases[0].head
    if frame.verb == "break" and any(p.role == "with" for p in frame.phrases):
        return frame.verb
    return None


def _touches(over: Frame, holding: Frame) -> bool | None:
    """Whether what ended is what holds, word by word or by what the ending means; None if not."""
    word = _ending(over)
    if holding is over or _ending(holding) is not None:
        return None
    told, content = words_of(over.phrases) - {word, "be"}, words_of(holding.phrases)
    if holding.verb not in {"be", "have"}:
        content |= {holding.verb}
    if content and content <= told:
        return True
    if content & told:
        return False
    if word in _DEPOSED and (content & _OFFICES or holding.verb in _RULING):
        return False
    return None


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

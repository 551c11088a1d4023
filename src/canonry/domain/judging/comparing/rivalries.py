"""Rivalries: the same frame with another value, number, place, doer or opposite."""

from typing import Final

from canonry.domain.frames.frames import Frame, Phrase
from canonry.domain.frames.quantities import Measured, compared
from canonry.domain.frames.senses import one_class, opposed
from canonry.domain.frames.tokens import lemma
from canonry.domain.judging.comparing.findings import Clash, Rule, Setting, contradiction, possible
from canonry.domain.judging.comparing.frame_subjects import Subjects, heads, subjects_of
from canonry.domain.vocabularies.frame_words import (
    ASYMMETRIC,
    CALENDAR,
    DONE_ONCE,
    HOLDING,
    ONCE_BEGUN,
    PLACES_OF,
    PLACING,
)
from canonry.domain.vocabularies.state_tags import EXCLUSIVE_GROUPS


def _stems(words: frozenset[str]) -> frozenset[str]:
    return frozenset(map(lemma, words))


_DONE: Final = _stems(DONE_ONCE)
_HOLD: Final = _stems(HOLDING)
_PLACE: Final = _stems(PLACING)
_ASYMMETRIC: Final = _stems(ASYMMETRIC)
_BEGUN: Final = _stems(ONCE_BEGUN)
_DATES: Final = _stems(CALENDAR)
_BORN, _DIE = lemma("born"), lemma("die")
_EXCLUSIVE: Final = frozenset(
    frozenset((lemma(a), lemma(b)))
    for group in EXCLUSIVE_GROUPS
    for a in group
    for b in group
    if a != b
)


def is_exclusive(one: str, other: str) -> bool:
    """Whether two stems are of states that exclude each other."""
    return frozenset((one, other)) in _EXCLUSIVE


def number_differs(one: Frame, other: Frame, setting: Setting) -> Clash | None:
    """The same frame with another number or measure."""
    if one.negative or other.negative or one.verb != other.verb or one.modal != other.modal:
        return None
    if not setting.one_moment or (one.when and other.when and one.when != other.when):
        return None
    mine, theirs = (*one.subject, *one.phrases), (*other.subject, *other.phrases)
    if len(mine) != len(theirs) or one.past != other.past:
        return None
    found: Clash | None = None
    for first, second in zip(mine, theirs, strict=True):
        numbers = _numbers(first, second)
        if numbers is None:
            return None
        found = found or (numbers if isinstance(numbers, Clash) else None)
    if found is None or subjects_of(one, other, setting) is not Subjects.SAME:
        return None
    return found


def _numbers(one: Phrase, other: Phrase) -> Clash | bool | None:  # noqa: PLR0911 - one exclusion a line
    """True where the phrases are the same, a finding where only the number differs, else None."""
    if one.role != other.role:
        return None
    vague = frozenset(map(lemma, ("several", "many", "few")))
    if one.quantity is None and other.quantity is None:
        return True if one.head == other.head and one.extras == other.extras else None
    if one.quantity is None or other.quantity is None:
        told = (one.extras | other.extras) & vague
        if one.head == other.head and one.extras - vague == other.extras - vague and told:
            return possible("one gives a number where the other is vague")
        return None
    number = one.head[:1].isdigit() and other.head[:1].isdigit()
    if not number and (one.head != other.head or one.extras != other.extras):
        coins = one.quantity.unit == other.quantity.unit == ""
        if coins and one_class(one.head, other.head):
            return possible("the units cannot be converted without a rate")
        return None
    match compared(one.quantity, other.quantity):
        case Measured.SAME:
            return True
        case Measured.UNCLEAR:
            return possible("the numbers are near each other, or not exact")
        case Measured.OTHER:
            return contradiction("the numbers differ")


def opposite(one: Frame, other: Frame, setting: Setting) -> Clash | None:  # noqa: PLR0911 - one exclusion a line
    """The same subject with opposite words, or with two words of which one is said."""
    if one.negative or other.negative or not setting.one_moment or one.modal != other.modal:
        return None
    if one.when and other.when and one.when != other.when:
        return None
    if one.future != other.future or one.condition != other.condition:
        return None
    pair = _opposed_pair(one, other)
    if pair is None:
        return None
    subject = subjects_of(one, other, setting)
    if subject is Subjects.OTHER:
        return None
    if one.past != other.past and not is_exclusive(*pair):
        return None
    sure = is_exclusive(*pair) and one.past == other.past and subject is Subjects.SAME
    if sure and _rest(one, pair[0]) == _rest(other, pair[1]):
        return contradiction("the states exclude each other")
    return possible("the words are opposites")


def _rest(frame: Frame, word: str) -> frozenset[str]:
    return frozenset[str]().union(*(p.words for p in frame.phrases)) - {word}


def _opposed_pair(one: Frame, other: Frame) -> tuple[str, str] | None:  # noqa: C901 - one exclusion a line
    mine, theirs = _salient(one), _salient(other)
    for first in mine:
        for second in theirs:
            if first != second and (is_exclusive(first, second) or opposed(first, second)):
                if first == one.verb and second == other.verb and not _shared(one, other):
                    continue
                return first, second
    for a in one.phrases:
        for b in other.phrases:
            if one.verb == other.verb and a.role == b.role:
                if one_class(a.head, b.head) and (one.verb in _PLACE or a.role == "of"):
                    return a.head, b.head
                pairs = ((x, y) for x in a.extras for y in b.extras if a.head == b.head)
                if a.article != "the" or b.article != "the" or one.verb == "have":
                    for x, y in pairs:
                        if (
                            x not in b.extras
                            and y not in a.extras
                            and (one_class(x, y) or opposed(x, y))
                        ):
                            return x, y
    return None


def _salient(frame: Frame) -> list[str]:
    found = [frame.verb] if frame.verb not in {"be", "have"} else []
    if frame.verb == "be":
        found += [p.head for p in frame.phrases[:1]]
    return found


def _shared(one: Frame, other: Frame) -> bool:
    """Whether two verbs have an object in common, or none at all."""
    if not one.phrases and not other.phrases:
        return True
    mine = frozenset[str]().union(*(p.words for p in one.phrases))
    return bool(mine & frozenset[str]().union(*(p.words for p in other.phrases)))


def placed(one: Frame, other: Frame, setting: Setting) -> Clash | None:
    """Somebody at two places at once."""
    if one.verb != other.verb or one.verb not in _PLACE or not setting.one_moment:
        return None
    if one.negative or other.negative or one.past != other.past or one.modal or other.modal:
        return None
    if one.when != other.when or one.quantifier or other.quantifier:
        return None
    mine = next((p for p in one.phrases if p.role in PLACES_OF), None)
    theirs = next((p for p in other.phrases if p.role in PLACES_OF), None)
    if mine is None or theirs is None or mine.role != theirs.role or mine.head == theirs.head:
        return None
    if mine.name != theirs.name or one.phrases[0] is not mine or other.phrases[0] is not theirs:
        return None
    same = one.subject and other.subject and one.subject[0].head == other.subject[0].head
    return possible("it may be at two places at once") if same else None


def swapped(one: Frame, other: Frame, setting: Setting) -> Clash | None:  # noqa: PLR0911 - one exclusion a line
    """Each is said to do to the other what only one can."""
    if one.negative or other.negative or one.verb != other.verb or not setting.one_moment:
        return None
    if not one.subject or not other.subject or one.past != other.past:
        return None
    mine, theirs = one.subject[0].head, other.subject[0].head
    if mine == theirs:
        return None
    other_side = next((p for p in other.phrases if p.head == mine), None)
    own_side = next((p for p in one.phrases if p.head == theirs), None)
    if own_side is None or other_side is None or own_side.role != other_side.role:
        return None
    rest = {p.head for p in one.phrases} - {theirs} == {p.head for p in other.phrases} - {mine}
    if not rest:
        return None
    if own_side.role == "than":
        return contradiction("each is said to be more than the other")
    done = {one.verb, *(p.head for p in one.phrases[:1])}
    return possible("each is said to have done it to the other") if done & _ASYMMETRIC else None


def doer_differs(one: Frame, other: Frame, setting: Setting) -> Clash | None:  # noqa: PLR0911 - one exclusion a line
    """Two who are said to have done or to hold what only one does."""
    if one.negative or other.negative or one.verb != other.verb or not setting.one_moment:
        return None
    if not one.subject or not other.subject or one.group or other.group or one.past != other.past:
        return None
    if heads(one) & heads(other) or one.quantifier or other.quantifier:
        return None
    if not one.phrases or not other.phrases:
        return None
    mine, theirs = one.phrases[0], other.phrases[0]
    alike = mine.words == theirs.words and mine.role == theirs.role
    both = mine.article == theirs.article == "the" or mine.name
    if not alike or not both or (setting.standing and setting.standing == setting.claimed):
        return None
    rest = frozenset[str]().union(*(p.words for p in one.phrases))
    if rest != frozenset[str]().union(*(p.words for p in other.phrases)):
        return None
    if one.verb in _DONE or one.verb in _HOLD:
        return possible("two are said to have done or to have the same thing")
    return None


def once(one: Frame, other: Frame, _setting: Setting) -> Clash | None:  # noqa: C901, PLR0911 - one exclusion a line
    """What happens once, told of two places or two times."""
    if one.negative or other.negative or one.verb != other.verb:
        return None
    mine, theirs = _event(one), _event(other)
    if mine is None or mine != theirs or one.modal or other.modal:
        return None
    subject = one.subject and other.subject and one.subject[0].words == other.subject[0].words
    if not subject or _words(one.subject) != _words(other.subject):
        return None
    both = bool(one.when and other.when and one.when != other.when)
    years = both and any(w.isdigit() for w in one.when) and any(w.isdigit() for w in other.when)
    why = "what happens once is told of two times or places"
    if mine not in {_BORN, _DIE} and _words(one.phrases) != _words(other.phrases):
        return None
    if years:
        return contradiction(why)
    if both:
        dated = one.verb == "be" and (one.when | other.when) & _DATES
        return contradiction(why) if dated and one.subject[1:] else possible(why)
    if mine in {_BORN, _DIE}:
        for a in one.phrases:
            for b in other.phrases:
                if a.role == b.role and a.role in {"in", "at"} and not a.words & b.words:
                    return contradiction(why) if a.name == b.name else None
    return None


def _words(phrases: tuple[Phrase, ...]) -> frozenset[str]:
    return frozenset[str]().union(*(p.words for p in phrases))


def _event(frame: Frame) -> str | None:
    if frame.verb == "be" and not frame.phrases and frame.when:
        return "be" if frame.subject and frame.subject[0].article == "the" else None
    if frame.verb == "be" and frame.phrases and frame.past:
        done = frame.phrases[0].head
        return done if done in _DONE | _BEGUN | {_BORN} else None
    return frame.verb if frame.verb in _BEGUN | _DONE | {_DIE, lemma("break")} else None


def closed_list(one: Frame, other: Frame, setting: Setting) -> Clash | None:
    """Only some do it, and another is said to do it too."""
    if (
        one.negative
        or other.negative
        or one.exclusive == other.exclusive
        or one.modal != other.modal
    ):
        return None
    only, too = (one, other) if one.exclusive else (other, one)
    if only.verb != too.verb or not setting.one_moment or not only.subject or not too.subject:
        return None
    if heads(too) & heads(only) or _words(only.phrases) != _words(too.phrases):
        return None
    return contradiction("only others do, by the other statement")


def limited(one: Frame, other: Frame, setting: Setting) -> Clash | None:
    """Who is just one thing, and also another."""
    limits, adds = frozenset({"just", "merely", "only", "simply"}), frozenset({"also", "too"})
    if one.negative or other.negative or one.verb != other.verb:
        return None
    told = (one.marks & limits and not other.marks & limits) or (
        other.marks & limits and not one.marks & limits
    )
    if not told or not (one.marks | other.marks) & adds:
        return None
    same = subjects_of(one, other, setting) is Subjects.SAME
    return possible("one says that there is nothing more") if same else None


def vague_quantity(one: Frame, other: Frame, setting: Setting) -> Clash | None:
    """Few and many, half and most, of the same."""
    if one.negative or other.negative or not one.subject or not other.subject:
        return None
    if one.subject[0].head != other.subject[0].head or not setting.one_moment:
        return None
    amounts = {one.quantifier, other.quantifier}
    alike = one.verb == other.verb and _words(one.phrases) & _words(other.phrases)
    if alike and "few" in amounts and amounts & {"", "many", "most", "all"}:
        return possible("few and many are said to")
    return None


def reason_denied(one: Frame, other: Frame, setting: Setting) -> Clash | None:
    """Both deny, one of them only for a reason, which may leave that it was done."""
    if not (one.negative and other.negative) or one.verb != other.verb or one.verb == "be":
        return None
    if subjects_of(one, other, setting) is not Subjects.SAME:
        return None
    extra = [p for p in (*one.phrases, *other.phrases) if p.role in {"for", "because"}]
    mine, theirs = {p.head for p in one.phrases}, {p.head for p in other.phrases}
    told = len(mine ^ theirs) == 1 and len(extra) == 1
    return possible("one may deny only the reason") if told else None


RULES: Final[tuple[Rule, ...]] = (
    number_differs, opposite, placed, swapped, doer_differs, once,
    closed_list, limited, vague_quantity, reason_denied,
)  # fmt: skip
"""Every rule; the gravest finding counts."""

"""Rules that find denials and mutually exclusive statements."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from canonry.canon.judging.comparing.findings import (
    Clash,
    Rule,
    Setting,
    Subjects,
    When,
    contradiction,
    heads,
    is_shorter,
    possible,
    subjects_of,
)
from canonry.language.clauses.frames import (
    Frame,
    Measured,
    Phrase,
    Quantity,
    compared,
    lemma,
    phrases_of,
    sentences_in,
    words_of,
)
from canonry.language.words.frame_words import (
    BOUND,
    DEPOSED,
    ENDED,
    ENDING_VERBS,
    FORMER,
    OFFICES,
    ONCE,
    ONE_VALUED,
    PLACES_OF,
    PLACING,
    RULING,
    SCOPES,
)
from canonry.values.state_tags import EXCLUSIVE_GROUPS

_FORMER: Final = frozenset(map(lemma, FORMER))
_EMPTY_VERBS: Final = frozenset({"be", "have"})
_SAYS: Final = "one statement denies the other"


def denied(one: Frame, other: Frame, setting: Setting) -> Clash | None:
    """Find the claim of one frame that the other frame of the same verb denies."""
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
        return possible("one statement may deny the other")
    return contradiction(_SAYS)


def covers(said: Sequence[Phrase], denial: Frame) -> bool:
    """Tell whether the statement entails the denied one: it may say more, never less."""
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
    """Find a claim that something holds after it was said to have ended."""
    first = When.LATER if denial is one else When.EARLIER
    again = denial.ends and setting.when is first and not said.past and said.when == denial.when
    return possible("it ended earlier, and now holds again") if again else None


def _modals(said: str, denial: str) -> bool | None:
    """Compare the modal verbs of statement and denial; None if both can be true."""
    if denial == "can" and not said:
        return False
    alike = (said == denial and said != "might") or (said == "may" and denial == "must")
    return alike or None


def _tenses(said: Frame, denial: Frame) -> bool:
    past = (said.past or said.perfect) == (denial.past or denial.perfect)
    return past and said.future == denial.future


def _numbers_alike(said: Frame, denial: Frame) -> bool:
    """Tell whether a statement about many is denied for at least one of them."""
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
    """Tell whether the claim ends the held statement."""
    if held.negative or (said.negative and not said.ends):
        return False
    if said.ends:
        return held.verb == said.verb and covers(held.phrases, said)
    return _ending(said) is not None and _touches(said, held) is not None


def tells_an_end(frame: Frame) -> bool:
    """Tell whether the frame states that something has ended."""
    return frame.ends or (not frame.negative and _ending(frame) is not None)


def ended(one: Frame, other: Frame, setting: Setting) -> Clash | None:  # noqa: PLR0911 - one exclusion a line
    """Find a state that one frame ends and the other asserts."""
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
            return contradiction("one says that the state in the other has ended")
        return possible("one may say that the state in the other has ended")
    return possible("it ended earlier, and now holds again") if later else None


def _same_head(one: Frame, other: Frame) -> bool:
    return bool(one.subject and other.subject) and one.subject[0].head == other.subject[0].head


def _ending(frame: Frame) -> str | None:
    """Return the word with which the frame ends something."""
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
    """Tell whether the ended state is the asserted one, by words or by meaning; None if not."""
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
    """An attribute: its name, owner, value, and the word that introduces it."""

    name: str
    extras: frozenset[str]
    owner: frozenset[str]
    value: frozenset[str]
    article: str
    turned: bool


def attribute_differs(one: Frame, other: Frame, setting: Setting) -> Clash | None:
    """Find two values of an attribute that has one."""
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
        return contradiction("a complete list in one omits the value in the other")
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
    """Parse `The capital of X is Y`."""
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
    """Parse `Y is the capital of X`."""
    held, *rest = phrases
    if held.role or held.name or frame.quantifier or not rest or rest[0].role != "of":
        return
    owner, article = words_of(rest), held.article or "the"
    yield Attribute(held.head, held.extras, owner, heads(frame), article, turned=True)


_PLACE: Final = frozenset(map(lemma, PLACING))
_BOUND: Final = frozenset((lemma(word), role) for word, role in BOUND)
_ONCE: Final = frozenset(map(lemma, ONCE))
_BORN, _DIE = lemma("born"), lemma("die")
_LIFE: Final = frozenset((_BORN, _DIE))
_VAGUE: Final = frozenset(map(lemma, ("several", "many", "few")))
_EXCLUSIVE: Final = frozenset(
    frozenset((lemma(a), lemma(b)))
    for group in EXCLUSIVE_GROUPS
    for a in group
    for b in group
    if a != b
)


def is_exclusive(one: str, other: str) -> bool:
    """Tell whether two stems name states that exclude each other."""
    return frozenset((one, other)) in _EXCLUSIVE


def number_differs(one: Frame, other: Frame, setting: Setting) -> Clash | None:
    """Find the same frame with another number or measure."""
    if one.modal != other.modal or _untold(one, other, setting):
        return None
    if one.when and other.when and one.when != other.when:
        return None
    mine, theirs = (*one.subject, *one.phrases), (*other.subject, *other.phrases)
    if len(mine) != len(theirs) or one.past != other.past:
        return None
    linked = bool(setting.standing) and setting.standing == setting.claimed
    found: Clash | None = None
    for first, second in zip(mine, theirs, strict=True):
        if linked and (is_shorter(first, second) or is_shorter(second, first)):
            continue
        numbers = _numbers(first, second)
        if numbers is None:
            return None
        found = found or (numbers if isinstance(numbers, Clash) else None)
    return found if found and subjects_of(one, other, setting) is Subjects.SAME else None


def _untold(one: Frame, other: Frame, setting: Setting) -> bool:
    return one.negative or other.negative or not setting.one_moment


def _numbers(one: Phrase, other: Phrase) -> Clash | bool | None:  # noqa: PLR0911 - one exclusion a line
    """Compare phrases: True if equal, a conflict if only the number differs, else None."""
    if one.role != other.role:
        return None
    same = one.head == other.head and one.extras - _VAGUE == other.extras - _VAGUE
    if one.quantity is None or other.quantity is None:
        if one.quantity is None and other.quantity is None:
            return True if same else None
        told = (one.extras | other.extras) & _VAGUE
        return possible("one gives a number where the other is vague") if same and told else None
    number = one.head[:1].isdigit() and other.head[:1].isdigit()
    if not number and not same:
        return None
    match compared(one.quantity, other.quantity):
        case Measured.SAME:
            return True
        case Measured.UNCLEAR:
            return possible("the numbers are close together or not exact")
        case Measured.OTHER:
            return contradiction("the numbers differ")


def opposite(one: Frame, other: Frame, setting: Setting) -> Clash | None:
    """Find one subject in two states that exclude each other."""
    if _untold(one, other, setting) or one.modal != other.modal:
        return None
    if (one.when and other.when and one.when != other.when) or one.condition != other.condition:
        return None
    if one.verb != "be" or one.future != other.future or not one.phrases or not other.phrases:
        return None
    mine, theirs = one.phrases[0].head, other.phrases[0].head
    subject = subjects_of(one, other, setting)
    if not is_exclusive(mine, theirs) or subject is Subjects.OTHER:
        return None
    rest = words_of(one.phrases) - {mine} == words_of(other.phrases) - {theirs}
    if rest and one.past == other.past and subject is Subjects.SAME:
        return contradiction("the states exclude each other")
    return possible("the states exclude each other")


def placed(one: Frame, other: Frame, setting: Setting) -> Clash | None:
    """Find one subject in two places at once."""
    if one.verb not in _PLACE or _untold(one, other, setting):
        return None
    if one.past != other.past or one.modal or other.modal or one.when != other.when:
        return None
    if not (one.phrases and other.phrases) or one.quantifier or other.quantifier:
        return None
    mine, theirs = one.phrases[0], other.phrases[0]
    if mine.role != theirs.role or mine.role not in PLACES_OF or mine.head == theirs.head:
        return None
    same = one.subject and other.subject and one.subject[0].head == other.subject[0].head
    if not same or mine.name != theirs.name:
        return None
    return possible("its subject may be in two places at once", is_change=True)


def bound(one: Frame, other: Frame, setting: Setting) -> Clash | None:
    """Find one subject bound to two parties, such as employers or owners."""
    mine, theirs = _tie(one), _tie(other)
    if mine is None or theirs is None or _untold(one, other, setting):
        return None
    if one.past != other.past or one.modal or other.modal or one.when != other.when:
        return None
    (how, to), (as_well, another) = mine, theirs
    if how != as_well or to.head == another.head or to.name != another.name:
        return None
    same = subjects_of(one, other, setting) is Subjects.SAME
    return possible("its subject may be tied to two at once", is_change=True) if same else None


def _tie(frame: Frame) -> tuple[tuple[str, str], Phrase] | None:
    """Return the type of a tie and its other end."""
    done = frame.phrases[0].head if frame.verb == "be" and frame.phrases else frame.verb
    rest = frame.phrases[1:] if frame.verb == "be" else frame.phrases
    if not rest or frame.quantifier or (done, rest[0].role) not in _BOUND:
        return None
    return (done, rest[0].role), rest[0]


def ruled(one: Frame, other: Frame, setting: Setting) -> Clash | None:
    """Find two rulers of the same realm."""
    if one.verb not in _RULING or _untold(one, other, setting):
        return None
    if one.past != other.past or one.modal or other.modal or one.when != other.when:
        return None
    over = words_of(one.phrases)
    if not over or over != words_of(other.phrases) or heads(one) & heads(other):
        return None
    return possible("it may have two rulers at once", is_change=True)


def swapped(one: Frame, other: Frame, setting: Setting) -> Clash | None:
    """Find an asymmetric relation that is stated in both directions."""
    if _untold(one, other, setting) or one.past != other.past:
        return None
    if not one.subject or not other.subject or one.group or other.group:
        return None
    mine, theirs = one.subject[0].head, other.subject[0].head
    turned = next((p for p in one.phrases if p.head == theirs), None)
    back = next((p for p in other.phrases if p.head == mine), None)
    if mine == theirs or turned is None or back is None or turned.role != back.role:
        return None
    if {p.head for p in one.phrases} - {theirs} != {p.head for p in other.phrases} - {mine}:
        return None
    if turned.role == "than":
        return contradiction("each is said to be more than the other")
    return possible("each is said to have done it to the other")


def once(one: Frame, other: Frame, _setting: Setting) -> Clash | None:
    """Find a singular event with two places or times."""
    if one.negative or other.negative or one.modal or other.modal:
        return None
    event = _event(one)
    if event is None or event != _event(other) or words_of(one.subject) != words_of(other.subject):
        return None
    life = event in _LIFE
    if not life and words_of(one.phrases) != words_of(other.phrases):
        return None
    why = "an event that happens once has two times or places"
    if one.when and other.when and one.when != other.when:
        years = any(w.isdigit() for w in one.when) and any(w.isdigit() for w in other.when)
        return contradiction(why) if years else possible(why)
    places = [(p, q) for p in one.phrases for q in other.phrases if p.role == q.role]
    apart = any(
        p.role in {"in", "at"} and not p.words & q.words and p.name == q.name for p, q in places
    )
    return contradiction(why) if life and apart else None


def _event(frame: Frame) -> str | None:
    """Return the singular event that the frame states of its subject."""
    if not frame.subject:
        return None
    if frame.verb != "be":
        return frame.verb if frame.verb in _ONCE | {_DIE} else None
    if not frame.phrases:
        return "be" if frame.when and frame.subject[0].article == "the" else None
    done = frame.phrases[0].head
    return done if frame.past and done in _ONCE | {_BORN} else None


def closed_list(one: Frame, other: Frame, setting: Setting) -> Clash | None:
    """Find a subject outside a list that claims to be complete."""
    if _untold(one, other, setting) or one.modal != other.modal:
        return None
    if one.exclusive == other.exclusive or not one.subject or not other.subject:
        return None
    if heads(one) & heads(other) or words_of(one.phrases) != words_of(other.phrases):
        return None
    return contradiction("the other statement says that only others do")


RULES: Final[tuple[Rule, ...]] = (
    number_differs, opposite, placed, bound, ruled, swapped, once, closed_list,
)  # fmt: skip
"""All rules for two frames of one verb; the most serious conflict counts."""


_GLUED: Final = re.compile(r"(?<=\d)(?=[a-z])", re.IGNORECASE)
_FIXED: Final = frozenset(map(lemma, ("birth", "birthday", "birthplace", "born", "mother", "father",
                                      "blood", "founded", "founder", "species")))  # fmt: skip


def compared_properties(
    held: Mapping[str, Any], said: Mapping[str, Any], setting: Setting
) -> Clash | None:
    """Compare the values of properties that both statements have."""
    common = held.keys() & said.keys()
    if not common or not _one_subject(setting):
        return None
    worst: Clash | None = None
    for name in sorted(common):
        stems = frozenset(lemma(part) for part in name.casefold().split("_"))
        if not setting.one_moment and not stems & _FIXED:
            continue
        found = _compared(name, stems, held[name], said[name])
        if found is not None and (worst is None or found.graver_than(worst)):
            worst = found
    return worst


def _one_subject(setting: Setting) -> bool:
    mine, theirs = setting.standing, setting.claimed
    return bool(mine) and bool(theirs) and (mine <= theirs or theirs <= mine)


def _compared(name: str, stems: frozenset[str], held: Any, said: Any) -> Clash | None:  # noqa: PLR0911 - one exclusion a line
    if _folded(held) == _folded(said):
        return None
    why = f"{name} has two values"
    if isinstance(held, bool) or isinstance(said, bool):
        return contradiction(why) if type(held) is type(said) else possible(why)
    mine, theirs = _quantity(held), _quantity(said)
    if mine is not None and theirs is not None:
        match compared(mine, theirs):
            case Measured.SAME:
                return None
            case Measured.UNCLEAR:
                return possible(why)
            case Measured.OTHER:
                return contradiction(why)
    if not isinstance(held, str) or not isinstance(said, str):
        return _collections(held, said, why)
    one, other = held.casefold().strip(), said.casefold().strip()
    if is_exclusive(lemma(one), lemma(other)) or stems & _ONE:
        return contradiction(why)
    return possible(why)


def _collections(held: Any, said: Any, why: str) -> Clash | None:
    mine, theirs = _folded(held), _folded(said)
    if isinstance(mine, frozenset) and isinstance(theirs, frozenset):
        return None if mine <= theirs or theirs <= mine else possible(why)
    return possible(why)


def _folded(value: Any) -> Any:
    if isinstance(value, str):
        return value.casefold().strip()
    if isinstance(value, list | tuple | set | frozenset):
        return frozenset(repr(_folded(each)) for each in value)
    return value


def _quantity(value: Any) -> Quantity | None:
    if isinstance(value, int | float):
        return Quantity(low=float(value), high=float(value))
    if not isinstance(value, str):
        return None
    for sentence in sentences_in(_GLUED.sub(" ", value))[:1]:
        phrases = phrases_of(sentence)
        if len(phrases) == 1 and phrases[0].quantity is not None and not phrases[0].extras:
            return phrases[0].quantity
    return None

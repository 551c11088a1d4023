"""Leanings: two frames that do not exclude each other by their words, but make a reader stop."""

from typing import Final

from canonry.domain.frames.frames import Frame, Phrase
from canonry.domain.frames.senses import opposed
from canonry.domain.frames.tokens import lemma
from canonry.domain.judging.comparing.denials import covers
from canonry.domain.judging.comparing.findings import Clash, Rule, Setting, possible
from canonry.domain.judging.comparing.frame_subjects import Subjects, heads, subjects_of
from canonry.domain.vocabularies.opposites import RULED_OUT

_RULED_OUT: Final = {
    lemma(state): frozenset(map(lemma, ruled.split()))
    for states, ruled in RULED_OUT.items()
    for state in states.split()
}
_OWN: Final = frozenset(map(lemma, ("have", "own", "possess", "keep")))
_ONLY_CHILD: Final = frozenset(map(lemma, RULED_OUT["only_child"].split()))
_CHILD: Final = lemma("child")


def _words(frame: Frame) -> frozenset[str]:
    return frozenset[str]().union(*(p.words for p in (*frame.subject, *frame.phrases)))


def _about_one(one: Frame, other: Frame, setting: Setting) -> bool:
    """Whether the subject of the one is that of the other, or owns it."""
    if not one.subject:
        return False
    owners = {p.head for p in other.subject[1:] if p.role == "of"}
    places = {p.head for p in other.phrases if p.role in {"in", "at", "on", "inside"}}
    known = one.subject[0].head in owners | places
    return known or subjects_of(one, other, setting) is not Subjects.OTHER


def absent(one: Frame, other: Frame, setting: Setting) -> Clash | None:
    """What somebody is said not to have, and the other statement tells of."""
    for lacking, using in ((one, other), (other, one)):
        if not lacking.negative or using.negative or lacking.verb not in _OWN or using.modal:
            continue
        if len(lacking.phrases) != 1 or not setting.one_moment or using.verb in _OWN:
            continue
        lacked = lacking.phrases[0]
        told = [p for p in (*using.subject, *using.phrases) if p.head == lacked.head]
        used = any(p.article == "the" and lacked.extras <= p.extras for p in told)
        if used and not lacking.past and _about_one(lacking, using, setting):
            return possible("one tells of what is lacking in the other")
    return None


def ruled_out(one: Frame, other: Frame, setting: Setting) -> Clash | None:
    """A state, and what whoever is in it hardly does or has."""
    for state, act in ((one, other), (other, one)):
        if state.negative or act.negative or state.verb != "be" or not state.phrases:
            continue
        if not setting.one_moment or state.past or state.modal or act.modal == "might":
            continue
        told = state.phrases[0]
        ruled = _RULED_OUT.get(told.head, frozenset())
        if told.head == _CHILD and "only" in state.words | state.marks | told.extras:
            ruled = _ONLY_CHILD
        if ruled & (_words(act) | {act.verb}) and _about_one(state, act, setting):
            return possible("the state in the one hardly allows what the other tells")
    return None


def never_met(one: Frame, other: Frame, setting: Setting) -> Clash | None:
    """What nobody ever did, or two never did, and something near it that is told as done."""
    for denial, told in ((one, other), (other, one)):
        if not denial.negative or told.negative or not denial.never or told.modal:
            continue
        if denial.verb == told.verb or denial.verb in {"be", "have"} or not setting.one_moment:
            continue
        done = told.past or told.perfect or (told.verb == "be" and told.group)
        objects = {p.head for p in denial.phrases if not p.role}
        if not done or not objects:
            continue
        others = {p.head for p in told.phrases}
        if denial.person and objects & others:
            return possible("one says that nobody did what the other seems to tell")
        pair = heads(denial) | objects
        if len(pair) > 1 and pair <= heads(told) | others and denial.perfect:
            return possible("one says that it never happened between those whom the other tells of")
    return None


def general_rule(one: Frame, other: Frame, setting: Setting) -> Clash | None:
    """What nobody can or everybody does, and one who does or does not."""
    for rule, case in ((one, other), (other, one)):
        if case.quantifier or case.modal or not case.subject or not setting.one_moment:
            continue
        if not (rule.person or rule.quantifier in {"all", "none"}) or rule.verb != case.verb:
            continue
        if rule.negative == case.negative or rule.modal not in {"", "can", "may", "must"}:
            continue
        wanted = [p for p in rule.phrases if not p.role]
        if wanted and all(any(p.head == w.head for p in case.phrases) for w in wanted):
            return possible("one is an exception to what the other says of all")
    return None


def member(one: Frame, other: Frame, setting: Setting) -> Clash | None:
    """What is said of a group and denied of one who belongs to it."""
    if one.negative == other.negative or one.verb != other.verb or not setting.one_moment:
        return None
    if not one.subject or not other.subject or one.modal != other.modal:
        return None
    said, denial = (other, one) if one.negative else (one, other)
    if not covers(said.phrases, denial) or one.past != other.past:
        return None
    mine, theirs = one.subject[0].words, other.subject[0].words
    belongs = {w for p in (*one.subject[1:],) for w in p.words} >= theirs or (
        {w for p in (*other.subject[1:],) for w in p.words} >= mine
    )
    plain = one.subject[0].name or other.subject[0].name
    return possible("one is said of a group, the other of a member") if belongs and plain else None


def superlative(one: Frame, other: Frame, setting: Setting) -> Clash | None:
    """The most of all, and another that is more."""
    for best, more in ((one, other), (other, one)):
        if best.negative or more.negative or not setting.one_moment or not best.subject:
            continue
        than = {p.head for p in more.phrases if p.role == "than"}
        words = frozenset[str]().union(*(p.words for p in best.phrases))
        degrees = {w.removesuffix("est") for w in words if w.endswith("est")}
        raised = {p.head.removesuffix("er").removesuffix("e") for p in more.phrases}
        ranked = best.subject[0].head in than or bool(than & words)
        better = bool(words & _BEST) and bool(_words(more) & _BETTER)
        if ranked and (better or {d.rstrip("e") for d in degrees} & raised):
            return possible("one is more than what the other says is the most")
    return None


_BEST: Final = frozenset(map(lemma, ("best", "most", "worst", "least")))
_BETTER: Final = frozenset(map(lemma, ("better", "more", "worse", "less")))


def opposed_words(one: Frame, other: Frame, setting: Setting) -> Clash | None:
    """Opposite words about the same, with something else in common."""
    if one.negative or other.negative or not setting.one_moment or one.modal or other.modal:
        return None
    if one.condition or other.condition or (one.when and other.when and one.when != other.when):
        return None
    mine, theirs = _contents(one), _contents(other)
    shared = (mine & theirs) - {"be", "have"}
    first, second = mine - theirs, theirs - mine
    if not any(opposed(a, b) for a in first for b in second):
        return None
    both_heads = (
        _first_extras(one)
        and _first_extras(other)
        and any(opposed(a, b) for a in _first_extras(one) for b in _first_extras(other))
    )
    told = (
        _same_owner(one, other)
        and _first(one)
        and _first(other)
        and (opposed(_first(one), _first(other)))
    )
    same = subjects_of(one, other, setting) is not Subjects.OTHER
    beyond = shared - heads(one) - heads(other)
    general = bool(beyond) and (same or one.person or other.person)
    if told or (same and both_heads) or (general and one.past == other.past):
        return possible("the words are opposites")
    return None


def _contents(frame: Frame) -> frozenset[str]:
    return frozenset[str]().union(*(p.words for p in frame.phrases)) | {frame.verb}


def _first(frame: Frame) -> str:
    return frame.phrases[0].head if frame.verb == "be" and frame.phrases else ""


def _first_extras(frame: Frame) -> frozenset[str]:
    """What the subject is called; of "an old friend of X" only the friend."""
    if frame.verb != "be" or not frame.phrases or frame.past:
        return frozenset()
    first, *rest = frame.phrases
    owned = bool(rest) and rest[0].role == "of" and not _is_most(first)
    return frozenset() if first.role else frozenset({first.head}) if owned else first.words


def _is_most(phrase: Phrase) -> bool:
    return "most" in phrase.extras or any(word.endswith("est") for word in phrase.extras)


def _same_owner(one: Frame, other: Frame) -> bool:
    def owners(subject: tuple[Phrase, ...]) -> frozenset[str]:
        return frozenset(p.head for p in subject[1:] if p.role == "of")

    kin = frozenset(map(lemma, ("family", "son", "daughter", "brother", "sister", "house", "child",
                                "kin", "clan")))  # fmt: skip
    told = bool(one.subject and other.subject and owners(one.subject) & owners(other.subject))
    words = _words(one) & kin and _words(other) & kin
    return told and bool(words)


RULES: Final[tuple[Rule, ...]] = (
    absent, ruled_out, never_met, general_rule, member, superlative, opposed_words,
)  # fmt: skip
"""Every rule; none of them says more than that somebody should look."""

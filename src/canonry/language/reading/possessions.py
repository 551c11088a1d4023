"""The statements of what somebody has: forms of have, and what a possessive says by itself."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from canonry.language.reading.figures import measure_of, state_in, text_of
from canonry.language.reading.forms import Clause, Nominal, UnreadClause, say
from canonry.language.reading.tokens import WordTable, noun_of
from canonry.language.reading.verb_rules import changes
from canonry.values.attributes.table import attribute
from canonry.values.statements import PHRASE, Modality, Phase, Quantity, Statement


def had(clause: Clause, about: str, one: Nominal, *used: str) -> Iterator[Statement]:
    """Yield what a subject has, by the kind of the object."""
    words = clause.words
    colour = noun_of(one.words[-2], words.code) if one.words[:-1] else ""
    coloured = any(noun_of(each, words.code) == colour for each in words.sets["colours"])
    figure = None if one.inner is None else one.inner.quantity
    if figure is not None and len(one.words) == 1 and one.noun in words.measures:
        name = measure_of(words.measures[one.noun], figure)
        yield say(about, name, figure, holds=not one.negative)
    elif figure is not None and (one.negative or clause.group.negative):
        raise UnreadClause  # no bag of ten coins: there may be another bag
    elif one.noun in words.parts and coloured and not one.negative and not one.quantity:
        yield say(about, words.parts[one.noun], colour)
        yield say(about, f"has:{one.noun}", one.value, implied=True)
    elif one.quantity is not None and one.words:
        yield from _counted(clause, about, one, one.quantity)
    elif one.quantity is not None and one.quantity.dimension and one.owner.startswith(PHRASE):
        yield say(about, f"measure:{one.owner.removeprefix(PHRASE)}", one.quantity)
    elif one.quantity and one.quantity.dimension == "month" and "have_age" in words.flags:
        yield say(about, "age", one.quantity)
    elif isinstance(one.value, str) and one.noun:
        quantifier = one.quantifier if one.quantifier in {"only", "all"} else ""
        held, marks = not one.negative, clause.qualifiers(*used)
        name = f"has:{one.noun}"
        said = say(about, name, one.value, holds=held, quantifier=quantifier, qualifiers=marks)
        yield said
        yield from _kinds_had(clause, said, one)
        yield from _part_described(clause, about, one)
        seat = words.nouns.get(one.noun, "<")
        if not (seat.startswith("<") or one.negative) and attribute(seat).containment:
            places = (place.value for role, place in clause.places if words.has("places", role))
            yield from (say(about, seat, each) for each in places if isinstance(each, str))
        denied = one.negative or (clause.group.negative and not one.definite)
        if denied and one.noun in words.had:
            yield say(about, words.had[one.noun], None, holds=held)
    else:
        raise UnreadClause


def _part_described(clause: Clause, about: str, one: Nominal) -> Iterator[Statement]:
    """Yield the state or the colour of a part, as in `the knife has a steel blade`."""
    words, (head, *marks) = clause.words, text_of(one.value).split()
    told = one.negative or clause.group.negative or one.quantifier or one.owner
    if told or not about.startswith(PHRASE) or len(one.words) != len(("adjective", "noun")):
        return
    own = about.removeprefix(PHRASE) if " " not in about else f"of:{about}"
    colour = ("colour", marks[0]) if words.has("colours", one.words[0]) else None
    state = colour or state_in(one.words[:1], words)
    if state is not None and words.singular(one.last) == one.last:
        yield say(f"{head} {own}", *state, implied=True)


def _counted(clause: Clause, about: str, one: Nominal, quantity: Quantity) -> Iterator[Statement]:
    """Yield how many of something somebody has, and that there are some."""
    words = clause.words
    marks = [mark for mark in one.words[:-1] if not words.has("empty", mark)]
    qualifiers = clause.qualifiers() | frozenset(marks)
    yield say(about, f"count:{one.noun}", quantity, qualifiers=qualifiers)
    if one.noun in words.measures and not marks:
        yield say(about, measure_of(words.measures[one.noun]), quantity)
    if quantity.low > 0 and not clause.group.negative:
        name, marked = f"has:{one.noun}", clause.qualifiers()
        said = say(about, name, text_of(one.value), implied=True, qualifiers=marked)
        yield said
        yield from _kinds_had(clause, said, one)


def _kinds_had(clause: Clause, said: Statement, one: Nominal) -> Iterator[Statement]:
    if said.holds and not clause.group.negative and not said.quantifier:
        said = replace(said, implied=True, qualifiers=said.qualifiers | {"broader"})
        _head, *marks = text_of(one.value).split()
        for noun in kinds_of(one, clause.words):
            value = " ".join((PHRASE + noun, *marks))
            yield replace(said, attribute=f"has:{noun}", value=value)


def owning(clause: Clause, one: Nominal) -> Iterator[Statement]:
    """Yield that the owner of a tie has somebody: Ana, who is Bo's daughter, is a child of his."""
    if clause.group.negative or clause.group.ended:
        return
    said = say(one.owner, f"has:{one.noun}", f"{PHRASE}{one.noun}", implied=True)
    yield said
    yield from _kinds_had(clause, said, replace(one, quantifier=""))


def owned_objects(clause: Clause) -> Sequence[Nominal]:
    """Return the objects of a clause that their owner has, by its words: `Ana rides her horse`."""
    group, words = clause.group, clause.words
    if group.negative or group.copula or words.has("missing", group.verb) or changes(clause):
        return ()
    beside = [one for role, one in clause.places if role == "with"]
    told = (*clause.objects, *beside)
    return [one for one in told if one.owner and one.definite and not one.negative]


def presupposed(clause: Clause, subject: Nominal) -> Iterator[Statement]:
    """Yield that an owner has the object that a clause names: `Oskar's car is red`."""
    group, words = clause.group, clause.words
    plain = group.modality is Modality.ASSERTED and not group.ended and not clause.lead
    owner = subject.owner or (subject.within[1] if subject.definite else "")
    if not owner or not subject.noun or not plain or subject.negative:
        return
    if words.has("departures", group.verb) or words.has("gone", subject.noun):
        return
    phase = Phase.WAS if group.past or group.perfect else Phase.IS
    own = {f"of:{owner}", owner.removeprefix(PHRASE)}
    marks = [mark for mark in text_of(subject.value).split()[1:] if mark not in own]
    name, value = f"has:{subject.noun}", " ".join((f"{PHRASE}{subject.noun}", *marks))
    said = say(owner, name, value, phase=phase, implied=True)
    yield said
    whole = subject.definite or not subject.owner  # seven members of the jury are not all
    if subject.quantity is not None and len(subject.words) == 1 and whole:
        yield replace(said, attribute=f"count:{subject.noun}", value=subject.quantity)
    for noun in kinds_of(subject, words):
        yield replace(said, attribute=f"has:{noun}", value=PHRASE + noun)


def kinds_of(nominal: Nominal, words: WordTable) -> Sequence[str]:
    """Return the kinds of a noun phrase's head, by the table."""
    last = nominal.last or str(nominal.value).removeprefix(PHRASE)
    kinds = words.kinds.get(last, frozenset()) | words.kinds.get(nominal.noun, frozenset())
    return [noun_of(kind, words.code) for kind in sorted(kinds)]

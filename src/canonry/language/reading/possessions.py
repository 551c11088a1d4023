"""The statements of what somebody has: forms of have, and what a possessive says by itself."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from canonry.language.reading.figures import measure_of, state_in, text_of
from canonry.language.reading.forms import Clause, Nominal, UnreadClause, make_statement
from canonry.language.reading.times import parts_of
from canonry.language.reading.tokens import WordTable, noun_of
from canonry.language.reading.verb_rules import is_event
from canonry.values.attributes.table import find_attribute
from canonry.values.statements import PHRASE, Modality, Phase, Quantity, Statement


def possession_statements(
    clause: Clause, about: str, one: Nominal, *used: str
) -> Iterator[Statement]:
    """Yield what a subject has, by the kind of the object."""
    words = clause.words
    colour = noun_of(one.words[-2], words.code) if one.words[:-1] else ""
    coloured = any(noun_of(each, words.code) == colour for each in words.sets["colours"])
    figure = None if one.inner is None else one.inner.quantity
    if figure is not None and len(one.words) == 1 and one.noun in words.measures:
        name = measure_of(words.measures[one.noun], figure)
        yield make_statement(about, name, figure, holds=not one.negative)
    elif figure is not None and (one.negative or clause.group.negative):
        raise UnreadClause  # no bag of ten coins: there may be another bag
    elif one.noun in words.parts and coloured and not one.negative and not one.quantity:
        yield make_statement(about, words.parts[one.noun], colour)
        yield make_statement(about, f"has:{one.noun}", one.value, implied=True)
    elif one.quantity is not None and one.words:
        yield from _count_statements(clause, about, one, one.quantity)
    elif one.quantity is not None and one.quantity.dimension and one.owner.startswith(PHRASE):
        yield make_statement(about, f"measure:{one.owner.removeprefix(PHRASE)}", one.quantity)
    elif one.quantity and one.quantity.dimension == "month" and "have_age" in words.flags:
        yield make_statement(about, "age", one.quantity)
    elif isinstance(one.value, str) and one.noun:
        quantifier = one.quantifier if one.quantifier in {"only", "all"} else ""
        held, marks = not one.negative, clause.qualifiers(*used)
        name = f"has:{one.noun}"
        rest = {"holds": held, "quantifier": quantifier, "qualifiers": marks}
        statement = make_statement(about, name, one.value, **rest)
        yield statement
        yield from _appointment_times(clause, statement, one)
        yield from _kind_statements(clause, statement, one)
        yield from _described_part(clause, about, one)
        seat = words.nouns.get(one.noun, "<")
        if not (seat.startswith("<") or one.negative) and find_attribute(seat).containment:
            placed = (at.value for role, at in clause.locations if words.has_word("places", role))
            texts = (each for each in placed if isinstance(each, str))
            yield from (make_statement(about, seat, each) for each in texts)
        denied = one.negative or (clause.group.negative and not one.definite)
        if denied and one.noun in words.had and not one.words[1:]:
            yield make_statement(about, words.had[one.noun], None, holds=held)
    else:
        raise UnreadClause


def _appointment_times(clause: Clause, had: Statement, one: Nominal) -> Iterator[Statement]:
    """Yield when an appointment is that somebody has; there can be others."""
    if had.holds and parts_of(clause.when) and clause.words.has_word("appointments", one.last_word):
        head, *marks = str(had.value).split()
        about = " ".join((head, *sorted((*marks, f"of:{had.subject}"))))
        yield make_statement(about, "schedule", clause.when, quantifier="some", implied=True)


def _described_part(clause: Clause, about: str, one: Nominal) -> Iterator[Statement]:
    """Yield the state or the colour of a part, as in `the knife has a steel blade`."""
    words, (head, *marks) = clause.words, text_of(one.value).split()
    is_specific = one.negative or clause.group.negative or one.quantifier or one.owner
    if is_specific or not about.startswith(PHRASE) or len(one.words) != len(("adjective", "noun")):
        return
    own = about.removeprefix(PHRASE) if " " not in about else f"of:{about}"
    colour = ("colour", marks[0]) if words.has_word("colours", one.words[0]) else None
    state = colour or state_in(one.words[:1], words)
    if state is not None and words.singular_of(one.last_word) == one.last_word:
        yield make_statement(f"{head} {own}", *state, implied=True)


def _count_statements(
    clause: Clause, about: str, one: Nominal, quantity: Quantity
) -> Iterator[Statement]:
    """Yield how many of something somebody has, and that there are some."""
    words = clause.words
    marks = [mark for mark in one.words[:-1] if not words.has_word("empty", mark)]
    qualifiers = clause.qualifiers() | frozenset(marks)
    yield make_statement(about, f"count:{one.noun}", quantity, qualifiers=qualifiers)
    own = [str(each.value) for _role, each in clause.locations if each.owner == about]
    if own and len(clause.locations) == 1:  # two arrows in his quiver
        inside = replace(clause, phrases=clause.phrases[:1])
        yield from _count_statements(inside, own[0], one, quantity)
    if one.noun in words.measures and not marks:
        yield make_statement(about, measure_of(words.measures[one.noun]), quantity)
    if quantity.low > 0 and not clause.group.negative:
        name, marked = f"has:{one.noun}", clause.qualifiers()
        statement = make_statement(about, name, text_of(one.value), implied=True, qualifiers=marked)
        yield statement
        yield from _kind_statements(clause, statement, one)


def _kind_statements(clause: Clause, statement: Statement, one: Nominal) -> Iterator[Statement]:
    if statement.holds and not clause.group.negative and not statement.quantifier:
        statement = replace(statement, implied=True, qualifiers=statement.qualifiers | {"broader"})
        _head, *marks = text_of(one.value).split()
        for noun in kinds_of(one, clause.words):
            value = " ".join((PHRASE + noun, *marks))
            yield replace(statement, attribute=f"has:{noun}", value=value)


def owner_statements(clause: Clause, one: Nominal) -> Iterator[Statement]:
    """Yield that the owner of a tie has somebody: Ana, who is Bo's daughter, is a child of his."""
    if clause.group.negative or clause.group.ended:
        return
    statement = make_statement(one.owner, f"has:{one.noun}", f"{PHRASE}{one.noun}", implied=True)
    yield statement
    yield from _kind_statements(clause, statement, replace(one, quantifier=""))


def owned_objects(clause: Clause) -> Sequence[Nominal]:
    """Return the objects of a clause that their owner has, by its words: `Ana rides her horse`."""
    group, words = clause.group, clause.words
    if group.negative or group.copula or words.has_word("missing", group.verb) or is_event(clause):
        return ()
    with_phrases = [one for role, one in clause.locations if role == "with"]
    nominals = (*clause.objects, *with_phrases)
    return [one for one in nominals if one.owner and one.definite and not one.negative]


def presupposed_objects(clause: Clause, subject: Nominal) -> Iterator[Statement]:
    """Yield that an owner has the object that a clause names: `Oskar's car is red`."""
    group, words = clause.group, clause.words
    plain = group.modality is Modality.ASSERTED and not group.ended and not clause.lead
    owner = subject.owner or (subject.within[1] if subject.definite else "")
    if not owner or not subject.noun or not plain or subject.negative:
        return
    if words.has_word("departures", group.verb) or words.has_word("gone", subject.noun):
        return
    phase = Phase.WAS if group.past or group.perfect else Phase.IS
    own = {f"of:{owner}", owner.removeprefix(PHRASE)}
    marks = [mark for mark in text_of(subject.value).split()[1:] if mark not in own]
    name, value = f"has:{subject.noun}", " ".join((f"{PHRASE}{subject.noun}", *marks))
    statement = make_statement(owner, name, value, phase=phase, implied=True)
    yield statement
    whole = subject.definite or not subject.owner  # seven members of the jury are not all
    if subject.quantity is not None and len(subject.words) == 1 and whole:
        yield replace(statement, attribute=f"count:{subject.noun}", value=subject.quantity)
    for noun in kinds_of(subject, words):
        yield replace(statement, attribute=f"has:{noun}", value=PHRASE + noun)


def kinds_of(nominal: Nominal, words: WordTable) -> Sequence[str]:
    """Return the kinds of a noun phrase's head, by the table."""
    last = nominal.last_word or str(nominal.value).removeprefix(PHRASE)
    kinds = words.kinds.get(last, frozenset()) | words.kinds.get(nominal.noun, frozenset())
    named = nominal.noun and not text_of(nominal.value).startswith(PHRASE)  # the ship Gull
    kinds |= {nominal.noun} if named else set()
    return [noun_of(kind, words.code) for kind in sorted(kinds)]

"""The statements of a clause with any verb but be and have: what somebody does, and its results."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from math import inf
from typing import Final

from canonry.language.reading import copulas
from canonry.language.reading.figures import measure_of, text_of
from canonry.language.reading.forms import ANYBODY, Clause, Nominal, UnreadClause, make_statement
from canonry.language.reading.possessions import kinds_of, possession_statements
from canonry.language.reading.times import is_recurring, parts_of
from canonry.language.reading.verb_rules import MOTION, is_event, rule_statements
from canonry.values.attributes.table import ValueKind, find_attribute
from canonry.values.statements import PHRASE, Phase, Quantity, Statement

_DIMENSIONS: Final = {"duration": {"time", "month"}, "weight": {"mass"}}
"""The dimensions of the figures that are a measure: what somebody takes can be a dose."""

_EXACT: Final = frozenset({"only", "all", "most"})

_SPAN_ROLES: Final = frozenset({"in", "for", "at"})
_DAILY: Final = 336.0  # times a year, where a month has four weeks


def acting_statements(clause: Clause, subject: Nominal) -> Iterator[Statement]:
    """Yield what a clause with any other verb says of one of its subjects."""
    group, about = clause.group, str(subject.value)
    if group.reports:
        yield from _action_statements(clause, about, implied=False)
        return
    measured = _measured_verb(clause, about)
    if measured is not None:
        yield measured
        return
    yield from _membership_statements(clause, subject)
    yield from copulas.number_statements(clause, about)
    words, losing = clause.words, clause.words.has_word("losing", group.verb) and not group.negative
    lost = [(one, words.singular_of(one.last_word)) for one in clause.objects if losing]
    for one in (one for one, noun in lost if words.has_word("limbs", noun)):  # a leg is left
        rest = 9.0 if words.has_word("digits", one.noun) else 1.0
        value = Quantity(low=0.0, high=0.0 if one.quantifier == "all" else rest)
        yield make_statement(about, f"count:{one.noun}", value, phase=Phase.BEGINS)
    ruled = rule_statements(clause, group.verb, about, passive=group.passive)
    found = [] if group.duty else list(ruled)
    if not found and clause.words.has_word("standing", group.verb) and not clause.objects:
        yield from copulas.location_statements(clause, about)
        return
    yield from found
    moved = f"{MOTION}{group.verb}"
    yield from () if group.duty else rule_statements(clause, moved, about, passive=group.passive)
    yield from _time_statements(clause, subject)
    yield from _duration_statements(clause, about)
    family, phase = ("did", Phase.WAS) if group.past else ("does", Phase.IS)
    agents = (one for role, one in clause.locations if role == words.agent and group.passive)
    for one in agents if group.past or not (group.perfect or group.ability or group.duty) else ():
        if isinstance(one.value, str) and (not one.noun or (one.definite and not group.past)):
            name = f"{family}:{group.verb}"
            yield make_statement(one.value, name, about, phase=phase, implied=True)
    if found and group.passive and not is_event(clause):
        return
    if clause.words.has_word("idle", group.verb):
        raise UnreadClause
    done = list(_action_statements(clause, about, implied=bool(found)))
    yield from done
    yield from _denied_actions(clause, subject, done)
    lasting = group.never or "lately" in group.marks  # has not for long, and does not now
    if lasting and group.perfect and "perfect_past" not in clause.words.flags:
        any_of = (replace(e, value=None) if e.value == PHRASE + group.verb else e for e in done)
        now = (replace(one, phase=Phase.IS, implied=True) for one in any_of)  # nor does it now
        yield from (replace(one, attribute=one.attribute.replace("did", "does", 1)) for one in now)


def _membership_statements(clause: Clause, subject: Nominal) -> Iterator[Statement]:
    """Yield that somebody belongs to a group, or is none of its members: `sings in the choir`."""
    words, group = clause.words, clause.group
    if group.passive or not words.has_word("belonging", group.verb):
        return
    belongs = any(rule[0] == "owner" for rule in words.verbs.get(group.verb, ()))
    for role, one in clause.locations:
        named = not subject.noun and not one.noun and one.definite
        grouped = named or words.has_word("groups", words.singular_of(one.last_word))
        if isinstance(one.value, str) and role in {"to", "in", "for"} and not one.negative:
            statement = make_statement(str(subject.value), "membership", one.value)
            if grouped and not group.negative:
                yield replace(statement, implied=not belongs)
            elif belongs and group.negative:
                yield statement
                yield replace(statement, attribute="part_of")


def counting_statements(clause: Clause, subject: Nominal) -> Iterator[Statement]:
    """Yield how many do something: `forty people work at the mill`."""
    group = clause.group
    ends = [*(("", one) for one in clause.objects), *clause.locations]
    if group.negative or subject.quantity is None or group.copula or not ends:
        raise UnreadClause
    (role, end), *_more = ends
    name = "_".join(part for part in (f"count:{subject.noun}", group.verb, role) if part)
    marks = frozenset(subject.words[:-1])
    yield make_statement(text_of(end.value), name, subject.quantity, qualifiers=marks)
    if clause.words.has_word("places", role) and subject.quantity.low > 0:
        noun = subject.noun
        yield make_statement(text_of(end.value), f"has:{noun}", PHRASE + noun, implied=True)


def _duration_statements(clause: Clause, about: str) -> Iterator[Statement]:
    """Yield how long something may take, or how often it is done: `answers within 300 ms`."""
    group = clause.group
    if group.past or group.perfect or group.negative:
        return
    found = (one.quantity for role, each in clause.phrases for one in each if role in _SPAN_ROLES)
    spans = [one for one in found if one and one.dimension in {"time", "month", "frequency"}]
    if not spans and parts_of(clause.when) == {"w": "0"}:
        spans = [Quantity(low=_DAILY, high=inf, dimension="frequency")]  # every day, or more often
    done = [text_of(one.value).replace(" ", "_") for one in clause.objects]
    for span in spans:
        if span.dimension == "frequency":
            name, marks = "_".join(("measure:often", group.verb, *done)), clause.qualifiers()
            yield make_statement(about, name, span, implied=True, qualifiers=marks)
        elif not done:
            yield make_statement(about, f"measure:{group.verb}", span)


def _time_statements(clause: Clause, subject: Nominal) -> Iterator[Statement]:
    """Yield the time of an event that comes once, or the hours of what comes again."""
    group, words, when = clause.group, clause.words, clause.when
    if not parts_of(when) or group.negative:
        return
    tie = copulas.tie_of(subject, words)
    if tie and find_attribute(tie).kind is ValueKind.TIME:  # her death came in 1887
        yield make_statement(subject.owner, tie, when, implied=True)
    verb = group.verb if group.past else words.timed.get(group.verb, group.verb)
    if not words.has_word("once", verb):
        return
    objects = [one.value for one in clause.objects if isinstance(one.value, str) and one.is_named]
    about = objects[0] if objects and not group.passive else str(subject.value)
    if group.past and not is_recurring(when):
        yield make_statement(about, f"event:{verb}", when, implied=True)
    line = words.has_word("runs", group.verb) and not subject.owner and "h" in parts_of(when)
    listed = not subject.noun or words.has_word("lines", subject.last_word)
    trains = subject.within[0] == "to" and words.has_word("trains", subject.last_word)
    line &= listed or trains  # a bus, a train to Linz
    if group.past or clause.objects or line:
        return
    if verb == group.verb or "h" in parts_of(when):
        name = "schedule" if words.has_word("held", verb) else f"date:{verb}"
        named = [one.words for _role, each in (*clause.lead, *clause.phrases) for one in each]
        seasons = words.sets["seasons"].intersection(chain(*named))
        yield make_statement(about, name, when, implied=True, qualifiers=seasons)


def _action_statements(clause: Clause, about: str, *, implied: bool) -> Iterator[Statement]:
    """Yield what somebody does, in the words of the clause."""
    group = clause.group
    past = (group.past or group.perfect) and not group.ended
    family = "can" if group.ability else "did" if past else "must" if group.duty else "does"
    does = f"{family}:{'be_' if group.passive else ''}{group.verb}"
    phase = Phase.IS
    if family == "did":  # what has happened; what has not, yet, is no matter of the past
        plain = not group.perfect or group.never
        phase = Phase.WAS if plain else Phase.IS if group.negative else Phase.BEGINS
    rest = {"phase": phase, "implied": implied, "qualifiers": clause.qualifiers()}
    itself = make_statement(about, does, PHRASE + group.verb, **rest)
    if family == "does" and is_recurring(clause.when):  # works on Mondays, and on Fridays now
        deed = "_".join((group.verb, *(text_of(one.value) for one in clause.objects)))
        yield make_statement(about, f"days:{deed}", clause.when, implied=True)
    for one in clause.objects:
        yield from _object_actions(clause, itself, one)
        if about == ANYBODY and isinstance(one.value, str) and one.is_named:
            name = f"{family}:be_{group.verb}"  # nobody guards the gate
            yield replace(itself, subject=one.value, attribute=name, implied=True)
    if not clause.objects:
        yield from _objectless_actions(clause, itself)


def _denied_actions(
    clause: Clause, subject: Nominal, done: Sequence[Statement]
) -> Iterator[Statement]:
    """Yield what deeds deny: `failed the test` denies a pass, `was not paid` that anybody paid."""
    group, words = clause.group, clause.words
    named = any(one.is_named for one in (clause.subjects if group.passive else clause.objects))
    sure = not (group.negative or group.ended or subject.negative or group.ability or group.duty)
    others, denials = sorted(words.denials.get(group.verb, ())) if sure else (), list[Statement]()
    deeds = (one for one in done if one.attribute.startswith(("does:", "did:")))
    for one in (one for one in deeds if one.holds and one.quantifier in {"", "all"}):
        marks = frozenset[str]() if named else one.qualifiers  # lost the final by a point
        phase = Phase.WAS if one.phase is Phase.BEGINS else one.phase  # has failed
        plain = replace(one, holds=False, implied=True, quantifier="", qualifiers=marks)
        for other in others:
            value = PHRASE + other if one.value == PHRASE + group.verb else one.value
            name = one.attribute.replace(group.verb, other, 1)
            denials.append(replace(plain, attribute=name, value=value, phase=phase))
    yield from denials
    agents = any(role == words.agent for role, _one in clause.locations)
    nobody = done if group.negative and not agents else denials
    for one in nobody if group.passive and subject.is_named else ():
        if "_" not in one.attribute.replace(f"be_{group.verb}", "") or one.implied:
            name, about = one.attribute.replace("be_", "", 1), str(subject.value)
            yield replace(one, subject=ANYBODY, attribute=name, value=about, implied=True)


def _object_actions(clause: Clause, itself: Statement, one: Nominal) -> Iterator[Statement]:
    """Yield what somebody does to an object, with the number of its figure."""
    group, about = clause.group, itself.subject
    does = itself.attribute.startswith("does:")
    having, carrying = (clause.words.has_word(each, group.verb) for each in ("having", "carrying"))
    if one.quantity is not None and one.words:
        if having:
            yield from possession_statements(clause, about, one)
        elif does or (clause.when and not group.negative):
            marks = itself.qualifiers | frozenset(one.words[:-1])
            name = f"count:{one.noun}_{group.verb}"
            yield make_statement(about, name, one.quantity, qualifiers=marks)
        if group.negative or one.quantity.low <= 0:
            return
    quantifier = one.quantifier if one.quantifier in _EXACT else ""
    amount = one.quantity and not (one.words or group.negative or group.ended)
    value = (amount and one.owner) or clause.value_of(one)  # who eats some cheese eats cheese
    holds = not one.negative
    statement = replace(itself, value=value, holds=holds, quantifier=quantifier)
    yield statement
    sure = statement.holds and not (group.negative or group.only or statement.quantifier)
    for noun in kinds_of(one, clause.words) if sure else ():  # a vineyard is land
        marks = statement.qualifiers | {"broader"}
        if clause.words.has_word("using", group.verb) and clause.words.has_word("systems", noun):
            yield make_statement(about, f"kind:{noun}", text_of(value), implied=True)
        yield replace(statement, value=PHRASE + noun, implied=True, qualifiers=marks)
    denied = group.negative is not one.negative and not one.words[1:]
    for noun in kinds_of(one, clause.words) if denied and not (having or carrying) else ():
        yield replace(statement, value=PHRASE + noun, implied=True, quantifier="some")  # not all
    unused = group.ability and not group.negative  # and need not have it
    if one.noun and (having or carrying) and not (one.definite or group.ended or unused):
        marks = frozenset[str]() if having else frozenset({"broader"})
        for each in possession_statements(clause, about, one):
            yield replace(each, implied=True, qualifiers=each.qualifiers | marks)


def _objectless_actions(clause: Clause, itself: Statement) -> Iterator[Statement]:
    """Yield what somebody does without an object: `sings in the choir`."""
    group, does, implied = clause.group, itself.attribute, itself.implied
    if clause.locations and not implied:
        role, phrase = clause.locations[0]
        name, value, marks = f"{does}_{role}", clause.value_of(phrase), clause.qualifiers(role)
        placed = replace(itself, attribute=name, value=value, qualifiers=marks)
        only = "only" if phrase.quantifier == "only" else ""
        yield replace(placed, holds=not phrase.negative, quantifier=only)
        is_action = does.startswith(("does:", "did:", "can:"))
        denied = group.negative or any(one.negative for one in clause.subjects)
        if is_action and not (group.ended or phrase.negative):
            marks = itself.qualifiers if denied else frozenset[str]()
            yield replace(itself, implied=not group.ability, qualifiers=marks)
            named = not text_of(phrase.value).startswith(PHRASE)  # in the god Mar
            for noun in kinds_of(phrase, clause.words) if named else ():
                name, marks = f"{does}_{role}", clause.qualifiers(role) | {"broader"}
                of_kind = replace(itself, attribute=name, value=PHRASE + noun, qualifiers=marks)
                yield replace(of_kind, implied=True)
    elif not implied or is_event(clause):
        none = (group.negative or group.ended) and does.startswith(("does:", "can:"))
        none = none and not implied and not clause.locations
        yield replace(itself, value=None) if none else itself


def _measured_verb(clause: Clause, about: str) -> Statement | None:
    """Return the figure of a verb that measures: `weighs forty kilograms`, `costs ten crowns`."""
    words, verb = clause.words, clause.group.verb
    if len(clause.objects) != 1:
        return None
    one = clause.objects[0]
    name, quantity = words.measures.get(verb, ""), one.quantity
    if words.has_word("paying", verb) and quantity:
        paid = (one.owner, *(str(each.value) for role, each in clause.locations if role == "in"))
        name = next((words.measures.get(each[1:], "") for each in paid if each), "")
    if not name or quantity is None:
        return None
    fits = quantity.dimension in _DIMENSIONS.get(name, {quantity.dimension})
    coins = copulas.coins_of(one, words)
    if not fits or (coins and (name != "price" or one.words[1:])):
        return None
    marks = clause.qualifiers("in" if words.has_word("paying", verb) else "") | coins
    return make_statement(about, measure_of(name, quantity), quantity, qualifiers=marks)

"""The statements that a verb makes by the rules of the table: a move ends a home and begins one."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from canonry.language.reading.figures import UNREAD
from canonry.language.reading.forms import ANYBODY, Clause, Nominal
from canonry.language.reading.times import parts_of
from canonry.language.reading.tokens import WordTable
from canonry.values.attributes.table import ValueKind, find_attribute
from canonry.values.statements import PHRASE, Phase, Quantity, Statement

ClauseEnd: TypeAlias = Nominal | str
Rule: TypeAlias = tuple[str, ...]

_ENDS: Final = frozenset({"s", "o", "each", "when", "under"})
_ROLES: Final = _ENDS | {"in", "on", "at", "to", "from", "by", "with", "for", "over", "as", "of"}
"""The ends of a rule that are phrases of the clause; any other value is a word."""

_RECIPROCAL: Final = ("to", "with", "from", "at")
_BODILY: Final = frozenset({"life", "killer", "death_cause", "health", "condition", "freedom"})
_STORED: Final = frozenset({"all", "only", "most"})

MOTION: Final = "@"
"""The sign before a verb whose rules say where a motion ends and begins: in a named place."""

_NAMED_LOCATIONS: Final = frozenset({"birthplace", "deathplace", "burialplace"})
"""Attributes whose values are named places: nobody is born in a hurry."""


def rule_statements(clause: Clause, verb: str, about: str, *, passive: bool) -> Iterator[Statement]:
    """Yield the statements of the verb's rules whose ends the clause has."""
    words, group = clause.words, clause.group
    rules: Sequence[Rule] = words.verbs.get(verb, ())
    moves, now = verb.startswith(MOTION), not (group.past or group.perfect)
    vague = "formerly" in group.marks or (now and words.has_word("roaming", group.verb))
    if not rules or (clause.is_outcome_open and (moves or is_event(clause))) or (moves and vague):
        return
    ends = _rule_ends(clause, about)
    if passive:
        ends["c"] = ends["o"]
        ends["o"], ends["s"] = [about], list(ends.pop(words.agent, ()))
        yield from () if ends["s"] or ends.get("to") else _ends_by_anybody(about, rules)
        alike = [one for one in rules if one[1] == "s" and one[2] in _RECIPROCAL and one[2] in ends]
        if alike and not (ends["s"] or moves):  # is married to, is allied with
            lasting = group.past and not clause.when  # was married to, and may have wed long ago
            ends["s"] = [about]
            rules = [(*one[:3], "is") if lasting else one for one in alike]
    elif rules[0][0] == "home":
        rules = [*rules, *_lifeless_moves(ends, words)]
    causes = (*(ends["s"] if passive else clause.subjects), *ends.get("with", ()))
    rules = _literal_rules(rules, causes, words)
    nobody = not group.perfect and any(one.negative for one in clause.subjects)
    denied = group.negative or nobody or group.ended
    undone = (group.negative or nobody) and not words.has_word("departures", verb)
    still = passive and not group.past and not group.perfect
    for name, owner, value, phase in rules:
        begun = "is" if still and phase == "begins" else phase
        told = find_attribute(name).kind is ValueKind.QUANTITY or name == "speaks"
        able = group.ability and not (group.negative or told)  # and need not do it
        unused = group.never and name == "speaks"  # and may know it
        if (
            able or unused or (undone and begun not in ("is", "" if name[0] == "!" else "was"))
        ):  # a denied change leaves its result open
            continue
        for whose in _rule_owners(owner, ends):
            for what in ends.get(value, []) if value in _ROLES or value in ends else [value]:
                common = moves and isinstance(what, Nominal) and what.noun and not what.proper
                made = None if common else _rule_statement(name, whose, what, begun, denied=denied)
                used = (owner, value, words.agent if passive else "")
                narrow = clause.qualifiers(*used) if group.negative else frozenset[str]()
                day = made is None or str(made.value)[1:] in words.weekdays  # works on Mondays
                if made and not day and made.value != f"{PHRASE}{clause.when}":  # left in spring
                    carried = moves and owner == "o"  # and stays with who brings it
                    yield replace(made, qualifiers=narrow, implied=made.implied or carried)
                    yield from _had_until_then(made, whose)


def _ends_by_anybody(about: str, rules: Sequence[Rule]) -> Iterator[Statement]:
    """Yield that what was sold, by whomever, has no owner any more."""
    for name, _owner, value, phase in rules:
        if (value, phase) == ("s", "ends") and find_attribute(name).cardinality == 1:
            yield Statement(subject=about, attribute=name, value=None, phase=Phase.ENDS)


def _literal_rules(
    rules: Sequence[Rule], causes: Sequence[ClauseEnd], words: WordTable
) -> Sequence[Rule]:
    """Leave out what grief, news or kindness can do to a body in a figure of speech alone."""
    heads = [each.last_word for each in causes if isinstance(each, Nominal)]
    figurative = any(words.has_word("abstract", each) for each in heads)
    return [one for one in rules if one[0] not in _BODILY] if figurative else rules


def _had_until_then(made: Statement, whose: ClauseEnd) -> Iterator[Statement]:
    """Yield that an owner no longer has one: who owns a blue van, and sells the van."""
    noun = "" if isinstance(whose, str) or whose.quantity else whose.noun
    if noun and made.attribute == "owner" and made.phase is Phase.ENDS:
        what = " ".join(mark for mark in made.subject.split() if not mark.startswith("of:"))
        yield replace(made, subject=str(made.value), attribute=f"has:{noun}", value=what)


def _rule_ends(clause: Clause, about: str) -> dict[str, list[ClauseEnd]]:
    ends: dict[str, list[ClauseEnd]] = {"s": [about], "o": [*clause.objects]}
    for role, nominals in clause.phrases:
        if role:  # in a vault in Karsk
            named = any(not (one.noun or one.quantity) for one in nominals)
            ends[role] = [*(() if named else ends.get(role, ())), *nominals]
    if parts_of(clause.when):
        ends["when"] = [clause.when]
    others = [str(one.value) for one in clause.subjects if str(one.value) != about]
    if not clause.objects and len(others) == 1:  # A and B married
        ends["each"] = [*others]
    return ends


def _lifeless_moves(ends: dict[str, list[ClauseEnd]], words: WordTable) -> list[Rule]:
    """Return the rules of what moves and lives nowhere: our office moved to Linz."""
    lifeless = all(str(one).startswith(PHRASE) for one in ends["s"])
    there = (str(one.value) for one in ends.get("to", ()) if isinstance(one, Nominal))
    street = any(words.has_word("streets", each.rpartition("_")[2]) for each in there)
    names = ("street",) if street else ("street", "location")
    return [(name, "s", "to", "begins") for name in names if lifeless]


def _rule_owners(owner: str, ends: dict[str, list[ClauseEnd]]) -> list[ClauseEnd]:
    if owner in {"s~", "s!"}:  # an object, or anybody, if the clause names no other
        found = [one for one in ends["s"] if owner == "s!" or str(one).startswith(PHRASE)]
        sole = ends.keys() - {"since", "when"} in ({"s", "o"}, {"s", "o", "from", "to"})
        return found if sole and not ends["o"] else []
    named = [one for one in ends["o"] if isinstance(one, str) or one.is_named]
    alone = [] if ends["o"] else ends["s"]
    return {**ends, "s-": alone, "so": ends["o"] or ends["s"], "o?": named}.get(owner, [])


def _rule_statement(
    name: str, whose: ClauseEnd, what: ClauseEnd, phase: str, *, denied: bool
) -> Statement | None:
    denial, name = name.startswith("!"), name.removeprefix("!")
    subject = whose if isinstance(whose, str) else whose.value
    value = what if isinstance(what, str) else what.value
    if find_attribute(name).kind is ValueKind.TIME and value != "any":
        value = _time_point(value, what)
    common = isinstance(what, Nominal) and bool(what.noun) and not what.proper
    bare = isinstance(what, Nominal) and name == "location" and common and what.is_bare
    if bare or (name in _NAMED_LOCATIONS and common):
        return None
    if name == "home" and common:
        name = "dwelling"  # a cottage, the village: no name, so that it may lie anywhere
    if not isinstance(subject, str) or not isinstance(value, str) or UNREAD in subject + value:
        return None
    phrases = [one for one in (what, whose) if isinstance(one, Nominal)]
    nobody = value == ANYBODY and (denied or any(one.negative for one in phrases))
    if value == ANYBODY and not nobody:
        return None
    quantifier = next((one.quantifier for one in phrases if one.quantifier in _STORED), "")
    if isinstance(whose, Nominal) and not (whose.noun or whose.negative or quantifier):
        part = whose.quantifier or (whose.quantity and not whose.definite)  # two of the Ghouls
        quantifier = "some" if part else ""
    return Statement(
        subject=subject,
        attribute=name,
        value=None if nobody or value == "any" else value,
        holds=not denial and not any(one.negative for one in phrases),
        implied=denial,
        phase=Phase(phase),
        quantifier=quantifier,
    )


def _time_point(value: str | Quantity | None, what: ClauseEnd) -> str | None:
    """Return the point of time that an end of a rule names, if it names one."""
    if isinstance(value, Quantity):
        return None if value.dimension else f"{value.low:g}"
    words = what.words if isinstance(what, Nominal) else ()
    return words[-1] if words and parts_of(words[-1]) else value if parts_of(value or "") else None


def is_event(clause: Clause) -> bool:
    """Return whether the verb's rules begin or end something, so that it is an event."""
    return any(rule[3] != "is" for rule in clause.words.verbs.get(clause.group.verb, ()))

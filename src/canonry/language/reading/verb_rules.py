"""The statements that a verb makes by the rules of the table: a move ends a home and begins one."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from canonry.language.reading.figures import UNREAD
from canonry.language.reading.forms import ANYBODY, Clause, Nominal
from canonry.language.reading.times import parts_of
from canonry.values.attributes.table import ValueKind, attribute
from canonry.values.statements import PHRASE, Phase, Quantity, Statement

ClauseEnd: TypeAlias = Nominal | str
Rule: TypeAlias = tuple[str, ...]

_ENDS: Final = frozenset({"s", "o", "each", "when"})
_ROLES: Final = _ENDS | {"in", "on", "at", "to", "from", "by", "with", "for", "over", "as", "of"}
"""The ends of a rule that are phrases of the clause; any other value is a word."""

_RECIPROCAL: Final = ("to", "with", "from", "at")
_STORED: Final = frozenset({"all", "only", "most"})

_NAMED_PLACES: Final = frozenset({"birthplace", "deathplace", "burialplace"})
"""Attributes whose values are named places: nobody is born in a hurry."""


def ruled(clause: Clause, verb: str, about: str, *, passive: bool) -> Iterator[Statement]:
    """Yield the statements of the verb's rules whose ends the clause has."""
    words, group = clause.words, clause.group
    rules: Sequence[Rule] = words.verbs.get(verb, ())
    nobody = any(each.negative and each.value == ANYBODY for each in clause.subjects)
    if clause.leaves_open and changes(clause):
        return
    ends = _ends(clause, about)
    if passive:
        ends["c"] = ends["o"]
        ends["o"], ends["s"] = [about], list(ends.pop(words.agent, ()))
        alike = [one for one in rules if one[1] == "s" and one[2] in _RECIPROCAL and one[2] in ends]
        if alike and not ends["s"]:  # is married to, is allied with
            lasting = group.past and not clause.when  # was married to, and may have wed long ago
            ends["s"] = [about]
            rules = [(*one[:3], "is") if lasting else one for one in alike]
    elif words.has("movements", verb):
        rules = _moved(clause, rules, ends)
    nobody = not group.perfect and any(one.negative for one in clause.subjects)
    undone = (group.negative or nobody) and not words.has("departures", verb)
    still = passive and not group.past and not group.perfect
    for name, owner, value, phase in rules:
        begun = "is" if still and phase == "begins" else phase
        able = group.ability and not group.negative and attribute(name).cardinality == 1
        if able or (undone and begun != "is"):  # a denied change says nothing of its result
            continue
        for whose in _owners(owner, ends):
            for what in ends.get(value, []) if value in _ROLES or value in ends else [value]:
                made = _statement(name, whose, what, begun, denied=group.negative or nobody)
                used = (owner, value, words.agent if passive else "")
                narrow = clause.qualifiers(*used) if group.negative else frozenset[str]()
                if made is not None:
                    yield replace(made, qualifiers=narrow)


def _ends(clause: Clause, about: str) -> dict[str, list[ClauseEnd]]:
    ends: dict[str, list[ClauseEnd]] = {"s": [about], "o": [*clause.objects]}
    for role, nominals in clause.phrases:
        if role:
            ends.setdefault(role, []).extend(nominals)
    if parts_of(clause.when):
        ends["when"] = [clause.when]
    others = [str(one.value) for one in clause.subjects if str(one.value) != about]
    if not clause.objects and len(others) == 1:  # A and B married
        ends["each"] = [*others]
    return ends


def _moved(
    clause: Clause, rules: Sequence[Rule], ends: dict[str, list[ClauseEnd]]
) -> Sequence[Rule]:
    """Return the rules of a move for the kind of what is left and entered."""
    for one in (*ends.get("from", ()), *ends.get("to", ())):
        head = one.last if isinstance(one, Nominal) else ""
        for name in clause.words.moves.get(head, ()):
            return ((name, "s", "to", "begins"), (name, "s", "from", "ends"))
    return rules


def _owners(owner: str, ends: dict[str, list[ClauseEnd]]) -> list[ClauseEnd]:
    if owner in {"s~", "s!"}:  # an object, or anybody, if the clause names no other
        found = [one for one in ends["s"] if owner == "s!" or str(one).startswith(PHRASE)]
        alone = ends.keys() in ({"s", "o"}, {"s", "o", "from", "to"})
        return found if alone and not ends["o"] else []
    if owner == "s-":
        return [] if ends["o"] else ends["s"]
    if owner == "so":
        return ends["o"] or ends["s"]
    if owner == "o?":
        return [one for one in ends["o"] if isinstance(one, str) or one.named]
    return ends.get(owner, [])


def _statement(
    name: str, whose: ClauseEnd, what: ClauseEnd, phase: str, *, denied: bool
) -> Statement | None:
    denial, name = name.startswith("!"), name.removeprefix("!")
    subject = whose if isinstance(whose, str) else whose.value
    value = what if isinstance(what, str) else what.value
    if attribute(name).kind is ValueKind.TIME:
        value = _point(value, what)
    common = isinstance(what, Nominal) and bool(what.noun) and not what.proper
    bare = isinstance(what, Nominal) and name == "location" and common and what.bare
    if bare or (name in _NAMED_PLACES and common):
        return None
    if name == "home" and common:
        name = "dwelling"  # a cottage, the village: no name, so that it may lie anywhere
    if not isinstance(subject, str) or not isinstance(value, str) or UNREAD in subject + value:
        return None
    if value == ANYBODY and not denied and not (isinstance(what, Nominal) and what.negative):
        return None
    phrases = [one for one in (what, whose) if isinstance(one, Nominal)]
    nobody = value == ANYBODY and (denied or any(one.negative for one in phrases))
    quantifier = next((one.quantifier for one in phrases if one.quantifier), "")
    return Statement(
        subject=subject,
        attribute=name,
        value=None if nobody else value,
        holds=not denial and not any(one.negative for one in phrases),
        implied=denial,
        phase=Phase(phase),
        quantifier=quantifier if quantifier in _STORED else "",
    )


def _point(value: str | Quantity | None, what: ClauseEnd) -> str | None:
    """Return the point of time that an end of a rule names, if it names one."""
    if isinstance(value, Quantity):
        return None if value.dimension else f"{value.low:g}"
    words = what.words if isinstance(what, Nominal) else ()
    return words[-1] if words and parts_of(words[-1]) else value if parts_of(value or "") else None


def changes(clause: Clause) -> bool:
    """Tell whether the verb's rules begin or end something, so that it is an event."""
    return any(rule[3] != "is" for rule in clause.words.verbs.get(clause.group.verb, ()))

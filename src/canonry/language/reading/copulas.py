"""The statements of a clause with a form of be: what, where and when somebody or something is."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from canonry.language.reading.figures import measure_of, state_in, text_of
from canonry.language.reading.forms import LATE_YEAR, Clause, Nominal, UnreadClause, make_statement
from canonry.language.reading.possessions import owner_statements, possession_statements
from canonry.language.reading.times import parts_of
from canonry.language.reading.tokens import WordTable, noun_of
from canonry.values.attributes.table import ValueKind, find_attribute
from canonry.values.statements import PHRASE, Phase, Quantity, Statement

_SOLE_MARKS: Final = {"only": "sole", "some": ""}
"""The quantifiers of what somebody is: the only doctor has no other beside her."""

_PAIR: Final = 2


def copula_statements(clause: Clause, subject: Nominal) -> Iterator[Statement]:
    """Yield what a clause with a form of be says of one of its subjects."""
    objects, words = clause.objects, clause.words
    owned = [*_labelled_statements(clause, subject)] or [*_statements_of_owner(clause, subject)]
    if owned:
        yield from owned
    elif not objects and parts_of(clause.when) and not clause.locations:
        tie = tie_of(subject, words)
        dated = bool(tie) and find_attribute(tie).kind is ValueKind.TIME
        about = (subject.owner, tie) if dated else (str(subject.value), "schedule")
        yield make_statement(*about, clause.when)  # the feast is on Tuesday, her birthday is in May
    elif not objects:
        yield from location_statements(clause, str(subject.value))
    else:
        yield from number_statements(clause, str(subject.value))
        for one in objects:
            yield from _predicate_statements(clause, subject, one)


def _labelled_statements(clause: Clause, subject: Nominal) -> Iterator[Statement]:
    """Yield the one text of a label, such as a password or an address; None if it is unknown."""
    words, said = clause.words, subject.words
    tails = ((at, words.labels.get("_".join(said[at:]), "")) for at in range(len(said)))
    at, label = next((each for each in tails if each[1]), (0, ""))
    owner = subject.owner or str(subject.value).partition(" of:")[2].partition(" ")[0]
    plain = [one for one in clause.objects if not (one.indefinite or one.definite or one.negative)]
    if not label or not (owner or subject.definite) or len(plain) != 1 or clause.locations:
        return
    if not words.has_word("unlabelled", plain[0].last_word):
        marks = frozenset(each for each in said[:at] if not words.has_word("empty", each))
        about = owner or PHRASE + label.partition(":")[2]
        yield make_statement(about, label, clause.value_of(plain[0]), qualifiers=marks)


def _statements_of_owner(clause: Clause, subject: Nominal) -> Iterator[Statement]:
    """Yield what a clause says of the subject's owner: `Ana's eyes are blue`, `her boss is Bo`."""
    objects, words = clause.objects, clause.words
    tied, part = tie_of(subject, words), words.parts.get(subject.noun, "")
    unique = _superlative_of(subject, words) or _favourite_of(subject, words)
    names = [one for one in objects if not one.noun and isinstance(one.value, str)]
    placed = [nominal for role, nominal in clause.locations if words.has_word("places", role)]
    if tied and len(placed) == 1 and not objects and find_attribute(tied).containment:
        yield make_statement(subject.owner, tied, placed[0].value)  # her home is in Velm
    elif part and subject.owner and len(objects) == len(subject.words) == 1:
        value = noun_of(objects[0].words[-1], words.code) if objects[0].words else ""
        value = value or text_of(objects[0].value)
        yield make_statement(subject.owner, part, value)
    elif tied and names and not objects[0].noun:
        if not tied.startswith("role:") or len(objects) == 1:
            yield from (_tie_statement(tied, subject.owner, one) for one in names)
            for one in names:
                yield from _kind_of(clause, one, subject)
        if unique:  # her eldest son
            yield make_statement(*unique, str(names[0].value))
    elif (
        names and len(objects) == len(subject.words) == 1 and words.has_word("roles", subject.noun)
    ):
        yield make_statement(str(subject.value), f"role:{subject.noun}", str(names[0].value))
    elif unique and len(objects) == 1 and (names or unique[1].startswith("favourite:")):
        yield make_statement(*unique, text_of(objects[0].value))


def _predicate_statements(clause: Clause, subject: Nominal, one: Nominal) -> Iterator[Statement]:
    """Yield what a noun or adjective after a form of be says."""
    words, about = clause.words, str(subject.value)
    tie = tie_of(one, words) if one.owner else ""
    known = list(_known_meanings(clause, subject, one))
    if known:
        yield from known
    elif not tie and (unique := _superlative_of(one, words)):
        yield make_statement(*unique, about)
    elif one.noun in words.counted and (one.inner or (one.indefinite and len(one.words) == 1)):
        yield from _counted_kin(about, words.counted[one.noun], one.inner)
    elif tie and not (one.indefinite and tie.startswith("role:")):
        yield from _bond_statements(clause, subject, one, tie)
    elif one.owner and not one.words and one.definite:
        yield make_statement(about, "owner", one.owner)
    elif isinstance(one.value, str) and one.value.startswith(PHRASE) and not one.noun:
        name = f"is:{one.value.removeprefix(PHRASE)}"
        yield make_statement(about, name, one.value, holds=not one.negative)
    elif isinstance(one.value, str) and one.noun and not is_unreal(one, words):
        plain = clause.words.without_denial(one.last_word) if len(one.words) == 1 else ""
        noun = noun_of(plain, clause.words.code) if plain else one.noun
        yield make_statement(
            about,
            f"is:{noun}",
            f"{PHRASE}{noun}" if plain else text_of(one.value),
            quantifier=_SOLE_MARKS.get(one.quantifier, one.quantifier),
            holds=one.negative is bool(plain),
            qualifiers=clause.qualifiers(),
        )
        if words.has_word("trades", noun) and not one.owner:
            yield make_statement(about, "job", PHRASE + noun, implied=True, holds=not one.negative)
        if one.owner and one.definite and not one.owner.startswith(PHRASE):
            yield from owner_statements(clause, one)


def _counted_kin(about: str, kin: str, inner: Nominal | None) -> Iterator[Statement]:
    """Yield that somebody has kin, and how many: `a mother`, `the mother of three`."""
    yield make_statement(about, f"has:{kin}", PHRASE + kin)
    if inner is not None and inner.quantity and inner.noun in {"", kin}:
        yield make_statement(about, f"count:{kin}", inner.quantity)


def _bond_statements(
    clause: Clause, subject: Nominal, one: Nominal, tie: str
) -> Iterator[Statement]:
    """Yield what somebody is of an owner, and that the owner has one: `Ana is Bo's boss`."""
    if one.quantifier == "only" and one.last_word in clause.words.sets["kin"]:
        yield make_statement(one.owner, f"count:{one.noun}", Quantity(low=1.0, high=1.0))
    if rank := _superlative_of(one, clause.words):
        yield make_statement(*rank, str(subject.value))
    tied = _tie_statement(tie, one.owner, subject)
    yield replace(tied, holds=tied.holds and not one.negative)
    yield from _kind_of(clause, subject, one)
    kin = clause.words.counted.get(one.noun)
    if kin and not (one.negative or clause.group.negative or clause.group.ended):
        yield make_statement(str(subject.value), f"has:{kin}", PHRASE + kin, implied=True)
    if not tie.startswith("<") or find_attribute(tie[1:]).bond:
        yield from owner_statements(clause, one)


def _kind_of(clause: Clause, subject: Nominal, one: Nominal) -> Iterator[Statement]:
    """Yield what somebody is of an owner, whom others can be beside them, unless it is the only."""
    others = clause.words.has_word("roles", one.noun) or " " in one.owner
    if others or one.negative or subject.negative or clause.group.negative or clause.group.ended:
        return
    sole = "sole" if one.quantifier == "only" and len(one.words) == 1 else ""
    value = f"{PHRASE}{one.noun} of:{one.owner}"
    yield make_statement(str(subject.value), f"is:{one.noun}", value, quantifier=sole, implied=True)


def _superlative_of(one: Nominal, words: WordTable) -> tuple[str, str] | None:
    """Return the owner and the attribute of a superlative: `the tallest tower in Velm`."""
    marks = [mark for mark in one.words if words.is_superlative(mark)]
    owner = one.owner or one.within[1]
    return (owner, f"most:{marks[0]}_{one.noun}") if marks and owner and one.definite else None


def _favourite_of(one: Nominal, words: WordTable) -> tuple[str, str] | None:
    """Return the owner and the attribute of what somebody likes best, and other single choices."""
    if not one.owner or not one.noun or not one.definite:
        return None
    if any(words.has_word("favourites", mark) for mark in one.words[:-1]):
        return one.owner, f"favourite:{one.noun}"
    return (one.owner, f"title:{'_'.join(one.words)}") if one.noun not in words.nouns else None


def _known_meanings(clause: Clause, subject: Nominal, one: Nominal) -> Iterator[Statement]:
    """Yield the measure, bound value, time, state or colour that a predicate means."""
    words, about = clause.words, str(subject.value)
    measured = _read_distance(clause, about, one) or _read_measure(clause, subject, one)
    state = None if one.owner else _state_of(one, words)
    rules = () if one.owner else words.bound.get(one.noun) or words.bound.get(one.last_word, ())
    roles = [role for role, _nominal in clause.locations]
    bound = next((rule for rule in rules if rule[1] in roles), None)
    if measured is not None:
        yield measured
    elif bound is not None:
        yield from _bound_values(clause, about, bound)
    elif state is not None:
        # A prisoner in a tower is no free man, but what is banned here can be allowed there.
        personal = state[0] == "life" or "life:dead" in find_attribute(state[0]).rests_on
        used = (*(words.sets["places"] if personal else ()), "when" if clause.group.begins else "")
        yield make_statement(
            about,
            *state,
            holds=not one.negative,
            quantifier="all" if one.quantifier == "all" else "",
            qualifiers=clause.qualifiers("as", *used),
        )
    elif len(one.words) == 1 and words.has_word("colours", one.words[0]):
        yield make_statement(about, "colour", noun_of(one.words[0], words.code))


def _state_of(one: Nominal, words: WordTable) -> tuple[str, str] | None:
    """Return the state that a predicate means: `dead`, `a free man`, `a strict vegan`, `twins`."""
    found = state_in(one.words, words)
    if found is None and len(one.words) > 1:
        *marks, last = one.words
        if words.has_word("persons", last):
            found = state_in(marks, words)
        elif all(words.is_degree(mark) for mark in marks):
            found = state_in((last,), words)
    if found is None and one.words:
        found = state_in((*one.words[:-1], words.singular_of(one.words[-1])), words)
    return found


def _bound_values(clause: Clause, about: str, bound: Sequence[str]) -> Iterator[Statement]:
    """Yield the value of an adjective's phrase: `allergic to nuts`, `taller than Bo`."""
    name, role = bound
    turned, name = name.startswith("<"), name.removeprefix("<")
    for nominal in (nominal for at, nominal in clause.locations if at == role):
        marks, holds = clause.qualifiers(role), not nominal.negative
        if not turned:
            rest = {"holds": holds, "qualifiers": marks, "quantifier": nominal.quantifier}
            yield make_statement(about, name, clause.value_of(nominal), **rest)
        elif isinstance(nominal.value, str):
            yield make_statement(nominal.value, name, about, qualifiers=marks)


def is_unreal(nominal: Nominal, words: WordTable) -> bool:
    """Return whether a noun phrase is of what is no more, or only looks so."""
    return any(words.has_word(group, one) for group in ("fakes", "gone") for one in nominal.words)


def tie_of(nominal: Nominal, words: WordTable) -> str:
    """Return the attribute of a noun that belongs to an owner, else ""."""
    noun = nominal.noun
    if not nominal.owner or not noun:
        return ""
    whole = "_".join((*nominal.words[:-1], noun))
    if len(nominal.words) > 1 and words.has_word("roles", noun):
        return f"role:{whole}"
    plain = all(words.has_word("plain", mark) for mark in nominal.words[:-1])
    if len(nominal.words) > 1 and not plain:
        return f"role:{whole}" if words.has_word("roles", whole) else ""
    if noun in words.nouns:
        return words.nouns[noun]
    known = noun if find_attribute(noun).kind is ValueKind.ENTITY else ""
    return f"role:{noun}" if words.has_word("roles", noun) else known


def _tie_statement(name: str, owner: str, value: Nominal) -> Statement:
    other = str(value.value)
    if name.startswith("<"):
        return make_statement(other, name[1:], owner)
    return make_statement(owner, name, other, holds=not value.negative)


def _read_distance(clause: Clause, about: str, one: Nominal) -> Statement | None:
    """Read `six kilometres from the lake`, which is the distance of the lake, too."""
    ends = [str(nominal.value) for role, nominal in clause.locations if role == "from"]
    if not ends or one.quantity is None or one.quantity.dimension not in {"length", "mile", "time"}:
        return None
    near, far = sorted((about, ends[0]))
    marks = clause.qualifiers("from") | {f"from:{far}"}
    return make_statement(near, "measure:distance", one.quantity, qualifiers=marks)


def _read_measure(clause: Clause, subject: Nominal, one: Nominal) -> Statement | None:
    """Read `180 cm tall`, `42 years old` and bare measures of a property."""
    if one.quantity is None:
        return None
    words, about, noun = clause.words, str(subject.value), one.last_word
    name, said = words.measures.get(noun, ""), clause.qualifiers()
    if name:
        fits = len(one.words) == 1
        lasts = one.quantity.dimension in {"time", "month"} and name == "length"
        name = "duration" if lasts else name
        name = measure_of(name, one.quantity)
        said = frozenset() if name == "age" else said  # with a big party
        return make_statement(about, name, one.quantity, qualifiers=said) if fits else None
    money = one.quantity.dimension in {"euro", "dollar", "sterling", "franc"}
    counted = (not noun and not money) or subject.noun in words.measures
    if subject.noun and counted and (property_of := _property_of(subject, words)):
        aged = property_of[1] == "age" and not one.quantity.dimension
        figure = _age_in_months(one.quantity) if aged else one.quantity
        known = subject.words[:-1] if subject.noun in words.measures else ()
        other = {mark for mark in known if not words.has_word("empty", mark)}
        marks = said | coins_of(one, words) | other
        return make_statement(*property_of, figure, qualifiers=marks)
    bare = not (noun or one.definite or one.quantifier or one.owner)
    if bare and one.quantity.dimension not in {"", "month", "time"}:
        name = "measure:price" if money else measure_of("*", one.quantity)
        return make_statement(about, name, one.quantity, qualifiers=said)
    aged = not about.startswith(PHRASE) or _is_person(subject, words)
    if bare and one.quantity.low < LATE_YEAR and aged:
        return make_statement(about, "age", _age_in_months(one.quantity))
    return None


def _age_in_months(years: Quantity) -> Quantity:
    """Return the age that a figure without a unit means."""
    low, high = years.low * 12, years.high * 12
    return replace(years, low=low, high=high, dimension="month", step=12.0)


def coins_of(one: Nominal, words: WordTable) -> frozenset[str]:
    """Return the noun after a figure as its unit: `50 crowns`."""
    counted = one.noun and not words.has_word("persons", one.last_word)
    return frozenset((f"unit:{one.noun}",) if counted else ())


def _is_person(subject: Nominal, words: WordTable) -> bool:
    """Return whether a noun phrase is of somebody, whose bare number is an age."""
    tie = find_attribute(words.nouns.get(subject.noun, "").removeprefix("<"))
    kin = tie.acyclic or tie.symmetric or bool(tie.living)
    groups = ("persons", "titles", "trades")
    listed = kin or any(words.has_word(group, subject.last_word) for group in groups)
    return bool(subject.noun) and listed and subject.noun not in words.measures


def _property_of(subject: Nominal, words: WordTable) -> tuple[str, str] | None:
    """Return the owner and the measure of `the height of the tower`; `the price` owns itself."""
    whole = "_".join(subject.words)
    if _is_person(subject, words):
        return None
    sole = subject.owner or (subject.definite and not subject.quantifier)
    known = words.measures.get(subject.noun, "")
    role, owner = subject.within if known else ("", "")
    owner = (
        subject.owner or (owner if role in {"for", "on", "in", "at"} else "") or str(subject.value)
    )
    name = known or (whole if sole else "")
    return (owner, measure_of(name)) if name else None


def location_statements(clause: Clause, about: str) -> Iterator[Statement]:
    """Yield where the subject is."""
    words, locations = clause.words, clause.locations
    firm = [each for each in locations if not each[1].is_bare and words.has_word("places", each[0])]
    outer = [each for each in firm if each[1].is_named and not each[1].noun] or firm[-1:]
    locations = outer[-1:] or locations  # on holiday in Spain, in a vault in Karsk
    if len(locations) != 1:
        raise UnreadClause
    [(role, location)] = locations
    yield from number_statements(clause, about)
    if role == "on" and location.label:  # on Node 20 is no place
        return
    known = not str(location.value).startswith(PHRASE)  # it is Ida's, but is in a town
    own = words.owned_by_be == role and known and about.startswith(PHRASE)
    if role == "without" and location.noun:
        yield from possession_statements(clause, about, replace(location, negative=True), "without")
    elif own and isinstance(location.value, str):
        yield make_statement(about, "owner", location.value)
    else:
        yield from _placement_statements(clause, about, role, location)


def _placement_statements(
    clause: Clause, about: str, role: str, location: Nominal
) -> Iterator[Statement]:
    """Yield where somebody or something is."""
    words, never, placed = clause.words, clause.group.never, clause.words.has_word("places", role)
    if role == "to" and clause.group.perfect and isinstance(location.value, str):
        phase = Phase.WAS if never else Phase.IS
        yield make_statement(about, "did:visit", location.value, phase=phase)
        return
    group = words.has_word("groups", words.singular_of(location.last_word))
    phrase = () if location.definite or not location.words else (role, *location.words)
    state = state_in(phrase, words)
    if state is not None:
        yield make_statement(about, *state)
    elif not isinstance(location.value, str):
        raise UnreadClause
    elif placed and location.noun and location.is_bare:  # in danger, at peace
        name = f"is:{role}_{location.noun}"
        yield make_statement(about, name, location.value, holds=not location.negative)
    elif placed:
        name = "membership" if group and role in {"in", "on"} else "location"
        last = location.value.rpartition("_")[2]
        if location.value.startswith(PHRASE) and words.has_word("streets", last):
            name = "street"  # a bank on Mill Street can also be in Leeds
        yield make_statement(about, name, location.value, holds=not location.negative)
    elif role in words.bearings:
        name = f"bearing:{location.value.removeprefix(PHRASE)}"
        yield make_statement(about, name, words.bearings[role])
    elif role == "from":
        yield make_statement(about, "origin", location.value)
    elif location.is_named and role in {"opposite", "behind", "beside", "near", "between", "by"}:
        yield make_statement(about, f"is:{role}", location.value, holds=not location.negative)
    else:
        raise UnreadClause


def reciprocal_statements(clause: Clause) -> Iterator[Statement]:
    """Yield what two are to each other: `Ana and Bo are siblings`, `are married`."""
    values = [one.value for one in clause.subjects]
    objects, words = clause.objects, clause.words
    if len(values) != _PAIR or len(objects) != 1 or not clause.group.copula or objects[0].owner:
        return
    if any(each.negative for each in clause.subjects):
        return
    one, other = (str(value) for value in values)
    name = words.reciprocal.get(objects[0].last_word) or words.nouns.get(objects[0].noun, "")
    ends = name.startswith("-")
    entry = find_attribute(name.removeprefix("-")) if name else None
    if entry is not None and entry.symmetric and len(objects[0].words) == 1:
        phase = Phase.ENDS if ends else Phase.IS
        yield make_statement(one, entry.name, other, phase=phase)


def number_statements(clause: Clause, about: str) -> Iterator[Statement]:
    """Yield the number after a noun or name: `runs on Python 3.9`, `sleeps in room 12`."""
    group = clause.group
    if group.past or group.perfect or group.negative or group.ability:
        return
    for role, one in clause.locations:  # who owns boat 1 may own boat 2
        if one.label and not one.negative:
            what = one.noun or str(one.value).removeprefix(PHRASE)
            marks = clause.qualifiers() - {f"{role}:{text_of(one.value)}"}
            yield make_statement(about, f"version:{what}", f"{PHRASE}{one.label}", qualifiers=marks)

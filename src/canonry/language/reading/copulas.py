"""The statements of a clause with a form of be: what, where and when somebody or something is."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from canonry.language.reading.figures import measure_of, state_in, text_of
from canonry.language.reading.forms import LATE_YEAR, Clause, Nominal, UnreadClause, say
from canonry.language.reading.possessions import had, owning
from canonry.language.reading.times import parts_of
from canonry.language.reading.tokens import WordTable, noun_of
from canonry.values.attributes.table import ValueKind, attribute
from canonry.values.statements import PHRASE, Phase, Quantity, Statement

_SAID_ONLY: Final = {"only": "sole", "some": ""}
"""The quantifiers of what somebody is: the only doctor has no other beside her."""

_PAIR: Final = 2


def copula_statements(clause: Clause, subject: Nominal) -> Iterator[Statement]:
    """Yield what a clause with a form of be says of one of its subjects."""
    objects, words = clause.objects, clause.words
    owned = list(_of_owner(clause, subject))
    if owned:
        yield from owned
    elif not objects and parts_of(clause.when) and not clause.places:
        tie = _tie(subject, words)
        dated = bool(tie) and attribute(tie).kind is ValueKind.TIME
        about = (subject.owner, tie) if dated else (str(subject.value), "schedule")
        yield say(*about, clause.when)  # the feast is on Tuesday, her birthday is in May
    elif not objects:
        yield from located(clause, str(subject.value))
    else:
        yield from numbered(clause, str(subject.value))
        for one in objects:
            yield from _predicate(clause, subject, one)


def _of_owner(clause: Clause, subject: Nominal) -> Iterator[Statement]:
    """Yield what a clause says of the subject's owner: `Ana's eyes are blue`, `her boss is Bo`."""
    objects, words = clause.objects, clause.words
    tied, part = _tie(subject, words), words.parts.get(subject.noun, "")
    unique = _unique(subject, words) or _favourite(subject, words)
    names = [one for one in objects if not one.noun and isinstance(one.value, str)]
    placed = [place for role, place in clause.places if words.has("places", role)]
    if tied and len(placed) == 1 and not objects and attribute(tied).containment:
        yield say(subject.owner, tied, placed[0].value)  # her home is in Velm
    elif part and subject.owner and len(objects) == len(subject.words) == 1:
        value = noun_of(objects[0].words[-1], words.code) if objects[0].words else ""
        value = value or text_of(objects[0].value)
        yield say(subject.owner, part, value)
    elif tied and names and not objects[0].noun:
        if not tied.startswith("role:") or len(objects) == 1:
            yield from (_tied(tied, subject.owner, one) for one in names)
            for one in names:
                yield from _kind_of(clause, one, subject)
        if unique:  # her eldest son
            yield say(*unique, str(names[0].value))
    elif names and len(objects) == len(subject.words) == 1 and words.has("roles", subject.noun):
        yield say(str(subject.value), f"role:{subject.noun}", str(names[0].value))
    elif unique and names and len(objects) == 1:
        yield say(*unique, str(names[0].value))


def _predicate(clause: Clause, subject: Nominal, one: Nominal) -> Iterator[Statement]:
    """Yield what a noun or adjective after a form of be says."""
    words, about = clause.words, str(subject.value)
    tie = _tie(one, words) if one.owner else ""
    known = list(_known(clause, subject, one))
    if known:
        yield from known
    elif not tie and (unique := _unique(one, words)):
        yield say(*unique, about)
    elif one.noun in words.counted and (one.inner or (one.indefinite and len(one.words) == 1)):
        kin = words.counted[one.noun]
        yield say(about, f"has:{kin}", PHRASE + kin)
    elif tie and not (one.indefinite and tie.startswith("role:")):
        yield from _bond(clause, subject, one, tie)
    elif one.owner and not one.words and one.definite:
        yield say(about, "owner", one.owner)
    elif isinstance(one.value, str) and one.value.startswith(PHRASE) and not one.noun:
        yield say(about, f"is:{one.value.removeprefix(PHRASE)}", one.value, holds=not one.negative)
    elif isinstance(one.value, str) and one.noun and not is_unreal(one, words):
        yield from _described(clause, about, one)
        if one.owner and one.definite and not one.owner.startswith(PHRASE):
            yield from owning(clause, one)


def _bond(clause: Clause, subject: Nominal, one: Nominal, tie: str) -> Iterator[Statement]:
    """Yield what somebody is of an owner, and that the owner has one: `Ana is Bo's boss`."""
    if one.quantifier == "only" and one.last in clause.words.sets["kin"]:
        yield say(one.owner, f"count:{one.noun}", Quantity(low=1.0, high=1.0))
    if rank := _unique(one, clause.words):
        yield say(*rank, str(subject.value))
    tied = _tied(tie, one.owner, subject)
    yield replace(tied, holds=tied.holds and not one.negative)
    yield from _kind_of(clause, subject, one)
    kin = clause.words.counted.get(one.noun)
    if kin and not (one.negative or clause.group.negative or clause.group.ended):
        yield say(str(subject.value), f"has:{kin}", PHRASE + kin, implied=True)
    if not tie.startswith("<") or attribute(tie[1:]).bond:
        yield from owning(clause, one)


def _kind_of(clause: Clause, subject: Nominal, one: Nominal) -> Iterator[Statement]:
    """Yield what somebody is of an owner, whom others can be beside them, unless it is the only."""
    others = clause.words.has("roles", one.noun) or " " in one.owner
    if others or one.negative or subject.negative or clause.group.negative or clause.group.ended:
        return
    sole = "sole" if one.quantifier == "only" and len(one.words) == 1 else ""
    value = f"{PHRASE}{one.noun} of:{one.owner}"
    yield say(str(subject.value), f"is:{one.noun}", value, quantifier=sole, implied=True)


def _unique(one: Nominal, words: WordTable) -> tuple[str, str] | None:
    """Return the owner and the attribute of a superlative: `the tallest tower in Velm`."""
    marks = [mark for mark in one.words if words.is_superlative(mark)]
    owner = one.owner or one.within[1]
    return (owner, f"most:{marks[0]}_{one.noun}") if marks and owner and one.definite else None


def _favourite(one: Nominal, words: WordTable) -> tuple[str, str] | None:
    """Return the owner and the attribute of what somebody likes best, and other single choices."""
    if not one.owner or not one.noun or not one.definite:
        return None
    if any(words.has("favourites", mark) for mark in one.words[:-1]):
        return one.owner, f"favourite:{one.noun}"
    return (one.owner, f"title:{'_'.join(one.words)}") if one.noun not in words.nouns else None


def _known(clause: Clause, subject: Nominal, one: Nominal) -> Iterator[Statement]:
    """Yield the measure, bound value, time, state or colour that a predicate means."""
    words, about = clause.words, str(subject.value)
    measured = _distance(clause, about, one) or _measured(subject, one, words)
    state = None if one.owner else _state(one, words)
    rules = () if one.owner else words.bound.get(one.noun) or words.bound.get(one.last, ())
    roles = [role for role, _place in clause.places]
    bound = next((rule for rule in rules if rule[1] in roles), None)
    if measured is not None:
        yield measured
    elif bound is not None:
        yield from _bound(clause, about, bound)
    elif state is not None:
        yield say(
            about,
            *state,
            holds=not one.negative,
            quantifier="all" if one.quantifier == "all" else "",
            qualifiers=clause.qualifiers("as"),
        )
    elif len(one.words) == 1 and words.has("colours", one.words[0]):
        yield say(about, "colour", noun_of(one.words[0], words.code))


def _state(one: Nominal, words: WordTable) -> tuple[str, str] | None:
    """Return the state that a predicate means: `dead`, `a free man`, `a strict vegan`, `twins`."""
    found = state_in(one.words, words)
    if found is None and len(one.words) > 1:
        *marks, last = one.words
        if words.has("persons", last):
            found = state_in(marks, words)
        elif all(words.is_degree(mark) for mark in marks):
            found = state_in((last,), words)
    if found is None and one.words:
        found = state_in((*one.words[:-1], words.singular(one.words[-1])), words)
    return found


def _bound(clause: Clause, about: str, bound: Sequence[str]) -> Iterator[Statement]:
    """Yield the value of an adjective's phrase: `allergic to nuts`, `taller than Bo`."""
    name, role = bound
    turned, name = name.startswith("<"), name.removeprefix("<")
    for place in (place for at, place in clause.places if at == role):
        marks, holds = clause.qualifiers(role), not place.negative
        if not turned:
            yield say(about, name, clause.value_of(place), holds=holds, qualifiers=marks)
        elif isinstance(place.value, str):
            yield say(place.value, name, about, qualifiers=marks)


def is_unreal(nominal: Nominal, words: WordTable) -> bool:
    """Tell whether a noun phrase is of what is no more, or only looks so."""
    return any(words.has(group, one) for group in ("fakes", "gone") for one in nominal.words)


def _described(clause: Clause, about: str, one: Nominal) -> Iterator[Statement]:
    """Yield what somebody is, in words that no table has."""
    plain = clause.words.without_denial(one.last) if len(one.words) == 1 else ""
    noun = noun_of(plain, clause.words.code) if plain else one.noun
    yield say(
        about,
        f"is:{noun}",
        f"{PHRASE}{noun}" if plain else text_of(one.value),
        quantifier=_SAID_ONLY.get(one.quantifier, one.quantifier),
        holds=one.negative is bool(plain),
        qualifiers=clause.qualifiers(),
    )


def _tie(nominal: Nominal, words: WordTable) -> str:
    """Return the attribute of a noun that belongs to an owner, else ""."""
    noun = nominal.noun
    if not nominal.owner or not noun:
        return ""
    whole = "_".join((*nominal.words[:-1], noun))
    if len(nominal.words) > 1 and words.has("roles", noun):
        return f"role:{whole}"
    plain = all(words.has("plain", mark) for mark in nominal.words[:-1])
    if len(nominal.words) > 1 and not plain:
        return f"role:{whole}" if words.has("roles", whole) else ""
    if noun in words.nouns:
        return words.nouns[noun]
    known = noun if attribute(noun).kind is ValueKind.ENTITY else ""
    return f"role:{noun}" if words.has("roles", noun) else known


def _tied(name: str, owner: str, value: Nominal) -> Statement:
    other = str(value.value)
    if name.startswith("<"):
        return say(other, name[1:], owner)
    return say(owner, name, other, holds=not value.negative)


def _distance(clause: Clause, about: str, one: Nominal) -> Statement | None:
    """Read `six kilometres from the lake`, which is the distance of the lake, too."""
    ends = [str(place.value) for role, place in clause.places if role == "from"]
    if not ends or one.quantity is None or one.quantity.dimension not in {"length", "mile", "time"}:
        return None
    near, far = sorted((about, ends[0]))
    marks = clause.qualifiers("from") | {f"from:{far}"}
    return say(near, "measure:distance", one.quantity, qualifiers=marks)


def _measured(subject: Nominal, one: Nominal, words: WordTable) -> Statement | None:
    """Read `180 cm tall`, `42 years old` and bare measures of a property."""
    if one.quantity is None:
        return None
    about, noun = str(subject.value), one.last
    name = words.measures.get(noun, "")
    if name:
        fits = len(one.words) == 1
        name = (
            "duration" if one.quantity.dimension in {"time", "month"} and name == "length" else name
        )
        return say(about, measure_of(name, one.quantity), one.quantity) if fits else None
    money = one.quantity.dimension in {"euro", "dollar", "sterling", "franc"}
    counted = (not noun and not money) or subject.noun in words.measures
    if subject.noun and counted and (property_of := _property_of(subject, words)):
        return say(*property_of, one.quantity)
    bare = not (noun or one.definite or one.quantifier or one.owner)
    if bare and one.quantity.dimension not in {"", "month", "time"}:
        return say(about, "measure:price" if money else measure_of("*", one.quantity), one.quantity)
    if (
        bare
        and one.quantity.low < LATE_YEAR
        and (not about.startswith(PHRASE) or _is_person(subject, words))
    ):
        years = one.quantity
        age = replace(years, low=years.low * 12, high=years.high * 12, dimension="month")
        return say(about, "age", age)
    return None


def _is_person(subject: Nominal, words: WordTable) -> bool:
    """Tell whether a noun phrase is of somebody, whose bare number is an age."""
    tie = attribute(words.nouns.get(subject.noun, "").removeprefix("<"))
    kin = tie.acyclic or tie.symmetric or bool(tie.living)
    listed = kin or words.has("persons", subject.last)
    return bool(subject.noun) and listed and subject.noun not in words.measures


def _property_of(subject: Nominal, words: WordTable) -> tuple[str, str] | None:
    """Return the owner and the measure of `the height of the tower`; `the price` owns itself."""
    whole = "_".join(subject.words)
    if _is_person(subject, words):
        return None
    sole = subject.owner or (subject.definite and not subject.quantifier)
    name = words.measures.get(subject.noun, "") or (whole if sole else "")
    return (subject.owner or str(subject.value), measure_of(name)) if name else None


def located(clause: Clause, about: str) -> Iterator[Statement]:
    """Yield where the subject is."""
    words, places = clause.words, clause.places
    firm = [each for each in places if not each[1].bare and words.has("places", each[0])]
    places = firm if len(firm) == 1 else places  # on holiday in Spain
    if len(places) != 1:
        raise UnreadClause
    [(role, place)] = places
    yield from numbered(clause, about)
    if role == "on" and place.label:  # on Node 20 is no place
        return
    known = not str(place.value).startswith(PHRASE)  # it is Ida's, but is in a town
    own = words.owned_by_be == role and known and about.startswith(PHRASE)
    if role == "without" and place.noun:
        yield from had(clause, about, replace(place, negative=True), "without")
    elif own and isinstance(place.value, str):
        yield say(about, "owner", place.value)
    else:
        yield from _placed(clause, about, role, place)


def _placed(clause: Clause, about: str, role: str, place: Nominal) -> Iterator[Statement]:
    """Yield where somebody or something is."""
    words, never = clause.words, clause.group.never
    if role == "to" and clause.group.perfect and isinstance(place.value, str):
        yield say(about, "did:visit", place.value, phase=Phase.WAS if never else Phase.IS)
        return
    group = words.has("groups", words.singular(place.last))
    told = () if place.definite or not place.words else (role, *place.words)
    state = state_in(told, words)
    if state is not None:
        yield say(about, *state)
    elif not isinstance(place.value, str):
        raise UnreadClause
    elif words.has("places", role) and place.noun and place.bare:  # in danger, at peace
        yield say(about, f"is:{role}_{place.noun}", place.value, holds=not place.negative)
    elif words.has("places", role):
        name = "membership" if group and role in {"in", "on"} else "location"
        if words.has("streets", place.value.rpartition("_")[2]) and place.value.startswith(PHRASE):
            name = "street"  # a bank on Mill Street can also be in Leeds
        yield say(about, name, place.value, holds=not place.negative)
    elif role in words.bearings:
        yield say(about, f"bearing:{place.value.removeprefix(PHRASE)}", words.bearings[role])
    elif role == "from":
        yield say(about, "origin", place.value)
    elif place.named and role in {"opposite", "behind", "beside", "near", "between", "by"}:
        yield say(about, f"is:{role}", place.value, holds=not place.negative)
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
    name = words.reciprocal.get(objects[0].last) or words.nouns.get(objects[0].noun, "")
    ends = name.startswith("-")
    entry = attribute(name.removeprefix("-")) if name else None
    if entry is not None and entry.symmetric and len(objects[0].words) == 1:
        phase = Phase.ENDS if ends else Phase.IS
        yield say(one, entry.name, other, phase=phase)


def numbered(clause: Clause, about: str) -> Iterator[Statement]:
    """Yield the number after a noun or name: `runs on Python 3.9`, `sleeps in room 12`."""
    group = clause.group
    if group.past or group.perfect or group.negative or group.ability:
        return
    for role, one in clause.places:  # who owns boat 1 may own boat 2
        if one.label and not one.negative:
            what = one.noun or str(one.value).removeprefix(PHRASE)
            marks = clause.qualifiers() - {f"{role}:{text_of(one.value)}"}
            yield say(about, f"version:{what}", f"{PHRASE}{one.label}", qualifiers=marks)

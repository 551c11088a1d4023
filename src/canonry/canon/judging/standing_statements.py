"""The statements of claims and of canon items, and the items that may stand against a claim.

A fact, a relation and a state tag can say the same statement. Each is turned into the same
form here, so that the gates compare them by attribute and value.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import chain, takewhile
from typing import Any, Final, TypeAlias

from canonry.canon.judging.contents import (
    Content,
    EventContent,
    FactContent,
    RelationshipContent,
    StateChangeContent,
    end_of,
)
from canonry.canon.judging.known_items import Backing, fit_types, id_for_owner
from canonry.canon.judging.slices import SliceView
from canonry.canon.judging.state_tags import (
    TagHeld,
    TagWriter,
    authority_of,
    change_tags,
    changes_of,
    facts_stating_tag,
    held_tag_of,
    is_same_moment,
    own_spelling,
    still_stands,
    tags_held_at,
)
from canonry.language.reading.figures import measure_of
from canonry.language.reading.forms import ANYBODY, SPEAKER
from canonry.language.reading.reading import READER, read_quantity, read_statements, said_by
from canonry.language.reading.times import has_come, is_recurring, is_span, moved
from canonry.language.reading.tokens import word_table
from canonry.language.texts.stems import EPITHETS, find_names, is_part_of, with_parts, words_of_name
from canonry.log.entries import Entry, FactRead
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.facts import Fact, Relation
from canonry.log.schemas.narrative import relation_type
from canonry.values.attributes.table import (
    Attribute,
    AttributeTable,
    ValueKind,
    attribute_of_relation,
    attribute_of_word,
    current_attributes,
    find_attribute,
    implied_by,
    statements_of_tag,
)
from canonry.values.fields import Reference
from canonry.values.ids import EntityId, FactId, NewId, Space, SpaceKind, is_uuid
from canonry.values.moments import NOW, Instant, Moment, is_same_scene, sort_by_story, time_of
from canonry.values.observations import Observation
from canonry.values.provenance import Authority
from canonry.values.state_tags import normal_tag
from canonry.values.statements import AHEAD, PHRASE, Phase, Quantity, Statement, timeline_key


def names_of(view: SliceView, entities: Iterable[Entity]) -> dict[str, str]:
    """Map the names of the entities to their ids.

    A word of a longer name counts as a name if only one of them has it, as `Anna` for Anna Berg.
    """
    whole: dict[str, str] = {}
    for entity in entities:
        members = (view.find_item(member) for member in entity.members)
        entities_named = (entity, *(one for one in members if isinstance(one, Entity)))
        # Former names are kept in lower case only.
        named = {each.casefold(): each for one in entities_named for each in (one.name,)}
        known = (each for one in entities_named for each in one.known_as)
        others = (named.get(each, each.title()) for each in known)
        whole |= dict.fromkeys((*named.values(), *others), str(entity.id))
    return with_parts(whole)


def statements_of_tags(entity_id: str, tags: Iterable[str], *, hold: bool) -> Iterator[Statement]:
    """Yield the statements in state tags of an entity; unknown tags state nothing."""
    for tag in tags:
        yield from statements_of_tag(entity_id, tag, holds=hold)


def statement_of_relation(rel_type: str, from_id: str, to_id: str) -> Statement:
    """Return what a relation says, from the side of its attribute's subject."""
    entry, inverse = attribute_of_relation(rel_type)
    subject, value = (to_id, from_id) if inverse else (from_id, to_id)
    return Statement(subject=subject, attribute=entry.name, value=value)


def statements_of_relation(rel_type: str, from_id: str, to_id: str) -> tuple[Statement, ...]:
    """Return what the noun in a type that no attribute lists says: `BROTHER_OF`, is a brother."""
    listed = not attribute_of_relation(rel_type)[0].name.startswith("relation:")
    if listed or not rel_type.endswith("_OF"):
        return ()
    noun = rel_type.removesuffix("_OF").casefold().replace("_", " ")
    return read_statements(f"Ana is a {noun} of Bo.", {"Ana": from_id, "Bo": to_id})


def statements_of_properties(
    properties: Mapping[str, Any], entities: Iterable[Entity]
) -> Iterator[Statement]:
    """Yield the statements in the properties of a fact about one entity."""
    about = [one.id for one in entities]
    for name, value in properties.items() if len(about) == 1 else ():
        if isinstance(value, bool):
            yield from statements_of_tags(about[0], (name,), hold=value)
            continue
        if not isinstance(value, str | int | float):
            continue
        figure, text = read_quantity(str(value)), normal_tag(str(value)).replace(" ", "_")
        known = attribute_of_word(name)
        same = known is not None and known[0].name == known[1]
        label = known[1] if known and same else normal_tag(name).replace(" ", "_")
        if figure is not None:
            yield Statement(subject=about[0], attribute=measure_of(label), value=figure)
        elif find_attribute(label).kind is ValueKind.WORD:
            yield Statement(subject=about[0], attribute=label, value=text)
        else:
            yield Statement(subject=about[0], attribute=f"property:{label}", value=PHRASE + text)


_DELAYS: Final = {"measure:delay": False, "measure:advance": True}
"""The attributes of words such as `a week later`, and whether the new date lies before the old."""


def _with_new_date(said: Statement, view: SliceView) -> Iterator[Statement]:
    """Yield the new date of what is postponed, counted from its known date; none without one."""
    back = _DELAYS.get(said.attribute)
    if back is None or said.phase is not Phase.BEGINS or not isinstance(said.value, Quantity):
        yield said
        return
    asked = replace(said, attribute="schedule", value=None)
    known = [one for one in find_standing([asked], NOW, view) if one.statement.holds_then]
    dates = [one for one in known if one.statement.attribute == "schedule"]
    for one in sort_by_story(dates, lambda one: one.moment)[-1:]:
        if new := moved(str(one.statement.value), said.value, back=back):
            yield replace(asked, value=new)


_ABOUT_TAGS: Final = frozenset({"entity_id", "tag", "holds"})
"""The properties of facts that document a state tag; they say nothing beyond the tag."""


def statements_of(content: Content, view: SliceView) -> tuple[Statement, ...]:
    """Return everything that a claim says; a view reads each content once."""
    if id(content) not in view.statements_read:
        change = change_of_event(content, view) if isinstance(content, EventContent) else None
        said = _statements_in(content, view) if change is None else statements_of(change, view)
        view.statements_read[id(content)] = content, said
    return view.statements_read[id(content)][1]


def statements_at(content: Content, moment: Moment, view: SliceView) -> tuple[Statement, ...]:
    """Return what a claim says at a moment, without ends of what others imply then.

    After a divorce from one, somebody who has married another since is still married.
    """
    said = statements_of(content, view)
    symmetric = [one for one in said if find_attribute(one.attribute).symmetric]
    ends = [one for one in symmetric if one.phase is Phase.ENDS and not one.implied]
    over = [(one.attribute, {one.subject, one.value}) for one in ends]
    beside = [each.statement for each in find_standing(ends, moment, view)] if ends else []
    beside = [one for one in beside if one.attribute in {name for name, _pair in over}]
    held = [(one.attribute, {one.subject, one.value}) for one in beside if one.holds_then]
    kept = set().union(*(pair for name, pair in held if (name, pair) not in over))
    implied = (one for one in said if one.implied and one.phase is Phase.ENDS)
    left = {one for one in implied if one.subject in kept}
    return tuple(one for one in said if one not in left)


def bereaved_by(
    item: Fact | Relation, old: Fact | Relation, view: SliceView
) -> Iterator[Statement]:
    """Yield the states of those whose bond in `old` ends with a death in `item`: the widowed."""
    said = [one.statement for one in standings_of(item, view)]
    for bond in (one.statement for one in standings_of(old, view)):
        name, _, state = find_attribute(bond.attribute).implies.get("-", "").partition(":")
        dead = {one.subject for one in said if state and rests_on(bond, one)}
        for left in {bond.subject, bond.value}.difference(dead) if dead else ():
            yield Statement(subject=str(left), attribute=name, value=state, phase=Phase.BEGINS)


def change_of_event(content: EventContent, view: SliceView) -> FactContent | None:
    """Return the words of an event as a fact if they say more than a deed: who died, or moved."""
    where = () if content.location is None else (content.location,)
    involved = (*content.involved, *where)
    found = [entity for entity in map(view.find_entity, involved) if entity is not None]
    for text in filter(None, (content.title, content.description)):
        read = statements_of_fact(text, {}, found, view, happened=True)
        states = [one for one in read if not one.attribute.startswith("does:")]
        begun = {e for e in states if e.phase is Phase.IS and e.holds}  # is killed by Bo
        said = tuple(replace(one, phase=Phase.BEGINS) if one in begun else one for one in read)
        explicit = [one for one in said if not one.implied]
        if any(":" not in e.attribute or e.phase in {Phase.BEGINS, Phase.ENDS} for e in explicit):
            change = FactContent(
                statement=text, time_ref=content.time_ref, involved=involved, actors=content.actors
            )
            view.statements_read[id(change)] = change, said
            return change
    return None


def _statements_in(content: Content, view: SliceView) -> tuple[Statement, ...]:
    match content:
        case FactContent():
            found = [view.find_entity(reference) for reference in content.involved]
            entities = list({one.id: one for one in found if one is not None}.values())
            who = content.actors[0] if len(content.actors) == 1 else None
            by = None if who is None else view.find_entity(who)
            reported = statements_of_fact(content.statement, content.properties, entities, view, by)
            return tuple(one for each in reported for one in _with_new_date(each, view))
        case RelationshipContent():
            start, end = view.find_entity(content.from_entity), view.find_entity(content.to_entity)
            if start is None or end is None:
                return ()
            kind = relation_type(content.rel_type)
            statement = statement_of_relation(kind.name, start.id, end.id)
            more = statements_of_relation(kind.name, start.id, end.id)
            return (statement, *implied_by(statement), *more)
        case StateChangeContent():
            entity = view.find_entity(content.entity)
            if entity is None:
                return ()
            return (
                *statements_of_tags(entity.id, content.add, hold=True),
                *statements_of_tags(entity.id, content.remove, hold=False),
            )
        case _:
            return ()


def statements_of_fact(
    statement: str,
    properties: Mapping[str, Any],
    entities: Iterable[Entity],
    view: SliceView,
    by: Entity | None = None,
    *,
    happened: bool = False,
) -> tuple[Statement, ...]:
    """Return what a fact says by its words and by its properties.

    `I` is the speaker `by`, and the owner in an account; in other facts nothing is said of it.
    """
    about = tuple(entities)
    if {"tag", "holds"} <= properties.keys():
        tags, hold = (str(properties["tag"]),), properties["holds"] is True
        return tuple(statements_of_tags(str(properties["entity_id"]), tags, hold=hold))
    others = {name: each for name, each in properties.items() if name not in _ABOUT_TAGS}
    names = names_of(view, about)
    text = statement.replace("'", " '") if len(about) > 1 else ""
    many = any(" " in name for name in names)  # only a name of several words is distinguished
    forms = [one.form for one in find_names(statement) if one.part and one.start] if many else ()
    strange = {form.rpartition(" ")[2] for form in forms if _is_strange(form, names)}
    names = {name: each for name, each in names.items() if name.casefold() not in strange}
    named = {each for name, each in names.items() if is_part_of(words_of_name(name), text)}
    sole = {str(one.id) for one in about} - named  # a pronoun at the beginning means this one
    about_one = sole.pop() if len(sole) == 1 else ""
    read = read_statements(statement, names, about=about_one, happened=happened)
    reported = tuple(said_by("", read))
    if len(reported) < len(read):
        space = view.find_item(view.space)
        owned = isinstance(space, Space) and space.kind is SpaceKind.ACCOUNT
        reported = tuple(said_by(by.id if by else SPEAKER if owned else "", read))
    types = {str(one.id): one.entity_type for one in about}
    buried = any(one.attribute == "burialplace" for one in reported)
    fitting = (each for one in reported for each in fit_types(one, types, buried=buried))
    return tuple(dict.fromkeys((*fitting, *statements_of_properties(others, about))))


def _is_strange(form: str, names: Mapping[str, str]) -> bool:
    """Return whether a written name differs from the known name whose last word it shares."""
    first, last = form.split(maxsplit=1)[0], form.rpartition(" ")[2]
    own = [words for name in names if (words := words_of_name(name)).endswith(f" {last}")]
    known = any(is_part_of(form, each) or is_part_of(each, form) for each in own)
    return bool(own) and not known and first not in EPITHETS


def reading_of(
    fact_id: str,
    statement: str,
    properties: Mapping[str, Any],
    involved: Iterable[EntityId],
    view: SliceView,
) -> FactRead:
    """Return the entry that stores what a new fact says, so that nobody reads its words again."""
    found = [view.find_entity(Reference(one)) for one in involved]
    entities = [one for one in found if one is not None]
    statements = statements_of_fact(statement, properties, entities, view)
    return FactRead(fact_id=FactId(fact_id), reader=READER, statements=statements)


# States: the state tags that follow from what a fact says.


StatedTag: TypeAlias = tuple[Entity, str, bool]
"""A tag that begins or ends by what a fact says of an entity, and whether it holds."""


def without_given_time(one: Statement, moment: Moment, *, limited: bool = False) -> Statement:
    """Leave out the point of time by which a fact outside of scenes is dated, unless it recurs.

    A plan with a time holds from then on, and a date of a plan is a date. A span of a figure stays.
    The "Friday" of a fact that is `limited`, as by "until Friday", does not recur.
    """
    dated = bool(one.when) and moment.at is not None and moment.position.scene == 0
    kind = find_attribute(one.attribute).kind
    lasting = one.phase is Phase.IS and kind is not ValueKind.QUANTITY
    recurs = lasting and not limited and is_recurring(one.when)
    if dated or (kind is ValueKind.TIME and moment.position.scene == 0):
        one = one.as_asserted
    span = one.when if kind is ValueKind.QUANTITY and is_span(one.when) else ""
    now = replace(one, when=span, qualifiers=one.qualifiers - {AHEAD})
    return now if dated and not recurs else one


def states_of(statements: Iterable[Statement], view: SliceView) -> tuple[StatedTag, ...]:
    """Return the states that begin, end or follow from statements; each once.

    Only words of change and of consequence count, and death: somebody who was killed is dead. Any
    other state that a fact only mentions stays with the fact.
    """
    found: dict[tuple[str, str], StatedTag] = {}
    for one in statements:
        changes = one.value == "dead" or has_come(one) or (one.implied and not one.when)
        whole = not one.qualifiers and one.quantifier in {"", "all"}
        if not changes or one.holds_then is None or not whole:
            continue
        entity, entry = entity_of(view, one.subject), find_attribute(one.attribute)
        worded = entry.kind is ValueKind.WORD and not entry.soft
        worded &= entity is None or f"{PHRASE}{entity.shown_type.split()[-1]}" not in entry.kinds
        if entity is None or not worded or one.value not in {*chain(*entry.exclusive)}:
            continue
        found.setdefault((entity.id, str(one.value)), (entity, str(one.value), one.holds_then))
    return tuple(found.values())


def change_states(
    statements: Iterable[Statement],
    view: SliceView,
    new_id: NewId,
    backing: Backing,
    *,
    moment: Moment,
    until: Instant | None = None,
    ended: Iterable[TagHeld] = (),
) -> Iterator[Entry]:
    """Yield the changes of the states that a fact begins and ends; it supersedes those in `ended`.

    A fact that holds `until` a time changes them only so long.

    Changes that another item tells in the scene of the moment are left out.
    """
    found: defaultdict[EntityId, dict[str, bool]] = defaultdict(dict)
    said = [without_given_time(one, moment) for one in statements]
    begun = states_of(said, view)
    bound = (one for one in said if one.holds_then and find_attribute(one.attribute).symmetric)
    bonds = frozenset(frozenset((one.subject, str(one.value))) for one in bound)
    over = tuple(ended)
    if not begun and not over:
        return
    superseded = ((entity_of(view, one.entity_id), one.tag) for one in over)
    states = [*begun, *((entity, tag, False) for entity, tag in superseded if entity is not None)]
    for entity, tag, holds in states:
        there = [one for one in changes_of(entity) if is_same_scene(one.moment, moment)]
        same = any((normal_tag(one.tag), one.holds) == (normal_tag(tag), holds) for one in there)
        if not same:
            found[entity.id].setdefault(tag, holds)
    for entity in {entity.id: entity for entity, _tag, _holds in states}.values():
        tags = found[entity.id]
        yield from change_tags(
            TagWriter(view, partial(id_for_owner, new_id, entity.id), backing, entity),
            add=own_spelling(entity, (tag for tag, holds in tags.items() if holds)),
            remove=own_spelling(entity, (tag for tag, holds in tags.items() if not holds)),
            moment=moment,
            until=until,
            bonds=bonds,
        ).entries


def backing_of(fact: Fact) -> Backing:
    """Return the support of a fact, with its place in the story."""
    origin = {name: getattr(fact, name) for name in ("scene_id", "place", "proposal_id")}
    return Backing.from_item(fact, **origin)


def restate_tags(fact: Fact, view: SliceView, new_id: NewId) -> Iterator[Entry]:
    """Yield the changes of the states that a fact begins and ends when it is canon again."""
    backing = backing_of(fact)
    if "tag" not in fact.properties:
        until = end_of(fact.time_ref, fact.duration)
        yield from change_states(
            fact.statements, view, new_id, backing, moment=fact.moment, until=until
        )
        return
    entity = entity_of(view, str(fact.properties.get("entity_id")))
    tags = (str(fact.properties["tag"]),)
    add, remove = (tags, ()) if fact.properties.get("holds") is True else ((), tags)
    if entity is not None:
        pen = TagWriter(view, new_id, backing, entity)
        yield from change_tags(pen, add=add, remove=remove, moment=fact.moment).entries


def tags_begun_by(fact: Fact, view: SliceView) -> Iterator[TagHeld]:
    """Yield the states that began with a fact, without those that it only confirmed.

    A state then lasts until another fact states it again.
    """
    named, begun = fact.properties.get("entity_id"), list[tuple[Entity, str]]()
    if isinstance(named, str) and fact.properties.get("holds") is True:
        entity = entity_of(view, named)
        begun += [] if entity is None else [(entity, str(fact.properties.get("tag")))]
    else:
        states = states_of([without_given_time(one, fact.moment) for one in fact.statements], view)
        begun += [(entity, tag) for entity, tag, holds in states if holds]
    found = [one for each in begun if (one := _tag_begun_with(fact, *each, view)) is not None]
    yield from found
    documents = [view.find_item(one) for held in found for one in held.facts]
    causes = [one for one in (fact, *documents) if isinstance(one, Fact)]
    ends = ((by, old) for by in causes for old in items_ended_for(by, view))
    left = {(one.entity_id, one.tag): one for end in ends for one in tags_left_by(*end, view)}
    yield from left.values()


def tags_left_by(by: Fact, old: Fact | Relation, view: SliceView) -> Iterator[TagHeld]:
    """Yield the states that began because the bond in `old` ended with a death in `by`."""
    for entity, tag, _holds in states_of(bereaved_by(by, old, view), view):
        held = _tag_begun_with(by, entity, tag, view, left=True)
        yield from () if held is None else (held,)


def _tag_begun_with(
    fact: Fact, entity: Entity, tag: str, view: SliceView, *, left: bool = False
) -> TagHeld | None:
    """Return a state that began with a fact; with `left`, it follows from what the fact ended."""
    own = [one for one in changes_of(entity) if normal_tag(one.tag) == normal_tag(tag)]
    there = (
        n for n, one in enumerate(own) if one.holds and is_same_moment(one.moment, fact.moment)
    )
    at = next(there, None)
    if at is None or (at and own[at - 1].holds):
        return None
    again = [e for e in facts_stating_tag(view, entity, tag, holds=True) if e.id != fact.id]
    until = {(each.moment.at, each.moment.position) for each in again}
    later = [(one, (one.moment.at, one.moment.position) in until) for one in own[at + 1 :]]
    run = (one for one, _ in takewhile(lambda each: each[0].holds and not each[1], later))
    first, *_, last = (own[at], own[at], *run)
    if "tag" in fact.properties and not left:
        return TagHeld(entity_id=entity.id, tag=last.tag, change=last, facts=(fact.id,))
    seen = view.find_item(first.observation)
    told = left or (isinstance(seen, Observation) and seen.position == fact.position)
    return held_tag_of(view, entity, last) if told else None


# Conflicting statements: the items that say something of the same attribute and subject.


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingStatement:
    """A statement of the canon, and the item that says it.

    `conflicting` is the id of the fact or relation, or the tag. `text` tells a reader what it says.
    """

    statement: Statement
    conflicting: TagHeld | str
    conflicts: tuple[str, ...]
    text: str
    moment: Moment
    authority: Authority
    about: frozenset[str]
    item: Fact | Relation | None = None


def keys_of_conflicting(statements: Sequence[Statement], view: SliceView) -> frozenset[str]:
    """Return the keys of the facts that may contradict these statements; read once by a view."""
    known = view.keys_read.get(id(statements))
    if known is not None:
        return known[1]
    keys: set[str] = set()
    for one in statements:
        entry, sides = find_attribute(one.attribute), [one.subject]
        if (entry.symmetric or entry.acyclic) and isinstance(one.value, str):
            sides.append(one.value)
        if one.subject.startswith(PHRASE):  # a statement about all doors covers the front door
            sides.append(one.subject.split()[0])
        family, _, deed = one.attribute.partition(":")
        related = {"does": [f"can:{deed}"], "can": [f"does:{deed}"]}.get(family, [])
        others = (entry.excludes, entry.displaces, entry.after, entry.before, _bound_to(entry))
        named = (one.attribute, *chain.from_iterable(others), *related)
        for side in sides:
            entity = entity_of(view, side)
            for each in (side,) if entity is None else family_of(entity):
                keys |= {timeline_key(each, name) for name in named}
                if entry.symmetric:  # stated from the other side
                    keys |= {replace(one, attribute=n, value=each).value_key or "" for n in named}
        keys |= _keys_of_leaving(one, view)
        if one.value_key is not None:
            whole = one.quantifier == "sole" or one.subject == ANYBODY
            keys |= {one.value_key} if whole else {timeline_key(ANYBODY, one.attribute)}
            keys.add(replace(one, quantifier="sole").sole_key or "")
    view.keys_read[id(statements)] = statements, frozenset(keys - {""})
    return view.keys_read[id(statements)][1]


def _keys_of_leaving(one: Statement, view: SliceView) -> set[str]:
    """Return the keys of what ends with a membership or a life, and of what it rests on."""
    keys: set[str] = set()
    named, roles = _resting_on(one)
    who = entity_of(view, one.subject) if named or roles else None
    for member in family_of(who) if who else (one.subject,) if named or roles else ():
        sides = (replace(one, attribute=n, value=member) for n in (*named, *roles))
        keys |= {each.value_key or "" for each in sides}
        keys |= {timeline_key(member, name) for name in named}
    bases = {each.partition(":")[0] for each in find_attribute(one.attribute).rests_on}
    for side in (str(each) for each in (one.subject, one.value) if bases):
        of = entity_of(view, side)
        for member in (side,) if of is None else family_of(of):
            keys |= {timeline_key(member, name) for name in bases}
    return keys


def _end_of_others(one: Statement) -> str:
    """Return what others rest on that ends or begins with a statement, as attributes name it."""
    if AHEAD in one.qualifiers:
        return ""
    ends = one.phase is Phase.ENDS
    return one.attribute if ends else f"{one.attribute}:{one.value}" if one.holds_then else ""


def _resting_on(one: Statement) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the attributes that end with a statement, those of roles apart."""
    return _names_resting(_end_of_others(one), current_attributes())


@lru_cache(maxsize=1024)  # searches the whole table of attributes
def _names_resting(end: str, table: AttributeTable) -> tuple[tuple[str, ...], tuple[str, ...]]:
    named = tuple(each.name for each in table.attributes.values() if end in each.rests_on)
    roles = {end.removeprefix("is:")} if end.startswith("is:") else set[str]()
    roles |= word_table("en").sets["roles"] if end in table.families["role"].rests_on else set()
    return named, tuple(f"role:{word}" for word in roles)


def rests_on(had: Statement, left: Statement) -> bool:
    """Return whether a value ends with another statement: an office with a membership or a life.

    Nobody holds a destroyed object, but a person can be in a destroyed place.
    """
    entry, end = find_attribute(had.attribute), _end_of_others(left)
    office = had.attribute.startswith("role:") and end == had.attribute.replace("role:", "is:")
    resting = office or end in entry.rests_on
    if not resting or not had.holds_then or left.holds_then is None:
        return False
    sides = (had.value,) if left.phase is Phase.ENDS else (had.subject, had.value)
    return left.subject in (sides[:1] if entry.containment else sides)


def find_standing(
    statements: Iterable[Statement], moment: Moment, view: SliceView
) -> Iterator[StandingStatement]:
    """Yield what the canon says of the same subjects and attributes at a moment."""
    claims = tuple(statements)
    for fact in view.facts_with_keys(keys_of_conflicting(claims, view)):
        if still_stands(view, fact, moment):
            yield from standings_of_fact(fact, view)
    for relation in _relations_on_timelines(claims, view):
        at, until = time_of(moment), relation.until
        if relation.current or (until is not None and isinstance(at, int) and until > at):
            yield from _standing_relation(relation, view)
    yield from _standing_tags(claims, moment, view)


DEPTH_MAX: Final = 8
"""The most containing locations that are followed to learn whether one lies within another."""

_ABOVE: Final = ("location", "part_of")
"""The attributes of a location whose values contain it."""


def is_within(inner: Entity, outer: Entity, view: SliceView) -> bool:
    """Return whether a location is another one, or lies in it or is part of it through others."""
    reached, new = {inner.id}, {inner.id}
    for _step in range(DEPTH_MAX):
        claims = [Statement(subject=one, attribute=name) for one in sorted(new) for name in _ABOVE]
        known = (each.statement for each in find_standing(claims, NOW, view))
        told = (one for one in known if one.holds_then and one.subject in new)
        above = {one.value for one in told if one.attribute in _ABOVE}
        new = {EntityId(one) for one in above if isinstance(one, str) and is_uuid(one)} - reached
        reached |= new
    return outer.id in reached


def time_reached(
    statements: Iterable[Statement], before: int, now: Instant, view: SliceView
) -> Instant | None:
    """Return the latest time on the timelines of statements, as recorded before position `before`.

    A time of its own after `now` is planned: nobody has reached it.
    """
    claims = tuple(statements)
    named = {one.subject for one in claims if find_attribute(one.attribute).exclusive}
    changed = (entity for one in sorted(named) if (entity := entity_of(view, one)) is not None)
    moments = [change.moment for one in changed for change in changes_of(one)]
    items: list[Fact | Relation] = [*view.facts_with_keys(keys_of_conflicting(claims, view))]
    for item in (*items, *_relations_on_timelines(claims, view)):
        dated = isinstance(time_of(item.moment), int)
        held = [one.statement for one in standings_of(item, view)] if dated else []
        if any(_share_timeline(one, claim) for one in held for claim in claims):
            moments.append(item.moment)
    known = [(time_of(one), one.position) for one in moments if one.position.told < before]
    times = [(at, one) for at, one in known if isinstance(at, int)]
    return max(
        (at for at, one in times if at <= now or (one.scene and not one.dated)), default=None
    )


def _share_timeline(held: Statement, claim: Statement) -> bool:
    """Return whether two statements stand on one timeline: one repeats or ends the other."""
    one, other = find_attribute(held.attribute), find_attribute(claim.attribute)
    pair, wanted = {held.subject, held.value}, {claim.subject, claim.value}
    followed = claim.implied and claim.phase is not Phase.ENDS
    if held.implied or followed or held.modality is not claim.modality:
        return False
    if rests_on(held, claim):
        return True
    if one.name in other.excludes or other.name in one.excludes or pair == wanted:
        return pair == wanted
    if one.name == other.name and None in (held.value, claim.value):  # no allergy at all
        return held.subject == claim.subject
    shared = pair & wanted if other.symmetric else held.subject == claim.subject
    displaced = one.name in other.displaces or other.name in one.displaces
    single = one.name == other.name and (other.cardinality == 1 or bool(other.exclusive))
    return bool(shared) and (displaced or single)


def standings_of_fact(fact: Fact, view: SliceView) -> Iterator[StandingStatement]:
    """Yield what a fact says, with survivors for merged entities."""
    roots: dict[Any, Any] = {
        one: entity.id for one in fact.involved if (entity := entity_of(view, one)) is not None
    }
    moved = any(one != root for one, root in roots.items())
    for one in fact.statements:
        sides = {"subject": roots.get(one.subject, one.subject)}
        sides["value"] = roots.get(one.value, one.value)
        yield StandingStatement(
            statement=replace(one, **sides) if moved else one,
            conflicting=fact.id,
            conflicts=(fact.id,),
            text=f"the fact {fact.id} says that {fact.statement}",
            moment=fact.moment,
            authority=fact.authority,
            about=frozenset(roots.values()),
            item=fact,
        )


def standings_of(item: Fact | Relation, view: SliceView) -> tuple[StandingStatement, ...]:
    """Return what a fact or a relation says."""
    if isinstance(item, Fact):
        return tuple(standings_of_fact(item, view))
    return tuple(_standing_relation(item, view))


def items_ended_for(item: Fact | Relation, view: SliceView) -> Iterator[Fact | Relation]:
    """Yield the items that ended in favour of `item`, whenever they were stated."""
    replaced: list[Fact | Relation] = [item]
    while isinstance(replaced[-1], Fact) and replaced[-1].replaces is not None:
        before = view.find_item(replaced[-1].replaces)
        if not isinstance(before, Fact) or before in replaced:
            break
        replaced.append(before)
    found = [one for each in replaced for one in items_on_timelines(each, view)]
    yield from {one.id: one for one in found if one.superseded_by == item.id}.values()


def items_on_timelines(item: Fact | Relation, view: SliceView) -> Iterator[Fact | Relation]:
    """Yield the items that say something of the same timelines as `item`, or the same words."""
    statements = [one.statement for one in standings_of(item, view)]
    yield from view.facts_with_keys(keys_of_conflicting(statements, view))
    yield from view.facts_stating(item.statement) if isinstance(item, Fact) else ()
    yield from _relations_on_timelines(statements, view)


def _relations_on_timelines(claims: Iterable[Statement], view: SliceView) -> Iterator[Relation]:
    seen: dict[str, Relation] = {}
    for one in claims:
        entry = find_attribute(one.attribute)
        sides = {one.subject, one.value} if entry.acyclic or entry.symmetric else {one.subject}
        sides |= {str(one.value).rpartition(" of:")[2]} if one.quantifier == "sole" else set()
        for entity in (entity_of(view, side) for side in sides if isinstance(side, str)):
            implying = _implying(entry.name, current_attributes())
            others = entry.excludes | entry.displaces | _bound_to(entry) | implying
            names = (one.attribute, *sorted(others - {one.attribute})) if entity else ()
            for name in names:
                found = _relations_of(entity, find_attribute(name), view) if entity else ()
                seen |= {each.id: each for each in found}
        seen |= {each.id: each for each in _relations_left(one, view)}
    yield from seen.values()


@lru_cache(maxsize=1024)  # searches the whole table of attributes
def _implying(name: str, table: AttributeTable) -> frozenset[str]:
    """Return the attributes whose values say something of this one: a spouse is married."""
    known = table.attributes.values()
    return frozenset(e.name for e in known if f" {name}:" in f" {e.implies.get('*', '')}")


def _bound_to(entry: Attribute) -> frozenset[str]:
    """Return the attributes that never tie the same two as one does."""
    table = current_attributes().attributes.values() if entry.bond else ()
    return frozenset(one.name for one in table if one.bond == entry.bond)


def _relations_left(one: Statement, view: SliceView) -> Iterator[Relation]:
    """Yield the relations of who leaves a group, or dies, that may rest on that."""
    names, _roles = _resting_on(one)
    who = entity_of(view, one.subject) if names else None
    for entry in map(find_attribute, names if who else ()):
        for name in (*entry.inverse_relations, *entry.relations):
            yield from view.find_relations(who, name, "any") if who else ()


def _relations_of(entity: Entity, entry: Attribute, view: SliceView) -> Iterator[Relation]:
    either = entry.symmetric or "<" in entry.implies.get("*", "")
    for name in (*entry.relations, *entry.inverse_relations):
        direction = "any" if either else "out" if name in entry.relations else "in"
        yield from view.find_relations(entity, name, direction)
    nouns = word_table("en").nouns.items() if entry.bond else ()
    kinds = [noun for noun, tie in nouns if tie.removeprefix("<") == entry.name]
    for noun in (*sorted(kinds), *(entry.name.split(":")[1:] if entry.name[:3] == "is:" else ())):
        yield from view.find_relations(entity, f"{noun.upper()}_OF", "any")


def _standing_relation(relation: Relation, view: SliceView) -> Iterator[StandingStatement]:
    start, end = (entity_of(view, one) for one in (relation.from_id, relation.to_id))
    ids = [
        relation.from_id if start is None else start.id,
        relation.to_id if end is None else end.id,
    ]
    named = ["somebody" if one is None else one.name for one in (start, end)]
    said = statement_of_relation(relation.rel_type, *ids)
    for one in (said, *implied_by(said), *statements_of_relation(relation.rel_type, *ids)):
        yield StandingStatement(
            statement=one,
            conflicting=relation.id,
            conflicts=(relation.id,),
            text=f"the relation {relation.id} says {named[0]} {relation.rel_type} {named[1]}",
            moment=relation.moment,
            authority=relation.authority,
            about=frozenset(ids),
            item=relation,
        )


def _standing_tags(
    claims: Iterable[Statement], moment: Moment, view: SliceView
) -> Iterator[StandingStatement]:
    asked = {(e.subject, name) for e in claims for name in (e.attribute, *_resting_on(e)[0])}
    for subject, name in sorted(asked):
        entity = entity_of(view, subject) if find_attribute(name).exclusive else None
        for tag, change in ({} if entity is None else tags_held_at(entity, moment)).items():
            for statement in statements_of_tags(subject, (tag,), hold=True):
                if entity is None or statement.attribute != name:
                    continue
                held = held_tag_of(view, entity, change)
                yield StandingStatement(
                    statement=statement,
                    conflicting=held,
                    conflicts=held.facts or (entity.id,),
                    text=f"{entity.name} is {tag}",
                    moment=change.moment,
                    authority=authority_of(view, entity, change, moment),
                    about=frozenset((entity.id,)),
                )


def entity_of(view: SliceView, text: str) -> Entity | None:
    """Return the entity of an id; a phrase or a word is none."""
    return view.find_entity(Reference(text)) if is_uuid(text) else None


def with_entities(said: Statement, other: Statement, view: SliceView) -> Statement:
    """Return a statement with an entity of the other one for a phrase that is its name."""
    for member in ("subject", "value"):
        own, known = getattr(said, member), getattr(other, member)
        if isinstance(own, str) and own.startswith(PHRASE) and isinstance(known, str):
            entity = entity_of(view, known)
            names = () if entity is None else entity.known_as
            if own.removeprefix(PHRASE) in {each.replace(" ", "_") for each in names}:
                changed: dict[str, Any] = {member: known}
                said = replace(said, **changed)
    return said

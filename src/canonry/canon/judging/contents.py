"""Contents: what each type of proposal says, as one value a type whatever spelling it came in.

`normalise` gives the canonical JSON form that proposals are stored with; it is named like the
arguments of the tool that would write the same directly. `read_content` reads that form.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar

from canonry.canon.judging.content_shapes import (
    CONTENT_SHAPES,
    DURATION_MAX,
    SEVERITY_MAX,
    TAG_CHANGES,
)
from canonry.log.items.entities import EntityClass
from canonry.log.items.facts import FactType
from canonry.log.items.proposals import ProposalType
from canonry.log.schemas.narrative import EntityType, relation_type
from canonry.values.errors import InvalidInput
from canonry.values.fields import (
    Fields,
    ReadTime,
    Reference,
    missing,
    plain_time,
    reference_of,
    typed,
)
from canonry.values.moments import SECOND, Instant, render_instant
from canonry.values.policy import TextLimits
from canonry.values.state_tags import normal_tag, normal_tags

UNLIMITED: Final = TextLimits(
    name=2**31, description=2**31, statement=2**31, summary=2**31, tag=2**31
)
"""For contents that were accepted before, whatever the limits were then."""

SEVERITY_DEFAULT: Final = 5
_LEGACY_CLASSES: Final = {
    "EntityAxiomatica": EntityClass.ARCHETYPE.value,
    "EntityConcreta": EntityClass.INSTANCE.value,
}
_WHEN: Final = ("time_ref",)
_ADDING: Final = (True, "add", "set", "gain")
_REMOVING: Final = (False, "remove", "unset", "clear", "lose")
_WORD = TypeVar("_WORD", EntityClass, EntityType, FactType)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityContent:
    """A new entity; `ref` is the name by which other proposals of the scene refer to it."""

    name: str
    entity_type: EntityType
    entity_class: EntityClass = EntityClass.INSTANCE
    description: str = ""
    properties: Mapping[str, Any] = field(default_factory=dict)
    state_tags: tuple[str, ...] = ()
    derives_from: Reference | None = None
    ref: Reference | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationshipContent:
    """A new relation between two entities."""

    from_entity: Reference
    to_entity: Reference
    rel_type: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    since: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChangeContent:
    """Tags that begin and cease to hold for an entity."""

    entity: Reference
    add: tuple[str, ...]
    remove: tuple[str, ...]
    time_ref: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventContent:
    """Something that happened.

    `actors` did it, `involved` includes them; `causes` are its effects and `caused_by` what
    brought it about; `location` is where.
    """

    title: str
    description: str = ""
    time_ref: Instant | None = None
    severity: int = SEVERITY_DEFAULT
    involved: tuple[Reference, ...] = ()
    actors: tuple[Reference, ...] = ()
    location: Reference | None = None
    causes: tuple[Reference, ...] = ()
    caused_by: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FactContent:
    """A statement; `replaces` is the fact that it corrects."""

    statement: str
    fact_type: FactType = FactType.OCCURRENCE
    properties: Mapping[str, Any] = field(default_factory=dict)
    time_ref: Instant | None = None
    duration: int | None = None
    involved: tuple[Reference, ...] = ()
    actors: tuple[Reference, ...] = ()
    replaces: Reference | None = None


def end_of(start: Instant | None, duration: int | None) -> Instant | None:
    """The first instant at which what holds so long holds no longer; None: without end."""
    return None if start is None or duration is None else Instant(start + duration * SECOND)


Content: TypeAlias = (
    EntityContent | RelationshipContent | StateChangeContent | EventContent | FactContent
)
"""What a proposal says."""


def normalise(
    kind: ProposalType,
    content: Mapping[str, Any],
    *,
    limits: TextLimits | None = None,
    times: ReadTime = plain_time,
) -> Mapping[str, Any]:
    """The canonical JSON form of `content`.

    Raises:
        InvalidInput: `content.*`, `text.*`, `list.*`, `time.*` or
            `relation.type-malformed`, with the `path` from `/content` on.
    """
    return render_content(read_content(kind, content, limits=limits, times=times))


def read_content(
    kind: ProposalType,
    content: Mapping[str, Any],
    *,
    limits: TextLimits | None = None,
    times: ReadTime = plain_time,
) -> Content:
    """What `content` says, in any of the spellings in use.

    Raises:
        InvalidInput: as `normalise`.
    """
    shape = CONTENT_SHAPES[kind]
    fields = Fields(values=content, path="/content", aliases=shape.aliases, times=times)
    try:
        shape.require_known(content, fields.path)
        return _READERS[kind](fields, limits or TextLimits())
    except InvalidInput as error:
        told = f"{error.message} ({shape.takes})"
        raise InvalidInput(error.code, told, **error.details) from error


def references_of(content: Content) -> tuple[Reference, ...]:
    """Everything that `content` refers to, each once."""
    match content:
        case EntityContent():
            found = [content.derives_from]
        case RelationshipContent():
            found = [content.from_entity, content.to_entity]
        case StateChangeContent():
            found = [content.entity]
        case EventContent():
            found = [*content.involved, *content.causes, *content.caused_by, content.location]
        case FactContent():
            found = [*content.involved, content.replaces]
    return tuple(dict.fromkeys([one for one in found if one is not None]))


def render_content(content: Content) -> Mapping[str, Any]:
    """The canonical JSON form of a content, without the members that it lacks."""
    form: Mapping[str, Any]
    match content:
        case EntityContent():
            form = {
                "name": content.name,
                "entity_type": content.entity_type.value,
                "entity_class": content.entity_class.value,
                "description": content.description,
                "properties": dict(content.properties),
                "state_tags": list(content.state_tags),
                "derives_from": content.derives_from,
                "ref": content.ref,
            }
        case RelationshipContent():
            form = {
                "from_entity_id": content.from_entity,
                "to_entity_id": content.to_entity,
                "rel_type": content.rel_type,
                "properties": dict(content.properties),
                "since": _shown(content.since),
            }
        case StateChangeContent():
            form = {
                "entity_id": content.entity,
                "state_tag_changes": {"add": list(content.add), "remove": list(content.remove)},
                "time_ref": _shown(content.time_ref),
            }
        case EventContent():
            form = {
                "title": content.title,
                "description": content.description,
                "time_ref": _shown(content.time_ref),
                "severity": content.severity,
                "involved_entity_ids": list(content.involved),
                "actor_ids": list(content.actors),
                "location_id": content.location,
                "causes_event_ids": list(content.causes),
                "caused_by_event_ids": list(content.caused_by),
            }
        case FactContent():
            form = {
                "statement": content.statement,
                "fact_type": content.fact_type.value,
                "properties": dict(content.properties),
                "time_ref": _shown(content.time_ref),
                "duration": content.duration,
                "involved_entity_ids": list(content.involved),
                "actor_ids": list(content.actors),
                "replaces": content.replaces,
            }
    return {name: value for name, value in form.items() if value is not None}


def _read_entity(fields: Fields, limits: TextLimits) -> EntityContent:
    declared = fields.optional_text("ref", limit=limits.name)
    given = _word(fields, EntityClass, "entity_class")
    entity_class = given or EntityClass.INSTANCE
    tags = normal_tags(fields.texts("state_tags", limit=limits.tag))
    if entity_class is EntityClass.ARCHETYPE and tags:
        message = "an archetype is timeless; leave /content/state_tags out"
        raise InvalidInput("entity.archetype-has-no-state", message, path="/content/state_tags")
    entity_type = _word(fields, EntityType, "entity_type")
    if entity_type is None:
        raise missing(fields.at("entity_type"))
    return EntityContent(
        name=fields.text("name", limit=limits.name),
        entity_type=entity_type,
        entity_class=entity_class,
        description=fields.optional_text("description", limit=limits.description, empty=True) or "",
        properties=fields.mapping("properties"),
        state_tags=tags,
        derives_from=fields.optional_reference("derives_from"),
        ref=None if declared is None else _declared(declared, fields.at("ref")),
    )


def _declared(name: str, path: str) -> Reference:
    return reference_of(name if name.startswith("$") else f"${name}", path)


def _read_relationship(fields: Fields, limits: TextLimits) -> RelationshipContent:
    del limits
    name, word = fields.find("rel_type")
    if word is None:
        raise missing(fields.at("rel_type"))
    path = fields.at(name)
    from_entity = fields.reference("from_entity_id")
    to_entity = fields.reference("to_entity_id")
    if from_entity == to_entity:
        message = "an entity has no relation to itself; name two"
        raise InvalidInput("relation.reflexive", message, path=fields.at("to_entity_id"))
    return RelationshipContent(
        from_entity=from_entity,
        to_entity=to_entity,
        rel_type=relation_type(typed(word, str, path, "a word"), path=path).name,
        properties=fields.mapping("properties"),
        since=fields.instant("since", *_WHEN),
    )


def _read_state_change(fields: Fields, limits: TextLimits) -> StateChangeContent:
    add, remove = _tag_changes(fields, limits)
    both = sorted(set(add) & set(remove))
    if both:
        message = "a tag cannot begin and cease to hold at once; keep one of the two"
        raise InvalidInput("state.add-and-remove", message, path=fields.path, tags=both)
    if not add and not remove:
        message = "the change is empty; name tags in add or in remove"
        raise InvalidInput("state.empty", message, path=fields.path)
    return StateChangeContent(
        entity=fields.reference("entity_id"),
        add=add,
        remove=remove,
        time_ref=fields.instant(*_WHEN),
    )


def _tag_changes(fields: Fields, limits: TextLimits) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The tags to add and to remove: as lists, as lists within `changes`, and one tag by name."""
    adds = {*normal_tags(fields.texts("add", limit=limits.tag))}
    removes = {*normal_tags(fields.texts("remove", limit=limits.tag))}
    name, action = fields.find("action")
    tag = fields.optional_text("tag", limit=limits.tag)
    if action not in (None, *_ADDING, *_REMOVING):
        message = f"{fields.at(name)} is add or remove, or true or false"
        raise InvalidInput("content.unknown-word", message, path=fields.at(name))
    if tag is not None:
        (removes if action in _REMOVING else adds).add(normal_tag(tag))
    elif action is not None:
        raise missing(fields.at("tag"))
    name, inner = fields.find("state_tag_changes")
    if inner is not None:
        path = fields.at(name)
        values = typed(inner, dict, path, "an object with add and remove")
        TAG_CHANGES.require_known(values, path, within=f"'s {name}")
        nested = Fields(values=values, path=path, aliases=TAG_CHANGES.aliases)
        more, less = _tag_changes(nested, limits)
        adds, removes = {*adds, *more}, {*removes, *less}
    return tuple(sorted(adds)), tuple(sorted(removes))


def _read_event(fields: Fields, limits: TextLimits) -> EventContent:
    severity = fields.whole("severity", low=0, high=SEVERITY_MAX)
    actors = _actors(fields)
    involved = fields.references("involved_entity_ids")
    return EventContent(
        title=fields.text("title", limit=limits.name),
        description=fields.optional_text("description", limit=limits.description, empty=True) or "",
        time_ref=fields.instant(*_WHEN),
        severity=SEVERITY_DEFAULT if severity is None else severity,
        involved=tuple(dict.fromkeys((*involved, *actors))),
        actors=actors,
        location=fields.optional_reference("location_id"),
        causes=fields.references("causes_event_ids"),
        caused_by=fields.references("caused_by_event_ids"),
    )


def _read_fact(fields: Fields, limits: TextLimits) -> FactContent:
    actors = _actors(fields)
    involved = fields.references("involved_entity_ids")
    return FactContent(
        statement=fields.text("statement", limit=limits.statement),
        fact_type=_word(fields, FactType, "fact_type") or FactType.OCCURRENCE,
        properties=fields.mapping("properties"),
        time_ref=fields.instant(*_WHEN),
        duration=fields.whole("duration", low=0, high=DURATION_MAX),
        involved=tuple(dict.fromkeys((*involved, *actors))),
        actors=actors,
        replaces=fields.optional_reference("replaces"),
    )


def _actors(fields: Fields) -> tuple[Reference, ...]:
    one = fields.optional_reference("actor_id")
    many = fields.references("actor_ids")
    return tuple(dict.fromkeys((*many, *((one,) if one is not None else ()))))


def _word(fields: Fields, words: type[_WORD], *names: str) -> _WORD | None:
    """One word of a closed list, which may be missing."""
    name, value = fields.find(*names)
    if value is None:
        return None
    path = fields.at(name)
    text = typed(value, str, path, "a word")
    text = _LEGACY_CLASSES.get(text, text)
    if text not in list(words):
        message = f"{path} is one of {', '.join(words)}"
        raise InvalidInput("content.unknown-word", message, path=path)
    return words(text)


def _shown(instant: Instant | None) -> str | None:
    return None if instant is None else render_instant(instant)


_READERS: Final[Mapping[ProposalType, Callable[[Fields, TextLimits], Content]]] = {
    ProposalType.ENTITY: _read_entity,
    ProposalType.RELATIONSHIP: _read_relationship,
    ProposalType.STATE_CHANGE: _read_state_change,
    ProposalType.EVENT: _read_event,
    ProposalType.FACT: _read_fact,
}

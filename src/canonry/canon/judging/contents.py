"""Contents of proposals: the members of each type, and the parser for all their spellings."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from enum import Enum
from typing import Any, Final, TypeAlias, TypeVar

from canonry.log.items.entities import EntityClass
from canonry.log.items.facts import FactType
from canonry.log.items.proposals import ProposalType
from canonry.log.schemas.narrative import EntityType, relation_type
from canonry.values.data_files import read_toml
from canonry.values.errors import InvalidInput
from canonry.values.fields import (
    Fields,
    ReadTime,
    Reference,
    check_type,
    is_plain_time,
    missing_member,
    read_plain_time,
    reference_of,
)
from canonry.values.moments import SECOND, Instant, render_instant
from canonry.values.policy import TextLimits
from canonry.values.state_tags import normal_tag, normal_tags

# Content shapes: the members of each type of proposal, declared once.
#
# The parser, the tool descriptions, the resource, the reference and the errors all derive from this
# table. A member is given under its name or one of its aliases.

DURATION_MAX: Final = 10**12  # keeps sums of times within 64 bits
SEVERITY_MAX: Final = 10
_NEAR: Final = 0.6  # letters in common from which a name is suggested


class Holding(Enum):
    """The values of a member, in words and as a JSON schema."""

    TEXT = ("a text", {"type": "string"})
    TEXTS = ("a list of texts", {"type": "array", "items": {"type": "string"}})
    REFERENCE = ("an id, proposal:<id> or $name", {"type": "string"})
    REFERENCES = (
        "a list of ids, proposal:<id> or $name",
        {"type": "array", "items": {"type": "string"}},
    )
    OBJECT = ("an object", {"type": "object"})
    TIME = ("a time", {"type": "string"})
    SEVERITY = (
        f"a whole number from 0 to {SEVERITY_MAX}",
        {"type": "integer", "minimum": 0, "maximum": SEVERITY_MAX},
    )
    SECONDS = (
        "a whole number of seconds",
        {"type": "integer", "minimum": 0, "maximum": DURATION_MAX},
    )
    AUDIENCE = (
        "everyone, gm, or a list of character:<id> and player:<user>",
        {"type": ["string", "array"], "items": {"type": "string"}},
    )
    ACTION = ("add or remove, or true or false", {"type": ["string", "boolean"]})

    def __init__(self, wording: str, schema: Mapping[str, Any]) -> None:
        """Unpack the member's tuple."""
        self.wording = wording
        self.schema = schema


@dataclass(frozen=True, slots=True)
class ContentMember:
    """One member of a content; `options` lists the values of an enumeration."""

    name: str
    kind: Holding
    means: str
    aliases: tuple[str, ...] = ()
    required: bool = False
    options: tuple[str, ...] = ()

    @property
    def wording(self) -> str:
        """Describe the allowed values in words."""
        return f"one of {', '.join(self.options)}" if self.options else self.kind.wording

    @property
    def member_schema(self) -> Mapping[str, Any]:
        """Return the allowed values as a JSON schema."""
        also = f" Also taken as {', '.join(self.aliases)}." if self.aliases else ""
        options = {"enum": list(self.options)} if self.options else {}
        return {**self.kind.schema, **options, "description": self.means + also}


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentShape:
    """The members of one type of content, required ones first."""

    type: ProposalType
    members: tuple[ContentMember, ...]
    note: str = ""

    @property
    def member_aliases(self) -> Mapping[str, tuple[str, ...]]:
        """Return the aliases of each member."""
        return {one.name: one.aliases for one in self.members}

    @property
    def summary(self) -> str:
        """Describe the members in one sentence, required ones apart."""
        must = [one.name for one in self.members if one.required]
        may = [one.name for one in self.members if not one.required]
        return f"{self.type} takes {', '.join(must)} (required), {', '.join(may)}"

    @property
    def object_schema(self) -> Mapping[str, Any]:
        """Return the members as a JSON schema."""
        return {
            "type": "object",
            "description": f"{self.summary}.{self.note and ' '}{self.note}",
            "required": [one.name for one in self.members if one.required],
            "properties": {one.name: one.member_schema for one in self.members},
        }

    def require_known(self, names: Iterable[str], path: str, *, within: str = "") -> None:
        """Refuse unknown members instead of dropping them.

        Raises:
            InvalidInput: `content.unknown-key`, with the nearest known member.
        """
        known = {alias: one.name for one in self.members for alias in (one.name, *one.aliases)}
        for name in names:
            if name in known:
                continue
            what = f"{self.type}{within}"
            near = get_close_matches(name.casefold(), known, n=1, cutoff=_NEAR)
            if not near:  # an unrelated name may be anything, even a secret, so it is not repeated
                message = f"{path} has a member that {what} does not have. Leave it out."
                raise InvalidInput("content.unknown-key", message, path=path)
            where, meant = f"{path}/{name}", known[near[0]]
            message = f"{where} is no member of {what}. Did you mean {meant}?"
            raise InvalidInput("content.unknown-key", message, path=where, nearest=meant)


_OPTIONS: Final = {"fact_type": FactType, "entity_class": EntityClass, "entity_type": EntityType}
"""The options of members that are enumerations."""


def _make_member(name: str, form: Mapping[str, Any]) -> ContentMember:
    options = tuple(_OPTIONS[name]) if "words" in form else ()
    kind, also = Holding[form["kind"].upper()], tuple(form.get("also", ()))
    return ContentMember(name, kind, form["means"], also, form.get("required", False), options)


def _read_shapes() -> Iterator[ContentShape]:
    """Yield the shapes of `contents.toml`, which describes its form."""
    tables = read_toml(__package__, "contents.toml")
    corrects, every = tables.pop("corrects"), tables.pop("every")
    for kind, table in tables.items():
        note, shape = table.pop("note", ""), ProposalType(kind)
        own = table if shape is ProposalType.ENTITY else {**table, **corrects}
        members = tuple(_make_member(*each) for each in {**own, **every}.items())
        yield ContentShape(type=shape, members=members, note=note)


CONTENT_SHAPES: Final[Mapping[ProposalType, ContentShape]] = {e.type: e for e in _read_shapes()}
"""The shape of each type of content."""

TAG_CHANGES: Final = replace(
    CONTENT_SHAPES[ProposalType.STATE_CHANGE],
    members=tuple(
        one
        for one in CONTENT_SHAPES[ProposalType.STATE_CHANGE].members
        if one.name in {"add", "remove", "tag", "action"}
    ),
    note="",
)
"""The members of a state change's `state_tag_changes`."""


def time_text_of(kind: ProposalType, content: Mapping[str, Any]) -> str | None:
    """Return the content's time if it is given as a text of a calendar."""
    shape = CONTENT_SHAPES.get(kind)  # a world's proposals have a form of their own
    members = (one for one in shape.members if one.kind is Holding.TIME) if shape else ()
    names = (name for one in members for name in (one.name, *one.aliases))
    time_text = next((content[name] for name in names if content.get(name) is not None), None)
    return time_text if isinstance(time_text, str) and not is_plain_time(time_text) else None


# Contents: one typed value for each type of proposal, from any spelling.
#
# `normalise` returns the canonical JSON form in which proposals are stored; its names are the
# arguments of the tool that writes the same directly. `read_content` parses that form.

UNLIMITED: Final = TextLimits(
    name=2**31, description=2**31, statement=2**31, summary=2**31, tag=2**31
)
"""Limits for contents that were accepted under earlier limits."""

NOBODY: Final = Reference("nobody")
"""The value of `same_as` for an entity that is none of the known ones."""

SEVERITY_DEFAULT: Final = 5
_LEGACY_CLASSES: Final = {
    "EntityAxiomatica": EntityClass.ARCHETYPE.value,
    "EntityConcreta": EntityClass.INSTANCE.value,
}
_WHEN: Final = ("time_ref",)
_REMOVING: Final = (False, "remove", "unset", "clear", "lose")
_Option = TypeVar("_Option", EntityClass, EntityType, FactType)


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectingContent:
    """The wrong item that a content corrects, if any, and the reason; no entity is corrected so."""

    replaces: Reference | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityContent(CorrectingContent):
    """A new entity, or one that is the `same_as`; `ref` is its name in the scene's proposals."""

    name: str
    entity_type: EntityType
    entity_class: EntityClass = EntityClass.INSTANCE
    description: str = ""
    properties: Mapping[str, Any] = field(default_factory=dict)
    state_tags: tuple[str, ...] = ()
    derives_from: Reference | None = None
    same_as: Reference | None = None
    ref: Reference | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationshipContent(CorrectingContent):
    """A new relation between two entities."""

    from_entity: Reference
    to_entity: Reference
    rel_type: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    since: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChangeContent(CorrectingContent):
    """Tags that begin or end for an entity."""

    entity: Reference
    add: tuple[str, ...]
    remove: tuple[str, ...]
    time_ref: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventContent(CorrectingContent):
    """An event.

    `actors` did it and are part of `involved`; `causes` are its effects and `caused_by` its causes;
    `location` is its place.
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
class FactContent(CorrectingContent):
    """A statement."""

    statement: str
    fact_type: FactType = FactType.OCCURRENCE
    properties: Mapping[str, Any] = field(default_factory=dict)
    time_ref: Instant | None = None
    duration: int | None = None
    involved: tuple[Reference, ...] = ()
    actors: tuple[Reference, ...] = ()


def end_of(start: Instant | None, duration: int | None) -> Instant | None:
    """Return the instant at which the interval ends; None: without end."""
    return None if start is None or duration is None else Instant(start + duration * SECOND)


Content: TypeAlias = (
    EntityContent | RelationshipContent | StateChangeContent | EventContent | FactContent
)
"""The content of a proposal."""


def normalise_content(
    kind: ProposalType,
    content: Mapping[str, Any],
    *,
    limits: TextLimits | None = None,
    times: ReadTime = read_plain_time,
) -> Mapping[str, Any]:
    """Return the canonical JSON form of `content`.

    Raises:
        InvalidInput: `content.*`, `text.*`, `list.*`, `time.*` or `relation.type-malformed`, with
            the `path` from `/content` on.
    """
    return render_content(read_content(kind, content, limits=limits, times=times))


def read_content(
    kind: ProposalType,
    content: Mapping[str, Any],
    *,
    limits: TextLimits | None = None,
    times: ReadTime = read_plain_time,
) -> Content:
    """Parse `content` in any of its spellings.

    Raises:
        InvalidInput: as `normalise_content`.
    """
    shape = CONTENT_SHAPES[kind]
    fields = Fields(values=content, path="/content", aliases=shape.member_aliases, times=times)
    try:
        shape.require_known(content, fields.path)
        limits = limits or TextLimits()
        read = _READERS[kind](fields, limits)
        reason = fields.optional_text("reason", limit=limits.description, empty=True) or ""
        return replace(read, replaces=fields.optional_reference("replaces"), reason=reason)
    except InvalidInput as error:
        message = f"{error.message.removesuffix('.')} ({shape.summary})."
        raise InvalidInput(error.code, message, **error.details) from error


_RENDERED: Final = {
    "from_entity": "from_entity_id",
    "to_entity": "to_entity_id",
    "entity": "entity_id",
    "involved": "involved_entity_ids",
    "actors": "actor_ids",
    "location": "location_id",
    "causes": "causes_event_ids",
    "caused_by": "caused_by_event_ids",
}
"""The names of members in the canonical form, where they differ."""
_REFERRING: Final = (*_RENDERED, "derives_from", "same_as", "replaces")


def references_of(content: Content) -> tuple[Reference, ...]:
    """Return all references of `content`, each once."""
    values = [getattr(content, name, None) for name in _REFERRING]
    found = [one for each in values for one in (each if isinstance(each, tuple) else (each,))]
    return tuple(dict.fromkeys(one for one in found if one not in {None, NOBODY}))


def with_references(content: Content, change: Callable[[Reference], Reference]) -> Content:
    """Return the content with each of its references changed."""
    known = ((name, getattr(content, name, None)) for name in _REFERRING)
    changed: dict[str, Any] = {
        name: tuple(map(change, value)) if isinstance(value, tuple) else change(value)
        for name, value in known
        if value
    }
    return replace(content, **changed)


def render_content(content: Content) -> Mapping[str, Any]:
    """Return the canonical JSON form without absent members."""
    form = {each.name: getattr(content, each.name) for each in fields(content)}
    if isinstance(content, StateChangeContent):
        form["state_tag_changes"] = {name: list(form.pop(name)) for name in ("add", "remove")}
    for name in ("since", "time_ref"):
        form |= {name: render_instant(form[name])} if form.get(name) is not None else {}
    form["reason"] = content.reason or None
    return {
        _RENDERED.get(name, name): list(value) if isinstance(value, tuple) else value
        for name, value in form.items()
        if value is not None
    }


def _read_entity(fields: Fields, limits: TextLimits) -> EntityContent:
    declared, at = fields.optional_text("ref", limit=limits.name), fields.path_of("ref")
    given = _read_option(fields, EntityClass, "entity_class")
    entity_class = given or EntityClass.INSTANCE
    tags = normal_tags(fields.read_texts("state_tags", limit=limits.tag))
    if entity_class is EntityClass.ARCHETYPE and tags:
        message = "An archetype has no state. Leave /content/state_tags out."
        raise InvalidInput("entity.archetype-has-no-state", message, path="/content/state_tags")
    entity_type = _read_option(fields, EntityType, "entity_type")
    if entity_type is None:
        raise missing_member(fields.path_of("entity_type"))
    return EntityContent(
        name=fields.read_text("name", limit=limits.name),
        entity_type=entity_type,
        entity_class=entity_class,
        description=fields.optional_text("description", limit=limits.description, empty=True) or "",
        properties=fields.read_object("properties"),
        state_tags=tags,
        derives_from=fields.optional_reference("derives_from"),
        same_as=(
            NOBODY
            if fields.find_member("same_as")[1] == NOBODY
            else fields.optional_reference("same_as")
        ),
        ref=None if declared is None else reference_of(f"${declared.removeprefix('$')}", at),
    )


def _read_relationship(fields: Fields, limits: TextLimits) -> RelationshipContent:
    del limits
    name, rel_type = fields.find_member("rel_type")
    if rel_type is None:
        raise missing_member(fields.path_of("rel_type"))
    path = fields.path_of(name)
    from_entity = fields.read_reference("from_entity_id")
    to_entity = fields.read_reference("to_entity_id")
    if from_entity == to_entity:
        message = "Both ids name the same entity. A relation joins two entities."
        raise InvalidInput("relation.reflexive", message, path=fields.path_of("to_entity_id"))
    return RelationshipContent(
        from_entity=from_entity,
        to_entity=to_entity,
        rel_type=relation_type(check_type(rel_type, str, path, "a word"), path=path).name,
        properties=fields.read_object("properties"),
        since=fields.read_instant("since", *_WHEN),
    )


def _read_state_change(fields: Fields, limits: TextLimits) -> StateChangeContent:
    add, remove = _tag_changes(fields, limits)
    both = sorted(set(add) & set(remove))
    if both:
        message = "add and remove name the same tag. Name each tag in one of them."
        raise InvalidInput("state.add-and-remove", message, path=fields.path, tags=both)
    if not add and not remove:
        message = "The change is empty. Name tags in add or in remove."
        raise InvalidInput("state.empty", message, path=fields.path)
    return StateChangeContent(
        entity=fields.read_reference("entity_id"),
        add=add,
        remove=remove,
        time_ref=fields.read_instant(*_WHEN),
    )


def _tag_changes(fields: Fields, limits: TextLimits) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the tags to add and to remove, from lists, from `changes`, or from one named tag."""
    adds = {*normal_tags(fields.read_texts("add", limit=limits.tag))}
    removes = {*normal_tags(fields.read_texts("remove", limit=limits.tag))}
    name, action = fields.find_member("action")
    tag = fields.optional_text("tag", limit=limits.tag)
    if action not in (None, True, "add", "set", "gain", *_REMOVING):
        message = f"{fields.path_of(name)} must be add, remove, true or false."
        raise InvalidInput("content.unknown-word", message, path=fields.path_of(name))
    if tag is not None:
        (removes if action in _REMOVING else adds).add(normal_tag(tag))
    elif action is not None:
        raise missing_member(fields.path_of("tag"))
    name, inner = fields.find_member("state_tag_changes")
    if inner is not None:
        path = fields.path_of(name)
        values = check_type(inner, dict, path, "an object with add and remove")
        TAG_CHANGES.require_known(values, path, within=f"'s {name}")
        nested = Fields(values=values, path=path, aliases=TAG_CHANGES.member_aliases)
        more, less = _tag_changes(nested, limits)
        adds, removes = {*adds, *more}, {*removes, *less}
    return tuple(sorted(adds)), tuple(sorted(removes))


def _read_event(fields: Fields, limits: TextLimits) -> EventContent:
    severity = fields.read_integer("severity", low=0, high=SEVERITY_MAX)
    actors = _read_actors(fields)
    involved = fields.read_references("involved_entity_ids")
    return EventContent(
        title=fields.read_text("title", limit=limits.name),
        description=fields.optional_text("description", limit=limits.description, empty=True) or "",
        time_ref=fields.read_instant(*_WHEN),
        severity=SEVERITY_DEFAULT if severity is None else severity,
        involved=tuple(dict.fromkeys((*involved, *actors))),
        actors=actors,
        location=fields.optional_reference("location_id"),
        causes=fields.read_references("causes_event_ids"),
        caused_by=fields.read_references("caused_by_event_ids"),
    )


def _read_fact(fields: Fields, limits: TextLimits) -> FactContent:
    actors = _read_actors(fields)
    involved = fields.read_references("involved_entity_ids")
    return FactContent(
        statement=fields.read_text("statement", limit=limits.statement),
        fact_type=_read_option(fields, FactType, "fact_type") or FactType.OCCURRENCE,
        properties=fields.read_object("properties"),
        time_ref=fields.read_instant(*_WHEN),
        duration=fields.read_integer("duration", low=0, high=DURATION_MAX),
        involved=tuple(dict.fromkeys((*involved, *actors))),
        actors=actors,
    )


def _read_actors(fields: Fields) -> tuple[Reference, ...]:
    one = fields.optional_reference("actor_id")
    many = fields.read_references("actor_ids")
    return tuple(dict.fromkeys((*many, *((one,) if one is not None else ()))))


def _read_option(fields: Fields, options: type[_Option], *names: str) -> _Option | None:
    """Return one optional value of an enumeration."""
    name, value = fields.find_member(*names)
    if value is None:
        return None
    path = fields.path_of(name)
    text = check_type(value, str, path, "a word")
    text = _LEGACY_CLASSES.get(text, text)
    if text not in list(options):
        message = f"{path} must be one of {', '.join(options)}."
        raise InvalidInput("content.unknown-word", message, path=path)
    return options(text)


_READERS: Final[Mapping[ProposalType, Callable[[Fields, TextLimits], Content]]] = {
    ProposalType.ENTITY: _read_entity,
    ProposalType.RELATIONSHIP: _read_relationship,
    ProposalType.STATE_CHANGE: _read_state_change,
    ProposalType.EVENT: _read_event,
    ProposalType.FACT: _read_fact,
}

"""Content shapes: which members the content of each type of proposal has, declared once.

From this table come the reading of contents, what the tools, the resource and the reference say of
them, and the words of every refusal. A member comes under its own name or under one of its aliases.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from enum import Enum
from typing import Any, Final

from canonry.log.items.entities import EntityClass
from canonry.log.items.facts import FactType
from canonry.log.items.proposals import ProposalType
from canonry.log.schemas.narrative import EntityType
from canonry.values.errors import InvalidInput
from canonry.values.fields import is_plain_time

DURATION_MAX: Final = 10**12
SEVERITY_MAX: Final = 10
_NEAR: Final = 0.6


class Holding(Enum):
    """What a member holds: in words, and as a JSON schema."""

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

    def __init__(self, said: str, schema: Mapping[str, Any]) -> None:
        """Take what the member is apart."""
        self.said = said
        self.schema = schema


@dataclass(frozen=True, slots=True)
class ContentMember:
    """One member of a content; `words` where it is one of a closed list."""

    name: str
    kind: Holding
    means: str
    aliases: tuple[str, ...] = ()
    required: bool = False
    words: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        """What it holds, in words."""
        return f"one of {', '.join(self.words)}" if self.words else self.kind.said

    @property
    def schema(self) -> Mapping[str, Any]:
        """What it holds, as a JSON schema."""
        also = f" Also taken as {', '.join(self.aliases)}." if self.aliases else ""
        words = {"enum": list(self.words)} if self.words else {}
        return {**self.kind.schema, **words, "description": self.means + also}


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentShape:
    """The members of one type of content, those that must be there first."""

    type: ProposalType
    members: tuple[ContentMember, ...]
    note: str = ""

    @property
    def aliases(self) -> Mapping[str, tuple[str, ...]]:
        """The other names of each member."""
        return {one.name: one.aliases for one in self.members}

    @property
    def takes(self) -> str:
        """What it takes, as one sentence; what must be there is told apart."""
        must = [one.name for one in self.members if one.required]
        may = [one.name for one in self.members if not one.required]
        return f"{self.type} takes {', '.join(must)} (required), {', '.join(may)}"

    @property
    def schema(self) -> Mapping[str, Any]:
        """What it takes, as a JSON schema."""
        return {
            "type": "object",
            "description": f"{self.takes}.{self.note and ' '}{self.note}",
            "required": [one.name for one in self.members if one.required],
            "properties": {one.name: one.schema for one in self.members},
        }

    def require_known(self, names: Iterable[str], path: str, *, within: str = "") -> None:
        """Refuse members that the type does not have, rather than drop what they say.

        Raises:
            InvalidInput: `content.unknown-key`, with the nearest one that it has.
        """
        known = {alias: one.name for one in self.members for alias in (one.name, *one.aliases)}
        for name in names:
            if name in known:
                continue
            what = f"{self.type}{within}"
            near = get_close_matches(name.casefold(), known, n=1, cutoff=_NEAR)
            if not near:  # what is like no name of ours may be anything, so it is not repeated
                message = f"{path} has a member that no {what} has; leave it out"
                raise InvalidInput("content.unknown-key", message, path=path)
            where, meant = f"{path}/{name}", known[near[0]]
            message = f"{where} is no member of a {what}; did you mean {meant}?"
            raise InvalidInput("content.unknown-key", message, path=where, nearest=meant)


def _time(name: str, *aliases: str) -> ContentMember:
    means = "When in the world; without it the time and place of its scene count."
    return ContentMember(name, Holding.TIME, means, aliases)


_INVOLVED: Final = ("entity_ids", "involved_entities", "involved", "entities")
_ACTORS: Final = ("actors",)
_TAKING_PART: Final = (
    "participants",
    "participant_ids",
    "participating_entities",
    "participating_entity_ids",
    "characters",
    "character_ids",
)
_ACTOR: Final = ContentMember(
    "actor_id", Holding.REFERENCE, "The same for a single one.", ("actor",)
)
_PROPERTIES: Final = ContentMember(
    "properties", Holding.OBJECT, "Whatever else is known of it, by name."
)

_ENTITY: Final = ContentShape(
    type=ProposalType.ENTITY,
    members=(
        ContentMember("name", Holding.TEXT, "What it is called.", required=True),
        ContentMember(
            "entity_type",
            Holding.TEXT,
            "What it is.",
            ("type",),
            required=True,
            words=tuple(EntityType),
        ),
        ContentMember(
            "entity_class",
            Holding.TEXT,
            "Something of this world, or a timeless pattern.",
            ("class",),
            words=tuple(EntityClass),
        ),
        ContentMember("description", Holding.TEXT, "What is known of it, in words."),
        ContentMember(
            "properties", Holding.OBJECT, "What is known of it, by name.", ("attributes",)
        ),
        ContentMember(
            "state_tags",
            Holding.TEXTS,
            "What holds for it at that time, such as wounded.",
            ("tags",),
        ),
        ContentMember(
            "derives_from", Holding.REFERENCE, "The archetype that it is one of.", ("archetype_id",)
        ),
        ContentMember(
            "ref",
            Holding.TEXT,
            "A name like $guard1, by which other proposals of the scene refer to it.",
            ("temp_id", "temp_ref"),
        ),
    ),
    note="Two of one name in a scene are two where each has a ref of its own.",
)
_RELATIONSHIP: Final = ContentShape(
    type=ProposalType.RELATIONSHIP,
    members=(
        ContentMember(
            "from_entity_id",
            Holding.REFERENCE,
            "Whose relation it is.",
            ("from", "from_entity", "from_id", "source_id"),
            required=True,
        ),
        ContentMember(
            "to_entity_id",
            Holding.REFERENCE,
            "To whom or what.",
            ("to", "to_entity", "to_id", "target_id"),
            required=True,
        ),
        ContentMember(
            "rel_type",
            Holding.TEXT,
            "Its type, such as LOCATED_IN, OWNS or ALLY_OF.",
            ("relationship_type", "type", "relation"),
            required=True,
        ),
        _PROPERTIES,
        _time("since", "time_ref", "start_time", "occurred_at"),
    ),
)
_STATE_CHANGE: Final = ContentShape(
    type=ProposalType.STATE_CHANGE,
    members=(
        ContentMember(
            "entity_id",
            Holding.REFERENCE,
            "Whose state changes.",
            ("entity", "entity_ref", "target_id", "target"),
            required=True,
        ),
        ContentMember("add", Holding.TEXTS, "Tags that begin.", ("add_tags",)),
        ContentMember("remove", Holding.TEXTS, "Tags that cease.", ("remove_tags",)),
        ContentMember(
            "state_tag_changes",
            Holding.OBJECT,
            "The same in one object with add and remove.",
            ("changes",),
        ),
        ContentMember("tag", Holding.TEXT, "A single tag.", ("state_tag",)),
        ContentMember(
            "action",
            Holding.ACTION,
            "What becomes of the single tag; it is added where nothing is said.",
            ("value", "holds"),
        ),
        _time("time_ref", "start_time", "occurred_at"),
    ),
    note="At least one tag begins or ceases.",
)
_EVENT: Final = ContentShape(
    type=ProposalType.EVENT,
    members=(
        ContentMember("title", Holding.TEXT, "What happened, in short.", ("name",), required=True),
        ContentMember("description", Holding.TEXT, "What happened, in full."),
        ContentMember(
            "actor_ids",
            Holding.REFERENCES,
            "Who acted or took part in it; the dead do not.",
            (*_ACTORS, *_TAKING_PART),
        ),
        _ACTOR,
        ContentMember(
            "involved_entity_ids",
            Holding.REFERENCES,
            "Whom and what it concerned besides, also the dead and things.",
            _INVOLVED,
        ),
        _time("time_ref", "start_time", "occurred_at"),
        ContentMember("severity", Holding.SEVERITY, "How grave it was."),
        ContentMember(
            "location_id", Holding.REFERENCE, "Where it happened.", ("location", "location_ref")
        ),
        ContentMember(
            "causes_event_ids", Holding.REFERENCES, "The events that it brought about.", ("causes",)
        ),
        ContentMember(
            "caused_by_event_ids",
            Holding.REFERENCES,
            "The events that brought it about.",
            ("caused_by",),
        ),
    ),
)
_FACT: Final = ContentShape(
    type=ProposalType.FACT,
    members=(
        ContentMember("statement", Holding.TEXT, "What is so.", required=True),
        ContentMember(
            "involved_entity_ids",
            Holding.REFERENCES,
            "Whom and what it is about.",
            (*_INVOLVED, *_TAKING_PART),
        ),
        ContentMember(
            "actor_ids", Holding.REFERENCES, "Who does what it says; the dead do not.", _ACTORS
        ),
        _ACTOR,
        ContentMember(
            "fact_type", Holding.TEXT, "What kind of statement it is.", words=tuple(FactType)
        ),
        _PROPERTIES,
        _time("time_ref", "start_time", "occurred_at"),
        ContentMember("duration", Holding.SECONDS, "How long it holds from then on."),
        ContentMember(
            "replaces", Holding.REFERENCE, "The fact that it corrects.", ("replaces_fact_id",)
        ),
    ),
)

_AUDIENCE: Final = ContentMember(
    "audience",
    Holding.AUDIENCE,
    "Who may see it; without it, who may see the evidence and all that it names.",
)

CONTENT_SHAPES: Final[Mapping[ProposalType, ContentShape]] = {
    shape.type: replace(shape, members=(*shape.members, _AUDIENCE))
    for shape in (_FACT, _ENTITY, _RELATIONSHIP, _STATE_CHANGE, _EVENT)
}
"""The shape of each type of content."""

TAG_CHANGES: Final = ContentShape(
    type=ProposalType.STATE_CHANGE,
    members=tuple(
        one for one in _STATE_CHANGE.members if one.name in {"add", "remove", "tag", "action"}
    ),
)
"""What may stand in the `state_tag_changes` of a state change."""


def words_of_time(kind: ProposalType, content: Mapping[str, Any]) -> str | None:
    """How a content says when, where it does so in words of a calendar."""
    members = (one for one in CONTENT_SHAPES[kind].members if one.kind is Holding.TIME)
    names = (name for one in members for name in (one.name, *one.aliases))
    said = next((content[name] for name in names if content.get(name) is not None), None)
    return said if isinstance(said, str) and not is_plain_time(said) else None

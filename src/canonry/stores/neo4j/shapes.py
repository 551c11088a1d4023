"""Shapes: what people see of a thing in a graph, as labels, properties and edges.

Canonry answers nothing from them. Words that agents choose freely become properties, never labels
or types of edges, of which a graph keeps each for ever.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from canonry.log.encoding import encode_thing
from canonry.log.entries import THING_KINDS, Thing
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Axiom, Event, Fact, Relation
from canonry.log.items.proposals import Proposal
from canonry.log.items.scenes import Memory, Scene, Story, Turn
from canonry.log.items.sources import InterpretationRun, Snippet, Source
from canonry.log.schemas.catalog_tables import ITEM_KINDS, RELATIONS
from canonry.log.schemas.narrative import RELATION_TYPES, EntityType
from canonry.log.schemas.schemas import RegisteredSchema, TruthRelation
from canonry.log.schemas.world_types import WORLD_RELATIONS, WorldType
from canonry.values.ids import Space
from canonry.values.moments import Instant, render_instant
from canonry.values.observations import Observation

THING: Final = "Thing"
OTHER_RELATION: Final = "RELATES_TO"
_NAME_MAX: Final = 200
_LABELS: Final = {"run": "InterpretationRun"}
_TYPES: Final = {
    each: "".join(word[:1].upper() + word[1:] for word in str(each).split("_"))
    for each in (*map(str, EntityType), *map(str, WorldType), *ITEM_KINDS)
}
_EDGES: Final = frozenset((*RELATION_TYPES, *map(str, TruthRelation), *WORLD_RELATIONS, *RELATIONS))
_SHOWN: Final = (
    *("level", "authority", "confidence", "entity_class", "entity_type", "description", "status"),
    *("fact_type", "statement", "time_words", "severity", "domain", "rel_type", "ended", "text"),
    *("story_type", "source_type", "doc_id", "edition", "file_name", "retcon_reason", "order"),
    *("summary", "importance", "emotional_valence", "certainty", "page", "section", "premise"),
)
"""What is shown as it is, where a thing has it."""

_INSTANTS: Final = (
    *("created_at", "updated_at", "completed_at", "recorded_at", "observed_at", "time_ref"),
    *("since", "until", "said_at", "timestamp", "started_at", "ended_at"),
)


class ShownEdge(NamedTuple):
    """An edge that the thing `by` gives rise to, between any two things."""

    source: str
    type: str
    target: str
    by: str
    shows: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeShape:
    """A node: `labels` beside that of all things, and what it bears."""

    labels: tuple[str, ...]
    bears: Mapping[str, Any] = field(default_factory=dict)


def shape_of(store: str, thing: Thing) -> NodeShape:
    """The node of a thing."""
    kind = THING_KINDS[type(thing)]
    bears = {
        "store": store,
        "id": thing.id,
        "space": thing.space,
        "kind": kind,
        "position": thing.position,
        "changed_at": thing.changed_at,
        "body": encode_thing(thing).decode(),
        "name": _name(thing)[:_NAME_MAX],
    }
    for name in _SHOWN:
        _put(bears, name, getattr(thing, name, None))
    for name in _INSTANTS:
        instant = getattr(thing, name, None)
        _put(bears, name, None if instant is None else _rendered(instant))
    if isinstance(thing, Entity):
        bears["state_tags"] = list(thing.state_tags)
    return NodeShape(labels=labels_of(thing), bears=bears)


def labels_of(thing: Thing) -> tuple[str, ...]:
    """The labels of a thing beside that of all."""
    kind = THING_KINDS[type(thing)]
    label = _LABELS.get(kind, kind.capitalize())
    match thing:
        case Space():
            return (label, thing.kind.capitalize())
        case Entity():
            known = _TYPES.get(thing.entity_type)
            return (label, str(thing.entity_class), *(() if known is None else (known,)))
        case _:
            return (label,)


def edges_of(thing: Thing) -> Iterator[ShownEdge]:
    """The edges that a thing gives rise to, each once."""
    return iter(dict.fromkeys(_edges(thing)))


def _edges(thing: Thing) -> Iterator[ShownEdge]:
    def to(edge: str, target: str | None) -> Iterator[ShownEdge]:
        if target is not None:
            yield ShownEdge(thing.id, edge, str(target), thing.id)

    def by(edge: str, source: str | None) -> Iterator[ShownEdge]:
        if source is not None:
            yield ShownEdge(str(source), edge, thing.id, thing.id)

    yield from _own(thing, to, by)
    for evidence in getattr(thing, "evidence", ()):
        yield from to("SUPPORTED_BY", evidence.ref)
    yield from by("REPLACES", getattr(thing, "replaced_by", None))
    yield from by("SUPERSEDES", getattr(thing, "superseded_by", None))


def _own(thing: Thing, to: Any, by: Any) -> Iterator[ShownEdge]:  # noqa: C901, PLR0912 - a case a kind
    match thing:
        case Space():
            yield from by("CONTAINS", thing.parent)
        case Entity():
            yield from to("DERIVES_FROM", thing.derives_from)
            yield from to("MERGED_INTO", thing.merged_into)
        case Relation():
            yield _relation(thing)
        case Fact():
            for entity in thing.involved:
                yield from to("INVOLVES", entity)
        case Event():
            for entity in thing.involved:
                yield from to("INVOLVES", entity)
            for effect in thing.causes:
                yield from to("CAUSES", effect)
            yield from to("HAPPENED_IN", thing.scene_id)
        case Observation():
            yield from to("OBSERVES", thing.entity_id)
        case Story():
            yield from to("PART_OF_STORY", thing.parent_id)
        case Scene():
            yield from to("PART_OF_STORY", thing.story_id)
            yield from to("SET_IN", thing.location_ref)
            for entity in thing.participants:
                yield from by("TAKES_PART_IN", entity)
        case Turn():
            yield from to("SAID_IN", thing.scene_id)
            yield from to("SAID_BY", thing.entity_id)
        case Proposal():
            yield from to("PROPOSED_IN", thing.scene_id)
        case Memory():
            yield from to("REMEMBERED_BY", thing.entity_id)
            yield from to("REMEMBERS", thing.linked_fact_id)
        case Snippet():
            yield from to("EXCERPT_OF", thing.source_id)
        case InterpretationRun():
            yield from to("READS", thing.source_id)
        case _:
            return


def _relation(relation: Relation) -> ShownEdge:
    known = relation.rel_type in _EDGES
    shows: dict[str, Any] = {
        "rel_type": relation.rel_type,
        "level": str(relation.level),
        "current": relation.current,
        "since": None if relation.since is None else _rendered(relation.since),
        "until": None if relation.until is None else _rendered(relation.until),
    }
    return ShownEdge(
        relation.from_id,
        relation.rel_type if known else OTHER_RELATION,
        relation.to_id,
        relation.id,
        tuple((name, value) for name, value in shows.items() if value is not None),
    )


def _put(bears: dict[str, Any], name: str, value: Any) -> None:
    if isinstance(value, str):
        bears[name] = str(value)
    elif isinstance(value, bool | int | float):
        bears[name] = value


def _rendered(instant: int) -> str:
    return render_instant(Instant(instant))


def _name(thing: Thing) -> str:  # noqa: PLR0911 - one case a kind
    """What a node is called on the screen."""
    match thing:
        case Entity() | Space():
            return thing.name
        case Fact() | Axiom():
            return thing.statement
        case Event() | Source() | Story() | Scene():
            return thing.title
        case Turn() | Memory() | Snippet():
            return thing.text
        case Relation():
            return thing.rel_type
        case RegisteredSchema():
            return thing.entity_type
        case Proposal():
            return str(thing.type)
        case Observation():
            return ", ".join(thing.fields)
        case _:
            return THING_KINDS[type(thing)]

"""Examples of items for tests."""

from collections.abc import Mapping
from dataclasses import MISSING, fields, replace
from functools import cache
from hashlib import sha256
from typing import Any, Final, TypeVar

from canonry.log.entries import Born, EntitiesMerged, EntitiesUnmerged, Entry, ItemDraft, Made
from canonry.log.items import scenes
from canonry.log.items.entities import Entity, EntityClass
from canonry.log.items.facts import Axiom, AxiomDomain, Event, Fact, FactType, Relation
from canonry.log.items.proposals import DecisionDraft, Proposal, ProposalStatus, ProposalType
from canonry.log.items.sources import InterpretationRun, RunStatus, Snippet, Source, SourceType
from canonry.log.schemas.catalog_tables import RELATIONS, Joint
from canonry.log.schemas.narrative import DESCRIPTION, NAME, PROPERTY_PREFIX, EntityType
from canonry.log.schemas.schemas import FieldSpec, FieldType, IdentityRule, RegisteredSchema
from canonry.readmodels.catalog import TABLE_OF, item_fields, item_id, relation_id
from canonry.values.fields import narrow_to
from canonry.values.ids import EntityId, RelationId, Space, SpaceId, SpaceKind
from canonry.values.moments import DAY, Instant
from canonry.values.observations import Dated, Observation
from canonry.values.provenance import Authority, CanonLevel, Evidence, EvidenceKind

# Examples of every kind of item: valid, small, and changed by keyword. A name determines the id.
#
# The items look as if the first commit had created them. `made` returns their entries.

T = TypeVar("T")

NEVER: Final = Instant(0)


def uuid_of(name: str) -> Any:
    """Return the UUID for a name."""
    digest = sha256(name.encode()).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-8{digest[12:15]}-a{digest[15:18]}-{digest[18:30]}"


MIDDLE_EARTH: Final = uuid_of("space")
"""The default space of items."""

ELSEWHERE: Final = uuid_of("elsewhere")
HERE: Final = frozenset((MIDDLE_EARTH,))

_USUAL: Final[Mapping[str, Any]] = {
    "space": MIDDLE_EARTH,
    "level": CanonLevel.CANON,
    "authority": Authority.GM,
    "confidence": 1.0,
    "evidence": (),
    "position": 1,
    "changed_at": 1,
    **dict.fromkeys(("created_at", "updated_at", "recorded_at", "timestamp"), NEVER),
    **dict.fromkeys(("members", "remaining", "outcomes"), ()),
    "reason": "",
}
"""Default values of fields."""


@cache  # each example of a kind asks
def _usual_of(kind: Any) -> Mapping[str, Any]:
    """Return default values for the required fields of a kind; None for a field without one."""
    required = (f.name for f in fields(kind) if f.default is f.default_factory is MISSING)
    return {name: _USUAL.get(name) for name in required}


def _make_example(kind: type[T], name: str, changes: Mapping[str, Any], /, **defaults: Any) -> T:
    """Return an item with the id for `name`, the values of its kind, and the changes."""
    make: Any = kind
    item: T = make(**{**_usual_of(make), "id": uuid_of(name), **defaults, **changes})
    return item


def an_entry(kind: type[T], name: str, **changes: Any) -> T:
    """Return an entry about the item called `name`; all else in it is empty unless it is given."""
    make: Any = kind
    entry: T = make(**{**_usual_of(make), make.__slots__[0]: uuid_of(name), **changes})
    return entry


def merged(kept: str, gone: str) -> EntitiesMerged:
    """Return the entry that merges the entity called `gone` into that called `kept`."""
    return an_entry(EntitiesMerged, kept, merged=uuid_of(gone))


def unmerged(kept: str, separated: str) -> EntitiesUnmerged:
    """Return the entry that undoes a merge."""
    return an_entry(EntitiesUnmerged, kept, separated=uuid_of(separated))


def creation_entries(*items: Born) -> tuple[Made, ...]:
    """Return the entries that create these items."""
    return tuple(Made(thing=draft_of(item)) for item in items)


def draft_of(item: Born) -> ItemDraft:
    """Return the draft of an item, without the fields that a commit adds."""
    kind: Any = type(item).__base__
    draft: ItemDraft = narrow_to(kind, item)
    return draft


def some_evidence(
    name: str = "turn", kind: EvidenceKind = EvidenceKind.TURN
) -> tuple[Evidence, ...]:
    """Return one reference to the item called `name`."""
    return (Evidence(kind=kind, ref=uuid_of(name)),)


def a_space(name: str = "space", **changes: Any) -> Space:
    """Return a universe."""
    return _make_example(Space, name, changes, kind=SpaceKind.UNIVERSE, name=name, description="")


def an_entity(name: str = "frodo", **changes: Any) -> Entity:
    """Return a character without observations, and therefore without a name."""
    kinds = {"entity_class": EntityClass.INSTANCE, "entity_type": EntityType.CHARACTER}
    return _make_example(Entity, name, changes, **kinds)


def an_observation(entity: str, name: str, /, **changes: Any) -> Observation:
    """Return the observation `name` of the entity called `entity`, with `fields`."""
    return _make_example(Observation, name, changes, entity_id=uuid_of(entity), fields={})


def a_record(entity: str, name: str, /, *, due: int = 0, **changes: Any) -> Observation:
    """Return an observation of `entity` by the source `ledger`, with a number and a due day."""
    instant = Instant(due * DAY)
    record = an_observation(
        entity,
        name,
        fields={"properties.number": entity, "properties.due": f"1970-01-{due + 1:02}"},
        dates={"due": Dated(event_type="Due", instant=instant)},
        evidence=some_evidence("ledger", EvidenceKind.SOURCE),
        schema_version="1.0",
    )
    return replace(record, **changes)


def a_named(name: str, *, tags: tuple[str, ...] = (), **changes: Any) -> tuple[Made, ...]:
    """Return the entries that create an entity with its name and tags."""
    entity = an_entity(name, **changes)
    fields = {"name": name, "state_tags": dict.fromkeys(tags, True)}
    observation = an_observation(name, f"{name}/born", space=entity.space, fields=fields)
    return creation_entries(entity, observation)


def a_schema(name: str = "invoice", version: str = "1.0", **changes: Any) -> RegisteredSchema:
    """Return a schema of the type `name`, with texts, an amount and a date."""
    return _make_example(
        RegisteredSchema,
        f"schema {name} {version}",
        changes,
        entity_type=name,
        version=version,
        label=name,
        fields=(
            FieldSpec(name="number", required=True, aliases=("no",)),
            FieldSpec(name="amount", type=FieldType.NUMBER, policy="highest_priority"),
            FieldSpec(name="due", type=FieldType.DATE, event_type="Due"),
            FieldSpec(name="state", choices=("open", "paid")),
        ),
        identity=(IdentityRule(fields=("number",), told_apart_by=("vendor",)),),
        names=(("number",),),
        type_aliases=("bill",),
    )


def a_run(name: str = "run", source: str = "source", **changes: Any) -> InterpretationRun:
    """Return a run without results."""
    return _make_example(
        InterpretationRun,
        name,
        changes,
        source_id=uuid_of(source),
        config={"provider": "rules"},
        status=RunStatus.COMPLETED,
        started_at=NEVER,
        ended_at=NEVER,
    )


def a_relation(name: str, from_name: str, to_name: str, **changes: Any) -> Relation:
    """Return an edge between the entities with these names."""
    ends = {"from_id": uuid_of(from_name), "to_id": uuid_of(to_name)}
    return _make_example(Relation, name, changes, rel_type="ALLY_OF", **ends)


def an_edge(name: str, start: str, end: str, kind: str = "player", **changes: Any) -> Relation:
    """Return the edge of an entity in a location, by default without end, with properties."""
    asked = {"rel_type": "LOCATED_IN", "since": None, "properties": {"kind": kind}, **changes}
    return a_relation(name, start, end, **asked)


def _fields_about(involved: tuple[str, ...]) -> Mapping[str, Any]:
    """Return the fields of a fact or event about the entities with these names."""
    entities = tuple(uuid_of(one) for one in involved)
    return {"involved": entities, "confidence": 0.9, "evidence": some_evidence()}


def a_fact(name: str = "fact", *involved: str, **changes: Any) -> Fact:
    """Return a timeless fact about the entities with these names. Its statement is its name."""
    defaults = {"statement": name, "fact_type": FactType.STATE}
    return _make_example(Fact, name, changes, **defaults, **_fields_about(involved))


def an_event(name: str = "event", *involved: str, **changes: Any) -> Event:
    """Return an event at an unknown time."""
    defaults = {"title": name, "description": "", "severity": 5, "causes": ()}
    return _make_example(Event, name, changes, **defaults, **_fields_about(involved))


def an_axiom(name: str = "axiom", **changes: Any) -> Axiom:
    """Return an axiom without enforcement."""
    defaults = {"statement": name, "domain": AxiomDomain.MAGIC, "authority": Authority.SOURCE}
    return _make_example(Axiom, name, changes, **defaults)


def a_source(name: str = "source", **changes: Any) -> Source:
    """Return a rulebook."""
    kind = SourceType.RULEBOOK
    return _make_example(Source, name, changes, doc_id=name, title=name, source_type=kind)


def a_snippet(name: str = "snippet", source: str = "source", **changes: Any) -> Snippet:
    """Return an excerpt with its name as text."""
    return _make_example(Snippet, name, changes, source_id=uuid_of(source), text=name, index=0)


def a_story(name: str = "story", **changes: Any) -> scenes.Story:
    """Return a planned story."""
    kinds = {"story_type": scenes.StoryType.CAMPAIGN, "status": scenes.StoryStatus.PLANNED}
    return _make_example(scenes.Story, name, changes, title=name, **kinds)


def a_scene(name: str = "scene", story: str = "story", **changes: Any) -> scenes.Scene:
    """Return an active scene."""
    defaults = {"title": name, "order": 1, "participants": (), "status": scenes.SceneStatus.ACTIVE}
    return _make_example(scenes.Scene, name, changes, story_id=uuid_of(story), **defaults)


def a_turn(name: str = "turn", scene: str = "scene", **changes: Any) -> scenes.Turn:
    """Return a turn of the game master, with its name as default text."""
    defaults = {"index": 0, "speaker": scenes.Speaker.GM, "text": name}
    return _make_example(scenes.Turn, name, changes, scene_id=uuid_of(scene), **defaults)


def a_proposal(name: str = "proposal", scene: str | None = "scene", **changes: Any) -> Proposal:
    """Return a pending proposal of a fact."""
    return _make_example(
        Proposal,
        name,
        changes,
        scene_id=None if scene is None else uuid_of(scene),
        type=ProposalType.FACT,
        content={"statement": name},
        evidence=some_evidence(),
        confidence=0.9,
        proposed_by="narrator-001",
        status=ProposalStatus.PENDING,
    )


def a_decision(**changes: Any) -> DecisionDraft:
    """Return an acceptance."""
    decision = DecisionDraft(
        status=ProposalStatus.ACCEPTED,
        rule="score",
        rationale="it is well supported",
        score=0.81,
        decided_by="canonkeeper-001",
    )
    return replace(decision, **changes)


def a_memory(name: str = "memory", entity: str = "frodo", **changes: Any) -> scenes.Memory:
    """Return a memory with its name as text."""
    felt = {"emotional_valence": 0.0, "importance": 0.5, "certainty": 1.0}
    return _make_example(scenes.Memory, name, changes, entity_id=uuid_of(entity), text=name, **felt)


# Examples of catalog content: a project, items and links, identified by name like other items.
#
# A contract shows the id `ident(name)` for an item.

PROJECT: Final = uuid_of("project")
"""The default project of items."""

THEN: Final = "2025-01-15T12:00:00.000Z"


def a_project(name: str = "project", **properties: Any) -> Space:
    """Return a project with its name as slug."""
    kept = {"slug": name, "description": None, "createdAt": THEN, "updatedAt": THEN, **properties}
    return a_space(name, kind=SpaceKind.PROJECT, properties=kept)


def an_item(
    name: str, kind: str = "concept", *, project: SpaceId = PROJECT, **values: Any
) -> tuple[Entry, ...]:
    """Return an item's entry and its first observation. Its name is its slug."""
    entity = an_entity(id=an_item_id(name, kind, project=project), space=project, entity_type=kind)
    return creation_entries(entity, _item_observation(name, kind, project, values, label="first"))


def a_revised_item(name: str, kind: str = "concept", **values: Any) -> Observation:
    """Return another observation of an item, with all its values."""
    return _item_observation(name, kind, PROJECT, values, label=repr(sorted(values.items())))


def an_item_id(name: str, kind: str = "concept", *, project: SpaceId = PROJECT) -> EntityId:
    """Return the entity id of an item."""
    return item_id(project, kind, uuid_of(name))


def a_link(name: str, rel_type: str, source: str, target: str) -> Relation:
    """Return a relation between two items; unlisted types of relations join concepts."""
    joint = RELATIONS.get(rel_type, Joint(source="concept", target="concept"))
    return a_relation(
        name,
        "",
        "",
        id=a_link_id(name),
        space=PROJECT,
        rel_type=rel_type,
        from_id=an_item_id(source, joint.source),
        to_id=an_item_id(target, joint.target),
        properties={"id": uuid_of(name), "createdAt": THEN},
    )


def a_link_id(name: str) -> RelationId:
    """Return the id of a relation's item in the log."""
    return RelationId(relation_id(PROJECT, uuid_of(name), 0))


def _item_observation(
    name: str, kind: str, project: SpaceId, values: dict[str, Any], *, label: str
) -> Observation:
    table = TABLE_OF[kind]
    given = {"title": name, "slug": name, "createdAt": THEN, "updatedAt": THEN, **values}
    row = {column.name: given.get(column.name, column.default) for column in table.columns}
    row["id"] = uuid_of(name)
    title, description, properties = item_fields(table, row)
    own = {PROPERTY_PREFIX + key: value for key, value in sorted(properties.items())}
    return an_observation(
        "",
        f"{project}/{kind}/{name}/{label}",
        space=project,
        entity_id=an_item_id(name, kind, project=project),
        fields={DESCRIPTION: description, NAME: title, **own},
        authority=Authority.SOURCE,
    )

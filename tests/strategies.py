"""Hypothesis strategies for values and items; ids are derived from few names."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, TypeVar

from hypothesis import strategies as st

from canonry.log.items.entities import Entity, EntityClass
from canonry.log.items.facts import Axiom, AxiomDomain, Event, Fact, FactType, Relation
from canonry.log.items.proposals import Proposal, ProposalType
from canonry.log.items.scenes import Memory, Speaker, Turn
from canonry.log.schemas.narrative import EntityType
from canonry.testing.conformance.kit import YEAR_9999, YEAR_ONE
from canonry.testing.example_items import (
    a_fact,
    a_memory,
    a_proposal,
    a_relation,
    a_turn,
    an_axiom,
    an_entity,
    an_event,
    an_observation,
    uuid_of,
)
from canonry.values.ids import EntityId
from canonry.values.merge_policies import CHOICES
from canonry.values.moments import DAY, Instant
from canonry.values.observations import Dated, Fragment, Observation
from canonry.values.provenance import Authority, CanonLevel, Evidence, EvidenceKind
from canonry.values.statements import Modality, Phase, Quantity, Statement

T = TypeVar("T")

NAMES: Final = ("Frodo", "frodo  ", "Sam", "Strider", "Aragorn", "\u00c9owyn", "Moria [gate]")
TAGS: Final = ("alive", "dead", "hidden", "at:moria", "at:shire")
EDGES: Final = ("ALLY_OF", "ENEMY_OF", "LOCATED_IN", "OWNS")

confidences: Final = st.floats(0.0, 1.0)
instants: Final = st.integers(YEAR_ONE, YEAR_9999).map(Instant)
days: Final = st.integers(-3, 3).map(lambda day: Instant(day * DAY))
"""Few instants, so that bounds meet."""
evidences: Final = st.builds(
    Evidence,
    kind=st.sampled_from(EvidenceKind),
    ref=st.integers(0, 5).map(lambda n: uuid_of(str(n))),
)
evidence_lists: Final = st.lists(evidences, max_size=2).map(tuple)
levels: Final = st.sampled_from((CanonLevel.CANON, CanonLevel.CANON, CanonLevel.PROPOSED))


@cache
def texts(max_size: int = 30) -> st.SearchStrategy[str]:
    """Any text that passes the gateway: no NUL, no lone surrogate."""
    letters = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
    return st.text(letters, max_size=max_size)


@cache
def sentences() -> st.SearchStrategy[str]:
    """Texts that share words."""
    words = st.sampled_from(("ring", "fire", "the", "Gold", "dragon", "\u00e9cho", "7", "--"))
    return st.lists(words, max_size=6).map(" ".join)


@cache
def json_values() -> st.SearchStrategy[Any]:
    """Anything that JSON can say exactly."""
    plain = (
        st.none()
        | st.booleans()
        | st.integers(-(2**53), 2**53)
        | st.floats(allow_nan=False, allow_infinity=False)
        | texts()
    )
    return st.recursive(
        plain,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts(8), inner, max_size=3),
        max_leaves=6,
    )


@cache
def property_maps() -> st.SearchStrategy[Mapping[str, Any]]:
    """Draw the properties of a field."""
    return st.dictionaries(texts(8), json_values(), max_size=3)


@cache
def fields() -> st.SearchStrategy[Mapping[str, Any]]:
    """Draw the fields of an observation."""
    return st.fixed_dictionaries(
        {},
        optional={
            "name": st.sampled_from(NAMES),
            "description": texts(),
            "state_tags": st.dictionaries(st.sampled_from(TAGS), st.booleans(), max_size=3),
            "properties.age": st.integers(0, 99) | json_values(),
            "properties.title": texts(),
            "properties.tags": st.lists(st.sampled_from(("red", "blue", 1)), max_size=3),
            "properties.email": st.sampled_from(("sam@shire.org", "SAM@shire.org", "frodo@x.io")),
            "properties.due": st.sampled_from(("2025-01-15", "2025-01-16")),
        },
    )


def entities(item_id: str) -> st.SearchStrategy[Entity]:
    """An entity without observations."""
    return st.builds(
        an_entity,
        id=st.just(item_id),
        entity_class=st.sampled_from(EntityClass),
        entity_type=st.sampled_from((EntityType.CHARACTER, EntityType.LOCATION)),
        level=levels,
        authority=st.sampled_from(Authority),
        confidence=confidences,
        evidence=evidence_lists,
    )


def observations(item_id: str, entity_id: str) -> st.SearchStrategy[Observation]:
    """Draw observations of an entity."""
    return st.builds(
        an_observation,
        st.just(""),
        st.just(""),
        id=st.just(item_id),
        entity_id=st.just(entity_id),
        fields=fields(),
        authority=st.sampled_from(Authority),
        confidence=confidences,
        evidence=evidence_lists,
        observed_at=st.none() | instants,
        correction=st.booleans(),
        priority=st.sampled_from((0, 100, 1000)),
        specificity=st.sampled_from((0.5, 1.0)),
        schema_version=st.none() | st.just("1.0"),
        fragments=st.just({}) | st.builds(_fragments, json_values()),
        dates=st.just({}) | st.builds(_dates, days, st.sampled_from(sorted(CHOICES))),
    )


def _fragments(value: Any) -> Mapping[str, Fragment]:
    return {"colour": Fragment(value=value, reason="unknown_field")}


def _dates(instant: Instant, policy: str) -> Mapping[str, Dated]:
    return {"due": Dated(event_type="Due", instant=instant, policy=policy)}


def _some(ids: list[str]) -> st.SearchStrategy[tuple[EntityId, ...]]:
    if not ids:
        return st.just(())
    return st.lists(st.sampled_from(ids).map(EntityId), max_size=3).map(tuple)


def facts(item_id: str, about: list[str]) -> st.SearchStrategy[Fact]:
    """A fact about some of `about`."""
    return st.builds(
        a_fact,
        id=st.just(item_id),
        statement=sentences(),
        fact_type=st.sampled_from(FactType),
        properties=property_maps(),
        time_ref=st.none() | days,
        duration=st.none() | st.integers(0, 3).map(lambda n: n * 86_400),
        involved=_some(about),
        confidence=confidences,
        authority=st.sampled_from(Authority),
        evidence=evidence_lists,
        level=levels,
    )


@cache
def statements() -> st.SearchStrategy[Statement]:
    """A statement about few subjects and attributes, so that their keys meet."""
    ids, numbers = (
        st.sampled_from(("~tower", uuid_of("Frodo"), uuid_of("Sam"))),
        st.floats(-9.0, 9.0),
    )
    quantities = st.builds(
        Quantity,
        low=numbers | st.just(float("-inf")),
        high=numbers | st.just(float("inf")),
        dimension=st.sampled_from(("", "length")),
        about=st.booleans(),
    )
    return st.builds(
        Statement,
        subject=ids,
        attribute=st.sampled_from(("place", "owner")),
        value=st.none() | ids | quantities,
        holds=st.booleans(),
        phase=st.sampled_from(Phase),
        modality=st.sampled_from(Modality),
        qualifiers=st.frozensets(st.sampled_from(("night", "in:east_wing", "old"))),
        when=st.sampled_from(("", "1402")),
    )


def events(item_id: str, about: list[str], effects: list[str]) -> st.SearchStrategy[Event]:
    """An event about some of `about` that may have had effects."""
    caused = st.lists(st.sampled_from(effects), max_size=2) if effects else st.just([])
    return st.builds(
        an_event,
        id=st.just(item_id),
        title=texts(),
        description=sentences(),
        time_ref=st.none() | days,
        severity=st.integers(0, 10),
        involved=_some(about),
        causes=caused.map(tuple),
        evidence=evidence_lists,
        level=levels,
    )


def relations(item_id: str, ends: list[str]) -> st.SearchStrategy[Relation]:
    """An edge between two of `ends`, which may be the same."""
    return st.builds(
        a_relation,
        st.just(""),
        st.just(""),
        st.just(""),
        id=st.just(item_id),
        rel_type=st.sampled_from(EDGES),
        from_id=st.sampled_from(ends),
        to_id=st.sampled_from(ends),
        properties=property_maps(),
        since=st.none() | days,
        evidence=evidence_lists,
        level=levels,
    )


def axioms(item_id: str) -> st.SearchStrategy[Axiom]:
    """A law of a world."""
    return st.builds(
        an_axiom,
        id=st.just(item_id),
        statement=texts(),
        domain=st.sampled_from(AxiomDomain),
        confidence=confidences,
    )


def turns(item_id: str, scene: str, speakers: list[str]) -> st.SearchStrategy[Turn]:
    """Something said in the scene whose id is `scene`."""
    who = st.none() | st.sampled_from(speakers) if speakers else st.none()
    return st.builds(
        a_turn,
        id=st.just(item_id),
        scene_id=st.just(scene),
        speaker=st.sampled_from(Speaker),
        entity_id=who,
        text=sentences() | texts(),
    )


def proposals(item_id: str, scene: str | None) -> st.SearchStrategy[Proposal]:
    """A change that somebody wants."""
    return st.builds(
        a_proposal,
        id=st.just(item_id),
        scene_id=st.just(scene),
        type=st.sampled_from(ProposalType),
        content=property_maps(),
        original=property_maps(),
        evidence=evidence_lists,
        confidence=confidences,
        authority=st.sampled_from(Authority),
        turn_index=st.none() | st.integers(0, 9),
    )


def memories(item_id: str, entity_id: str) -> st.SearchStrategy[Memory]:
    """Draw the memories of a character."""
    return st.builds(
        a_memory,
        id=st.just(item_id),
        entity_id=st.just(entity_id),
        text=sentences() | texts(),
        emotional_valence=st.floats(-1.0, 1.0),
        importance=st.sampled_from((0.0, 0.25, 0.5, 1.0)),
        certainty=confidences,
    )

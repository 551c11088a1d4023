"""Passages that were found: where each stands, what it can be cited by, and why it was found."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from canonry.gateway.shapes import (
    BOOLEAN,
    INSTANT,
    NUMBER,
    OBJECT,
    SHARE,
    TEXT,
    UUID,
    Field,
    Shape,
    array,
    enum,
    given,
    itself,
    nullable,
    optional,
)
from canonry.log.entries import Thing
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Axiom, Event, Fact
from canonry.log.items.relations import Relation
from canonry.log.items.scenes import Scene, Turn
from canonry.log.items.sources import Snippet, Source
from canonry.narrative.toolset.shapes import AXIOM, ENTITY, EVENT, FACT, RELATION
from canonry.readmodels.passages import Collection, Passage
from canonry.readmodels.ranking import Why
from canonry.recall.usecases.find_passages import FoundPassage
from canonry.recall.usecases.when_said import when_said
from canonry.values.provenance import Evidence, EvidenceKind
from canonry.values.time import Instant, render_instant

_DIGITS: Final = 4
_SAID: Final = frozenset({Collection.SCENES, Collection.MEMORIES, Collection.SNIPPETS})
_CITED: Final = {
    "turn": EvidenceKind.TURN,
    "scene_summary": EvidenceKind.SCENE,
    "snippet": EvidenceKind.SNIPPET,
    "axiom": EvidenceKind.RULE,
}


def _cited(hit: FoundPassage) -> str | None:
    """What supports a statement that rests on the passage; memories and canon support none.

    A law of the world is cited as a rule.
    """
    kind = _CITED.get(hit.passage.kind)
    return None if kind is None else str(Evidence(kind=kind, ref=hit.passage.id))


def _found_by(why: Why) -> str:
    if why.meaning > 0:
        return "both" if why.terms else "meaning"
    return "keywords" if why.terms else "nearby"


_ROUNDED: Final = NUMBER.by(lambda number: round(number, _DIGITS))
_PARTS: Final = Shape(
    keywords=_ROUNDED, meaning=_ROUNDED, nearby=_ROUNDED, named=_ROUNDED, dated=_ROUNDED
)
_WHY: Final = Shape(
    by=enum("keywords", "meaning", "both", "nearby").of(_found_by),
    terms=array(TEXT).of(lambda why: [term for term, _ in why.terms]),
    similarity=_ROUNDED,
    parts=_PARTS.of(itself),
)
"""The words and the likeness that a passage was found by, and what makes up its strength.

The sum of the parts decides the order; the score says how far the passage says what was asked.
"""
_HIT: Final = Shape(
    id=UUID.of("passage.id"),
    score=SHARE.by(lambda number: round(number, _DIGITS)),
    payload=given(OBJECT),
    text=TEXT.of("passage.text"),
    evidence_ref=nullable(TEXT).of(_cited),
    why=optional(_WHY),
)
_SHORT: Final = Shape(**{name: each for name, each in _HIT.fields.items() if name != "why"})

_TRUST: Final = ENTITY.only("authority", "confidence", "canon_level")
_CANONICAL: Final[Mapping[type, Shape]] = {
    Entity: Shape(
        **ENTITY.only("entity_id", "name", "entity_class", "entity_type", "state_tags"), **_TRUST
    ),
    Fact: Shape(
        **FACT.only("fact_id", "involved_entity_ids", "time_ref"),
        until=nullable(INSTANT).of("ends_at"),
        superseded=BOOLEAN,
        **_TRUST,
    ),
    Event: Shape(
        **EVENT.only("event_id", "title", "involved_entity_ids", "time_ref", "severity"), **_TRUST
    ),
    Axiom: Shape(**AXIOM.only("axiom_id", "domain"), **_TRUST),
    Relation: Shape(
        **RELATION.only("relationship_id", "rel_type", "from_entity_id", "to_entity_id"),
        **RELATION.only("since", "until", "current"),
        **_TRUST,
    ),
}
"""What tells of canon where it holds, and how far it can be trusted."""


def _hits(found: tuple[Sequence[FoundPassage], Mapping[str, Thing]]) -> list[dict[str, Any]]:
    hits, things = found
    return [hit_of(hit, things, detail=True) for hit in hits]


def hit_of(hit: FoundPassage, things: Mapping[str, Thing], *, detail: bool) -> dict[str, Any]:
    """A passage that was found; with detail it says by what."""
    return (_HIT if detail else _SHORT)(hit, payload=_payload(hit.passage, things))


def _time(instant: Instant | None) -> str | None:
    return None if instant is None else render_instant(instant)


def _speaker(thing: Thing | None, things: Mapping[str, Thing]) -> str | None:
    """Who says a turn: by name where it is somebody of the world."""
    if not isinstance(thing, Turn):
        return None
    entity = things.get(thing.entity_id or "")
    return entity.name if isinstance(entity, Entity) else thing.speaker.called


HITS: Final[Field] = array(_HIT).by(_hits)
"""Passages that were found, of a pair: the passages, and the things that they come from."""


def _payload(passage: Passage, things: Mapping[str, Thing]) -> dict[str, Any]:
    payload: dict[str, Any] = {
        "type": passage.kind,
        "universe_id": passage.space,
        "timestamp": render_instant(passage.at),
    }
    if passage.collection in _SAID and passage.id in things:
        said = when_said(things[passage.id], things)
        payload |= {"said_at": _time(said.said_at), "in_world": _time(said.in_world)}
    scene = things.get(passage.scene_id or "")
    source = things.get(passage.source_id or "")
    match passage.collection:
        case Collection.SCENES:
            payload |= {"scene_id": passage.scene_id, "entity_ids": list(passage.entities)}
            payload["turn_index"] = passage.place
            payload["speaker"] = _speaker(things.get(passage.id), things)
            payload["story_id"] = scene.story_id if isinstance(scene, Scene) else None
            payload["scene_title"] = scene.title if isinstance(scene, Scene) else None
        case Collection.MEMORIES:
            payload |= {"memory_id": passage.id, "scene_id": passage.scene_id}
            payload |= {"entity_id": next(iter(passage.entities), None)}
            payload["importance"] = passage.importance
        case Collection.SNIPPETS:
            snippet = things.get(passage.id)
            payload |= {"snippet_id": passage.id, "source_id": passage.source_id}
            payload["doc_id"] = source.doc_id if isinstance(source, Source) else None
            payload["source_title"] = source.title if isinstance(source, Source) else None
            payload["page"] = snippet.page if isinstance(snippet, Snippet) else None
            payload["section"] = snippet.section if isinstance(snippet, Snippet) else None
        case Collection.ENTITIES | Collection.FACTS | Collection.LORE:
            thing = things.get(passage.id)
            shape = _CANONICAL.get(type(thing))
            payload |= shape(thing) if shape else {}
    return payload

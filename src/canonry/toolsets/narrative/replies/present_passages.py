"""Presenting passages: where each stands, what it can be cited by, and why it was found."""

from collections.abc import Mapping
from typing import Any, Final

from canonry.domain.log.entries import Thing
from canonry.domain.provenance import Evidence, EvidenceKind
from canonry.domain.recall.passages import Collection, Passage
from canonry.domain.recall.ranking import Why
from canonry.domain.things.entities import Entity
from canonry.domain.things.facts import Axiom, Event, Fact
from canonry.domain.things.scenes import Scene
from canonry.domain.things.sources import Snippet, Source
from canonry.domain.time import render_instant
from canonry.domain.vocabularies.narrative_types import narrative_type
from canonry.toolsets.narrative.replies.present import Presented, shown_instant
from canonry.toolsets.narrative.replies.schemas import (
    NUMBER,
    OBJECT,
    SHARE,
    TEXT,
    UUID,
    array,
    enum,
    nullable,
    obj,
)
from canonry.usecases.recall.find_passages import FoundPassage

_DIGITS: Final = 4
_CITED: Final = {
    "turn": EvidenceKind.TURN,
    "scene_summary": EvidenceKind.SCENE,
    "snippet": EvidenceKind.SNIPPET,
    "axiom": EvidenceKind.RULE,
}
PARTS: Final = ("keywords", "meaning", "nearby", "named")
WHY: Final = obj(
    {
        "by": enum("keywords", "meaning", "both", "nearby"),
        "terms": array(TEXT),
        "similarity": NUMBER,
        "parts": obj(dict.fromkeys(PARTS, NUMBER)),
    }
)
HIT: Final = obj(
    {
        "id": UUID,
        "score": SHARE,
        "payload": OBJECT,
        "text": TEXT,
        "evidence_ref": nullable(TEXT),
        "why": WHY,
    }
)


def present_hit(hit: FoundPassage, things: Mapping[str, Thing]) -> Presented:
    """A passage with what it can be cited by, and why it was found."""
    passage = hit.passage
    payload: dict[str, Any] = {
        "type": passage.kind,
        "universe_id": passage.space,
        "timestamp": render_instant(passage.at),
    }
    scene = things.get(passage.scene_id or "")
    source = things.get(passage.source_id or "")
    match passage.collection:
        case Collection.SCENES:
            payload |= {"scene_id": passage.scene_id, "entity_ids": list(passage.entities)}
            payload["turn_index"] = passage.place
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
            payload |= _canonical(things.get(passage.id))
    return {
        "id": passage.id,
        "score": hit.score,
        "payload": payload,
        "text": passage.text,
        "evidence_ref": evidence_ref(passage),
        "why": present_why(hit.why),
    }


def _canonical(thing: Thing | None) -> Presented:
    """What tells of canon where it holds, and how far it can be trusted."""
    match thing:
        case Entity():
            shown: Presented = {
                "entity_id": thing.id,
                "name": thing.name,
                "entity_class": thing.entity_class.value,
                "entity_type": narrative_type(thing.entity_type),
                "state_tags": list(thing.state_tags),
            }
        case Fact():
            shown = {
                "fact_id": thing.id,
                "involved_entity_ids": list(thing.involved),
                "time_ref": shown_instant(thing.time_ref),
                "until": shown_instant(thing.ends_at),
                "superseded": thing.superseded,
            }
        case Event():
            shown = {
                "event_id": thing.id,
                "title": thing.title,
                "involved_entity_ids": list(thing.involved),
                "time_ref": shown_instant(thing.time_ref),
                "severity": thing.severity,
            }
        case Axiom():
            shown = {"axiom_id": thing.id, "domain": thing.domain.value}
        case _:
            return {}
    trust = {"authority": thing.authority.value, "confidence": thing.confidence}
    return {**shown, **trust, "canon_level": thing.level.value}


def evidence_ref(passage: Passage) -> str | None:
    """What supports a statement that rests on the passage; memories and canon support none.

    A law of the world is cited as a rule.
    """
    kind = _CITED.get(passage.kind)
    return None if kind is None else str(Evidence(kind=kind, ref=passage.id))


def present_why(why: Why) -> Presented:
    """The words and the likeness that a passage was found by, and what makes up its strength.

    The score is the sum of the parts s as s / (1 + s).
    """
    by = "nearby"
    if why.terms or why.meaning > 0:
        by = ("both" if why.terms else "meaning") if why.meaning > 0 else "keywords"
    return {
        "by": by,
        "terms": [term for term, _ in why.terms],
        "similarity": round(why.similarity, _DIGITS),
        "parts": {name: round(getattr(why, name), _DIGITS) for name in PARTS},
    }

"""Tools for stories, scenes, proposals and sources, and for the context of the next turn."""

import base64
import binascii
from collections.abc import Iterator
from dataclasses import replace
from operator import itemgetter
from typing import Any, Final, NamedTuple

from canonry.canon.canonization.canonize_scene import preview_proposals, preview_scene
from canonry.canon.canonization.decide_proposals import ProposalVerdict, SceneOutcome, verdict_on
from canonry.canon.canonization.proposals import list_proposals
from canonry.canon.commands import retcon_items
from canonry.canon.commands.sources import ingest_source
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Receipt
from canonry.gateway.replies import COUNT, Field, Shape, array, enum
from canonry.gateway.tool import Arguments, Cached, Reply
from canonry.language.texts.sentences import DocumentType
from canonry.log import entries as log
from canonry.log.folding import item_key, proposals_key, turns_key
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Fact, Relation
from canonry.log.items.proposals import ProposalStatus
from canonry.log.items.scenes import SceneStatus
from canonry.narrative.toolset.contract import CONTENTS_HELP, make_tool
from canonry.narrative.toolset.search import HITS
from canonry.narrative.toolset.shapes import TABLE
from canonry.narrative.usecases import scenes as usecases
from canonry.narrative.usecases.context import ContextRequest, SceneContext, assemble_context
from canonry.readmodels.ports.documents import ProposalQuery
from canonry.recall.domain.context import NAMED_MAX, ContextEntity
from canonry.values.errors import InvalidInput
from canonry.values.ids import EntityId, SceneId
from canonry.values.provenance import Evidence, EvidenceKind

ACTIVE_SECONDS: Final = 30.0  # a cached active scene is soon read again
_SCENE_IN_FULL: Final = TABLE.make_shape("scene_in_full")


def _cache_keys(_: Arguments, reply: Reply) -> frozenset[str]:
    scene_id = str(reply["scene_id"])
    return frozenset((item_key(scene_id), turns_key(scene_id), proposals_key(scene_id)))


async def _get_scene(
    canon: Canon,
    caller: Caller,
    *,
    scene_id: str,
    include_turns: bool,
    turn_limit: int,
    include_proposals: bool,
) -> Reply:
    turns = turn_limit if include_turns else 0
    found = await usecases.get_scene(canon, caller, scene_id, turns=turns)
    return _SCENE_IN_FULL(
        found,
        proposals=found.proposals.items if include_proposals else None,
        truncated=0 < len(found.turns) < found.total_turns,
    )


async def _update_scene(
    canon: Canon, caller: Caller, *, scene_id: str, sent: frozenset[str], **new: Any
) -> Receipt[Any]:
    """Change what was sent; null clears."""
    scene = SceneId(scene_id)
    made: dict[str, usecases.SceneChange] = {
        "gm_notes": log.SceneNoted(scene_id=scene, gm_notes=new["gm_notes"]),
        "time_ref": log.SceneDated(
            scene_id=scene, time_ref=new["time_ref"], time_words=new["time_words"]
        ),
        "said_at": log.SaidAt(thing_id=scene, said_at=new["said_at"]),
        "summary": log.SceneSummarised(scene_id=scene, summary=new["summary"]),
        "location_ref": log.ScenePlaced(scene_id=scene, location_ref=new["location_ref"]),
    }
    changes = [change for name, change in made.items() if name in sent]
    if not sent.isdisjoint(("joining_entities", "leaving_entities")):
        joined = tuple(map(EntityId, new["joining_entities"]))
        left = tuple(map(EntityId, new["leaving_entities"]))
        changes.append(log.SceneStaged(scene_id=scene, joined=joined, left=left))
    return await usecases.update_scene(canon, caller, scene, changes)


_LEFT_OUT: Final = TABLE.make_shape("left_out", dict)
_ENTITY: Final = TABLE.make_shape("context_entity")


class _Joined(NamedTuple):
    """A relation with the two entities that it joins."""

    relation: Relation
    start: Entity
    end: Entity


def _entity_rows(context: SceneContext) -> list[dict[str, Any]]:
    roles = {entity.id: "participant" for entity in context.cast.participants}
    if context.cast.location is not None:
        roles.setdefault(context.cast.location.id, "location")
    return [
        _ENTITY(shown, role=roles.get(shown.entity.id, "related"), trimmed=_left_out(shown))
        for shown in context.canonical.entities
    ]


def _left_out(shown: ContextEntity) -> dict[str, Any] | None:
    """Return the parts of an entity that were left out, and the tool that returns them."""
    left = shown.summary.left
    if not left and not shown.summary.is_shortened and not shown.head.tags_left:
        return None
    return _LEFT_OUT(
        read_with="neo4j_get_entity",
        description=shown.summary.is_shortened,
        properties=left[:NAMED_MAX],
        total_properties=len(left),
        state_tags=shown.head.tags_left,
    )


def _joined_relations(context: SceneContext) -> Iterator[_Joined]:
    roots = context.canonical.roots
    for edge in context.canonical.relations:
        yield _Joined(edge, roots[edge.from_id], roots[edge.to_id])


_SECTIONS: Final = (
    "entities",
    "facts",
    "relations",
    "events",
    "prior_turns",
    "previous_scenes",
    "open_threads",
    "similar_scenes",
    "character_memories",
    "rule_excerpts",
)
TABLE.kinds |= {
    "hits": HITS,
    "omitted": Shape(**{name: COUNT.from_source(itemgetter(name)) for name in _SECTIONS}),
}
TABLE.make_shape(
    "context_canon",
    entities=array(_ENTITY).from_function(_entity_rows),
    relations=_joined_relations,
)
_NARRATIVE: Final = TABLE.make_shape("context_narrative", dict)
TABLE.make_shape(
    "context_recalled",
    similar_scenes=lambda recalled: (recalled.scenes, recalled.items),
    rule_excerpts=lambda recalled: (recalled.rules, recalled.items),
)
_CONTEXT: Final = TABLE.make_shape("context")
"""The three sections and their sources; members exist even if they are empty."""


async def _assemble_context(canon: Canon, caller: Caller, *, request: ContextRequest) -> Reply:
    context = await assemble_context(canon, caller, request)
    scene = context.scene if request.narrative else None
    section = _NARRATIVE(
        context, scene_summary=scene and scene.summary, gm_notes=scene and scene.gm_notes
    )
    return _CONTEXT(context, narrative=section)


TABLE.make_shape("finalized", status=lambda _: SceneStatus.COMPLETED)


def says(item: retcon_items.Retconnable) -> str:
    """Return the text of an item of canon."""
    match item:
        case Entity():
            return item.name
        case Fact():
            return item.statement
        case Event():
            return item.title
        case Relation():
            return item.rel_type


TABLE.make_shape(
    "dependent",
    kind=lambda each: log.KIND_NAMES[type(each.thing)],
    says=lambda each: says(each.thing),
)


async def _retcon_item(
    canon: Canon, caller: Caller, *, thing_id: str, dry_run: bool, retcon: retcon_items.Retcon
) -> Any:
    if dry_run:
        return await retcon_items.list_dependents(canon, caller, thing_id)
    return await retcon_items.retcon_with_dependents(canon, caller, thing_id, retcon)


async def _retcon_scene(
    canon: Canon, caller: Caller, *, scene_id: str, dry_run: bool, reason: str
) -> Any:
    if dry_run:
        return await retcon_items.list_resting_on_scene(canon, caller, scene_id)
    return await retcon_items.retcon_scene(canon, caller, scene_id, reason=reason)


TABLE.make_shape(
    "snippet", evidence_ref=lambda snippet: Evidence(kind=EvidenceKind.SNIPPET, ref=snippet.id)
)


def _document_of(
    text: str | None, file: str | None, named: DocumentType | None
) -> tuple[bytes, DocumentType]:
    """Return the bytes and type of the document; text is encoded as UTF-8."""
    if (text is None) == (file is None):
        message = "Give the document either in /text, or as base64 in /file."
        raise InvalidInput("document.not-given", message, path="/text")
    if file is None:
        kind = named or DocumentType.PLAIN
        if kind is DocumentType.PDF:
            message = "A PDF cannot be sent in /text. Send it as base64 in /file."
            raise InvalidInput("document.not-text", message, path="/mime_type")
        return str(text).encode(), kind
    if named is None:
        message = "The type of /file is missing. Give it in /mime_type, like application/pdf."
        raise InvalidInput("document.no-type", message, path="/mime_type")
    try:
        return base64.b64decode("".join(file.split()), validate=True), named
    except (binascii.Error, ValueError) as error:
        message = "/file is not base64. Encode the document's bytes with the standard alphabet."
        raise InvalidInput("document.not-base64", message, path="/file") from error


async def _ingest_source(
    canon: Canon,
    caller: Caller,
    *,
    source_id: str,
    text: str | None,
    file: str | None,
    kind: DocumentType | None,
    title: str | None,
) -> Any:
    data, document_type = _document_of(text, file, kind)
    try:
        return await ingest_source(canon, caller, source_id, data, document_type, title=title)
    except InvalidInput as error:
        path = "/text" if file is None else "/file"
        raise InvalidInput(error.code, error.message, **{"path": path, **error.details}) from error


def _decided(status: ProposalStatus) -> Any:
    return lambda report: report.with_status(status)


def _outcomes(kind: type[SceneOutcome]) -> Any:
    return lambda report: report.ids_of_kind(kind)


TABLE.kinds["verdict_status"] = enum("accepted", "rejected", "needs_review", "pending")
TABLE.make_shape(
    "verdict",
    status=lambda verdict: "needs_review" if verdict.needs_review else verdict.status.value,
)
TABLE.make_shape(
    "judged",
    accepted_proposals=_decided(ProposalStatus.ACCEPTED),
    rejected_proposals=_decided(ProposalStatus.REJECTED),
    pending_proposals=_decided(ProposalStatus.PENDING),
    canonical_fact_ids=_outcomes(Fact),
    canonical_event_ids=_outcomes(Event),
    canonical_entity_ids=_outcomes(Entity),
    canonical_relationship_ids=_outcomes(Relation),
)


async def _list_pending(canon: Canon, caller: Caller, *, query: ProposalQuery) -> Any:
    return await list_proposals(canon, caller, replace(query, status=ProposalStatus.PENDING))


async def _get_verdicts(
    canon: Canon, caller: Caller, *, scene_id: str | None, proposal_ids: tuple[str, ...]
) -> tuple[ProposalVerdict, ...]:
    if (scene_id is None) is not bool(proposal_ids):
        message = "Name either a scene in /scene_id or proposals in /proposal_ids."
        raise InvalidInput("preview.of-what", message, path="/scene_id")
    if scene_id is not None:
        return await preview_scene(canon, caller, scene_id)
    return tuple(map(verdict_on, await preview_proposals(canon, caller, proposal_ids)))


TABLE.make_shape("audience_changed", audience=lambda told: told.audience or ("everyone",))


TOOLS: Final = (
    make_tool(
        "mongodb_get_scene",
        _get_scene,
        Field(_SCENE_IN_FULL.schema),
        cached=Cached(
            seconds=lambda _, reply: ACTIVE_SECONDS if reply.get("status") == "active" else 0.0,
            depends_on=_cache_keys,
        ),
    ),
    make_tool("mongodb_update_scene", _update_scene, TABLE.make_shape("scene_updated")),
    make_tool("composite_assemble_scene_context", _assemble_context, Field(_CONTEXT.schema)),
    make_tool("mongodb_ingest_source", _ingest_source, TABLE.make_shape("ingested")),
    make_tool("mongodb_create_proposed_change", ending=CONTENTS_HELP),
    make_tool("mongodb_get_pending_proposals", _list_pending),
    make_tool(
        "composite_get_verdicts",
        _get_verdicts,
        TABLE.make_shape("previewed", verdicts=tuple, total=len),
    ),
    make_tool("composite_retcon_scene", _retcon_scene, TABLE.make_shape("scene_retconned")),
    make_tool("neo4j_retcon_thing", _retcon_item, TABLE.make_shape("thing_retconned")),
)

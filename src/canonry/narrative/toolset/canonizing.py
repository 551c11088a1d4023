"""Tools for proposals and sources, and tools that correct canon."""

import base64
import binascii
from dataclasses import replace
from typing import Any, Final

from canonry.canon.canonization.canonize_scene import preview_proposals, preview_scene
from canonry.canon.canonization.decide_proposals import ProposalVerdict, SceneOutcome, verdict_on
from canonry.canon.canonization.proposals import list_proposals
from canonry.canon.commands.retcon_things import (
    Retcon,
    Retconnable,
    list_dependents,
    list_resting_on_scene,
    retcon_scene,
    retcon_thing,
)
from canonry.canon.commands.sources import ingest_source
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.replies import enum
from canonry.language.texts.sentences import DocumentType
from canonry.log.entries import THING_KINDS
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Fact, Relation
from canonry.log.items.proposals import ProposalStatus
from canonry.narrative.toolset.contract import CONTENTS_TOLD, make_tool
from canonry.narrative.toolset.shapes import TABLE
from canonry.readmodels.ports.documents import ProposalQuery
from canonry.values.errors import InvalidInput
from canonry.values.provenance import Evidence, EvidenceKind


def says(thing: Retconnable) -> str:
    """Return the text of an item of canon."""
    match thing:
        case Entity():
            return thing.name
        case Fact():
            return thing.statement
        case Event():
            return thing.title
        case Relation():
            return thing.rel_type


TABLE.shape(
    "dependent",
    kind=lambda each: THING_KINDS[type(each.thing)],
    says=lambda each: says(each.thing),
)


async def _retcon_thing(
    canon: Canon, caller: Caller, *, thing_id: str, dry_run: bool, retcon: Retcon
) -> Any:
    if dry_run:
        return await list_dependents(canon, caller, thing_id)
    return await retcon_thing(canon, caller, thing_id, retcon)


async def _retcon_scene(
    canon: Canon, caller: Caller, *, scene_id: str, dry_run: bool, reason: str
) -> Any:
    if dry_run:
        return await list_resting_on_scene(canon, caller, scene_id)
    return await retcon_scene(canon, caller, scene_id, reason=reason)


TABLE.shape(
    "snippet",
    evidence_ref=lambda snippet: Evidence(kind=EvidenceKind.SNIPPET, ref=snippet.id),
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
    return lambda report: report.ids(kind)


TABLE.kinds["verdict_status"] = enum("accepted", "rejected", "needs_review", "pending")
TABLE.shape(
    "verdict",
    status=lambda verdict: "needs_review" if verdict.needs_review else verdict.status.value,
)
TABLE.shape(
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


TABLE.shape("audience_changed", audience=lambda told: told.audience or ("everyone",))
TOOLS: Final = (
    make_tool("mongodb_ingest_source", _ingest_source, TABLE.shape("ingested")),
    make_tool("mongodb_create_proposed_change", ending=CONTENTS_TOLD),
    make_tool("mongodb_get_pending_proposals", _list_pending),
    make_tool(
        "composite_get_verdicts", _get_verdicts, TABLE.shape("previewed", verdicts=tuple, total=len)
    ),
    make_tool("composite_retcon_scene", _retcon_scene, TABLE.shape("scene_retconned")),
    make_tool("neo4j_retcon_thing", _retcon_thing, TABLE.shape("thing_retconned")),
)

"""Tools for proposals and sources, and tools that correct canon."""

import base64
import binascii
from typing import Any, Final

from canonry.canon.canonization.canonize_scene import (
    canonize_proposals,
    canonize_scene,
    preview_proposals,
    preview_scene,
)
from canonry.canon.canonization.change_audience import change_audience
from canonry.canon.canonization.decide_proposals import (
    ProposalVerdict,
    SceneOutcome,
    verdict_on,
    waive_conflict,
)
from canonry.canon.canonization.proposals import (
    KeeperVerdict,
    Suggestion,
    create_loose_proposal,
    create_proposal,
    evaluate_proposal,
    list_proposals,
)
from canonry.canon.commands.entities import EntityUpdate, update_entity
from canonry.canon.commands.relations import QuantityTransfer, transfer_quantity
from canonry.canon.commands.retcon_things import (
    Retcon,
    Retconnable,
    list_dependents,
    list_resting_on_scene,
    retcon_scene,
    retcon_thing,
)
from canonry.canon.commands.sources import NewSource, create_source, ingest_source
from canonry.canon.queries.listings import query_snippets, query_sources
from canonry.canon.queries.names import AS_KNOWN_AT
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.replies import (
    BOOLEAN,
    COUNT,
    INSTANT,
    NUMBER,
    OBJECT,
    SHARE,
    TEXT,
    UUID,
    WORD,
    Field,
    Shape,
    array,
    enum,
    given,
    nullable,
    obj,
)
from canonry.gateway.tool import ANYONE, Arguments, Reply
from canonry.language.texts.sentences import DocumentType
from canonry.log.entries import THING_KINDS
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Fact, Relation
from canonry.log.items.proposals import Ask, ProposalDraft, ProposalStatus, ProposalType
from canonry.log.items.scenes import StoryStatus
from canonry.log.items.sources import SourceDraft, SourceType
from canonry.narrative.toolset import shapes
from canonry.narrative.toolset.contract import (
    CONTENTS_TOLD,
    contract_tool,
    listing_tool,
    reading_tool,
    writing_tool,
)
from canonry.narrative.usecases.scenes import update_story
from canonry.readmodels.ports.documents import ProposalQuery
from canonry.values.audience import audience_in
from canonry.values.errors import InvalidInput
from canonry.values.ids import SceneId, SpaceId
from canonry.values.provenance import Authority, CanonLevel, Evidence, EvidenceKind

_UPDATED: Final = Shape(entity_id=UUID.of("id"), name=TEXT, aliases=array(TEXT), updated_at=INSTANT)


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


DEPENDENT: Final = Shape(
    id=UUID.of("thing.id"),
    kind=WORD.of(lambda each: THING_KINDS[type(each.thing)]),
    says=TEXT.of(lambda each: says(each.thing)),
    tie=WORD,
    rests_on=UUID,
    certain=BOOLEAN,
)
"""A dependent of an item; `certain`: `along` also retracts it."""

_RESTING: Final = {
    "dependents": array(DEPENDENT),
    "dependents_truncated": BOOLEAN.of("more"),
    "retconned": shapes.UUIDS.of("fallen"),
    "resumed": shapes.UUIDS,
}
_RETCONNED: Final = Shape(id=UUID.of("thing.id"), kind=WORD, dry_run=given(BOOLEAN), **_RESTING)


_TRANSFERRED: Final = Shape(
    from_quantity=NUMBER,
    to_quantity=NUMBER,
    from_relationship_id=nullable(UUID).of("from_relation"),
    to_relationship_id=UUID.of("to_relation"),
)
"""The amounts after a transfer, and the relations that record them."""


_MOVED: Final = Shape(story_id=UUID.of("id"), status=WORD)


_AUDIENCE: Final = Shape(
    ids=shapes.UUIDS,
    audience=array(TEXT).of(lambda told: told.audience or ("everyone",)),
    changed_at=INSTANT.of("recorded_at"),
)


@writing_tool(
    "neo4j_update_entity",
    "Change an entity's name, description or properties. Earlier values are kept, and search "
    "still finds former names.",
    takes=obj(
        {"entity_id": UUID, "authority": shapes.AUTHORITY, "evidence_refs": array(TEXT)},
        {"name": TEXT, "description": TEXT, "properties": OBJECT},
    ),
    gives=_UPDATED,
    idempotent=True,
)
async def _update_entity(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    limits = canon.policy.limits
    update = EntityUpdate(
        name=shapes.optional_text(arguments, "name", limits.name),
        description=shapes.optional_text(arguments, "description", limits.description),
        properties=arguments.get("properties") or {},
    )
    updated = await update_entity(
        canon,
        caller,
        shapes.uuid_of(arguments, "entity_id"),
        update,
        authority=Authority(arguments["authority"]),
        evidence=shapes.evidence_of(arguments),
    )
    return _UPDATED(updated)


@writing_tool(
    "neo4j_retcon_thing",
    "Retract a fact, event, relation or entity that was never true, and list what depends on "
    "it. dry_run only lists; along also retracts the certain dependents, along_ids the ones "
    "you name.",
    takes=obj(
        {"id": UUID, "reason": TEXT},
        {
            "dry_run": BOOLEAN.but(default=False),
            "along": BOOLEAN.but(default=False),
            "along_ids": array(UUID),
            "authority": shapes.AUTHORITY.but(default="system"),
            "evidence_refs": array(TEXT),
        },
    ),
    gives=_RETCONNED,
)
async def _retcon_thing(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    thing_id, dry_run = shapes.uuid_of(arguments, "id"), bool(arguments["dry_run"])
    retcon = Retcon(
        reason=shapes.text_of(arguments, "reason", canon.policy.limits.description),
        along=bool(arguments["along"]),
        along_ids=shapes.uuids_of(arguments, "along_ids"),
        authority=Authority(arguments["authority"]),
        evidence=shapes.evidence_of(arguments) if "evidence_refs" in arguments else (),
    )
    if dry_run:
        found = await list_dependents(canon, caller, thing_id)
    else:
        found = await retcon_thing(canon, caller, thing_id, retcon)
    return _RETCONNED(found, dry_run=dry_run)


@writing_tool(
    "neo4j_transfer_quantity",
    "Transfer a counted amount that one entity OWNS, like coins, to another. You cannot "
    "transfer more than the owner has.",
    takes=obj(
        {
            "from_entity_id": UUID,
            "to_entity_id": UUID,
            "thing_entity_id": UUID,
            "quantity": NUMBER,
            "authority": shapes.AUTHORITY,
            "evidence_refs": array(TEXT),
        },
        {"at": INSTANT},
    ),
    gives=_TRANSFERRED,
)
async def _transfer_quantity(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    transfer = QuantityTransfer(
        from_id=shapes.uuid_of(arguments, "from_entity_id"),
        to_id=shapes.uuid_of(arguments, "to_entity_id"),
        thing_id=shapes.uuid_of(arguments, "thing_entity_id"),
        quantity=arguments["quantity"],
        at=shapes.instant_of(arguments, "at"),
        authority=Authority(arguments["authority"]),
        evidence=shapes.evidence_of(arguments),
    )
    return _TRANSFERRED(await transfer_quantity(canon, caller, transfer))


@writing_tool(
    "neo4j_update_story",
    "Complete or abandon a story, or make it active again.",
    takes=obj({"story_id": UUID, "status": enum("completed", "abandoned", "active")}),
    gives=_MOVED,
    idempotent=True,
)
async def _update_story(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    status = StoryStatus(arguments["status"])
    return _MOVED(await update_story(canon, caller, shapes.uuid_of(arguments, "story_id"), status))


@writing_tool(
    "neo4j_set_audience",
    "Change who may know a fact, event, relation, entity or source: everyone, gm, "
    "character:<id> or player:<user>.",
    takes=obj(
        {"id": UUID, "audience": array(TEXT), "reason": TEXT}, {"evidence_refs": array(TEXT)}
    ),
    gives=_AUDIENCE,
    idempotent=True,
)
async def _set_audience(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    told = await change_audience(
        canon,
        caller,
        shapes.uuid_of(arguments, "id"),
        audience_in(arguments["audience"]),
        reason=shapes.text_of(arguments, "reason", canon.policy.limits.description),
        evidence=shapes.evidence_of(arguments) if "evidence_refs" in arguments else (),
    )
    return _AUDIENCE(told)


_CREATED: Final = shapes.canon_created("source_id")
_SNIPPET: Final = Shape(
    snippet_id=UUID.of("id"),
    source_id=UUID,
    index=COUNT,
    page=nullable(COUNT),
    section=nullable(TEXT),
    text=TEXT,
    evidence_ref=WORD.of(lambda snippet: Evidence(kind=EvidenceKind.SNIPPET, ref=snippet.id)),
    created_at=INSTANT,
)
_INGESTED: Final = Shape(
    source_id=UUID.of("source.id"),
    universe_id=UUID.of("source.space"),
    snippets=COUNT,
    added=COUNT,
    first_index=COUNT.of("first"),
)


def _document_of(arguments: Arguments) -> tuple[bytes, DocumentType]:
    """Return the bytes and type of the document; text is encoded as UTF-8."""
    text, file, named = (arguments.get(name) for name in ("text", "file", "mime_type"))
    if (text is None) == (file is None):
        message = "Give the document either in /text, or as base64 in /file."
        raise InvalidInput("document.not-given", message, path="/text")
    if file is None:
        kind = DocumentType(named or DocumentType.PLAIN)
        if kind is DocumentType.PDF:
            message = "A PDF cannot be sent in /text. Send it as base64 in /file."
            raise InvalidInput("document.not-text", message, path="/mime_type")
        return str(text).encode(), kind
    if named is None:
        message = "The type of /file is missing. Give it in /mime_type, like application/pdf."
        raise InvalidInput("document.no-type", message, path="/mime_type")
    try:
        return base64.b64decode("".join(file.split()), validate=True), DocumentType(named)
    except (binascii.Error, ValueError) as error:
        message = "/file is not base64. Encode the document's bytes with the standard alphabet."
        raise InvalidInput("document.not-base64", message, path="/file") from error


@contract_tool(
    "neo4j_create_source",
    "Register a document that canon can cite as evidence, as source:<source_id>.",
    gives=_CREATED,
    also={"audience": shapes.AUDIENCE},
)
async def _create_source(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    limits = canon.policy.limits
    new = NewSource(
        space=SpaceId(shapes.uuid_of(arguments, "universe_id")),
        doc_id=shapes.text_of(arguments, "doc_id", limits.name),
        title=shapes.text_of(arguments, "title", limits.name),
        edition=shapes.optional_text(arguments, "edition", limits.name),
        origin=shapes.optional_text(arguments, "provenance", limits.description),
        source_type=SourceType(arguments["source_type"]),
        level=CanonLevel(arguments["canon_level"]),
        audience=shapes.optional_of(arguments, "audience", audience_in),
    )
    receipt = await create_source(canon, caller, new)
    return shapes.created(_CREATED, receipt, SourceDraft)


_query_sources: Final = listing_tool(
    "neo4j_query_sources",
    "List the sources of a universe, oldest first.",
    query_sources,
    within="universe_id",
    gives=shapes.Listing("sources", shapes.RowShape(shapes.SOURCE, *shapes.SOURCE.fields)),
)


@writing_tool(
    "mongodb_ingest_source",
    "Split a source's document (plain text, Markdown or PDF) into snippets that you can search"
    " and cite as snippet:<id>. Ingesting the same document again adds nothing.",
    takes=obj(
        {"source_id": UUID},
        {
            "text": TEXT,
            "file": TEXT.but(contentEncoding="base64"),
            "mime_type": enum(*DocumentType),
            "title": TEXT,
        },
    ),
    gives=_INGESTED,
    roles=frozenset({"CanonKeeper", "Indexer"}),
    idempotent=True,
)
async def _ingest_source(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    data, kind = _document_of(arguments)
    source_id = shapes.uuid_of(arguments, "source_id")
    title = shapes.optional_text(arguments, "title", canon.policy.limits.name)
    try:
        return _INGESTED(await ingest_source(canon, caller, source_id, data, kind, title=title))
    except InvalidInput as error:
        path = "/text" if arguments.get("file") is None else "/file"
        raise InvalidInput(error.code, error.message, **{"path": path, **error.details}) from error


_query_snippets: Final = listing_tool(
    "mongodb_query_snippets",
    "List a source's snippets in reading order, each with the reference to cite.",
    query_snippets,
    within="source_id",
    gives=shapes.Listing(
        "snippets",
        shapes.RowShape(
            _SNIPPET,
            *("snippet_id", "index", "page", "section", "text", "evidence_ref"),
            text=TEXT.by(shapes.gist),
        ),
    ),
)


def _decided(status: ProposalStatus) -> Field:
    return shapes.UUIDS.of(lambda report: report.with_status(status))


def _outcomes(kind: type[SceneOutcome]) -> Field:
    return shapes.UUIDS.of(lambda report: report.ids(kind))


_STATUS: Final = enum("accepted", "rejected", "needs_review", "pending").of(
    lambda verdict: "needs_review" if verdict.needs_review else verdict.status.value
)
VERDICT: Final = Shape(
    proposal_id=UUID,
    type=shapes.PROPOSAL_TYPE,
    status=_STATUS,
    rule=TEXT,
    rationale=TEXT,
    score=nullable(NUMBER),
    conflicts=array(TEXT),
    conflict_details=shapes.CONFLICTS.of("graded"),
    canonical_id=nullable(UUID),
    made=shapes.UUIDS,
)
_JUDGED: Final = Shape(
    accepted_proposals=_decided(ProposalStatus.ACCEPTED),
    rejected_proposals=_decided(ProposalStatus.REJECTED),
    pending_proposals=_decided(ProposalStatus.PENDING),
    canonical_fact_ids=_outcomes(Fact),
    canonical_event_ids=_outcomes(Event),
    canonical_entity_ids=_outcomes(Entity),
    canonical_relationship_ids=_outcomes(Relation),
    verdicts=array(VERDICT),
)
_CANONIZED: Final = Shape(scene_id=UUID, summary=TEXT, **_JUDGED.fields)
PROPOSALS_MAX: Final = 100


@contract_tool(
    "composite_canonize_scene",
    "Judge all pending proposals of a scene, write the accepted ones to canon, and complete "
    "the scene. Each verdict names its rule and its conflicts.",
    gives=_CANONIZED,
    also={"summary": TEXT},
    destructive=True,
)
async def _canonize_scene(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    evaluate = bool(arguments.get("evaluate_proposals", True))
    scene_id = shapes.uuid_of(arguments, "scene_id")
    written = shapes.optional_text(arguments, "summary", canon.policy.limits.summary)
    return _CANONIZED(
        await canonize_scene(canon, caller, scene_id, evaluate=evaluate, summary=written)
    )


@writing_tool(
    "composite_canonize_proposals",
    "Judge pending proposals that no open scene will judge (from documents, or left over by a "
    "closed scene), and write the accepted ones to canon. Each verdict names its rule.",
    takes=obj({"proposal_ids": shapes.UUIDS.but(minItems=1, maxItems=PROPOSALS_MAX)}),
    gives=_JUDGED,
    idempotent=True,
    destructive=True,
)
async def _canonize_proposals(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    return _JUDGED(
        await canonize_proposals(canon, caller, shapes.uuids_of(arguments, "proposal_ids"))
    )


_STAGED: Final = Shape(
    proposal_id=UUID.of("id"), status=shapes.PROPOSAL_STATUS, created_at=given(INSTANT)
)
_DECIDED_AT: Final = INSTANT.of(lambda each: each.decision.decided_at)
_EVALUATED: Final = Shape(
    proposal_id=given(UUID), status=shapes.PROPOSAL_STATUS, evaluated_at=_DECIDED_AT
)
PROPOSAL_ROW: Final = (
    *("proposal_id", "scene_id", "turn_id", "type", "content", "evidence", "confidence"),
    *("authority", "proposed_by", "status", "rationale", "canonical_id"),
)
_PROPOSALS: Final = shapes.Listing("proposals", shapes.RowShape(shapes.PROPOSAL, *PROPOSAL_ROW))
_LOOSE_EVIDENCE: Final = array(Shape(type=enum("snippet", "source", "rule"), ref_id=UUID))


def _suggestion_of(arguments: Arguments) -> Suggestion:
    cited = (
        Evidence(kind=EvidenceKind(each["type"]), ref=shapes.uuid_of(each, "ref_id"))
        for each in shapes.checked_list(arguments["evidence"], "evidence")
    )
    return Suggestion(
        type=ProposalType(arguments["type"]),
        content=arguments["content"],
        evidence=tuple(dict.fromkeys(cited)),
        confidence=float(arguments["confidence"]),
        authority=Authority(arguments["authority"]),
    )


def _canonical_id_of(arguments: Arguments) -> str | None:
    canonical_id = shapes.optional_uuid(arguments, "canonical_id")
    accepted = arguments["decision"] == ProposalStatus.ACCEPTED
    if accepted and canonical_id is None and not arguments.get("rationale"):
        message = (
            "Accepting needs /canonical_id, the id of the item that you wrote for the proposal, or "
            "/rationale, the reason to write it as it stands despite any conflicts."
        )
        raise InvalidInput("proposal.canonical-id-missing", message, path="/canonical_id")
    if not accepted and canonical_id is not None:
        message = "A rejected proposal has no item. Leave out /canonical_id."
        raise InvalidInput("proposal.canonical-id-unexpected", message, path="/canonical_id")
    return canonical_id


def _asked(arguments: Arguments, **more: Any) -> ProposalQuery:
    return ProposalQuery(
        scene_id=shapes.optional_id(arguments, "scene_id", SceneId),
        types=shapes.proposal_types(arguments),
        **more,
        **shapes.page_of(arguments),
    )


@contract_tool(
    "mongodb_create_proposed_change",
    "Propose that a statement in an active scene becomes canon. It is judged when the scene is "
    "canonized." + CONTENTS_TOLD,
    title="Propose a change in a scene",
    gives=_STAGED,
)
async def _create_proposed_change(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    receipt = await create_proposal(
        canon,
        caller,
        shapes.uuid_of(arguments, "scene_id"),
        shapes.optional_uuid(arguments, "turn_id"),
        _suggestion_of(arguments),
    )
    return shapes.created(_STAGED, receipt, ProposalDraft)


@contract_tool(
    "mongodb_evaluate_proposal",
    "Reject a pending proposal, or accept one by canonical_id (the item you wrote for it) or a "
    "rationale. A rationale writes even a rejected proposal as it stands, and retracts or ends "
    "conflicting canon.",
    gives=_EVALUATED,
    idempotent=True,
)
async def _evaluate_proposal(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    proposal_id = shapes.uuid_of(arguments, "proposal_id")
    verdict = KeeperVerdict(
        status=ProposalStatus(arguments["decision"]),
        rationale=shapes.optional_text(arguments, "rationale", canon.policy.limits.description)
        or "",
        canonical_id=_canonical_id_of(arguments),
    )
    done = await evaluate_proposal(canon, caller, proposal_id, verdict)
    return _EVALUATED(done, proposal_id=proposal_id)


@contract_tool(
    "mongodb_get_pending_proposals",
    "List the proposals that need a decision, oldest first.",
    times=(AS_KNOWN_AT,),
    gives=_PROPOSALS.gives,
    read_only=True,
    also=shapes.DETAIL,
)
async def _get_pending_proposals(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    query = _asked(arguments, status=ProposalStatus.PENDING)
    return await _PROPOSALS.query(canon, caller, arguments, list_proposals, query)


@writing_tool(
    "mongodb_propose_change",
    "Propose a change found in a document, outside any scene, and cite the document. content "
    "is the same as for mongodb_create_proposed_change.",
    title="Propose a change without a scene",
    takes=obj(
        {
            "universe_id": UUID,
            "type": shapes.PROPOSAL_TYPE,
            "content": OBJECT,
            "evidence": _LOOSE_EVIDENCE,
            "confidence": SHARE,
            "authority": shapes.AUTHORITY,
        }
    ),
    gives=_STAGED,
    roles=ANYONE,
)
async def _propose_change(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    universe_id = shapes.uuid_of(arguments, "universe_id")
    receipt = await create_loose_proposal(canon, caller, universe_id, _suggestion_of(arguments))
    return shapes.created(_STAGED, receipt, ProposalDraft)


@reading_tool(
    "mongodb_query_proposals",
    "List proposals with their verdicts and reasons.",
    takes=shapes.filters(
        universe_id=UUID, scene_id=UUID, type=shapes.PROPOSAL_TYPE, status=shapes.PROPOSAL_STATUS
    ),
    times=(AS_KNOWN_AT,),
    gives=_PROPOSALS.gives,
)
async def _query_proposals(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    query = _asked(arguments, status=shapes.optional_of(arguments, "status", ProposalStatus))
    return await _PROPOSALS.query(canon, caller, arguments, list_proposals, query, "universe_id")


_RETCONNED_REPLY: Final = Shape(
    scene_id=UUID.of("scene.id"),
    dry_run=given(BOOLEAN),
    made=shapes.UUIDS.of(lambda found: [each.id for each in found.made]),
    **_RESTING,
)


@writing_tool(
    "composite_retcon_scene",
    "Retract all that a scene made canon and all that certainly depends on it; what the scene "
    "had ended holds again. Preview it with dry_run.",
    takes=obj({"scene_id": UUID, "reason": TEXT}, {"dry_run": BOOLEAN.but(default=False)}),
    gives=_RETCONNED_REPLY,
    idempotent=True,
    destructive=True,
)
async def _retcon_scene(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    scene_id, dry_run = shapes.uuid_of(arguments, "scene_id"), bool(arguments.get("dry_run", False))
    reason = shapes.text_of(arguments, "reason", canon.policy.limits.description)
    if dry_run:
        found = await list_resting_on_scene(canon, caller, scene_id)
    else:
        found = await retcon_scene(canon, caller, scene_id, reason=reason)
    return _RETCONNED_REPLY(found, dry_run=dry_run)


_ASKS: Final = enum(*Ask)
_ASKED: Final = Shape(
    **shapes.PROPOSAL.fields, asks=array(_ASKS), possible_conflicts=shapes.CONFLICTS.of("doubts")
)
_TO_REVIEW: Final = shapes.Listing(
    "proposals", shapes.RowShape(_ASKED, *PROPOSAL_ROW, "review", "asks", "possible_conflicts")
)
_FORESEEN: Final = Shape(verdicts=array(VERDICT).of(tuple), total=COUNT.of(len))
_WAIVED: Final = Shape(proposal_id=UUID, conflict_id=TEXT, waived_at=INSTANT.of("recorded_at"))


@reading_tool(
    "composite_get_verdicts",
    "Preview verdicts of pending proposals; write nothing. Give scene_id or proposal_ids.",
    title="Preview canonization",
    takes=obj({}, {"scene_id": UUID, "proposal_ids": shapes.UUIDS.but(maxItems=PROPOSALS_MAX)}),
    times=(),
    gives=_FORESEEN,
)
async def _get_verdicts(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    scene_id = shapes.optional_uuid(arguments, "scene_id")
    proposal_ids = shapes.uuids_of(arguments, "proposal_ids")
    if (scene_id is None) is not bool(proposal_ids):
        message = "Name either a scene in /scene_id or proposals in /proposal_ids."
        raise InvalidInput("preview.of-what", message, path="/scene_id")
    found: tuple[ProposalVerdict, ...]
    if scene_id is not None:
        found = await preview_scene(canon, caller, scene_id)
    else:
        found = tuple(map(verdict_on, await preview_proposals(canon, caller, proposal_ids)))
    return _FORESEEN(found)


@reading_tool(
    "mongodb_query_reviews",
    "List proposals that need a decision: those under review, those not yet judged, and "
    "possible conflicts that nobody has waived. Each has its rule, reason and conflicts.",
    title="Review proposals",
    takes=shapes.filters(
        universe_id=UUID, scene_id=UUID, type=shapes.PROPOSAL_TYPE, asks=array(_ASKS)
    ),
    times=(AS_KNOWN_AT,),
    gives=_TO_REVIEW.gives,
)
async def _query_reviews(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    query = _asked(arguments, asks=frozenset(map(Ask, arguments.get("asks") or Ask)))
    return await _TO_REVIEW.query(canon, caller, arguments, list_proposals, query, "universe_id")


@writing_tool(
    "mongodb_waive_conflict",
    "Record that a proposal's possible conflict is intended. Reviews then leave it out.",
    title="Waive a possible conflict",
    takes=obj({"proposal_id": UUID, "conflict_id": UUID, "reason": TEXT}),
    gives=_WAIVED,
    idempotent=True,
)
async def _waive_conflict(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    proposal_id, conflict_id = (
        shapes.uuid_of(arguments, "proposal_id"),
        shapes.uuid_of(arguments, "conflict_id"),
    )
    maximum = canon.policy.limits.description
    reason = shapes.checked_text(arguments["reason"], maximum, path="/reason")
    receipt = await waive_conflict(canon, caller, proposal_id, conflict_id, reason=reason)
    return _WAIVED(receipt, proposal_id=proposal_id, conflict_id=conflict_id)


SOURCES_TOOLS: Final = (_create_source, _query_sources, _ingest_source, _query_snippets)
PROPOSALS_TOOLS: Final = (
    _create_proposed_change,
    _evaluate_proposal,
    _get_pending_proposals,
    _propose_change,
    _query_proposals,
)
JUDGING_TOOLS: Final = (
    _canonize_scene,
    _canonize_proposals,
    _get_verdicts,
    _query_reviews,
    _waive_conflict,
    _retcon_scene,
)
TOOLS: Final = (_update_entity, _retcon_thing, _transfer_quantity, _update_story, _set_audience)

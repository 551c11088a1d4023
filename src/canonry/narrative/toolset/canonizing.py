"""Tools on proposals: create, review, canonize and retract."""

from typing import Any, Final

from canonry.canon.canonization.canonize_scene import (
    canonize_proposals,
    canonize_scene,
    preview_proposals,
    preview_scene,
)
from canonry.canon.canonization.complete_scene import SceneOutcome
from canonry.canon.canonization.decide_proposals import ProposalVerdict, waive_conflict
from canonry.canon.canonization.proposals import (
    KeeperVerdict,
    ProposalQuery,
    Suggestion,
    create_loose_proposal,
    create_proposal,
    evaluate_proposal,
    list_proposals,
)
from canonry.canon.commands.retcon_things import list_resting_on_scene, retcon_scene
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.shapes import (
    BOOLEAN,
    COUNT,
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
    nullable,
    obj,
)
from canonry.gateway.tool import ANYONE, Arguments, Reply
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Fact, Relation
from canonry.log.items.proposals import Ask, ProposalDraft, ProposalStatus, ProposalType
from canonry.narrative.toolset.arguments import (
    DETAIL,
    checked_list,
    checked_text,
    filters,
    optional_id,
    optional_of,
    optional_text,
    optional_uuid,
    page_of,
    proposal_types,
    text_of,
    uuid_of,
    uuids_of,
)
from canonry.narrative.toolset.contract import (
    CONTENTS_TOLD,
    contract_tool,
    reading_tool,
    writing_tool,
)
from canonry.narrative.toolset.shapes import (
    AUTHORITY,
    CONFLICTS,
    PROPOSAL,
    PROPOSAL_STATUS,
    PROPOSAL_TYPE,
    UUIDS,
    Listing,
    RowShape,
    created,
)
from canonry.narrative.toolset.upkeep import DEPENDENT
from canonry.values.errors import InvalidInput
from canonry.values.ids import SceneId
from canonry.values.provenance import Authority, Evidence, EvidenceKind


def _decided(status: ProposalStatus) -> Field:
    return UUIDS.of(lambda report: report.with_status(status))


def _outcomes(kind: type[SceneOutcome]) -> Field:
    return UUIDS.of(lambda report: report.ids(kind))


_STATUS: Final = enum("accepted", "rejected", "needs_review", "pending").of(
    lambda verdict: "needs_review" if verdict.needs_review else verdict.status.value
)
VERDICT: Final = Shape(
    proposal_id=UUID,
    type=PROPOSAL_TYPE,
    status=_STATUS,
    rule=TEXT,
    rationale=TEXT,
    score=nullable(NUMBER),
    conflicts=array(TEXT),
    conflict_details=CONFLICTS.of("graded"),
    canonical_id=nullable(UUID),
    made=UUIDS,
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
    "Judge all pending proposals of a scene, write what passes into canon, and complete "
    "the scene; each verdict names its rule and the ids that it conflicts with.",
    gives=_CANONIZED,
    also={"summary": TEXT},
    destructive=True,
)
async def _canonize_scene(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    evaluate = bool(arguments.get("evaluate_proposals", True))
    scene_id = uuid_of(arguments, "scene_id")
    written = optional_text(arguments, "summary", canon.policy.limits.summary)
    return _CANONIZED(
        await canonize_scene(canon, caller, scene_id, evaluate=evaluate, summary=written)
    )


@writing_tool(
    "composite_canonize_proposals",
    "Judge pending proposals that belong to no scene, such as an ingestion brings up, or that "
    "their scene was closed without, and write what passes into canon; each verdict names its "
    "rule.",
    takes=obj({"proposal_ids": UUIDS.but(minItems=1, maxItems=PROPOSALS_MAX)}),
    gives=_JUDGED,
    idempotent=True,
    destructive=True,
)
async def _canonize_proposals(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    return _JUDGED(await canonize_proposals(canon, caller, uuids_of(arguments, "proposal_ids")))


TOOLS: Final = (_canonize_scene, _canonize_proposals)


_STAGED: Final = Shape(proposal_id=UUID.of("id"), status=PROPOSAL_STATUS, created_at=given(INSTANT))
_EVALUATED: Final = Shape(proposal_id=given(UUID), status=PROPOSAL_STATUS, evaluated_at=INSTANT)
PROPOSAL_ROW: Final = (
    *("proposal_id", "scene_id", "turn_id", "type", "content", "evidence", "confidence"),
    *("authority", "proposed_by", "status", "rationale", "canonical_id"),
)
_PROPOSALS: Final = Listing("proposals", RowShape(PROPOSAL, *PROPOSAL_ROW))
_LOOSE_EVIDENCE: Final = array(Shape(type=enum("snippet", "source", "rule"), ref_id=UUID))


def _suggestion_of(arguments: Arguments) -> Suggestion:
    cited = checked_list(arguments["evidence"], "evidence")
    return Suggestion(
        type=ProposalType(arguments["type"]),
        content=arguments["content"],
        evidence=tuple(dict.fromkeys(map(_evidence_of, cited))),
        confidence=float(arguments["confidence"]),
        authority=Authority(arguments["authority"]),
    )


def _evidence_of(given: Arguments) -> Evidence:
    return Evidence(kind=EvidenceKind(given["type"]), ref=uuid_of(given, "ref_id"))


def _canonical_id_of(arguments: Arguments) -> str | None:
    canonical_id = optional_uuid(arguments, "canonical_id")
    accepted = arguments["decision"] == ProposalStatus.ACCEPTED
    if accepted and canonical_id is None and not arguments.get("rationale"):
        message = (
            "name in /canonical_id what the proposal became, or say in /rationale why it is to be "
            "written as it stands, whatever stood against it"
        )
        raise InvalidInput("proposal.canonical-id-missing", message, path="/canonical_id")
    if not accepted and canonical_id is not None:
        message = "a rejected proposal became nothing; leave /canonical_id out"
        raise InvalidInput("proposal.canonical-id-unexpected", message, path="/canonical_id")
    return canonical_id


def _asked(arguments: Arguments, **more: Any) -> ProposalQuery:
    return ProposalQuery(
        scene_id=optional_id(arguments, "scene_id", SceneId),
        types=proposal_types(arguments),
        **more,
        **page_of(arguments),
    )


@contract_tool(
    "mongodb_create_proposed_change",
    "Propose that something said in an active scene becomes canon; it is judged when the "
    "scene is canonized." + CONTENTS_TOLD,
    title="Propose a change in a scene",
    gives=_STAGED,
)
async def _create_proposed_change(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    receipt = await create_proposal(
        canon,
        caller,
        uuid_of(arguments, "scene_id"),
        optional_uuid(arguments, "turn_id"),
        _suggestion_of(arguments),
    )
    return created(_STAGED, receipt, ProposalDraft)


@contract_tool(
    "mongodb_evaluate_proposal",
    "Reject a pending proposal, or accept it: name in canonical_id what you wrote for it, or "
    "say in rationale why it, even rejected, is to be written as it stands; then what stood "
    "against it falls or ends.",
    gives=_EVALUATED,
    idempotent=True,
)
async def _evaluate_proposal(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    proposal_id = uuid_of(arguments, "proposal_id")
    verdict = KeeperVerdict(
        status=ProposalStatus(arguments["decision"]),
        rationale=optional_text(arguments, "rationale", canon.policy.limits.description) or "",
        canonical_id=_canonical_id_of(arguments),
    )
    done = await evaluate_proposal(canon, caller, proposal_id, verdict)
    return _EVALUATED(done, proposal_id=proposal_id)


@contract_tool(
    "mongodb_get_pending_proposals",
    "List the proposals that wait for a decision, oldest first.",
    gives=_PROPOSALS.gives,
    read_only=True,
    also=DETAIL,
)
async def _get_pending_proposals(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    query = _asked(arguments, status=ProposalStatus.PENDING)
    return await _PROPOSALS.query(canon, caller, arguments, list_proposals, query)


@writing_tool(
    "mongodb_propose_change",
    "Propose a change that a document brings up and no scene does, citing it; content is as "
    "for mongodb_create_proposed_change.",
    title="Propose a change without a scene",
    takes=obj(
        {
            "universe_id": UUID,
            "type": PROPOSAL_TYPE,
            "content": OBJECT,
            "evidence": _LOOSE_EVIDENCE,
            "confidence": SHARE,
            "authority": AUTHORITY,
        }
    ),
    gives=_STAGED,
    roles=ANYONE,
)
async def _propose_change(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    universe_id = uuid_of(arguments, "universe_id")
    receipt = await create_loose_proposal(canon, caller, universe_id, _suggestion_of(arguments))
    return created(_STAGED, receipt, ProposalDraft)


@reading_tool(
    "mongodb_query_proposals",
    "List proposals with their verdicts: what was accepted or refused, and why.",
    takes=filters(universe_id=UUID, scene_id=UUID, type=PROPOSAL_TYPE, status=PROPOSAL_STATUS),
    gives=_PROPOSALS.gives,
)
async def _query_proposals(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    query = _asked(arguments, status=optional_of(arguments, "status", ProposalStatus))
    return await _PROPOSALS.query(canon, caller, arguments, list_proposals, query, "universe_id")


PROPOSALS_TOOLS: Final = (
    _create_proposed_change,
    _evaluate_proposal,
    _get_pending_proposals,
    _propose_change,
    _query_proposals,
)


_RETCONNED: Final = Shape(
    scene_id=UUID.of("scene.id"),
    dry_run=given(BOOLEAN),
    made=UUIDS.of(lambda found: [each.id for each in found.made]),
    dependents=array(DEPENDENT),
    dependents_truncated=BOOLEAN.of("more"),
    retconned=UUIDS.of("fallen"),
    resumed=UUIDS,
)


@writing_tool(
    "composite_retcon_scene",
    "Take back all that a scene made canon, and what rests on that for sure; what it had "
    "ended holds again. dry_run only lists.",
    takes=obj({"scene_id": UUID, "reason": TEXT}, {"dry_run": BOOLEAN.but(default=False)}),
    gives=_RETCONNED,
    idempotent=True,
    destructive=True,
)
async def _retcon_scene(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    scene_id, dry_run = uuid_of(arguments, "scene_id"), bool(arguments.get("dry_run", False))
    reason = text_of(arguments, "reason", canon.policy.limits.description)
    if dry_run:
        found = await list_resting_on_scene(canon, caller, scene_id)
    else:
        found = await retcon_scene(canon, caller, scene_id, reason=reason)
    return _RETCONNED(found, dry_run=dry_run)


RETCONNING_TOOLS: Final = (_retcon_scene,)


_ASKS: Final = enum(*Ask)
_ASKED: Final = Shape(
    **PROPOSAL.fields, asks=array(_ASKS), possible_conflicts=CONFLICTS.of("doubts")
)
_TO_REVIEW: Final = Listing(
    "proposals", RowShape(_ASKED, *PROPOSAL_ROW, "review", "asks", "possible_conflicts")
)
_FORESEEN: Final = Shape(verdicts=array(VERDICT).of(tuple), total=COUNT.of(len))
_WAIVED: Final = Shape(proposal_id=UUID, conflict_id=TEXT, waived_at=INSTANT.of("recorded_at"))


@reading_tool(
    "composite_get_verdicts",
    "Tell the verdict that each pending proposal of a scene, or each of these proposals, "
    "would get now; nothing is written.",
    title="Preview canonization",
    takes=obj({}, {"scene_id": UUID, "proposal_ids": UUIDS.but(maxItems=PROPOSALS_MAX)}),
    gives=_FORESEEN,
)
async def _get_verdicts(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    scene_id = optional_uuid(arguments, "scene_id")
    proposal_ids = uuids_of(arguments, "proposal_ids")
    if (scene_id is None) is not bool(proposal_ids):
        message = "name either a scene in /scene_id or proposals in /proposal_ids"
        raise InvalidInput("preview.of-what", message, path="/scene_id")
    found: tuple[ProposalVerdict, ...]
    if scene_id is not None:
        found = await preview_scene(canon, caller, scene_id)
    else:
        found = await preview_proposals(canon, caller, proposal_ids)
    return _FORESEEN(found)


@reading_tool(
    "mongodb_query_reviews",
    "List what somebody has to look at, with the rule, the reason and each conflict: what "
    "needs review, what is not judged yet, and possible conflicts that nobody has waived.",
    title="Review proposals",
    takes=filters(universe_id=UUID, scene_id=UUID, type=PROPOSAL_TYPE, asks=array(_ASKS)),
    gives=_TO_REVIEW.gives,
)
async def _query_reviews(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    query = _asked(arguments, asks=frozenset(map(Ask, arguments.get("asks") or Ask)))
    return await _TO_REVIEW.query(canon, caller, arguments, list_proposals, query, "universe_id")


@writing_tool(
    "mongodb_waive_conflict",
    "Record that what a proposal perhaps conflicts with is meant so; nobody is asked again.",
    title="Waive a possible conflict",
    takes=obj({"proposal_id": UUID, "conflict_id": UUID, "reason": TEXT}),
    gives=_WAIVED,
    idempotent=True,
)
async def _waive_conflict(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    proposal_id, conflict_id = uuid_of(arguments, "proposal_id"), uuid_of(arguments, "conflict_id")
    maximum = canon.policy.limits.description
    reason = checked_text(arguments["reason"], maximum, path="/reason")
    receipt = await waive_conflict(canon, caller, proposal_id, conflict_id, reason=reason)
    return _WAIVED(receipt, proposal_id=proposal_id, conflict_id=conflict_id)


REVIEW_TOOLS: Final = (_get_verdicts, _query_reviews, _waive_conflict)

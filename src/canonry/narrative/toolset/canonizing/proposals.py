"""Proposal tools: stage what should become canon, look at what is staged, decide by hand."""

from typing import Final

from canonry.canon.canonization.create_proposal import (
    Suggestion,
    create_loose_proposal,
    create_proposal,
)
from canonry.canon.canonization.evaluate_proposal import KeeperVerdict, evaluate_proposal
from canonry.canon.canonization.list_proposals import ProposalQuery, list_proposals
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.shapes import INSTANT, OBJECT, SHARE, UUID, Shape, array, enum, given, obj
from canonry.gateway.tool import ANYONE, Arguments, Reply, Tool
from canonry.log.items.proposals import ProposalDraft, ProposalStatus, ProposalType
from canonry.narrative.toolset.arguments import (
    DETAIL,
    PAGING,
    checked_list,
    optional_of,
    optional_text,
    optional_uuid,
    page_of,
    proposal_types,
    uuid_of,
)
from canonry.narrative.toolset.contract import contract_tool, reading_tool, writing_tool
from canonry.narrative.toolset.contract.contents import CONTENTS_TOLD
from canonry.narrative.toolset.rows import Listing, RowShape
from canonry.narrative.toolset.shapes import (
    AUTHORITY,
    PROPOSAL,
    PROPOSAL_STATUS,
    PROPOSAL_TYPE,
    created,
)
from canonry.values.errors import InvalidInput
from canonry.values.ids import SceneId
from canonry.values.provenance import Authority, Evidence, EvidenceKind

_STAGED: Final = Shape(proposal_id=UUID.of("id"), status=PROPOSAL_STATUS, created_at=given(INSTANT))
_EVALUATED: Final = Shape(proposal_id=given(UUID), status=PROPOSAL_STATUS, evaluated_at=INSTANT)
PROPOSAL_ROW: Final = (
    *("proposal_id", "scene_id", "turn_id", "type", "content", "evidence", "confidence"),
    *("authority", "proposed_by", "status", "rationale", "canonical_id"),
)
_PROPOSALS: Final = Listing("proposals", RowShape(PROPOSAL, *PROPOSAL_ROW))
_LOOSE_EVIDENCE: Final = array(Shape(type=enum("snippet", "source", "rule"), ref_id=UUID))


async def _create(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    receipt = await create_proposal(
        canon,
        caller,
        uuid_of(arguments, "scene_id"),
        optional_uuid(arguments, "turn_id"),
        _suggestion_of(arguments),
    )
    return created(_STAGED, receipt, ProposalDraft)


async def _propose(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    universe_id = uuid_of(arguments, "universe_id")
    receipt = await create_loose_proposal(canon, caller, universe_id, _suggestion_of(arguments))
    return created(_STAGED, receipt, ProposalDraft)


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


async def _evaluate(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    proposal_id = uuid_of(arguments, "proposal_id")
    verdict = KeeperVerdict(
        status=ProposalStatus(arguments["decision"]),
        rationale=optional_text(arguments, "rationale", canon.policy.limits.description) or "",
        canonical_id=_canonical_id_of(arguments),
    )
    done = await evaluate_proposal(canon, caller, proposal_id, verdict)
    return _EVALUATED(done, proposal_id=proposal_id)


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


async def _pending(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    query = _asked(arguments, ProposalStatus.PENDING)
    page = await list_proposals(canon, caller, query)
    return await _PROPOSALS(canon, caller, page, arguments)


async def _query(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    query = _asked(arguments, optional_of(arguments, "status", ProposalStatus))
    universe_id = optional_uuid(arguments, "universe_id")
    page = await list_proposals(canon, caller, query, universe_id=universe_id)
    return await _PROPOSALS(canon, caller, page, arguments)


def _asked(arguments: Arguments, status: ProposalStatus | None) -> ProposalQuery:
    scene_id = optional_uuid(arguments, "scene_id")
    return ProposalQuery(
        scene_id=None if scene_id is None else SceneId(scene_id),
        types=proposal_types(arguments),
        status=status,
        **page_of(arguments),
    )


TOOLS: Final[tuple[Tool, ...]] = (
    contract_tool(
        "mongodb_create_proposed_change",
        "Propose a change in a scene",
        "Propose that something said in an active scene becomes canon; it is judged when the "
        "scene is canonized." + CONTENTS_TOLD,
        _create,
        gives=_STAGED,
    ),
    contract_tool(
        "mongodb_evaluate_proposal",
        "Evaluate proposal",
        "Reject a pending proposal, or accept it: name in canonical_id what you wrote for it, or "
        "say in rationale why it, even rejected, is to be written as it stands; then what stood "
        "against it falls or ends.",
        _evaluate,
        gives=_EVALUATED,
        idempotent=True,
    ),
    contract_tool(
        "mongodb_get_pending_proposals",
        "Get pending proposals",
        "List the proposals that wait for a decision, oldest first.",
        _pending,
        gives=_PROPOSALS.gives,
        reads=True,
        also=DETAIL,
    ),
    writing_tool(
        "mongodb_propose_change",
        "Propose a change without a scene",
        "Propose a change that a document brings up and no scene does, citing it; content is as "
        "for mongodb_create_proposed_change.",
        _propose,
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
    ),
    reading_tool(
        "mongodb_query_proposals",
        "Query proposals",
        "List proposals with their verdicts: what was accepted or refused, and why.",
        _query,
        takes=obj(
            {},
            {
                "universe_id": UUID,
                "scene_id": UUID,
                "type": PROPOSAL_TYPE,
                "status": PROPOSAL_STATUS,
                **PAGING,
                **DETAIL,
            },
        ),
        gives=_PROPOSALS.gives,
    ),
)

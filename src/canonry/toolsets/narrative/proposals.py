"""Proposal tools: stage what should become canon, look at what is staged, decide by hand."""

from typing import Final

from canonry.domain.errors import InvalidInput
from canonry.domain.ids import SceneId
from canonry.domain.provenance import Evidence, EvidenceKind
from canonry.domain.things.proposals import ProposalDraft, ProposalStatus, ProposalType
from canonry.domain.time import render_instant
from canonry.gateway.tool import ANYONE, Arguments, Reply, Tool
from canonry.toolsets.narrative.contract import contract_tool
from canonry.toolsets.narrative.replies.present import listing
from canonry.toolsets.narrative.replies.present_documents import (
    PROPOSAL,
    PROPOSAL_STATUS,
    PROPOSAL_TYPE,
    present_proposal,
)
from canonry.toolsets.narrative.replies.schemas import (
    AUTHORITY,
    INSTANT,
    OBJECT,
    SHARE,
    UUID,
    array,
    enum,
    obj,
)
from canonry.toolsets.narrative.requests.arguments import (
    authority_of,
    checked_list,
    limit_of,
    offset_of,
    optional_text,
    optional_uuid,
    uuid_of,
)
from canonry.toolsets.narrative.requests.pages import PAGING, QUERY_MAX
from canonry.usecases.canonization.create_proposal import (
    Suggestion,
    create_loose_proposal,
    create_proposal,
)
from canonry.usecases.canonization.evaluate_proposal import KeeperVerdict, evaluate_proposal
from canonry.usecases.canonization.list_proposals import ProposalQuery, list_proposals
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.commit_change import Receipt
from canonry.usecases.kernel.receipts import the_made

_STAGED: Final = obj({"proposal_id": UUID, "status": PROPOSAL_STATUS, "created_at": INSTANT})
_LOOSE_EVIDENCE: Final = array(
    obj({"type": enum("snippet", "source", "rule"), "ref_id": UUID}),
)


async def _create(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    receipt = await create_proposal(
        canon,
        caller,
        uuid_of(arguments, "scene_id"),
        optional_uuid(arguments, "turn_id"),
        _suggestion_of(arguments),
    )
    return _staged(receipt)


async def _propose(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    universe_id = uuid_of(arguments, "universe_id")
    receipt = await create_loose_proposal(canon, caller, universe_id, _suggestion_of(arguments))
    return _staged(receipt)


def _suggestion_of(arguments: Arguments) -> Suggestion:
    cited = checked_list(arguments["evidence"], "evidence")
    return Suggestion(
        type=ProposalType(arguments["type"]),
        content=arguments["content"],
        evidence=tuple(dict.fromkeys(map(_evidence_of, cited))),
        confidence=float(arguments["confidence"]),
        authority=authority_of(arguments),
    )


def _evidence_of(given: Arguments) -> Evidence:
    return Evidence(kind=EvidenceKind(given["type"]), ref=uuid_of(given, "ref_id"))


def _staged(receipt: Receipt) -> Reply:
    return {
        "proposal_id": the_made(receipt, ProposalDraft).id,
        "status": ProposalStatus.PENDING.value,
        "created_at": render_instant(receipt.recorded_at),
    }


async def _evaluate(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    proposal_id = uuid_of(arguments, "proposal_id")
    verdict = KeeperVerdict(
        status=ProposalStatus(arguments["decision"]),
        rationale=optional_text(arguments, "rationale", canon.policy.limits.description) or "",
        canonical_id=_canonical_id_of(arguments),
    )
    done = await evaluate_proposal(canon, caller, proposal_id, verdict)
    return {
        "proposal_id": proposal_id,
        "status": done.status.value,
        "evaluated_at": render_instant(done.evaluated_at),
    }


def _canonical_id_of(arguments: Arguments) -> str | None:
    canonical_id = optional_uuid(arguments, "canonical_id")
    accepted = arguments["decision"] == ProposalStatus.ACCEPTED
    if accepted and canonical_id is None:
        message = "name in /canonical_id what the proposal became; write that first"
        raise InvalidInput("proposal.canonical-id-missing", message, path="/canonical_id")
    if not accepted and canonical_id is not None:
        message = "a rejected proposal became nothing; leave /canonical_id out"
        raise InvalidInput("proposal.canonical-id-unexpected", message, path="/canonical_id")
    return canonical_id


async def _pending(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    query = _asked(arguments, ProposalStatus.PENDING)
    page = await list_proposals(canon, caller, query)
    return {"proposals": [present_proposal(each) for each in page.items], "total": page.total}


async def _query(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    status = arguments.get("status")
    query = _asked(arguments, None if status is None else ProposalStatus(status))
    universe_id = optional_uuid(arguments, "universe_id")
    page = await list_proposals(canon, caller, query, universe_id=universe_id)
    return {"proposals": [present_proposal(each) for each in page.items], "total": page.total}


def _asked(arguments: Arguments, status: ProposalStatus | None) -> ProposalQuery:
    scene_id, word = optional_uuid(arguments, "scene_id"), arguments.get("type")
    return ProposalQuery(
        scene_id=None if scene_id is None else SceneId(scene_id),
        type=None if word is None else ProposalType(word),
        status=status,
        limit=limit_of(arguments, default=50, maximum=QUERY_MAX),
        offset=offset_of(arguments),
    )


TOOLS: Final[tuple[Tool, ...]] = (
    contract_tool(
        "mongodb_create_proposed_change",
        title="Propose a change in a scene",
        description=(
            "Propose that something said in an active scene becomes canon; it is judged when the "
            "scene is canonized."
        ),
        output_schema=_STAGED,
        run=_create,
        read_only=False,
    ),
    contract_tool(
        "mongodb_evaluate_proposal",
        title="Evaluate proposal",
        description=(
            "Accept a pending proposal, naming what you wrote for it, or reject it; this does not "
            "write canon itself."
        ),
        output_schema=obj(
            {"proposal_id": UUID, "status": PROPOSAL_STATUS, "evaluated_at": INSTANT}
        ),
        run=_evaluate,
        read_only=False,
        idempotent=True,
    ),
    contract_tool(
        "mongodb_get_pending_proposals",
        title="Get pending proposals",
        description="List the proposals that wait for a decision, oldest first.",
        output_schema=listing("proposals", PROPOSAL),
        run=_pending,
        read_only=True,
        idempotent=True,
    ),
    Tool(
        name="mongodb_propose_change",
        title="Propose a change without a scene",
        description="Propose a change that a document brings up and no scene does, citing it.",
        input_schema=obj(
            {
                "universe_id": UUID,
                "type": PROPOSAL_TYPE,
                "content": OBJECT,
                "evidence": _LOOSE_EVIDENCE,
                "confidence": SHARE,
                "authority": AUTHORITY,
            }
        ),
        output_schema=_STAGED,
        roles=ANYONE,
        run=_propose,
        read_only=False,
        extension=True,
    ),
    Tool(
        name="mongodb_query_proposals",
        title="Query proposals",
        description="List proposals with their verdicts: what was accepted or refused, and why.",
        input_schema=obj(
            {},
            {
                "universe_id": UUID,
                "scene_id": UUID,
                "type": PROPOSAL_TYPE,
                "status": PROPOSAL_STATUS,
                **PAGING,
            },
        ),
        output_schema=listing("proposals", PROPOSAL),
        roles=ANYONE,
        run=_query,
        read_only=True,
        idempotent=True,
        extension=True,
    ),
)

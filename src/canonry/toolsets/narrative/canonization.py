"""Canonization tools: judge proposals and write what passes; with a scene, complete it."""

from typing import Final

from canonry.domain.things.entities import Entity
from canonry.domain.things.facts import Event, Fact
from canonry.domain.things.proposals import ProposalStatus
from canonry.domain.things.relations import Relation
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.toolsets.narrative.contract import contract_tool
from canonry.toolsets.narrative.replies.present import Presented
from canonry.toolsets.narrative.replies.present_documents import PROPOSAL_STATUS, PROPOSAL_TYPE
from canonry.toolsets.narrative.replies.schemas import NUMBER, TEXT, UUID, array, nullable, obj
from canonry.toolsets.narrative.requests.arguments import uuid_of, uuids_of
from canonry.usecases.canonization.canonize_proposals import canonize_proposals
from canonry.usecases.canonization.canonize_scene import canonize_scene
from canonry.usecases.canonization.proposal_verdicts import Judged, ProposalVerdict
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon

_IDS: Final = array(UUID)
_VERDICT: Final = obj(
    {
        "proposal_id": UUID,
        "type": PROPOSAL_TYPE,
        "status": PROPOSAL_STATUS,
        "rule": TEXT,
        "rationale": TEXT,
        "score": nullable(NUMBER),
        "conflicts": array(TEXT),
        "canonical_id": nullable(UUID),
        "made": _IDS,
    }
)
_JUDGED: Final = {
    "accepted_proposals": _IDS,
    "rejected_proposals": _IDS,
    "pending_proposals": _IDS,
    "canonical_fact_ids": _IDS,
    "canonical_event_ids": _IDS,
    "canonical_entity_ids": _IDS,
    "canonical_relationship_ids": _IDS,
    "verdicts": array(_VERDICT),
}
PROPOSALS_MAX: Final = 100


async def _canonize(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    evaluate = bool(arguments.get("evaluate_proposals", True))
    scene_id = uuid_of(arguments, "scene_id")
    report = await canonize_scene(canon, caller, scene_id, evaluate=evaluate)
    return {"scene_id": report.scene_id, "summary": report.summary, **_judged(report)}


async def _canonize_proposals(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    return _judged(await canonize_proposals(canon, caller, uuids_of(arguments, "proposal_ids")))


def _judged(report: Judged) -> Presented:
    return {
        "accepted_proposals": list(report.with_status(ProposalStatus.ACCEPTED)),
        "rejected_proposals": list(report.with_status(ProposalStatus.REJECTED)),
        "pending_proposals": list(report.with_status(ProposalStatus.PENDING)),
        "canonical_fact_ids": list(report.ids(Fact)),
        "canonical_event_ids": list(report.ids(Event)),
        "canonical_entity_ids": list(report.ids(Entity)),
        "canonical_relationship_ids": list(report.ids(Relation)),
        "verdicts": [_verdict(one) for one in report.verdicts],
    }


def _verdict(verdict: ProposalVerdict) -> Presented:
    return {
        "proposal_id": verdict.proposal_id,
        "type": verdict.type.value,
        "status": verdict.status.value,
        "rule": verdict.rule,
        "rationale": verdict.rationale,
        "score": verdict.score,
        "conflicts": list(verdict.conflicts),
        "canonical_id": verdict.canonical_id,
        "made": list(verdict.made),
    }


TOOLS: Final[tuple[Tool, ...]] = (
    contract_tool(
        "composite_canonize_scene",
        title="Canonize scene",
        description=(
            "Judge all pending proposals of a scene, write what passes into canon, and complete "
            "the scene; each verdict names its rule and the ids that it conflicts with."
        ),
        output_schema=obj({"scene_id": UUID, "summary": TEXT, **_JUDGED}),
        run=_canonize,
        read_only=False,
        destructive=True,
    ),
    Tool(
        name="composite_canonize_proposals",
        title="Canonize proposals",
        description=(
            "Judge pending proposals that belong to no scene, such as an ingestion brings up, and "
            "write what passes into canon; each verdict names its rule."
        ),
        input_schema=obj(
            {"proposal_ids": {**array(UUID), "minItems": 1, "maxItems": PROPOSALS_MAX}}
        ),
        output_schema=obj(_JUDGED),
        roles=frozenset({"CanonKeeper"}),
        run=_canonize_proposals,
        read_only=False,
        destructive=True,
        idempotent=True,
        extension=True,
    ),
)

"""Canonization tools: judge proposals and write what passes; with a scene, complete it."""

from typing import Final

from canonry.canon.canonization.canonize_proposals import canonize_proposals
from canonry.canon.canonization.canonize_scene import canonize_scene
from canonry.canon.canonization.complete_scene import SceneOutcome
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.shapes import NUMBER, TEXT, UUID, Field, Shape, array, enum, nullable, obj
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Fact
from canonry.log.items.proposals import ProposalStatus
from canonry.log.items.relations import Relation
from canonry.narrative.toolset.arguments import optional_text, uuid_of, uuids_of
from canonry.narrative.toolset.contract import contract_tool, writing_tool
from canonry.narrative.toolset.shapes import CONFLICTS, PROPOSAL_TYPE, UUIDS


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


async def _canonize(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    evaluate = bool(arguments.get("evaluate_proposals", True))
    scene_id = uuid_of(arguments, "scene_id")
    written = optional_text(arguments, "summary", canon.policy.limits.summary)
    return _CANONIZED(
        await canonize_scene(canon, caller, scene_id, evaluate=evaluate, summary=written)
    )


async def _canonize_proposals(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    return _JUDGED(await canonize_proposals(canon, caller, uuids_of(arguments, "proposal_ids")))


TOOLS: Final[tuple[Tool, ...]] = (
    contract_tool(
        "composite_canonize_scene",
        "Canonize scene",
        "Judge all pending proposals of a scene, write what passes into canon, and complete "
        "the scene; each verdict names its rule and the ids that it conflicts with.",
        _canonize,
        gives=_CANONIZED,
        also={"summary": TEXT},
        destructive=True,
    ),
    writing_tool(
        "composite_canonize_proposals",
        "Canonize proposals",
        "Judge pending proposals that belong to no scene, such as an ingestion brings up, or that "
        "their scene was closed without, and write what passes into canon; each verdict names its "
        "rule.",
        _canonize_proposals,
        takes=obj({"proposal_ids": UUIDS.but(minItems=1, maxItems=PROPOSALS_MAX)}),
        gives=_JUDGED,
        idempotent=True,
        destructive=True,
    ),
)

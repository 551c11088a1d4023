"""Canonization tools: judge proposals and write what passes; with a scene, complete it."""

from typing import Final

from canonry.domain.things.entities import Entity
from canonry.domain.things.facts import Event, Fact
from canonry.domain.things.proposals import ProposalStatus
from canonry.domain.things.relations import Relation
from canonry.gateway.shapes import NUMBER, TEXT, UUID, Field, Shape, array, nullable, obj
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.toolsets.narrative.arguments import uuid_of, uuids_of
from canonry.toolsets.narrative.contract import contract_tool, writing_tool
from canonry.toolsets.narrative.shapes import PROPOSAL_STATUS, PROPOSAL_TYPE, UUIDS
from canonry.usecases.canonization.canonize_proposals import canonize_proposals
from canonry.usecases.canonization.canonize_scene import canonize_scene
from canonry.usecases.canonization.complete_scene import SceneOutcome
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon


def _decided(status: ProposalStatus) -> Field:
    return UUIDS.of(lambda report: report.with_status(status))


def _outcomes(kind: type[SceneOutcome]) -> Field:
    return UUIDS.of(lambda report: report.ids(kind))


_VERDICT: Final = Shape(
    proposal_id=UUID,
    type=PROPOSAL_TYPE,
    status=PROPOSAL_STATUS,
    rule=TEXT,
    rationale=TEXT,
    score=nullable(NUMBER),
    conflicts=array(TEXT),
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
    verdicts=array(_VERDICT),
)
_CANONIZED: Final = Shape(scene_id=UUID, summary=TEXT, **_JUDGED.fields)
PROPOSALS_MAX: Final = 100


async def _canonize(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    evaluate = bool(arguments.get("evaluate_proposals", True))
    scene_id = uuid_of(arguments, "scene_id")
    return _CANONIZED(await canonize_scene(canon, caller, scene_id, evaluate=evaluate))


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
        destructive=True,
    ),
    writing_tool(
        "composite_canonize_proposals",
        "Canonize proposals",
        "Judge pending proposals that belong to no scene, such as an ingestion brings up, and "
        "write what passes into canon; each verdict names its rule.",
        _canonize_proposals,
        takes=obj({"proposal_ids": UUIDS.but(minItems=1, maxItems=PROPOSALS_MAX)}),
        gives=_JUDGED,
        idempotent=True,
        destructive=True,
    ),
)

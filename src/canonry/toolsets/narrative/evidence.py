"""Evidence tools: link one more reference to a thing of canon."""

from typing import Final

from canonry.domain.provenance import parse_evidence
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.toolsets.narrative.replies.schemas import TEXT, UUID, array, obj
from canonry.toolsets.narrative.requests.arguments import uuid_of
from canonry.toolsets.narrative.requests.backings import KEEPER
from canonry.usecases.graph.link_evidence import link_evidence
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon


async def _link(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    evidence = parse_evidence(arguments["evidence_ref"], path="/evidence_ref")
    thing = await link_evidence(canon, caller, uuid_of(arguments, "canonical_id"), evidence)
    return {"canonical_id": thing.id, "evidence_refs": [str(each) for each in thing.evidence]}


TOOLS: Final[tuple[Tool, ...]] = (
    Tool(
        name="neo4j_link_evidence",
        title="Link evidence",
        description=(
            "Support an entity, relation, fact, event or axiom with one more reference, written "
            "kind:uuid."
        ),
        input_schema=obj({"canonical_id": UUID, "evidence_ref": TEXT}),
        output_schema=obj({"canonical_id": UUID, "evidence_refs": array(TEXT)}),
        roles=KEEPER,
        run=_link,
        read_only=False,
        idempotent=True,
        extension=True,
    ),
)

"""All gates between a proposal and the canon, in the order of judging."""

from typing import Final

from canonry.canon.judging.gates import events, proposals, statements, states
from canonry.canon.judging.gates.kit import Gate

GATES: Final[tuple[Gate, ...]] = (
    proposals.CONTENT_READABLE,
    proposals.DEPENDENCY_ACCEPTED,
    proposals.REFERENCES_EXIST,
    proposals.REFERENCES_FIT,
    proposals.TARGET_NOT_RETCONNED,
    proposals.EVIDENCE_RESOLVES,
    proposals.SCORE_REACHES_THRESHOLD,
    states.ENTITY_KNOWN,
    states.AXIOM_HOLDS,
    events.CAUSES_ACYCLIC,
    events.CAUSES_IN_ORDER,
    states.STATE_TAGS_EXCLUSIVE,
    states.ENTITY_RESTATED,
    states.FUNCTIONAL_RELATION,
    states.OPPOSED_RELATION,
    events.ACTOR_ALIVE,
    events.ACTOR_PRESENT,
    events.EVENT_TOLD_BEFORE,
    statements.STATEMENT_NEGATED,
    statements.REPLACEMENT_OUTRANKS,
)
"""Gates on form, references and score come before gates on contradictions."""

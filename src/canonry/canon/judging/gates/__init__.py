"""All gates between a proposal and the canon, in the order of judging."""

from typing import Final

from canonry.canon.judging.gates import proposals, statements, states
from canonry.canon.judging.gates.verdicts import Gate

GATES: Final[tuple[Gate, ...]] = (
    proposals.content_readable,
    proposals.dependency_accepted,
    proposals.references_exist,
    proposals.references_fit,
    proposals.target_not_retconned,
    proposals.evidence_resolves,
    proposals.score_reaches_threshold,
    states.entity_known,
    states.axiom_holds,
    states.causes_acyclic,
    states.causes_in_order,
    states.state_tags_exclusive,
    states.entity_restated,
    states.functional_relation,
    states.opposed_relation,
    states.actor_alive,
    states.actor_present,
    states.event_told_before,
    statements.statement_negated,
    statements.replacement_outranks,
)
"""Gates on form, references and score come before gates on contradictions."""

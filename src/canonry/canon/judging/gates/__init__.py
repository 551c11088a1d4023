"""Gates: every rule that stands between a proposal and the canon, in the order they are asked."""

from typing import Final

from canonry.canon.judging.gates import (
    actor_alive,
    actor_present,
    axiom_holds,
    causes_acyclic,
    causes_in_order,
    content_readable,
    dependency_accepted,
    entity_restated,
    event_told_before,
    evidence_resolves,
    functional_relation,
    opposed_relation,
    references_exist,
    references_fit,
    replacement_outranks,
    score_reaches_threshold,
    state_tags_exclusive,
    statement_negated,
    target_not_retconned,
)
from canonry.canon.judging.gates.kit import Gate

GATES: Final[tuple[Gate, ...]] = (
    content_readable.GATE,
    dependency_accepted.GATE,
    references_exist.GATE,
    references_fit.GATE,
    target_not_retconned.GATE,
    evidence_resolves.GATE,
    score_reaches_threshold.GATE,
    axiom_holds.GATE,
    causes_acyclic.GATE,
    causes_in_order.GATE,
    state_tags_exclusive.GATE,
    entity_restated.GATE,
    functional_relation.GATE,
    opposed_relation.GATE,
    actor_alive.GATE,
    actor_present.GATE,
    event_told_before.GATE,
    statement_negated.GATE,
    replacement_outranks.GATE,
)
"""What can be read, resolved and weighed comes before what contradicts."""

"""Pass gates: what is staged is held against the gates of the kit that the operator has opened."""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

from typing_extensions import override

from canonry.canon.canonization.proposals import StagedContent, StagingGuard
from canonry.canon.session.ai_words import EventName
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.log.items.proposals import ProposalStatus
from canonry.readmodels.ports.documents import ProposalQuery
from canonry.values.errors import CanonryError, Conflict, InvalidInput, Unavailable
from canonry.values.ids import SpaceId, is_uuid
from canonry.values.moments import DAY
from canonry.values.policy import STAGED_MAX, StagingGates
from canonry.world.domain.admission.kit import POLICY_VERSION, GateName, Rejection
from canonry.world.domain.admission.safety import (
    ComparedContent,
    StagedBefore,
    flagged,
    passed_of,
    repeated,
    too_many,
    values_in,
)
from canonry.world.models.services import WorldServices, count_event, moderate_content


class WorldStagingGuard(StagingGuard):
    """Holds staged proposals against the gates of a world that the operator has opened."""

    @override
    def lock(self, canon: Canon, space: SpaceId) -> AbstractAsyncContextManager[Any]:
        if not canon.policy.staging.opened:
            return nullcontext()
        return canon.service(WorldServices).admissions.of(space).turn

    @override
    async def pass_gates(
        self,
        canon: Canon,
        caller: Caller,
        space: SpaceId,
        staged: Sequence[StagedContent],
        *,
        instead_of: str | None = None,
    ) -> None:
        gates = canon.policy.staging
        if not gates.opened:
            return
        compared = list(map(ComparedContent.of, staged))
        rejection = await _judged(canon, caller, space, compared, instead_of)
        if rejection is not None:
            rule = f"{rejection.gate}:{rejection.rule}"
            count_event(canon, EventName.PROPOSAL_REJECTED, rule=rule, space=space)
            raise _refusing(rejection, gates)


async def _judged(
    canon: Canon,
    caller: Caller,
    space: SpaceId,
    staged: Sequence[ComparedContent],
    instead_of: str | None,
) -> Rejection | None:
    """Each gate judges all that is staged before the next one does."""
    gates, now, by = canon.policy.staging, canon.clock.now(), caller.actor.agent_id
    if gates.safety:
        texts = [
            (path, value)
            for each in staged
            for path, value in values_in(each.content, each.path)
            if isinstance(value, str) and not is_uuid(value)
        ]
        found = await asyncio.gather(*(moderate_content(canon, text) for _, text in texts))
        for (path, _), moderated in zip(texts, found, strict=True):
            if (unsafe := flagged(path, moderated.categories)) is not None:
                return unsafe
    earlier = await _earlier(canon, space)
    own = [StagedBefore(id="", by=by, at=now, stands=True, told=each) for each in staged]
    if gates.duplication:
        for number, each in enumerate(staged):
            others = [one for one in earlier if one.id != instead_of]
            refused = repeated(each, [*others, *own[:number]])
            if refused is not None:
                return refused
    for number in range(len(staged)):
        refused = too_many(by, [*earlier, *own[:number]], now, gates)
        if refused is not None:
            return refused
    return None


async def _earlier(canon: Canon, space: SpaceId) -> Sequence[StagedBefore]:
    """What was staged within a day, as far as whoever proposes may know of it."""
    spaces = frozenset((space,))
    total = (await canon.documents.proposals(ProposalQuery(spaces=spaces, limit=1))).total
    query = ProposalQuery(spaces=spaces, limit=STAGED_MAX, offset=max(0, total - STAGED_MAX))
    since = canon.clock.now() - DAY
    found = (await canon.documents.proposals(query)).items
    return [
        StagedBefore(
            id=each.id,
            by=each.proposed_by,
            at=each.created_at,
            stands=each.status is not ProposalStatus.REJECTED,
            told=ComparedContent(kind=each.type, scene=each.scene_id, content=each.content),
        )
        for each in found
        if each.created_at >= since
    ]


def _refusing(rejection: Rejection, gates: StagingGates) -> CanonryError:
    told = {
        "gate": rejection.gate,
        "gateIndex": rejection.gate_index,
        "rule": rejection.rule,
        "reason": rejection.reason,
        "path": rejection.path,
        "admissible": rejection.admissible,
        "transient": rejection.transient,
        "gatesPassed": list(passed_of(gates, rejection)),
        "policyVersion": POLICY_VERSION,
    }
    if rejection.gate is GateName.SAFETY:
        message = f"{rejection.reason}; propose it in other words"
        return InvalidInput("proposal.unsafe", message, **told)
    if rejection.gate is GateName.DUPLICATION:
        message = f"{rejection.reason}; go on with that one, or say what is different"
        return Conflict("proposal.repeated", message, **told)
    message = f"{rejection.reason}; send the same again in {rejection.retry_after_ms} ms"
    wait = {"retryAfterMs": rejection.retry_after_ms}
    return Unavailable("proposal.too-many", message, **told, **wait)

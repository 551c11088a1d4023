"""The verdict of gates 2 to 6 on a proposal that is well-formed."""

import asyncio
from dataclasses import dataclass
from typing import Final, TypeAlias

from canonry.canon.session.canon import Canon
from canonry.log.items.proposals import Proposal
from canonry.values.ids import SpaceId
from canonry.world.domain.admission.budgets import over_budget
from canonry.world.domain.admission.duplication import (
    action_digests,
    content_of,
    repeats_itself,
    too_alike,
)
from canonry.world.domain.admission.envelope import Proposed
from canonry.world.domain.admission.kit import LASTING, Rejection, refusal
from canonry.world.domain.admission.replay import not_replayable
from canonry.world.domain.admission.safety import told_texts, unsafe
from canonry.world.domain.identity import thing_id_of
from canonry.world.models.admissions import Lately
from canonry.world.models.moderate_content import moderate_content
from canonry.world.models.services import WorldServices
from canonry.world.usecases.bound_world import BoundWorld
from canonry.world.usecases.proposals.surroundings import objection_of_world
from canonry.world.usecases.world_draft import WorldDraft

_STANDS: Final = frozenset({"layer.overlaps", "exit.direction-taken"})
"""By these rules what was admitted before stands in the way of the same once more."""
_LASTING: Final = frozenset({"Layer.Add", "Exit.Create"})
"""What these make stands until it is ended, and may then be made again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Same:
    """Exactly this was admitted before, as that proposal."""

    proposal: str


AdmissionVerdict: TypeAlias = Rejection | Same | None
"""None: every gate lets it pass."""


async def verdict_on(
    canon: Canon,
    world: BoundWorld,
    proposed: Proposed,
    lately: Lately,
    earlier: Proposal | None,
    *,
    scheduled: bool = False,
) -> AdmissionVerdict:
    """What gates 2 to 6 say; `earlier` is the admitted proposal that has its key or id.

    What is `scheduled` is held against the world of its own time, when that has come; now only
    what no time changes.
    """
    content = content_of(proposed)
    if earlier is not None and earlier.content["contentHash"] == content:
        return Same(proposal=earlier.id)
    flagged = await _unsafe(canon, proposed)
    if flagged is not None:
        return flagged
    draft = WorldDraft(canon=canon, space=world.space, at=world.instant, new_id=str)
    refused = await objection_of_world(draft, proposed)
    if scheduled and refused is not None and refused.rule not in LASTING:
        refused = None
    same = lately.by_content.get(content) if repeats_itself(proposed) else None
    if same is not None and _still_holds(proposed, refused):
        return Same(proposal=same)
    return (
        refused
        or _duplicated(proposed, lately, earlier, same)
        or not_replayable(
            proposed.envelope.generation,
            lambda name: (
                canon.service(WorldServices).admissions.context(world.space, name) is not None
            ),
        )
        or _over_budget(canon, world.space, proposed, lately)
    )


def _still_holds(proposed: Proposed, refused: Rejection | None) -> bool:
    """Whether what the same proposal did before is why this one cannot do it, or need not."""
    if refused is not None:
        return refused.rule in _STANDS
    return not any(action.kind in _LASTING for action in proposed.actions)


async def _unsafe(canon: Canon, proposed: Proposed) -> Rejection | None:
    told = [text for action in proposed.actions for _, text in told_texts(action.params)]
    texts = list(dict.fromkeys(told))
    found = await asyncio.gather(*(moderate_content(canon, text) for text in texts))
    categories = {text: each.categories for text, each in zip(texts, found, strict=True)}
    return unsafe(proposed.actions, categories.__getitem__)


def _duplicated(
    proposed: Proposed, lately: Lately, earlier: Proposal | None, same: str | None
) -> Rejection | None:
    if earlier is not None:
        reason = f"this key or id belongs to proposal {earlier.id}, which says something else"
        return refusal("duplication.other-content", reason, path="/idempotencyKey")
    if same is not None:
        return None  # what it did before does not stand any longer
    for digest in action_digests(proposed):
        if digest in lately.by_action:
            reason = f"one of its actions was admitted in proposal {lately.by_action[digest]}"
            return refusal("duplication.repeated", reason, path="/proposedActions")
    return too_alike(proposed, lately.said)


def _over_budget(
    canon: Canon, space: SpaceId, proposed: Proposed, lately: Lately
) -> Rejection | None:
    now = canon.clock.now()
    player = thing_id_of(space, proposed.player) if proposed.player else ""
    mine = lately.spent_by(player)
    return over_budget(mine, lately.instants, proposed.tokens, now, canon.policy.admission)

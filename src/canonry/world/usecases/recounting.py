"""Recounting: what models were asked for before this process began, as records of worlds tell.

Proposals and dialogues are recorded with what they cost, so that a restart loses nothing of it.
Counts of calls begin anew with each process, as those of the metrics do.
"""

from typing import Final

from canonry.canon.session.ai_words import EventName
from canonry.canon.session.canon import Canon
from canonry.log.items.proposals import ProposalStatus
from canonry.readmodels.edges import FOREVER
from canonry.values.moments import Instant
from canonry.world.domain.admission.schema import Envelope, Proposed, read_strictly
from canonry.world.models.services import HOUR, HOURS_MAX, WorldServices, invocation_of
from canonry.world.usecases.contexts import LOOKED_AT, EventsWanted, search_events
from canonry.world.usecases.dialogue import TITLE, is_exchange, spoken_as
from canonry.world.usecases.proposals.settling import decided, newest_proposals
from canonry.world.usecases.worlds import BoundWorld, find_world, query_worlds


async def recount_usage(canon: Canon) -> None:
    """Add to telemetry what was recorded before its process told it anything; done once."""
    telemetry = canon.service(WorldServices).telemetry
    if telemetry.recounted:
        return
    telemetry.recounted = True
    since = Instant(canon.clock.now() - HOURS_MAX * HOUR)
    until = Instant(FOREVER) if telemetry.began is None else telemetry.began
    telemetry.began = canon.clock.now() if telemetry.began is None else telemetry.began
    for space in await query_worlds(canon):
        world = await find_world(canon, space.id)
        if world is not None:
            await _recount(canon, world, since, until)


async def _recount(canon: Canon, world: BoundWorld, since: Instant, until: Instant) -> None:
    tiers, telemetry = canon.policy.models, canon.service(WorldServices).telemetry
    events, _ = await search_events(canon, world, EventsWanted(event_type=TITLE), LOOKED_AT)
    for event in events:
        if is_exchange(event) and since <= event.created_at < until:
            name, told = spoken_as(event.properties, tiers)
            telemetry.tell(name, event.created_at, told, space=world.space)
    async for proposal in newest_proposals(canon, world.space, since=since, most=_MOST):
        if not since <= proposal.created_at < until:
            continue
        rejection = decided(proposal).rejection
        envelope, _ = read_strictly(proposal.content.get("envelope"), Envelope)
        read = None if envelope is None else Proposed(player="", envelope=envelope, actions=())
        refused = rejection is not None
        name = EventName.PROPOSAL_REJECTED if refused else EventName.PROPOSAL_ACCEPTED
        rule = "" if rejection is None else f"{rejection.gate}:{rejection.rule}"
        told_of = invocation_of(read, rejection, tiers)
        telemetry.tell(name, proposal.created_at, told_of, rule, space=world.space)
        if proposal.status is ProposalStatus.ACCEPTED:
            applied = EventName.PROPOSAL_APPLIED
            telemetry.tell(applied, proposal.created_at, space=world.space)


_MOST: Final = 50_000
"""So many proposals of a world are counted again, the newest."""

"""Lately: what a world has admitted, read from the log past what this process knows already."""

from collections.abc import Mapping
from typing import Any, Final

from canonry.canon.session.canon import Canon
from canonry.log.commits import Position
from canonry.log.entries import Made, ProposalDecided
from canonry.log.items.proposals import Proposal, ProposalDraft, ProposalStatus, ProposalType
from canonry.readmodels.ports.documents import ProposalQuery
from canonry.readmodels.ports.pages import PAGE_MAX
from canonry.values.ids import SpaceId
from canonry.values.time import DAY, Instant
from canonry.world.domain.admission.duplication import action_digests, places_said
from canonry.world.domain.admission.schema import recorded_proposal
from canonry.world.models.admissions import Admitted, Lately
from canonry.world.models.services import WorldServices

REMEMBERED: Final = DAY
_COMMITS: Final = 200
_BEHIND: Final = 2_000
"""Whoever is more commits behind asks for the proposals alone."""


async def lately_admitted(canon: Canon, space: SpaceId) -> Lately:
    """What a world has admitted in the last day, up to date with the log."""
    lately = canon.service(WorldServices).admissions.of(space)
    async with lately.turn:
        head = await canon.ledger.head(space)
        if lately.position is None or head - lately.position > _BEHIND:
            await _begin(canon, space, lately)
            lately.position = head
        while lately.position < head:
            lately.position = await _follow(canon, space, lately, lately.position, head)
        lately.forget_before(Instant(canon.clock.now() - REMEMBERED))
    return lately


async def _begin(canon: Canon, space: SpaceId, lately: Lately) -> None:
    oldest = canon.clock.now() - REMEMBERED
    found: list[Proposal] = []
    for status in (ProposalStatus.ACCEPTED, ProposalStatus.PENDING):
        found += await _newest(canon, space, status, oldest)
    for proposal in sorted(found, key=lambda each: each.position):
        lately.add(admitted(proposal.content, proposal.id, proposal.created_at))
        if proposal.status is ProposalStatus.PENDING and "dueTick" not in proposal.content:
            lately.pending[proposal.id] = proposal.created_at


async def _newest(
    canon: Canon, space: SpaceId, status: ProposalStatus, oldest: int
) -> list[Proposal]:
    """The proposals of a status since then; all that are pending, however old."""
    spaces = frozenset((space,))

    def query(offset: int, limit: int) -> ProposalQuery:
        return ProposalQuery(
            spaces=spaces,
            types=frozenset((ProposalType.WORLD,)),
            status=status,
            offset=offset,
            limit=limit,
        )

    left = (await canon.documents.proposals(query(0, 1))).total
    found: list[Proposal] = []
    while left > 0:
        size = min(PAGE_MAX, left)
        left -= size
        page = (await canon.documents.proposals(query(left, size))).items
        found += page
        if status is ProposalStatus.ACCEPTED and page and page[0].created_at < oldest:
            break
    return found


async def _follow(
    canon: Canon, space: SpaceId, lately: Lately, after: Position, head: Position
) -> Position:
    commits = await canon.ledger.read(space, after=after, limit=_COMMITS)
    for commit in commits:
        for entry in commit.entries:
            match entry:
                case Made(thing=ProposalDraft(type=ProposalType.WORLD) as draft) if (
                    "contentHash" in draft.content
                ):
                    lately.add(admitted(draft.content, draft.id, commit.recorded_at))
                    if "dueTick" not in draft.content:
                        lately.pending[draft.id] = commit.recorded_at
                case ProposalDecided(proposal_id=proposal, decision=decision):
                    lately.pending.pop(proposal, None)
                    if decision.status is ProposalStatus.REJECTED:
                        lately.unsay(proposal)
                case _:
                    pass
    return commits[-1].position if commits else head


def admitted(content: Mapping[str, Any], proposal: str, at: Instant) -> Admitted:
    """An admission as its record tells it."""
    proposed = recorded_proposal(str(content["playerId"]), content["envelope"])
    return Admitted(
        proposal=proposal,
        player=str(content["player"]),
        at=at,
        tokens=proposed.tokens,
        content=str(content["contentHash"]),
        actions=action_digests(proposed),
        said=tuple((place, said) for _, place, said in places_said(proposed)),
    )

"""Waive a possible conflict: both are meant to stand beside each other; nobody asks again."""

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, Receipt, commit_change
from canonry.canon.session.lookup import require
from canonry.log.entries import ConflictWaived
from canonry.log.items.proposals import Proposal
from canonry.log.keys import thing_key
from canonry.values.errors import Conflict
from canonry.values.ids import NewId


async def waive_conflict(
    canon: Canon, caller: Caller, proposal_id: str, conflict_id: str, *, reason: str
) -> Receipt:
    """Record that what a proposal perhaps conflicts with is meant so; once more changes nothing.

    Raises:
        NotFound: `proposal.unknown`.
        Conflict: `conflict.not-possible`, the proposal names no possible conflict with that id.
    """
    space = (await require(canon, caller, Proposal, proposal_id)).space

    async def prepare(_: NewId) -> Change:
        proposal = await require(canon, caller, Proposal, proposal_id)
        if conflict_id in proposal.waived:
            return Change(entries=(), reads=frozenset())
        if conflict_id not in {one.id for one in proposal.doubts}:
            message = (
                "the proposal has no possible conflict with this id; waive what its "
                "conflict_details grade as possible"
            )
            raise Conflict(
                "conflict.not-possible",
                message,
                path="/conflict_id",
                conflicts=[one.id for one in proposal.doubts],
            )
        waived = ConflictWaived(proposal_id=proposal.id, other=conflict_id, reason=reason)
        return Change(entries=(waived,), reads=frozenset((thing_key(proposal.id),)))

    return await commit_change(canon, caller, space, prepare)

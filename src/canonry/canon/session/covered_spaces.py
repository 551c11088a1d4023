"""Covered spaces: what a query may look at; nobody finds what they may not see.

Where stories are told, whoever asks of no universe in particular asks of all of them; what lies in
somebody's account or in a catalog's project is found there alone by whoever names it.
"""

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import require_universe
from canonry.canon.session.space_kinds import APART
from canonry.readmodels.ports.state import Spaces
from canonry.values.spaces import Space


async def covered_spaces(canon: Canon, caller: Caller, universe_id: str | None) -> Spaces:
    """The spaces that a query covers: the one that it names, or all told ones that the caller sees.

    It names a universe or a world, a catalog's project, or an account: the caller's own, or one
    that they were granted by its id. An account that they were not is as if it did not exist.

    Raises:
        NotFound: `universe.unknown`.
    """
    if universe_id is None:
        return await _covered_together(canon, caller)
    named = await canon.seen_by(caller).thing(universe_id)
    if isinstance(named, Space) and named.kind in APART:
        return frozenset((named.id,))
    return frozenset(((await require_universe(canon, caller, universe_id)).id,))


async def _covered_together(canon: Canon, caller: Caller) -> Spaces:
    """All that the caller sees, but accounts and projects; None: the store has none of these."""
    if caller.spaces is None:
        return await canon.space_kinds.together(canon.state)
    known = await canon.seen_by(caller).things(caller.spaces)
    return frozenset(space for space in caller.spaces if not _is_apart(known.get(space)))


def _is_apart(thing: object) -> bool:
    return isinstance(thing, Space) and thing.kind in APART

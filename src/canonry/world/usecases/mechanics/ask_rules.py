"""Ask the rules: one entry, or those that fit a question; the world is not looked at."""

import asyncio
from collections.abc import Sequence

from canonry.canon.session.canon import Canon
from canonry.values.errors import NotSupported
from canonry.world.domain.mechanics.rules import RuleEntry, RuleKind
from canonry.world.models.services import WorldServices
from canonry.world.ports.rulebook import Rulebook


def rulebook_of(canon: Canon) -> Rulebook:
    """The rulebook.

    Raises:
        NotSupported: `rules.missing`.
    """
    rulebook = canon.service(WorldServices).rulebook
    if rulebook is None:
        raise NotSupported("rules.missing", "this server has no rulebook")
    return rulebook


async def lookup_rule(canon: Canon, kind: RuleKind, name: str) -> RuleEntry | None:
    """The entry of this name; None where there is none. It is read off the loop."""
    return await asyncio.to_thread(rulebook_of(canon).lookup, kind, name)


async def search_rules(
    canon: Canon, query: str, kind: RuleKind | None, limit: int
) -> Sequence[RuleEntry]:
    """The entries that fit, best first."""
    return await asyncio.to_thread(rulebook_of(canon).search, query, kind, limit)

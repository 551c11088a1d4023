"""Sight: lookups by id that answer only from some spaces; what lies elsewhere does not exist."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from canonry.domain.ids import SpaceId
from canonry.domain.log.commits import Position
from canonry.domain.log.entries import Thing
from canonry.domain.spaces import SpaceKind
from canonry.domain.things.entities import Entity
from canonry.ports.views.state import Spaces, State
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.space_kinds import SpaceKinds


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """The state as far as `spaces` reach; None: all but the accounts of others than `caller`.

    Made by `Canon.seen_by` and `Canon.within`.
    """

    state: State
    kinds: SpaceKinds
    spaces: Spaces
    caller: Caller | None = None

    async def sees(self, space: SpaceId) -> bool:
        """Whether what lies in a space may be known of."""
        if self.spaces is not None:
            return space in self.spaces
        if await self.kinds.kind_of(self.state, space) is not SpaceKind.ACCOUNT:
            return True
        return self.caller is not None and space == self.caller.account

    async def thing(self, thing_id: str) -> Thing | None:
        """The thing of any kind with this id."""
        return (await self.things((thing_id,))).get(thing_id)

    async def things(self, ids: Iterable[str]) -> Mapping[str, Thing]:
        """The things of any kind under those of `ids` that exist, merged ones as themselves."""
        wanted = tuple(ids)
        return await self._seen(await self.state.things(wanted)) if wanted else {}

    async def things_as_known_at(
        self, ids: Iterable[str], position: Position
    ) -> Mapping[str, Thing]:
        """The same as they stood after `position` of their space."""
        return await self._seen(await self.state.things_as_known_at(ids, position))

    async def roots(self, ids: Iterable[str]) -> Mapping[str, Entity]:
        """The entities behind those of `ids` that are any: of a merged one, what it became."""
        found = await self.things(ids)
        moved = {e.merged_into for e in found.values() if isinstance(e, Entity) and e.merged_into}
        known = {**found, **await self.things(moved - found.keys())}
        return {
            given: root
            for given, e in found.items()
            if isinstance(e, Entity)
            and isinstance(root := known.get(e.merged_into or given), Entity)
        }

    async def _seen(self, found: Mapping[str, Thing]) -> Mapping[str, Thing]:
        spaces = {thing.space for thing in found.values()}
        hidden = {space for space in spaces if not await self.sees(space)}
        return {i: t for i, t in found.items() if t.space not in hidden} if hidden else found

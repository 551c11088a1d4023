"""Space kinds: what each space is to its users, which never changes and so is remembered."""

from dataclasses import dataclass, field
from typing import Final

from canonry.readmodels.ports.pages import PAGE_MAX
from canonry.readmodels.ports.state import Spaces, State
from canonry.values.ids import Space, SpaceId, SpaceKind

APART: Final = frozenset((SpaceKind.ACCOUNT, SpaceKind.PROJECT))
"""What is found in these is found there alone, by whoever names the space."""

_TRIES: Final = 3


@dataclass(slots=True, eq=False)
class SpaceKinds:
    """The spaces of a store as one process knows them; each look reads only those that are new."""

    _known: dict[SpaceId, SpaceKind] = field(default_factory=dict[SpaceId, SpaceKind])
    _together: Spaces = None
    _asked: dict[SpaceId, SpaceKind] = field(default_factory=dict[SpaceId, SpaceKind])

    async def kind_of(self, state: State, space: SpaceId) -> SpaceKind | None:
        """What a space is, if there is one; reads once for each."""
        kind = self._asked.get(space)
        if kind is None:
            found = (await state.things((space,))).get(space)
            if isinstance(found, Space):
                kind = self._asked[space] = found.kind
        return kind

    async def every_one(self, state: State) -> frozenset[SpaceId]:
        """All spaces of the store."""
        return frozenset(await self._read_on(state))

    async def together(self, state: State) -> Spaces:
        """All spaces but those apart; None where there are none of these, and so all of them."""
        known = await self._read_on(state)
        if len(known) != len(self._known):  # spaces come, and never go
            self._known = known
            beside = frozenset(space for space, kind in known.items() if kind not in APART)
            self._together = None if len(beside) == len(known) else beside
        return self._together

    async def _read_on(self, state: State) -> dict[SpaceId, SpaceKind]:
        known, tries = dict(self._known), _TRIES
        while True:
            page = await state.spaces(kind=None, parent=None, limit=PAGE_MAX, offset=len(known))
            new = {space.id: space.kind for space in page.items}
            displaced = not known.keys().isdisjoint(new) or len(known) > page.total
            if displaced and tries > 0:
                # One that another process opened by an earlier clock is not the last of the list.
                known, tries = {}, tries - 1
                continue
            known |= new
            if not new or len(known) >= page.total:
                return known

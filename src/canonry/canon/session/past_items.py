"""Scenes, proposals and withdrawn items, of which no version is stored, as of a log position.

The log is folded again, as far as it is about them.
"""

from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from canonry.canon.session.canon import Canon
from canonry.log.commits import ORIGIN, Commit, Position
from canonry.log.entries import CallUndone, Entry, Made, Redacted, Withdrawn
from canonry.log.fold_commit import fold_commit, ids_needed, ids_of
from canonry.log.items.proposals import Proposal
from canonry.log.items.scenes import Scene, Turn, TurnDraft
from canonry.log.items.sources import Snippet, Source
from canonry.log.observations import entry_audience
from canonry.values.errors import Unavailable
from canonry.values.ids import SpaceId

UNDO_REACH: Final = 2_000
"""The number of newest commits in which an undo finds its call."""
_PAGE: Final = 500
_READ_MAX: Final = 100 * _PAGE
"""The most commits that are folded again for items that have changed since."""
WITHDRAWN: Final = (Turn, Snippet, Source, Scene, Proposal)
"""The kinds of items that an undo withdraws."""


async def items_as_recorded(
    canon: Canon, space: SpaceId, items: Mapping[str, Any], until: Position
) -> dict[str, Any]:
    """Return items of a space that were made until then as they were at `until`.

    Raises:
        Unavailable: `viewpoint.too-wide`, the log since the first of them is too long.
    """
    if not items:
        return {}
    begin = Position(min(each.position for each in items.values()) - 1)
    if until - begin > _READ_MAX:
        message = "Too many commits would have to be read as of that time. Choose one item or kind."
        raise Unavailable("viewpoint.too-wide", message)
    again = _Refolding(canon=canon, ids=items.keys())
    async for commit in _read_commits(canon, space, begin, until):
        await again.fold_entries(commit)
    return again.found


async def withdrawn_later(canon: Canon, space: SpaceId, until: Position) -> Mapping[str, Any]:
    """Return the items that stood at `until`, and that an undo withdrew or recorded again later.

    The undo of a call that was known at `until` is at most `UNDO_REACH` commits later.
    """
    gone: set[str] = set()
    async for commit in _read_commits(canon, space, until, Position(until + UNDO_REACH)):
        first = commit.entries[0]
        redacted = isinstance(first, Redacted) and first.kind == "call.undone"
        if redacted or isinstance(first, CallUndone):
            gone.update(one for entry in commit.entries for one in _ids_withdrawn(entry))
    if not gone:
        return {}
    again = _Refolding(canon=canon, ids=gone)
    async for commit in _read_commits(
        canon, space, Position(max(ORIGIN, until - UNDO_REACH)), until
    ):
        await again.fold_entries(commit)
    return {i: e for i, e in again.found.items() if isinstance(e, WITHDRAWN)}


def _ids_withdrawn(entry: Entry) -> tuple[str, ...]:
    gone = isinstance(entry, Redacted) and entry.kind == "space.withdrawn"
    return ids_of(entry) if gone or isinstance(entry, Withdrawn) else ()


async def _read_commits(
    canon: Canon, space: SpaceId, after: Position, until: Position
) -> AsyncIterator[Commit]:
    while after < until:
        page = await canon.ledger.read_commits(space, after=after, limit=min(_PAGE, until - after))
        for commit in page:
            yield commit
        after = page[-1].position if page else until


@dataclass(slots=True, kw_only=True)
class _Refolding:
    """Items that are folded from the entries about them which the viewer may see."""

    canon: Canon
    ids: Collection[str]
    found: dict[str, Any] = field(default_factory=dict[str, Any])
    _turns: Counter[str] = field(default_factory=Counter[str])

    async def fold_entries(self, commit: Commit) -> None:
        """Fold the entries of a commit that are about the items."""
        audience_view = self.canon.audience_view
        for entry in commit.entries:
            for own in _ids_withdrawn(entry):
                self.found.pop(own, None)
            own = ids_of(entry)[0]
            item = entry.thing if isinstance(entry, Made) else None
            hidden = audience_view is not None and not audience_view.viewer.may_see(
                entry_audience(entry)
            )
            if own not in self.ids or hidden or (item is None and own not in self.found):
                continue
            around = await self.canon.store_of_all.state.items_by_id(
                ids_needed((entry,)) - self.found.keys()
            )
            loaded: dict[str, Any] = {**around, **self.found}
            scene = loaded.get(item.scene_id) if isinstance(item, TurnDraft) else None
            if isinstance(scene, Scene):
                before = Position(commit.position - 1)
                count = max(self._turns[scene.id], await count_turns(self.canon, scene, before))
                loaded[scene.id] = replace(scene, turn_count=count)
                self._turns[scene.id] = count + 1
            one = replace(commit, entries=(entry,))
            self.found |= {i: e for i, e in fold_commit(one, loaded).items.items() if i in self.ids}


async def count_turns(canon: Canon, scene: Scene, until: Position) -> int:
    """Return the number of turns that a scene had at a position, by bisection."""
    least, most = 0, scene.turn_count
    while least < most:
        middle, documents = (least + most) // 2, canon.store_of_all.documents
        found = await documents.turns(scene.id, after=middle - 1, limit=1)
        then = [each.index for each in found if each.position <= until]
        least, most = (then[0] + 1, most) if then else (least, middle)
    return least

"""List changes: what was written to a space since a place in its log, an instant, or of late.

Of each commit only what the caller may see is told.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.log.canon import ids_of
from canonry.log.commits import ORIGIN, Commit, Position
from canonry.log.entries import Entry, Thing, Tombstone
from canonry.values.ids import SpaceId
from canonry.values.time import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeQuery:
    """Since when: past a position, or past what an instant knew; None: the newest."""

    space: SpaceId
    after: Position | None = None
    since: Instant | None = None
    limit: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A commit with those of its entries that the caller may see."""

    commit: Commit
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenSince:
    """Commits, the oldest first, and the things that they are about as these are now.

    `cursor` is where the next question begins; `left` is how many commits are left past it.
    """

    written: Sequence[Written]
    things: Mapping[str, Thing]
    cursor: Position
    left: int


async def list_changes(canon: Canon, caller: Caller, query: ChangeQuery) -> WrittenSince:
    """What was written; nothing past the head of the log at this moment."""
    head = await canon.ledger.head(query.space)
    after = await _begin(canon, query, head)
    commits = await canon.ledger.read(query.space, after=after, limit=query.limit)
    ids = {one for commit in commits for entry in commit.entries for one in ids_of(entry)}
    found = await canon.seen_by(caller).things(ids)
    things = {i: each for i, each in found.items() if not isinstance(each, Tombstone)}
    written = [Written(commit=commit, entries=_seen(canon, commit, things)) for commit in commits]
    cursor = commits[-1].position if commits else max(after, ORIGIN)
    return WrittenSince(written=written, things=things, cursor=cursor, left=max(0, head - cursor))


async def _begin(canon: Canon, query: ChangeQuery, head: Position) -> Position:
    if query.after is not None:
        return min(query.after, head)
    if query.since is not None:
        return await canon.ledger.position_at(query.space, query.since)
    return Position(max(ORIGIN, head - query.limit))


def _seen(canon: Canon, commit: Commit, things: Mapping[str, Thing]) -> tuple[Entry, ...]:
    """What it says of others lies in its own thing."""
    mine = (entry for entry in commit.entries if ids_of(entry)[0] in things)
    return tuple(filter(canon.tells, mine))

"""The log: commits, whether each follows the one before it, and how far the views have come."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from canonry.assistant.changing import how_of, says
from canonry.assistant.desk import desk_of
from canonry.assistant.rows import Names, kind_of, named_in
from canonry.canon.queries.choose_space import list_spaces
from canonry.canon.queries.list_changes import ChangeQuery, Written, list_changes
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.tool import Arguments
from canonry.inspector.views.places import SpaceSeen, place_of
from canonry.log.canon import ids_of
from canonry.log.commits import ORIGIN, Commit, Position
from canonry.log.entries import Thing
from canonry.recall.usecases.recall import RecallServices
from canonry.values.ids import SpaceId

PAGE: Final = 50
_STEP: Final = 2
_ENTRIES: Final = 500
"""Of commits with so many entries together no more are shown on one page."""
_ABOUT: Final = 6
_SPACES: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """One thing that a commit did."""

    how: str
    kind: str
    id: str
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitSeen:
    """A commit as far as the visitor may know; `follows`: its hash is built on the one before."""

    commit: Commit
    done: Sequence[Done]
    left: int
    follows: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSeen:
    """A page of the log, the newest first."""

    space: SpaceSeen
    commits: Sequence[CommitSeen]
    head: int
    older: int | None
    newer: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceHealth:
    """Where the log of a space stands, and how far each view has come."""

    space: SpaceId
    name: str
    head: int
    lag: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How the store stands; `recall`: meaning is searched beside words."""

    spaces: Sequence[SpaceHealth]
    recall: bool
    more: bool


async def seen_log(canon: Canon, caller: Caller, arguments: Arguments) -> LogSeen:
    """The commits of a space up to `until`, the newest first."""
    desk = await desk_of(canon, caller, arguments)
    space = desk.space.id
    head = await canon.ledger.head(space)
    until = min(int(arguments.get("until") or head), head)
    found, things = await _newest(canon, caller, space, until)
    after = Position(found[0].commit.position - 1) if found else ORIGIN
    shown_ids = {ids_of(entry)[0] for each in found for entry in each.entries[:_ABOUT]}
    names = await canon.seen_by(caller).roots(
        one for each in shown_ids for one in named_in(things[each])
    )
    commits: list[CommitSeen] = []
    before = await _hash_at(canon, space, after)
    for written in found:
        done = _done(written, things, names)
        follows = before is None or written.commit.previous == before
        before = written.commit.hash
        if not done:  # nothing in it that this visitor may know of
            continue
        left = len(written.entries) - len(done)
        commits.append(CommitSeen(commit=written.commit, done=done, left=left, follows=follows))
    return LogSeen(
        space=await place_of(desk),
        commits=commits[::-1],
        head=head,
        older=after if after > ORIGIN else None,
        newer=min(until + PAGE, head) if until < head else None,
    )


async def _newest(
    canon: Canon, caller: Caller, space: SpaceId, until: int
) -> tuple[Sequence[Written], Mapping[str, Thing]]:
    """The last commits up to `until`, oldest first; fewer where they are large."""
    found: list[Written] = []
    things: dict[str, Thing] = {}
    while until > ORIGIN and len(found) < PAGE and len(things) < _ENTRIES:
        after = Position(max(ORIGIN, until - _STEP))
        query = ChangeQuery(space=space, after=after, limit=until - after)
        some = await list_changes(canon, caller, query)
        found = [*some.written, *found]
        things |= some.things
        until = after
    return found, things


def _done(written: Written, things: Mapping[str, Thing], names: Names) -> Sequence[Done]:
    about = ((entry, things[ids_of(entry)[0]]) for entry in written.entries[:_ABOUT])
    return [
        Done(how=how_of(entry), kind=kind_of(thing), id=thing.id, says=says(thing, names))
        for entry, thing in about
    ]


async def _hash_at(canon: Canon, space: SpaceId, position: Position) -> str | None:
    if position == ORIGIN:
        return None
    found = await canon.ledger.read_sealed(space, after=Position(position - 1), limit=1)
    return found[0].hash if found else None


async def seen_health(canon: Canon, caller: Caller, arguments: Arguments) -> Health:
    """How far the views of each space have come."""
    del arguments
    spaces = [each for each in await list_spaces(canon, caller) if each.opened is not None]
    told: list[SpaceHealth] = []
    for each in spaces[:_SPACES]:
        head = await canon.ledger.head(each.id)
        cursor = await canon.store_of_all.state.cursor(each.id)
        told.append(
            SpaceHealth(space=each.id, name=each.name, head=head, lag=max(0, head - cursor))
        )
    return Health(
        spaces=told,
        recall=canon.service(RecallServices).recall is not None,
        more=len(spaces) > _SPACES,
    )

"""Follow the log: read the commits of all spaces after a cursor, for views outside the store."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Self

from canonry.log.commits import ORIGIN, Commit, Position
from canonry.log.entries import EntitiesMerged, EntitiesUnmerged, Erased, Made
from canonry.log.fold_commit import ids_of
from canonry.log.items.entities import EntityDraft
from canonry.log.ports.ledger import Head, Ledger
from canonry.log.schemas.narrative import NAME
from canonry.readmodels.passages import PASSAGES_VERSION
from canonry.values.ids import SpaceId
from canonry.values.json_values import decode_json, encode_json
from canonry.values.observations import ObservationDraft

_SPACES: Final = 500  # bounds the memory of a step through all spaces
_COMMITS: Final = 100  # bounds the memory of a step through the log


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCursor:
    """The position reached in each space; `complete` once all of them were read at one time.

    `again` lists entities whose passages are read again because their names changed, each with the
    last id done.
    """

    complete: bool = False
    positions: Mapping[SpaceId, Position] = field(default_factory=dict[SpaceId, Position])
    again: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def parse_cursor(cls, text: str) -> Self:
        """Parse a cursor; without one, return the start."""
        try:
            found = decode_json(text.encode())
            if found["passages"] != PASSAGES_VERSION:
                return cls()  # another set of items became passages, so read everything again
            positions = {SpaceId(k): Position(int(v)) for k, v in found["positions"].items()}
            again = {str(k): str(v) for k, v in found["again"].items()}
            return cls(complete=bool(found["complete"]), positions=positions, again=again)
        except (ValueError, KeyError, TypeError, AttributeError):
            return cls()

    def format_cursor(self) -> str:
        """Format the cursor as text."""
        fields = {"complete": self.complete, "passages": PASSAGES_VERSION}
        moved = {"positions": self.positions, "again": self.again}
        return encode_json({**fields, **moved}).decode()

    def position_in(self, space: SpaceId) -> Position:
        """Return the position up to which `space` is read."""
        return self.positions.get(space, ORIGIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Renaming:
    """A commit that may have renamed an entity."""

    entity: str
    space: SpaceId
    position: Position


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """The changed items, in the order of their first change."""

    ids: Sequence[str]
    erasing: frozenset[SpaceId]
    renamed: Sequence[Renaming]
    cursor: LogCursor
    commits: int
    waiting: int


async def all_heads(ledger: Ledger) -> Sequence[Head]:
    """Return the heads of all spaces, in order of their ids."""
    found: list[Head] = []
    after: SpaceId | None = None
    while page := await ledger.list_heads(after=after, limit=_SPACES):
        found += page
        after = page[-1].space
        if len(page) < _SPACES:
            break
    return found


async def heads_of(ledger: Ledger) -> Mapping[SpaceId, Position]:
    """Return the head position of each space."""
    return {head.space: head.position for head in await all_heads(ledger)}


async def follow_log(ledger: Ledger, cursor: LogCursor, *, ids: int) -> Followed:
    """Read commits after `cursor`, space by space, until they change `ids` items or more.

    `waiting` counts the remaining commits; the new cursor is complete if there are none.
    """
    positions, heads = dict(cursor.positions), await heads_of(ledger)
    found: dict[str, None] = {}
    erasing: set[SpaceId] = set()
    renamed: list[Renaming] = []
    commits = 0
    for space, head in heads.items():
        while positions.get(space, ORIGIN) < head and len(found) < ids:
            after = positions.get(space, ORIGIN)
            page = await ledger.read_commits(space, after=after, limit=_COMMITS)
            if not page:
                break
            for commit in page:
                found.update(dict.fromkeys(changed_ids(commit)))
                renamed += _renamed_in(commit)
                if any(isinstance(entry, Erased) for entry in commit.entries):
                    erasing.add(space)
                positions[space] = commit.position
                commits += 1
                if len(found) >= ids:
                    break
    waiting = sum(max(0, head - positions.get(space, ORIGIN)) for space, head in heads.items())
    return Followed(
        ids=tuple(found),
        erasing=frozenset(erasing),
        renamed=renamed,
        cursor=replace(cursor, complete=cursor.complete or waiting == 0, positions=positions),
        commits=commits,
        waiting=waiting,
    )


def changed_ids(commit: Commit) -> Sequence[str]:
    """Return the ids of the items that a commit changed."""
    return [item_id for entry in commit.entries for item_id in ids_of(entry)]


def _renamed_in(commit: Commit) -> Iterator[Renaming]:
    made = [entry.thing for entry in commit.entries if isinstance(entry, Made)]
    born = {item.id for item in made if isinstance(item, EntityDraft)}
    named: set[str] = {
        item.entity_id
        for item in made
        if isinstance(item, ObservationDraft) and NAME in item.fields and item.entity_id not in born
    }
    for entry in commit.entries:
        if isinstance(entry, EntitiesMerged | EntitiesUnmerged):
            named.update(ids_of(entry))
    for entity in sorted(named):
        yield Renaming(entity=entity, space=commit.space, position=commit.position)

"""What the memory backend holds: the sealed log, and every version of every thing."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from canonry.domain.ids import SpaceId
from canonry.domain.log.canon import beside, fold, needs
from canonry.domain.log.commits import Commit
from canonry.domain.log.entries import Thing, Tombstone
from canonry.domain.log.keys import ANY, key_hash
from canonry.domain.log.sealing import Sealed
from canonry.ports.views.state import Spaces

T = TypeVar("T")


@dataclass(slots=True)
class MemoryStore:
    """`touched` has, for each commit of any space in order, the hashes of the keys it touched."""

    log: dict[SpaceId, list[Sealed]] = field(default_factory=lambda: defaultdict(list))
    touched: list[tuple[SpaceId, frozenset[int]]] = field(default_factory=list)
    things: dict[str, Thing] = field(default_factory=dict)
    versions: dict[str, list[Thing]] = field(default_factory=lambda: defaultdict(list))

    def apply(self, sealed: Sealed, commit: Commit) -> None:
        """Take a commit into the log and into every view."""
        loaded = self._those(needs(commit.entries))
        changes = fold(commit, loaded | self._those(beside(commit.entries, loaded)))
        self.log[commit.space].append(sealed)
        self.touched.append((commit.space, frozenset(key_hash(k) for k in changes.touched)))
        for thing in changes.things.values():
            self.things[thing.id] = thing
            if isinstance(thing, Tombstone):
                self.versions[thing.id] = []
            self.versions[thing.id].append(thing)

    def _those(self, ids: Iterable[str]) -> dict[str, Thing]:
        return {i: self.things[i] for i in ids if i in self.things}

    def touched_after(self, space: SpaceId, position: int) -> frozenset[int]:
        """Hashes of the keys that commits of `space` past `position` touched."""
        mine = [keys for owner, keys in self.touched if owner == space]
        return frozenset().union(*mine[position:])

    def of(self, kind: type[T], spaces: Spaces) -> Iterator[T]:
        """The current things of a kind in these spaces."""
        for thing in self.things.values():
            if isinstance(thing, kind) and (spaces is None or thing.space in spaces):
                yield thing


def collides(reads: frozenset[str], touched: frozenset[int]) -> bool:
    """Whether a verdict that read `reads` must be given again."""
    if not touched:
        return False
    anything = key_hash(ANY)
    return ANY in reads or anything in touched or not touched.isdisjoint(map(key_hash, reads))

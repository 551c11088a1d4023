"""What the memory backend holds: the sealed log, and every version of every thing."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from typing_extensions import override

from canonry.log.canon import BESIDE_ROUNDS, beside, fold, needs
from canonry.log.commits import ORIGIN, Commit, Position
from canonry.log.entries import Thing, Tombstone
from canonry.log.folding import ANY, key_hash
from canonry.log.items.veils import homed, is_veiled, variants
from canonry.log.sealing import Sealed
from canonry.readmodels.ports.state import Spaces
from canonry.readmodels.ports.view import Folded, View
from canonry.values.errors import Conflict
from canonry.values.fields import revised
from canonry.values.ids import SpaceId

T = TypeVar("T")


@dataclass(slots=True)
class MemoryStore:
    """`touched` has, for each commit of any space in order, the hashes of the keys it touched."""

    log: dict[SpaceId, list[Sealed]] = field(default_factory=lambda: defaultdict(list))
    touched: list[tuple[SpaceId, frozenset[int]]] = field(default_factory=list)
    things: dict[str, Thing] = field(default_factory=dict)
    versions: dict[str, list[Thing]] = field(default_factory=lambda: defaultdict(list))
    veiled: dict[str, frozenset[SpaceId]] = field(default_factory=dict)
    """Where those things lie, by their ids, that are not the same to everybody."""
    shown: dict[SpaceId, Position] = field(default_factory=dict)

    def take(self, sealed: Sealed, touched: frozenset[str] | None, commit: Commit) -> None:
        """Take a commit into the log and, where nobody says what it touches, into the views."""
        if touched is None:
            loaded = self._those(needs(commit.entries))
            for _round in range(BESIDE_ROUNDS):
                loaded |= self._those(beside(commit.entries, loaded))
            changes = fold(commit, loaded)
            touched, things = changes.touched, tuple(changes.things.values())
            self.show(Folded(space=commit.space, position=commit.position, things=things))
        self.log[commit.space].append(sealed)
        self.touched.append((commit.space, frozenset(map(key_hash, touched))))

    def show(self, folded: Folded) -> None:
        """Let the views show what a commit made of things, as `View.apply` says."""
        cursor = self.shown.get(folded.space, ORIGIN)
        if folded.position <= cursor:
            return
        if folded.position > cursor + 1:
            raise Conflict("view.gap", "commits are missing: apply those after the cursor first")
        for thing in folded.things:
            self.things[thing.id] = thing
            self.veiled.pop(thing.id, None)
            if is_veiled(thing):
                some: Any = thing
                self.veiled[thing.id] = frozenset(v.space for v in (homed(some), *variants(some)))
            if isinstance(thing, Tombstone):
                self.versions[thing.id] = []
            self.versions[thing.id].append(thing)
        self.shown[folded.space] = folded.position

    def _those(self, ids: Iterable[str]) -> dict[str, Thing]:
        return {i: self.things[i] for i in ids if i in self.things}

    def touched_after(self, space: SpaceId, position: int) -> frozenset[int]:
        """Hashes of the keys that commits of `space` past `position` touched."""
        mine = [keys for owner, keys in self.touched if owner == space]
        return frozenset().union(*mine[position:])

    def at_home(self, kind: type[T], space: SpaceId) -> Iterator[T]:
        """The current things of a kind in a space, as they are to all who may see them."""
        for thing in self.things.values():
            if isinstance(thing, kind) and thing.space == space:
                some: Any = homed(thing)
                if some.space == space:
                    yield some

    def of(self, kind: type[T], spaces: Spaces) -> Iterator[T]:
        """The current things of a kind in these spaces, as they are to whoever sees those."""
        for thing in self.things.values():
            if not isinstance(thing, kind):
                continue
            if spaces is None or not is_veiled(thing):
                if spaces is None or thing.space in spaces:
                    yield thing
                continue
            some: Any = thing
            for variant in variants(some):
                if variant.space in spaces:
                    yield revised(variant, space=some.space)
                    break


class MemoryView(View):
    """Shows what was folded, by the ledger beside it or by whoever applies it."""

    def __init__(self, store: MemoryStore) -> None:
        """Share `store` with the other views, and with a ledger that folds itself."""
        self._store = store

    @override
    async def cursor(self, space: SpaceId) -> Position:
        return self._store.shown.get(space, ORIGIN)

    @override
    async def apply(self, folded: Sequence[Folded]) -> None:
        for each in folded:
            self._store.show(each)


def collides(reads: frozenset[str], touched: frozenset[int]) -> bool:
    """Whether a verdict that read `reads` must be given again."""
    if not touched:
        return False
    anything = key_hash(ANY)
    return ANY in reads or anything in touched or not touched.isdisjoint(map(key_hash, reads))

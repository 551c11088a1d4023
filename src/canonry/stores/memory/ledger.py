"""State of the memory backend, its ledger and its blobs."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, TypeVar

from typing_extensions import override

from canonry.log.commits import ORIGIN, Append, Commit, Outcome, Position
from canonry.log.entries import StoredItem, Tombstone
from canonry.log.fold_commit import fold_commit, ids_needed
from canonry.log.folding import key_hash
from canonry.log.group_appends import EMPTY, KnownCommit, judge_group
from canonry.log.items.secret_parts import has_variants, in_compartment, list_variants
from canonry.log.observations import EXTRA_ROUNDS, ids_needed_next
from canonry.log.ports.ledger import (
    Blobs,
    Head,
    Ledger,
    Sealer,
    Touched,
    check_blob,
    require_next_commit,
)
from canonry.log.ports.world import Call
from canonry.log.sealing import GENESIS, Sealed, commit_of, unseal
from canonry.readmodels.ports.state import Spaces
from canonry.readmodels.ports.view import View
from canonry.values.fields import with_changes
from canonry.values.ids import CommitId, SpaceId
from canonry.values.moments import Instant

T = TypeVar("T")


@dataclass(slots=True)
class MemoryStore:
    """The log and its views. `touched` has the key hashes of each commit, in commit order."""

    log: dict[SpaceId, list[Sealed]] = field(default_factory=lambda: defaultdict(list))
    touched: list[tuple[SpaceId, frozenset[int]]] = field(default_factory=list)
    items: dict[str, StoredItem] = field(default_factory=dict)
    versions: dict[str, list[StoredItem]] = field(default_factory=lambda: defaultdict(list))
    variant_spaces: dict[str, frozenset[SpaceId]] = field(default_factory=dict)
    """Spaces of items with different variants for different audiences, by item id."""

    def append_commit(self, sealed: Sealed, touched: frozenset[str] | None, commit: Commit) -> None:
        """Append a commit. Without `touched`, fold it into the views, which returns its keys."""
        if touched is None:
            loaded = self._pick_items(ids_needed(commit.entries))
            for _round in range(EXTRA_ROUNDS):
                loaded |= self._pick_items(ids_needed_next(commit.entries, loaded))
            changes = fold_commit(commit, loaded)
            touched = changes.touched
            for item in changes.items.values():
                self.items[item.id] = item
                self.variant_spaces.pop(item.id, None)
                if has_variants(item):
                    some: Any = item
                    self.variant_spaces[item.id] = frozenset(
                        v.space for v in (in_compartment(some), *list_variants(some))
                    )
                if isinstance(item, Tombstone):
                    self.versions[item.id] = []
                self.versions[item.id].append(item)
        self.log[commit.space].append(sealed)
        self.touched.append((commit.space, frozenset(map(key_hash, touched))))

    def _pick_items(self, ids: Iterable[str]) -> dict[str, StoredItem]:
        return {i: self.items[i] for i in ids if i in self.items}

    def known(self, space: SpaceId, *, after: int) -> Sequence[KnownCommit]:
        """Return the commits of `space` past a position, with the keys that they touch."""
        keys = [tuple(touched) for owner, touched in self.touched if owner == space]
        pairs = zip(self.log[space][after:], keys[after:], strict=True)
        return [KnownCommit(s.position, s.recorded_at, s.hash, touched) for s, touched in pairs]

    def items_homed_in(self, kind: type[T], space: SpaceId) -> Iterator[T]:
        """Yield the current items of a kind in a space, in their variants for that space."""
        for item in self.items.values():
            if isinstance(item, kind) and item.space == space:
                some: Any = in_compartment(item)
                if some.space == space:
                    yield some

    def visible_items(self, kind: type[T], spaces: Spaces) -> Iterator[T]:
        """Yield the current items of a kind in these spaces, in the variants that they may see."""
        for item in self.items.values():
            if not isinstance(item, kind):
                continue
            if spaces is None or not has_variants(item):
                if spaces is None or item.space in spaces:
                    yield item
                continue
            some: Any = item
            for variant in list_variants(some):
                if variant.space in spaces:
                    yield with_changes(variant, space=some.space)
                    break


class MemoryView(View):
    """Reads the state that the ledger folded."""

    def __init__(self, store: MemoryStore) -> None:
        """Share `store` with the ledger and the other views."""
        self._store = store

    @override
    async def cursor(self, space: SpaceId) -> Position:
        return Position(len(self._store.log.get(space, ())))


class MemoryLedger(Ledger):
    """One log per space, in a list."""

    def __init__(self, store: MemoryStore, sealer: Sealer) -> None:
        """Share `store` with the views."""
        self._store = store
        self._sealer = sealer
        self._lock = asyncio.Lock()
        self._owner: asyncio.Task[object] | None = None

    @override
    async def head_position(self, space: SpaceId) -> Position:
        return Position(len(self._store.log.get(space, ())))

    @override
    async def list_heads(self, *, after: SpaceId | None = None, limit: int) -> Sequence[Head]:
        spaces = sorted(s for s, log in self._store.log.items() if log and s > (after or ""))
        tips = [self._store.log[space][-1] for space in spaces[:limit]]
        return [
            Head(space=tip.space, position=tip.position, hash=tip.hash, recorded_at=tip.recorded_at)
            for tip in tips
        ]

    @override
    async def append_drafts(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        if not batch:
            return []
        if self._owner is asyncio.current_task():
            return self._append_unlocked(batch)
        async with self._lock:
            return self._append_unlocked(batch)

    def _append_unlocked(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        store, drafts = self._store, {item.draft.id: item for item in reversed(batch)}
        space = batch[0].draft.space
        log = store.log[space]
        known = store.known(space, after=min([len(log), *(item.rests_on for item in batch)]))
        there: dict[str, KnownCommit] = {
            each.id: KnownCommit(each.position, each.recorded_at, each.hash)
            for logs in store.log.values()
            for each in logs
            if each.id in drafts
        }
        tip = KnownCommit(log[-1].position, log[-1].recorded_at, log[-1].hash) if log else EMPTY
        group = judge_group([Call(batch)], tip, there, known, self._sealer)
        for sealed, touched in group.made:
            item, previous = drafts[sealed.id], log[-1].hash if log else GENESIS
            commit = commit_of(item.draft, sealed, previous)
            store.append_commit(sealed, None if item.predicted is None else touched, commit)
        return group.outcomes[0]

    @override
    async def find_commit(self, commit_id: CommitId) -> Commit | None:
        logs = self._store.log.values()
        sealed = next((one for log in logs for one in log if one.id == commit_id), None)
        return None if sealed is None else unseal(sealed)

    @override
    async def position_at(self, space: SpaceId, instant: Instant) -> Position:
        log = self._store.log.get(space, ())
        return max((s.position for s in log if s.recorded_at <= instant), default=ORIGIN)

    @override
    async def read_sealed(self, space: SpaceId, *, after: Position, limit: int) -> Sequence[Sealed]:
        return self._store.log.get(space, [])[after : after + limit]

    @override
    async def restore_commits(
        self, sealed: Sequence[Sealed], touched: Sequence[frozenset[str]] | None = None
    ) -> None:
        for n, item in enumerate(sealed):
            log = self._store.log[item.space]
            previous = log[-1].hash if log else GENESIS
            require_next_commit(item, after=Position(len(log)), previous=previous)
            self._store.append_commit(item, None if touched is None else touched[n], unseal(item))

    @override
    async def touched_since(self, cursor: int, *, limit: int) -> Touched:
        now = len(self._store.touched) + 1
        if cursor == 0 or now - cursor > limit:
            return Touched(cursor=now, keys=None)
        news = self._store.touched[cursor - 1 :]
        return Touched(cursor=now, keys=frozenset().union(*(keys for _, keys in news)))

    @override
    @asynccontextmanager
    async def lock_appends(self) -> AsyncIterator[None]:
        async with self._lock:
            self._owner = asyncio.current_task()
            try:
                yield
            finally:
                self._owner = None


class MemoryBlobs(Blobs):
    """Bytes by their hash, in memory."""

    def __init__(self) -> None:
        """Start empty."""
        self._held: dict[str, bytes] = {}

    @override
    async def put_bytes(self, data: bytes) -> str:
        digest = sha256(data).hexdigest()
        self._held[digest] = data
        return digest

    @override
    async def get_bytes(self, digest: str) -> bytes:
        return check_blob(self._held.get(digest), digest)

    @override
    async def delete_bytes(self, digest: str) -> None:
        self._held.pop(digest, None)

    @override
    async def list_digests(self, *, after: str = "", limit: int) -> Sequence[str]:
        return sorted(d for d in self._held if d > after)[:limit]

"""The embedded index: every vector is compared, in a mapped file or, if newer, in memory.

Every candidate is looked up among the rows before it is returned. So a vector that another process
removed or replaced is never found, whichever version of the published file is mapped.
"""

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from threading import Lock
from typing import Any, Final, ParamSpec, TypeVar

import apsw
from typing_extensions import override

from canonry.readmodels.ports.text import (
    EmbeddingModel,
    VectorBatch,
    VectorHit,
    VectorQuery,
    Vectors,
    VectorStatus,
    require_sizes,
)
from canonry.recall.vectors import rows
from canonry.recall.vectors.rows import owning, owning_in_the_end, unfinished
from canonry.recall.vectors.searching import Published, Search, Tail, publish, published_of
from canonry.values.errors import Unavailable

FILE: Final = "recall.db"
LOCK: Final = "recall.lock"
WAITING: Final = 4096
"""So many vectors may wait for the next published file, or an eighth of the last one."""

_SHARE: Final = 8
_IN_MEMORY: Final = 200_000
"""So many vectors that are in no published file are searched; more would fill the memory."""


P = ParamSpec("P")
R = TypeVar("R")


def _beside(work: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """The same beside the event loop, raising the errors of the port in place of the engine's."""
    translating = rows.translated()(work)

    @wraps(work)
    async def run(*args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(translating, *args, **kwargs)

    return run


@dataclass(slots=True)
class _Opened:
    """What a process holds of one model: the published version, if any, and the rows after it."""

    path: Path | None
    published: Published | None
    tail: Tail
    lock: Lock = field(default_factory=Lock)

    def stands(self, newest: Path | None) -> bool:
        """Whether this is the newest version still, and whole."""
        return self.path == newest and (self.published is None or self.published.is_whole)


class FolderVectors(Vectors):
    """Vectors in a folder that several processes may share."""

    def __init__(self, folder: Path, *, waiting: int = WAITING) -> None:
        """Use the folder, which is made when something is written."""
        self._folder = folder
        self._waiting = waiting
        self._rows = rows.VectorRows(folder / FILE)
        self._lock = Lock()
        self._opened: dict[int, _Opened] = {}

    @override
    @_beside
    def apply(self, batch: VectorBatch) -> None:
        require_sizes(batch)
        with self._rows.writing() as db:
            rows.write(db, batch)

    @override
    @_beside
    def remove(self, ids: Sequence[str]) -> None:
        with self._rows.writing() as db:
            for m, _, _ in rows.models(db):
                rows.remove(db, m, ids)

    @override
    @_beside
    def search(self, query: VectorQuery) -> Sequence[VectorHit]:
        if query.limit < 1 or len(query.vector) != 4 * query.model.dimensions:
            return []
        with self._rows.reading() as db:
            m = rows.model_number(db, query.model)
            if m is None:
                return []
            opened = self._current(db, m, query.model)
            return Search(db, m, query, opened.published, opened.tail).hits()

    @override
    @_beside
    def status(self) -> Sequence[VectorStatus]:
        with self._rows.reading() as db:
            return [
                VectorStatus(
                    model=model,
                    count=rows.count(db, m),
                    cursor=cursor,
                    waiting=rows.count(db, m, after=self._mapped(db, m, model)),
                )
                for m, model, cursor in rows.models(db)
            ]

    @_beside
    def check(self) -> None:
        """Read the whole file of the rows.

        Raises:
            Unavailable: `vectors.corrupt`, it is damaged.
        """
        with self._rows.reading() as db:
            rows.check(db)

    @override
    @_beside
    def cursors(self) -> Mapping[EmbeddingModel, str]:
        with self._rows.reading() as db:
            return {model: cursor for _, model, cursor in rows.models(db)}

    @override
    @_beside
    def digests(self, model: EmbeddingModel, ids: Sequence[str]) -> Mapping[str, Sequence[bytes]]:
        with self._rows.reading() as db:
            m = rows.model_number(db, model)
            return {} if m is None else rows.digests(db, m, ids)

    @override
    @_beside
    def about(
        self, model: EmbeddingModel, entity: str, *, after: str = "", limit: int
    ) -> Sequence[str]:
        with self._rows.reading() as db:
            m = rows.model_number(db, model)
            return [] if m is None else rows.about(db, m, entity, after=after, limit=limit)

    @override
    @_beside
    def tend(self, model: EmbeddingModel) -> bool:
        with owning(self._folder / LOCK) as owned:
            if not owned:
                return False
            with self._rows.reading() as db:
                m = rows.model_number(db, model)
                if m is None or not self._due(db, m, model):
                    return False
                self._publish(db, m, model)
            self._remove_versions(m)
            return True

    @override
    @_beside
    def purge(self) -> None:
        if not (self._folder / FILE).is_file():
            return
        with owning_in_the_end(self._folder / LOCK):
            with self._rows.reading() as db:
                known = rows.models(db)
                for m, model, _ in known:
                    self._renew(db, m, model)
            # A process may have been killed while it published or dropped a model.
            numbers = {str(m) for m, _, _ in known}
            for path in self._folder.glob("recall-*-*.*"):
                if path.suffix != ".index" or path.stem.split("-")[1] not in numbers:
                    _remove(path)
            if not self._rows.scrub():
                raise unfinished()

    @override
    @_beside
    def drop(self, model: EmbeddingModel | None = None) -> None:
        if model is None:
            self._forget()
            for path in self._folder.glob("recall*"):
                if path.name != LOCK:
                    path.unlink(missing_ok=True)
            return
        with self._rows.writing() as db:
            m = rows.model_number(db, model)
            if m is not None:
                rows.forget(db, m)
        if m is not None:
            self._remove_versions(m, kept=0)
        self._forget()

    @override
    async def close(self) -> None:
        self._forget()

    def _mapped(self, db: apsw.Connection, m: int, model: EmbeddingModel) -> int:
        published = self._open(db, m, model).published
        return published.newest if published is not None else 0

    def _publish(self, db: apsw.Connection, m: int, model: EmbeddingModel) -> None:
        last = max(self._versions(m), default=(0, None))[0]
        target = self._folder / f"recall-{m}-{last + 1:08}.index"
        publish(db, m, model, target)

    def _remove_versions(self, m: int, *, kept: int = 1) -> None:
        """Remove the published files of a model, but keep so many of the newest."""
        for _, path in sorted(self._versions(m), reverse=True)[kept:]:
            _remove(path)

    def _renew(self, db: apsw.Connection, m: int, model: EmbeddingModel) -> None:
        """If removed rows are published, publish without them and clear the old file of them."""
        opened = self._open(db, m, model)
        if opened.published is None or opened.path is None:
            self._remove_versions(m, kept=0)
            return
        gone = opened.published.gone(rows.numbers(db, m))
        if len(gone):
            self._publish(db, m, model)
            opened.published.overwrite(opened.path, gone)
        self._remove_versions(m)

    def _due(self, db: apsw.Connection, m: int, model: EmbeddingModel) -> bool:
        opened = self._open(db, m, model)
        published = opened.published
        if published is None and opened.path is not None:
            return True  # damaged, or of a former kind
        size, newest = (0, 0) if published is None else (len(published.block), published.newest)
        waiting = rows.count(db, m, after=newest)
        removed = size + waiting - rows.count(db, m)
        return max(waiting, removed) > max(self._waiting, size // _SHARE)

    def _current(self, db: apsw.Connection, m: int, model: EmbeddingModel) -> _Opened:
        opened = self._open(db, m, model)
        with opened.lock:
            if not opened.tail.blocks:
                waiting = rows.count(db, m, after=opened.tail.after)
                if waiting > _IN_MEMORY:
                    message = "the vector index is being built; search by words meanwhile"
                    raise Unavailable("vectors.unavailable", message)
            opened.tail.read_on(db)
        return opened

    def _open(self, db: apsw.Connection, m: int, model: EmbeddingModel) -> _Opened:
        """The newest version that is whole; a damaged one is passed over."""
        with self._lock:
            _, path = max(self._versions(m), default=(0, None))
            opened = self._opened.get(m)
            if opened is None or not opened.stands(path):
                published = None if path is None else published_of(path, rows.identity(db), model)
                after = 0 if published is None else published.newest
                opened = _Opened(path, published, Tail(m, after, model.dimensions))
                self._opened[m] = opened
            return opened

    def _versions(self, m: int) -> list[tuple[int, Path]]:
        begin, end = f"recall-{m}-", ".index"
        # Every search asks: a plain look at the names costs a fifth of matching a pattern.
        try:
            with os.scandir(self._folder) as entries:
                names = [entry.name for entry in entries]
        except FileNotFoundError:
            return []
        return [
            (int(name[len(begin) : -len(end)]), self._folder / name)
            for name in names
            if name.startswith(begin) and name.endswith(end)
        ]

    def _forget(self) -> None:
        with self._lock:
            self._opened.clear()
        self._rows.close()


def _remove(path: Path) -> None:
    try:
        path.unlink()
    except OSError:
        return  # a process that maps it may keep it; the next owner tries again

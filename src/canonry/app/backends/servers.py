"""A store with its records on a server, and its views in a local copy or on more servers."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar
from urllib.parse import urlsplit

from typing_extensions import override

from canonry.app.doctor import back_up
from canonry.app.embedded import Embedded, open_embedded
from canonry.app.stores import KeptStore
from canonry.app.system import SystemIdentities
from canonry.canon.session.canon import Canon
from canonry.log.commits import ORIGIN, Position
from canonry.log.entries import StoredItem, Tombstone
from canonry.log.fold_commit import ids_needed
from canonry.log.ports.ledger import Ledger
from canonry.log.ports.world import Clock, Identities
from canonry.log.sealing import GENESIS, Sealed, fault_in
from canonry.readmodels.follow_log import heads_of
from canonry.readmodels.passages import passages_of
from canonry.readmodels.ports.text import Vectors
from canonry.readmodels.ports.view import (
    Finding,
    Maintenance,
    MaintenanceProgress,
    Projection,
    TouchedThere,
    Verification,
)
from canonry.records.usecases.files import Filing, RecordServices
from canonry.stores.projections.projector import (
    POLL_SECONDS,
    Follower,
    Projector,
    SharedText,
    join_views,
)
from canonry.values.errors import BrokenInvariant, CanonryError, Unavailable
from canonry.values.ids import SpaceId
from canonry.values.policy import Policy

if TYPE_CHECKING:
    from canonry.stores.mongodb import MongoMaintenance
    from canonry.stores.opensearch import OpenSearchText

COPY: Final = "copy"
"""The folder of the copy, in the data folder."""

_FINDINGS_MAX: Final = 20  # one cause often damages every row; the first findings name it
_PAGE: Final = 100  # bounds the memory of a walk through the log


def _holds_erased(copied: Sealed, sealed: Sealed) -> bool:
    """Return whether a copy holds erased data; a copy may erase before the records do."""
    both = zip(copied.parts, sealed.parts, strict=True)
    return any(there is None and here is not None for here, there in both)


def start_following(projector: Projector) -> asyncio.Task[None]:
    """Start a task that updates views while the store is open; `cancel_following` ends it."""
    return asyncio.create_task(projector.keep_up(), name="following")


async def cancel_following(following: asyncio.Task[None]) -> None:
    """Cancel the task and wait for its end."""
    while not following.done():  # a driver may take the cancellation for a lost connection
        following.cancel()
        await asyncio.wait([following], timeout=0.05)


class ProjectedGraph:
    """The graph for people, projected from the state; no call waits for it."""

    def __init__(self, url: str, name: str, canon: Canon) -> None:
        """Project the `canon` into the server at `url` as `name`, without connecting yet."""
        from canonry.stores.neo4j import Neo4jDatabase, Neo4jGraph  # noqa: PLC0415 - loads the driver

        self._database = Neo4jDatabase(url, name)
        self._opening = asyncio.Lock()
        self._is_open = False
        self.shown = Neo4jGraph(self._database)
        self._projector = _projector_of(self.shown, canon)

    async def connect_once(self) -> None:
        """Connect if it is not connected; a failed attempt may be repeated.

        Raises:
            BrokenInvariant: `store.newer`.
            Unavailable: `store.unreachable` or `store.refused`.
        """
        async with self._opening:
            if not self._is_open:
                await self._database.open()
                self._is_open = True

    async def keep_up(self) -> None:
        """Project the writes of all machines soon after they happen, and after an outage."""
        while True:
            with suppress(CanonryError):
                await self.connect_once()
                await self._projector.keep_up()
            await asyncio.sleep(POLL_SECONDS)

    async def catch_up(self) -> None:
        """Project everything in the log up to now."""
        await self.connect_once()
        await self._projector.catch_up()

    async def rebuild_view(self) -> None:
        """Rebuild it from the log; readers miss items meanwhile."""
        await self.connect_once()
        await self.shown.delete_nodes()
        await self._projector.catch_up()

    async def graph_facts(self) -> Mapping[str, str | int]:
        """Return the facts about the graph for an operator."""
        try:
            await self.connect_once()
            return await self.shown.graph_facts()
        except Unavailable as error:
            return {"graph": f"away: {error.message}"}

    async def close_graph(self) -> None:
        """Disconnect from the server."""
        await self._database.close()


@dataclass(frozen=True, slots=True)
class ProjectedDocuments:
    """Documents for people next to the records, with their projector and their repair."""

    projector: Projector
    maintenance: "MongoMaintenance"

    async def finish_projection(self) -> None:
        """Project the remaining commits for a short time; the next process projects the rest."""
        with suppress(CanonryError, TimeoutError):
            async with asyncio.timeout(POLL_SECONDS):
                await self.projector.catch_up()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectedText:
    """The text index on a server, with its projector."""

    text: "OpenSearchText"
    projector: Projector

    def use_text_index(self, canon: Canon) -> Canon:
        """Return the canon with this text index; without the server, with the local index."""
        return replace(canon, text=SharedText(self.text, own=canon.text, projector=self.projector))

    async def find_differing(
        self, true: AsyncIterator[Mapping[str, StoredItem]]
    ) -> Sequence[Finding]:
        """Return the passages there that differ from those of the `true` items.

        Raises:
            Unavailable: `text.unavailable`.
        """
        await self.projector.catch_up()
        wrong: list[str] = []
        passages = 0
        async for items in true:
            made = {i: next(passages_of(item), None) for i, item in items.items()}
            passages += sum(each is not None for each in made.values())
            wrong += await self.text.find_differing(made)
        what = "The index of words differs from the records."
        found = [Finding(where=f"words: {each}", what=what) for each in wrong]
        if not found and (there := await self.text.count_passages()) != passages:
            what = f"The index of words holds {there} passages; the records have {passages}."
            found = [Finding(where="words", what=what)]
        return found

    async def rebuild_view(self) -> None:
        """Rebuild it from the log."""
        await self.text.drop_index()
        await self.projector.catch_up()


class RecordsMaintenance(Protocol):
    """Checks the records on a server, and erases data in them."""

    async def check_rows(self, touched: TouchedThere, /) -> Sequence[Finding]:
        """Return faults in the rows next to the commits, given the keys that the commits touch."""

    async def erase_entries(self, space: SpaceId, targets: Sequence[str], /) -> int:
        """Drop payload and salt of every entry about `targets`; return the number of entries."""

    async def store_facts(self) -> Mapping[str, str | int]:
        """Return the version of the server and its size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerMaintenance(Maintenance):
    """Maintains the records of a server, the copy of this machine, and the views on servers."""

    canon: Canon
    copy: Embedded
    projector: Projector
    follower: Follower
    records: RecordsMaintenance
    documents: "ProjectedDocuments | None"
    graph: ProjectedGraph | None
    text_index: ProjectedText | None

    @override
    async def verify(self, progress: MaintenanceProgress) -> Verification:
        verified = await self._verify_log(progress)
        findings = list(verified.findings)
        if not findings:
            findings += await self.records.check_rows(self.copy.ledger.touched_by)
            findings += await self._document_faults()
            findings += await self._graph_faults()
            findings += await self._check_text_index()
        return replace(verified, findings=tuple(findings[:_FINDINGS_MAX]))

    async def _verify_log(self, progress: MaintenanceProgress) -> Verification:
        """Check the log, then the copy against the log and within itself."""
        findings: list[Finding] = []
        heads: dict[SpaceId, tuple[int, str]] = {}
        commits = 0
        for space, head in (await heads_of(self.projector.ledger)).items():
            previous, position = GENESIS, ORIGIN
            try:
                async for sealed, copied in self._paired_commits(space, head):
                    expected = Position(position + 1)
                    fault = fault_in(sealed, position=expected, previous=previous)
                    if fault is None and (copied is None or copied.hash != sealed.hash):
                        fault = (
                            "The copy of this machine has another commit there. Delete the copy."
                        )
                    if fault is None and copied is not None and _holds_erased(copied, sealed):
                        fault = "The copy holds erased data. Run: canonry rebuild"
                    if fault is not None:
                        findings.append(Finding(where=f"{space} at {expected}", what=fault))
                    previous, position = sealed.hash, sealed.position
                    commits += 1
                    if commits % _PAGE == 0:
                        progress(commits, None)
            except BrokenInvariant as error:
                where = f"{space} after {position}"
                findings.append(Finding(where=where, what=f"It cannot be read: {error.code}"))
            if position < head:
                findings.append(
                    Finding(where=f"{space} after {position}", what="The log ends there.")
                )
            heads[space] = (position, previous)
        copy = await self.copy.maintenance.verify(progress)
        findings += [Finding(where=f"copy: {each.where}", what=each.what) for each in copy.findings]
        return Verification(
            commits=commits, items=copy.items, heads=heads, findings=tuple(findings)
        )

    async def _paired_commits(
        self, space: SpaceId, head: Position
    ) -> AsyncIterator[tuple[Sealed, Sealed | None]]:
        """Yield each commit of a space up to `head`, with its copy."""
        after = ORIGIN
        await self.projector.advance_to(space, head)
        await self.follower.await_erasures()
        while after < head:
            limit = min(_PAGE, head - after)
            sealed = await self.projector.ledger.read_sealed(space, after=after, limit=limit)
            copies = await self.copy.canon.ledger.read_sealed(space, after=after, limit=limit)
            if not sealed:
                return
            copied = {each.position: each for each in copies}
            for each in sealed:
                yield each, copied.get(each.position)
            after = sealed[-1].position

    async def _current_items(self) -> AsyncIterator[Mapping[str, StoredItem]]:
        """Yield all items of the copy, each with the last commit that changed it."""
        ledger, state = self.copy.canon.ledger, self.copy.canon.state
        for space in await heads_of(ledger):
            after = ORIGIN
            while page := await ledger.read_commits(space, after=after, limit=_PAGE):
                items = await state.items_by_id(ids_needed(e for c in page for e in c.entries))
                end = page[-1].position
                yield {i: each for i, each in items.items() if after < each.changed_at <= end}
                after = end

    async def _document_faults(self) -> Sequence[Finding]:
        """Return faults of the documents that remain when no process writes."""
        if self.documents is None:
            return ()
        wrong, strays = await self._suspect_documents(self.documents)
        if not wrong and not strays:
            return ()
        async with self.canon.ledger.lock_appends():
            await self.documents.projector.catch_up()
            items = await self.copy.canon.state.items_by_id(wrong)
            found = [
                Finding(where=f"documents: {each}", what="It differs from the records.")
                for each in await self.documents.maintenance.find_differing(items)
            ]
            for name, ids in await self._orphan_documents(strays):
                found += [
                    Finding(where=f"{name}: {each}", what="The records have no such document.")
                    for each in ids
                ]
        return found

    async def _suspect_documents(
        self, documents: "ProjectedDocuments"
    ) -> tuple[Sequence[str], Sequence[tuple[str, Sequence[str]]]]:
        """Return differences of a quick check while others may write, up to a limit."""
        wrong: set[str] = set()
        await documents.projector.catch_up()
        async for items in self._current_items():
            wrong |= set(await documents.maintenance.find_differing(items))
        pages = [next(iter(page.items())) async for page in documents.maintenance.list_ids()]
        return sorted(wrong), await self._orphan_documents(pages)

    async def _orphan_documents(
        self, pages: Sequence[tuple[str, Sequence[str]]]
    ) -> Sequence[tuple[str, Sequence[str]]]:
        """Return the documents without an item, by collection."""
        found: list[tuple[str, Sequence[str]]] = []
        for name, ids in pages:
            there = await self.copy.canon.state.items_by_id(ids)
            left = [i for i in ids if i not in there or isinstance(there[i], Tombstone)]
            if left:
                found.append((name, left))
        return found

    @override
    async def check_quickly(self) -> Sequence[Finding]:
        return await self.copy.maintenance.check_quickly()

    @override
    async def rebuild(self, progress: MaintenanceProgress) -> int:
        await self.projector.catch_up()
        for space, head in (await heads_of(self.projector.ledger)).items():
            async for sealed, copied in self._paired_commits(space, head):
                if copied is not None and _holds_erased(copied, sealed):
                    ledger, after, targets = self.copy.canon.ledger, ORIGIN, set[str]()
                    while page := await ledger.read_commits(space, after=after, limit=_PAGE):
                        items = await self.copy.canon.state.items_by_id(
                            ids_needed(e for commit in page for e in commit.entries)
                        )
                        targets |= {i for i, item in items.items() if isinstance(item, Tombstone)}
                        after = page[-1].position
                    await self.copy.maintenance.purge(space, sorted(targets))
                    break
        done = await self.copy.maintenance.rebuild(progress)
        await self._repair_documents()
        if await self._graph_faults():
            await self._rebuild_graph()
        if self.text_index is not None:
            await self.text_index.rebuild_view()
        return done

    async def _graph_faults(self) -> Sequence[Finding]:
        """Return differences of the graph and the copy that remain when no process writes."""
        if self.graph is None:
            return ()
        try:
            await self.graph.catch_up()
        except Unavailable as error:
            return (Finding(where="graph", what=error.message),)
        shown, suspects = self.graph.shown, set[str]()
        async for items in self._current_items():
            suspects |= set(await shown.find_differing(items))
        async for ids in shown.list_ids():
            there = await self.copy.canon.state.items_by_id(ids)
            suspects |= {each for each in ids if each not in there}
        async with self.canon.ledger.lock_appends():
            await self.projector.catch_up()
            await self.graph.catch_up()
            true = await self.copy.canon.state.items_by_id(suspects)
            wrong = await shown.find_differing(true, sorted(suspects))
        what = "The graph differs from the records."
        return [Finding(where=f"graph: {each}", what=what) for each in wrong]

    async def _check_text_index(self) -> Sequence[Finding]:
        """Return differences between the text index on a server and the items of the copy."""
        if self.text_index is None:
            return ()
        try:
            if not await self.text_index.find_differing(self._current_items()):
                return ()
            async with self.canon.ledger.lock_appends():
                await self.projector.catch_up()
                return await self.text_index.find_differing(self._current_items())
        except Unavailable as error:
            return (Finding(where="words", what=error.message),)

    async def _rebuild_graph(self) -> None:
        """Rebuild the graph from the records; readers miss items meanwhile."""
        if self.graph is not None:
            async with self.canon.ledger.lock_appends():
                await self.graph.rebuild_view()

    async def _repair_documents(self) -> None:
        """Repair wrong documents; others may read meanwhile, and write before and after."""
        if self.documents is None:
            return
        wrong, strays = await self._suspect_documents(self.documents)
        if not wrong and not strays:
            return
        async with self.canon.ledger.lock_appends():
            await self.documents.projector.catch_up()
            for start in range(0, len(wrong), _PAGE):
                items = await self.copy.canon.state.items_by_id(wrong[start : start + _PAGE])
                await self.documents.maintenance.overwrite_documents(items)
            for name, ids in await self._orphan_documents(strays):
                await self.documents.maintenance.delete_documents(name, ids)

    @override
    async def backup(
        self, target: Path, progress: MaintenanceProgress
    ) -> Mapping[SpaceId, tuple[int, str]]:
        return await back_up(self.canon, target, progress)

    @override
    async def purge(self, space: SpaceId, targets: Sequence[str]) -> int:
        await self.projector.catch_up()
        dropped = await self.records.erase_entries(space, targets)
        await self.copy.maintenance.purge(space, targets)
        await self._repair_documents()
        await self._rebuild_graph()
        if self.text_index is not None:
            await self.text_index.projector.catch_up()
            await self.text_index.text.purge_deleted()
        return dropped

    @override
    async def collect_orphans(self) -> int:
        return await self.copy.maintenance.collect_orphans()

    @override
    async def facts_about_store(self) -> Mapping[str, str | int]:
        copy = await self.copy.maintenance.facts_about_store()
        graph = {} if self.graph is None else await self.graph.graph_facts()
        return {**copy, **graph, **await self.records.store_facts()}


# Open a store with its records on a server: each folder has a read replica.
#
# Several machines may share the records. Each answers from its own copy, an embedded store that
# follows the log.


class RecordsStore(Protocol):
    """The records on a server."""

    @property
    def ledger(self) -> Ledger:
        """Return the log."""

    @property
    def maintenance(self) -> RecordsMaintenance:
        """Return the check and the erasure of the records."""


S = TypeVar("S", bound=RecordsStore)


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewServers:
    """The views on servers next to the records; a view without a server is in the copy.

    A `graph` of the state in Neo4j, for people to explore; the index of `words` in OpenSearch and
    that of `meaning` in Qdrant, each with its key or password.
    """

    graph: str | None = None
    words: str | None = None
    words_password: str | None = None
    meaning: str | None = None
    meaning_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStore(KeptStore, Generic[S]):
    """A kept store with the `store` of the records, the copy, and the graph, if any."""

    store: S
    copy: Embedded
    graph: ProjectedGraph | None


async def open_on_server(
    store: S,
    opening: AsyncExitStack,
    *,
    name: str,
    folder: Path,
    clock: Clock,
    identities: Identities,
    policy: Policy | None,
    view_servers: ViewServers | None,
    filing: Filing | None,
    vectors: Callable[[], Vectors] | None = None,
    documents: "tuple[Projection, MongoMaintenance] | None" = None,
) -> ServerStore[S]:
    """Open the copy of this machine and the views on servers; on failure `opening` closes it.

    Without `filing`, files are next to the copy. `documents` are for people there.

    Raises:
        BrokenInvariant: if the copy is damaged.
        Unavailable: the folder cannot be used.
    """
    view_servers = view_servers or ViewServers()
    copy = await open_embedded(folder / COPY, clock=clock, identities=identities, policy=policy)
    opening.push_async_callback(copy.close)
    follower = Follower(log=store.ledger, copy=copy.canon.ledger, purge=copy.maintenance.purge)
    opening.push_async_callback(follower.await_erasures)
    canon = copy.canon
    if filing is not None:
        canon = canon.revise_service(RecordServices, filing=filing)
    canon = canon_over_copy(canon, store.ledger, follower)
    joined = join_views(canon, copied=copy.canon.ledger)
    opening.push_async_callback(joined.finish)
    shown: ProjectedDocuments | None = None
    if documents is not None:
        shown = ProjectedDocuments(_projector_of(documents[0], canon), documents[1])
        opening.push_async_callback(cancel_following, start_following(shown.projector))
        opening.push_async_callback(shown.finish_projection)
    graph = await _open_graph(view_servers.graph, name, canon, opening)
    text_index = _open_text_index(view_servers, name, canon, opening)
    opening.push_async_callback(cancel_following, start_following(joined.projector))
    return ServerStore(
        canon=joined.canon if text_index is None else text_index.use_text_index(joined.canon),
        maintenance=ServerMaintenance(
            canon=joined.canon,
            copy=copy,
            projector=joined.projector,
            follower=follower,
            records=store.maintenance,
            documents=shown,
            graph=graph,
            text_index=text_index,
        ),
        close=opening.pop_all().aclose,
        vectors=partial(_open_vectors, view_servers, name) if view_servers.meaning else vectors,
        store=store,
        copy=copy,
        graph=graph,
    )


def canon_over_copy(copy: Canon, ledger: Ledger, follower: Follower) -> Canon:
    """Return the canon over the records of a server and the views of a copy that follows them."""
    names = ("state", "documents", "text", "catalog", "places")
    views: dict[str, Any] = {name: follower.wrap_view(getattr(copy, name)) for name in names}
    return replace(copy, ledger=ledger, **views)


def _projector_of(view: Projection, canon: Canon) -> Projector:
    """Return the projector of a view on a server, which reads the copy."""
    return Projector(ledger=canon.ledger, state=canon.state, others=(view,))


async def _open_graph(
    url: str | None, name: str, canon: Canon, opening: AsyncExitStack
) -> ProjectedGraph | None:
    """Return the graph, kept up to date until `opening` ends; its server may come later."""
    if url is None:
        return None
    graph = ProjectedGraph(url, name, canon)
    opening.push_async_callback(graph.close_graph)
    try:
        await graph.connect_once()
    except Unavailable as error:
        if error.code != "store.unreachable":
            raise
    opening.push_async_callback(
        cancel_following, asyncio.create_task(graph.keep_up(), name="graph")
    )
    return graph


def _open_vectors(servers: ViewServers, name: str) -> Vectors:
    from canonry.stores.qdrant import open_vectors  # noqa: PLC0415 - loads the client

    return open_vectors(
        servers.meaning or "", identities=SystemIdentities(), api_key=servers.meaning_key, name=name
    )


def _open_text_index(
    servers: ViewServers, name: str, canon: Canon, opening: AsyncExitStack
) -> ProjectedText | None:
    """Return the text index, kept up to date until `opening` ends, as the address's user."""
    if servers.words is None:
        return None
    from canonry.stores.opensearch import open_text  # noqa: PLC0415 - loads the client

    parts = urlsplit(servers.words)
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    text = open_text(bare, user=parts.username, password=servers.words_password, name=name)
    opening.push_async_callback(text.close)
    projector = _projector_of(text, canon)
    opening.push_async_callback(cancel_following, start_following(projector))
    return ProjectedText(text=text, projector=projector)

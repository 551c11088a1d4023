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

from canonry.app.embedded import Embedded, open_embedded
from canonry.app.examination import back_up
from canonry.app.stores import KeptStore
from canonry.app.system import SystemIdentities
from canonry.canon.session.canon import Canon
from canonry.log.canon import needs
from canonry.log.commits import ORIGIN, Position
from canonry.log.entries import Thing, Tombstone
from canonry.log.ports.ledger import Ledger
from canonry.log.ports.world import Clock, Identities
from canonry.log.sealing import GENESIS, Sealed, fault_in
from canonry.readmodels.follow_log import heads_of
from canonry.readmodels.passages import passages_of
from canonry.readmodels.ports.text import Vectors
from canonry.readmodels.ports.view import (
    Finding,
    Projection,
    TouchedThere,
    Upkeep,
    UpkeepProgress,
    Verification,
)
from canonry.records.usecases.files import Filing, RecordServices
from canonry.stores.following.following import LOOKS_EVERY, Follower, Projector, SharedText, join
from canonry.values.errors import BrokenInvariant, CanonryError, Unavailable
from canonry.values.ids import SpaceId
from canonry.values.policy import Policy

if TYPE_CHECKING:
    from canonry.stores.mongodb import MongoMending
    from canonry.stores.opensearch import OpenSearchText

COPY: Final = "copy"
"""The folder of the copy, in the data folder."""

_FINDINGS_MAX: Final = 20
_PAGE: Final = 100


def _outlives(copied: Sealed, sealed: Sealed) -> bool:
    """Return whether a copy holds erased data; a copy may erase before the records do."""
    both = zip(copied.parts, sealed.parts, strict=True)
    return any(there is None and here is not None for here, there in both)


def kept_up(projector: Projector) -> asyncio.Task[None]:
    """Start a task that keeps views up to date while the store is open; `ended` ends it."""
    return asyncio.create_task(projector.keep_up(), name="following")


async def ended(following: asyncio.Task[None]) -> None:
    """Cancel the task and wait for its end."""
    while not following.done():  # a driver may take the cancellation for a lost connection
        following.cancel()
        await asyncio.wait([following], timeout=0.05)


class GraphBeside:
    """The graph for people, projected from the state; no call waits for it."""

    def __init__(self, url: str, name: str, canon: Canon) -> None:
        """Project the `canon` into the server at `url` as `name`, without connecting yet."""
        from canonry.stores.neo4j import Neo4jDatabase, Neo4jGraph  # noqa: PLC0415 - loads the driver

        self._database = Neo4jDatabase(url, name)
        self._opening = asyncio.Lock()
        self._is_open = False
        self.shown = Neo4jGraph(self._database)
        self._projector = _showing(self.shown, canon)

    async def open(self) -> None:
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
                await self.open()
                await self._projector.keep_up()
            await asyncio.sleep(LOOKS_EVERY)

    async def catch_up(self) -> None:
        """Project everything in the log up to now."""
        await self.open()
        await self._projector.catch_up()

    async def anew(self) -> None:
        """Rebuild it from the log; readers miss items meanwhile."""
        await self.open()
        await self.shown.empty()
        await self._projector.catch_up()

    async def facts(self) -> Mapping[str, str | int]:
        """Return its facts for an operator."""
        try:
            await self.open()
            return await self.shown.facts()
        except Unavailable as error:
            return {"graph": f"away: {error.message}"}

    async def close(self) -> None:
        """Disconnect from the server."""
        await self._database.close()


@dataclass(frozen=True, slots=True)
class DocumentsBeside:
    """Documents for people next to the records, with their projector and their repair."""

    projector: Projector
    mending: "MongoMending"

    async def finish(self) -> None:
        """Project the remaining commits for a short time; the next process projects the rest."""
        with suppress(CanonryError, TimeoutError):
            async with asyncio.timeout(LOOKS_EVERY):
                await self.projector.catch_up()


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedWords:
    """The index of words on a server, with its projector."""

    text: "OpenSearchText"
    projector: Projector

    def beside(self, canon: Canon) -> Canon:
        """Return the canon with its words there; without the server, with the local index."""
        return replace(canon, text=SharedText(self.text, own=canon.text, projector=self.projector))

    async def differing(self, true: AsyncIterator[Mapping[str, Thing]]) -> Sequence[Finding]:
        """Return the passages there that differ from those of the `true` items.

        Raises:
            Unavailable: `text.unavailable`.
        """
        await self.projector.catch_up()
        wrong: list[str] = []
        passages = 0
        async for things in true:
            made = {i: next(passages_of(thing), None) for i, thing in things.items()}
            passages += sum(each is not None for each in made.values())
            wrong += await self.text.differing(made)
        what = "The index of words differs from the records."
        found = [Finding(where=f"words: {each}", what=what) for each in wrong]
        if not found and (there := await self.text.passages()) != passages:
            what = f"The index of words holds {there} passages; the records have {passages}."
            found = [Finding(where="words", what=what)]
        return found

    async def purge(self) -> None:
        """Erase there the data that the log has erased; bytes may remain for some minutes."""
        await self.projector.catch_up()
        await self.text.purge()

    async def anew(self) -> None:
        """Rebuild it from the log."""
        await self.text.drop()
        await self.projector.catch_up()


class RecordsMending(Protocol):
    """Checks the records on a server, and erases data in them."""

    async def check(self, touched: TouchedThere, /) -> Sequence[Finding]:
        """Return faults in the rows next to the commits, given the keys that the commits touch."""

    async def erase(self, space: SpaceId, targets: Sequence[str], /) -> int:
        """Drop payload and salt of every entry about `targets`; return the number of entries."""

    async def facts(self) -> Mapping[str, str | int]:
        """Return the version of the server and its size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerUpkeep(Upkeep):
    """Maintains the records of a server, the copy of this machine, and the views on servers."""

    canon: Canon
    copy: Embedded
    projector: Projector
    follower: Follower
    mending: RecordsMending
    documents: "DocumentsBeside | None"
    graph: GraphBeside | None
    words: OpenedWords | None

    @override
    async def verify(self, told: UpkeepProgress) -> Verification:
        verified = await self._followed(told)
        findings = list(verified.findings)
        if not findings:
            findings += await self.mending.check(self.copy.ledger.touched_by)
            findings += await self._differing()
            findings += await self._differing_graph()
            findings += await self._differing_words()
        return replace(verified, findings=tuple(findings[:_FINDINGS_MAX]))

    async def _followed(self, told: UpkeepProgress) -> Verification:
        """Check the log, then the copy against the log and within itself."""
        findings: list[Finding] = []
        heads: dict[SpaceId, tuple[int, str]] = {}
        commits = 0
        for space, head in (await heads_of(self.projector.ledger)).items():
            previous, position = GENESIS, ORIGIN
            try:
                async for sealed, copied in self._beside(space, head):
                    place = Position(position + 1)
                    fault = fault_in(sealed, position=place, previous=previous)
                    if fault is None and (copied is None or copied.hash != sealed.hash):
                        fault = (
                            "The copy of this machine has another commit there. Delete the copy."
                        )
                    if fault is None and copied is not None and _outlives(copied, sealed):
                        fault = "The copy holds erased data. Run: canonry rebuild"
                    if fault is not None:
                        findings.append(Finding(where=f"{space} at {place}", what=fault))
                    previous, position = sealed.hash, sealed.position
                    commits += 1
                    if commits % _PAGE == 0:
                        told(commits, None)
            except BrokenInvariant as error:
                where = f"{space} after {position}"
                findings.append(Finding(where=where, what=f"It cannot be read: {error.code}"))
            if position < head:
                findings.append(
                    Finding(where=f"{space} after {position}", what="The log ends there.")
                )
            heads[space] = (position, previous)
        copy = await self.copy.upkeep.verify(told)
        findings += [Finding(where=f"copy: {each.where}", what=each.what) for each in copy.findings]
        return Verification(
            commits=commits, things=copy.things, heads=heads, findings=tuple(findings)
        )

    async def _beside(
        self, space: SpaceId, head: Position
    ) -> AsyncIterator[tuple[Sealed, Sealed | None]]:
        """Yield each commit of a space up to `head`, with its copy."""
        after = ORIGIN
        await self.projector.reach(space, head)
        await self.follower.erased()
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

    async def _erase_what_was_erased(self) -> None:
        """Purge from the copy the data that the records erased while the copy was offline."""
        for space, head in (await heads_of(self.projector.ledger)).items():
            async for sealed, copied in self._beside(space, head):
                if copied is not None and _outlives(copied, sealed):
                    await self.copy.upkeep.purge(space, await self._erased_in(space))
                    break

    async def _erased_in(self, space: SpaceId) -> Sequence[str]:
        ledger, after, targets = self.copy.canon.ledger, ORIGIN, set[str]()
        while page := await ledger.read(space, after=after, limit=_PAGE):
            things = await self.copy.canon.state.things(
                needs(e for commit in page for e in commit.entries)
            )
            targets |= {i for i, thing in things.items() if isinstance(thing, Tombstone)}
            after = page[-1].position
        return sorted(targets)

    async def _true(self) -> AsyncIterator[Mapping[str, Thing]]:
        """Yield all items of the copy, each with the last commit that changed it."""
        ledger, state = self.copy.canon.ledger, self.copy.canon.state
        for space in await heads_of(ledger):
            after = ORIGIN
            while page := await ledger.read(space, after=after, limit=_PAGE):
                things = await state.things(needs(e for commit in page for e in commit.entries))
                end = page[-1].position
                yield {i: each for i, each in things.items() if after < each.changed_at <= end}
                after = end

    async def _differing(self) -> Sequence[Finding]:
        """Return faults of the documents that remain when no process writes."""
        if self.documents is None:
            return ()
        wrong, strays = await self._suspects(self.documents)
        if not wrong and not strays:
            return ()
        async with self.canon.ledger.exclusive():
            await self.documents.projector.catch_up()
            things = await self.copy.canon.state.things(wrong)
            found = [
                Finding(where=f"documents: {each}", what="It differs from the records.")
                for each in await self.documents.mending.differing(things)
            ]
            for name, ids in await self._left(strays):
                found += [
                    Finding(where=f"{name}: {each}", what="The records have no such document.")
                    for each in ids
                ]
        return found

    async def _suspects(
        self, documents: "DocumentsBeside"
    ) -> tuple[Sequence[str], Sequence[tuple[str, Sequence[str]]]]:
        """Return differences of a quick check while others may write, up to a limit."""
        wrong: set[str] = set()
        await documents.projector.catch_up()
        async for things in self._true():
            wrong |= set(await documents.mending.differing(things))
        pages = [next(iter(page.items())) async for page in documents.mending.ids()]
        return sorted(wrong), await self._left(pages)

    async def _left(
        self, pages: Sequence[tuple[str, Sequence[str]]]
    ) -> Sequence[tuple[str, Sequence[str]]]:
        """Return the documents without an item, by collection."""
        found: list[tuple[str, Sequence[str]]] = []
        for name, ids in pages:
            there = await self.copy.canon.state.things(ids)
            left = [i for i in ids if i not in there or isinstance(there[i], Tombstone)]
            if left:
                found.append((name, left))
        return found

    @override
    async def glance(self) -> Sequence[Finding]:
        return await self.copy.upkeep.glance()

    @override
    async def rebuild(self, told: UpkeepProgress) -> int:
        await self.projector.catch_up()
        await self._erase_what_was_erased()
        done = await self.copy.upkeep.rebuild(told)
        await self._mend()
        if await self._differing_graph():
            await self._graph_anew()
        if self.words is not None:
            await self.words.anew()
        return done

    async def _differing_graph(self) -> Sequence[Finding]:
        """Return differences of the graph and the copy that remain when no process writes."""
        if self.graph is None:
            return ()
        try:
            await self.graph.catch_up()
        except Unavailable as error:
            return (Finding(where="graph", what=error.message),)
        shown, suspects = self.graph.shown, set[str]()
        async for things in self._true():
            suspects |= set(await shown.differing(things))
        async for ids in shown.ids():
            there = await self.copy.canon.state.things(ids)
            suspects |= {each for each in ids if each not in there}
        async with self.canon.ledger.exclusive():
            await self.projector.catch_up()
            await self.graph.catch_up()
            true = await self.copy.canon.state.things(suspects)
            wrong = await shown.differing(true, sorted(suspects))
        what = "The graph differs from the records."
        return [Finding(where=f"graph: {each}", what=what) for each in wrong]

    async def _differing_words(self) -> Sequence[Finding]:
        """Return differences of the words on a server and the items of the copy."""
        if self.words is None:
            return ()
        try:
            if not await self.words.differing(self._true()):
                return ()
            async with self.canon.ledger.exclusive():
                await self.projector.catch_up()
                return await self.words.differing(self._true())
        except Unavailable as error:
            return (Finding(where="words", what=error.message),)

    async def _graph_anew(self) -> None:
        """Rebuild the graph from the records; readers miss items meanwhile."""
        if self.graph is not None:
            async with self.canon.ledger.exclusive():
                await self.graph.anew()

    async def _mend(self) -> None:
        """Repair wrong documents; others may read meanwhile, and write before and after."""
        if self.documents is None:
            return
        wrong, strays = await self._suspects(self.documents)
        if not wrong and not strays:
            return
        async with self.canon.ledger.exclusive():
            await self.documents.projector.catch_up()
            for start in range(0, len(wrong), _PAGE):
                things = await self.copy.canon.state.things(wrong[start : start + _PAGE])
                await self.documents.mending.put(things)
            for name, ids in await self._left(strays):
                await self.documents.mending.remove(name, ids)

    @override
    async def backup(self, target: Path, told: UpkeepProgress) -> Mapping[SpaceId, tuple[int, str]]:
        return await back_up(self.canon, target, told)

    @override
    async def purge(self, space: SpaceId, targets: Sequence[str]) -> int:
        await self.projector.catch_up()
        dropped = await self.mending.erase(space, targets)
        await self.copy.upkeep.purge(space, targets)
        await self._mend()
        await self._graph_anew()
        if self.words is not None:
            await self.words.purge()
        return dropped

    @override
    async def collect_orphans(self) -> int:
        return await self.copy.upkeep.collect_orphans()

    @override
    async def facts_about_store(self) -> Mapping[str, str | int]:
        copy = await self.copy.upkeep.facts_about_store()
        graph = {} if self.graph is None else await self.graph.facts()
        return {**copy, **graph, **await self.mending.facts()}


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
    def mending(self) -> RecordsMending:
        """Return the check and the erasure of the records."""


S = TypeVar("S", bound=RecordsStore)


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideServers:
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
    graph: GraphBeside | None


async def open_on_server(
    store: S,
    opening: AsyncExitStack,
    *,
    name: str,
    folder: Path,
    clock: Clock,
    identities: Identities,
    policy: Policy | None,
    beside: BesideServers | None,
    filing: Filing | None,
    vectors: Callable[[], Vectors] | None = None,
    documents: "tuple[Projection, MongoMending] | None" = None,
) -> ServerStore[S]:
    """Open the copy of this machine and the views on servers; on failure `opening` closes it.

    Without `filing`, files are next to the copy. `documents` are for people there.

    Raises:
        BrokenInvariant: if the copy is damaged.
        Unavailable: the folder cannot be used.
    """
    beside = beside or BesideServers()
    copy = await open_embedded(folder / COPY, clock=clock, identities=identities, policy=policy)
    opening.push_async_callback(copy.close)
    follower = Follower(log=store.ledger, copy=copy.canon.ledger, purge=copy.upkeep.purge)
    opening.push_async_callback(follower.erased)
    canon = copy.canon
    if filing is not None:
        canon = canon.revise_service(RecordServices, filing=filing)
    canon = over_copy(canon, store.ledger, follower)
    joined = join(canon, copied=copy.canon.ledger)
    opening.push_async_callback(joined.finish)
    shown: DocumentsBeside | None = None
    if documents is not None:
        shown = DocumentsBeside(_showing(documents[0], canon), documents[1])
        opening.push_async_callback(ended, kept_up(shown.projector))
        opening.push_async_callback(shown.finish)
    graph = await _graph(beside.graph, name, canon, opening)
    words = _words(beside, name, canon, opening)
    opening.push_async_callback(ended, kept_up(joined.projector))
    return ServerStore(
        canon=joined.canon if words is None else words.beside(joined.canon),
        upkeep=ServerUpkeep(
            canon=joined.canon,
            copy=copy,
            projector=joined.projector,
            follower=follower,
            mending=store.mending,
            documents=shown,
            graph=graph,
            words=words,
        ),
        close=opening.pop_all().aclose,
        vectors=vectors if beside.meaning is None else partial(_meaning, beside, name),
        store=store,
        copy=copy,
        graph=graph,
    )


def over_copy(copy: Canon, ledger: Ledger, follower: Follower) -> Canon:
    """Return the canon over the records of a server and the views of a copy that follows them."""
    names = ("state", "documents", "text", "catalog", "places")
    views: dict[str, Any] = {name: follower.view(getattr(copy, name)) for name in names}
    return replace(copy, ledger=ledger, **views)


def _showing(view: Projection, canon: Canon) -> Projector:
    """Return the projector of a view on a server, which reads the copy."""
    return Projector(ledger=canon.ledger, state=canon.state, others=(view,))


async def _graph(
    url: str | None, name: str, canon: Canon, opening: AsyncExitStack
) -> GraphBeside | None:
    """Return the graph, kept up to date until `opening` ends; its server may come later."""
    if url is None:
        return None
    graph = GraphBeside(url, name, canon)
    opening.push_async_callback(graph.close)
    try:
        await graph.open()
    except Unavailable as error:
        if error.code != "store.unreachable":
            raise
    opening.push_async_callback(ended, asyncio.create_task(graph.keep_up(), name="graph"))
    return graph


def _meaning(beside: BesideServers, name: str) -> Vectors:
    from canonry.stores.qdrant import open_vectors  # noqa: PLC0415 - loads the client

    return open_vectors(
        beside.meaning or "", identities=SystemIdentities(), api_key=beside.meaning_key, name=name
    )


def _words(
    beside: BesideServers, name: str, canon: Canon, opening: AsyncExitStack
) -> OpenedWords | None:
    """Return the index of words, kept up to date until `opening` ends, as the address's user."""
    if beside.words is None:
        return None
    from canonry.stores.opensearch import open_text  # noqa: PLC0415 - loads the client

    parts = urlsplit(beside.words)
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    text = open_text(bare, user=parts.username, password=beside.words_password, name=name)
    opening.push_async_callback(text.close)
    projector = _showing(text, canon)
    opening.push_async_callback(ended, kept_up(projector))
    return OpenedWords(text=text, projector=projector)

"""A store in MongoDB, with views in a local copy and on servers beside it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from typing_extensions import override

from canonry.app.backends.postgres_copy import COPY, FollowingCopy, ended, kept_up
from canonry.app.embedded import open_embedded
from canonry.app.filing import shared_filing
from canonry.app.moving import back_up
from canonry.app.stores import KeptStore
from canonry.app.system import SystemClock, SystemIdentities
from canonry.canon.session.canon import Canon
from canonry.log.canon import needs
from canonry.log.commits import ORIGIN
from canonry.log.entries import Thing, Tombstone
from canonry.log.ports.blobs import Blobs
from canonry.log.ports.world import Clock, Identities
from canonry.readmodels.follow_log import heads_of
from canonry.readmodels.passages import passages_of
from canonry.readmodels.ports.vectors import Vectors
from canonry.readmodels.ports.view import Finding, Upkeep, UpkeepProgress, Verification
from canonry.records.usecases.services import Filing, RecordServices
from canonry.stores.following.following import LOOKS_EVERY, Follower, Projector, SharedText
from canonry.stores.following.join import Joined, join
from canonry.stores.mongodb import MongoMending, MongoStore, open_store
from canonry.values.errors import CanonryError, Unavailable
from canonry.values.ids import SpaceId
from canonry.values.policy import Policy

if TYPE_CHECKING:
    from canonry.stores.objects import ObjectStore
    from canonry.stores.opensearch import OpenSearchText


BackUp = Callable[[Path, UpkeepProgress], Awaitable[Mapping[SpaceId, tuple[int, str]]]]
_FINDINGS_MAX: Final = 20
_PAGE: Final = 100


class GraphBeside:
    """The graph that people walk through, shown what the state has; nobody else waits for it."""

    def __init__(self, url: str, name: str, canon: Canon) -> None:
        """Show the `canon` in the server at `url` as `name`; nothing is asked of it yet."""
        from canonry.stores.neo4j import Neo4jDatabase, Neo4jGraph  # noqa: PLC0415 - loads the driver

        self._database = Neo4jDatabase(url, name)
        self._opening = asyncio.Lock()
        self._is_open = False
        self.shown = Neo4jGraph(self._database)
        self._projector = Projector(ledger=canon.ledger, state=canon.state, others=(self.shown,))

    async def open(self) -> None:
        """Connect, unless it is; a server that is away may be tried again.

        Raises:
            BrokenInvariant: `store.newer`.
            Unavailable: `store.unreachable` or `store.refused`.
        """
        async with self._opening:
            if not self._is_open:
                await self._database.open()
                self._is_open = True

    async def keep_up(self) -> None:
        """Show what any machine writes, soon after, and whenever the server is there again."""
        while True:
            with suppress(CanonryError):
                await self.open()
                await self._projector.keep_up()
            await asyncio.sleep(LOOKS_EVERY)

    async def catch_up(self) -> None:
        """Show everything that is in the log by now."""
        await self.open()
        await self._projector.catch_up()

    async def anew(self) -> None:
        """Fill it again from the log; whoever walks through it meanwhile misses things."""
        await self.open()
        await self.shown.empty()
        await self._projector.catch_up()

    async def facts(self) -> Mapping[str, str | int]:
        """What an operator is told of it."""
        try:
            await self.open()
            return await self.shown.facts()
        except Unavailable as error:
            return {"graph": f"away: {error.message}"}

    async def close(self) -> None:
        """Let go of the server."""
        await self._database.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedWords:
    """The index of words on a server, with what brings it to where the log is."""

    text: "OpenSearchText"
    projector: Projector

    def beside(self, canon: Canon) -> Canon:
        """The canon, whose words are found there or, while it is away, where they were."""
        return replace(canon, text=SharedText(self.text, own=canon.text, projector=self.projector))

    async def differing(self, true: AsyncIterator[Mapping[str, Thing]]) -> Sequence[Finding]:
        """The passages there that are not those of the `true` things.

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
        what = "the index of words does not hold what the records lead to"
        found = [Finding(where=f"words: {each}", what=what) for each in wrong]
        if not found and (there := await self.text.passages()) != passages:
            what = f"the index of words holds {there} passages, and the records lead to {passages}"
            found = [Finding(where="words", what=what)]
        return found

    async def purge(self) -> None:
        """Erase there what the log has erased; the server may keep its bytes for some minutes."""
        await self.projector.catch_up()
        await self.text.purge()

    async def anew(self) -> None:
        """Fill it again from the log."""
        await self.text.drop()
        await self.projector.catch_up()


class PolyglotUpkeep(Upkeep):
    """Works on an open store."""

    def __init__(
        self,
        *,
        canon: Canon,
        projector: Projector,
        copy: KeptStore,
        mending: MongoMending,
        back_up: BackUp,
        graph: GraphBeside | None = None,
        words: OpenedWords | None = None,
    ) -> None:
        """Compare with `copy`, once `projector` has brought it to where the log is."""
        self._canon = canon
        self._projector = projector
        self._copy = copy
        self._following = FollowingCopy(copy=copy, projector=projector)
        self._mending = mending
        self._back_up = back_up
        self._graph = graph
        self._words = words

    @override
    async def verify(self, told: UpkeepProgress) -> Verification:
        verified = await self._following.verify(told)
        findings = list(verified.findings)
        if not findings:
            findings += await self._differing()
            findings += await self._differing_graph()
            findings += await self._differing_words()
        return replace(verified, findings=tuple(findings[:_FINDINGS_MAX]))

    async def _true(self) -> AsyncIterator[Mapping[str, Thing]]:
        """All things, as the copy shows them, each beside the commit that changed it last."""
        ledger, state = self._copy.canon.ledger, self._copy.canon.state
        for space in await heads_of(ledger):
            after = ORIGIN
            while page := await ledger.read(space, after=after, limit=_PAGE):
                things = await state.things(needs(e for commit in page for e in commit.entries))
                end = page[-1].position
                yield {i: each for i, each in things.items() if after < each.changed_at <= end}
                after = end

    async def _differing(self) -> Sequence[Finding]:
        """What is wrong with the documents, once nobody writes who might explain it."""
        wrong, strays = await self._suspects()
        if not wrong and not strays:
            return ()
        async with self._canon.ledger.exclusive():
            await self._projector.catch_up()
            things = await self._copy.canon.state.things(wrong)
            found = [
                Finding(where=f"documents: {each}", what="it is not what the records lead to")
                for each in await self._mending.differing(things)
            ]
            for name, ids in await self._left(strays):
                found += [
                    Finding(where=f"{name}: {each}", what="the records lead to no such document")
                    for each in ids
                ]
        return found

    async def _suspects(self) -> tuple[Sequence[str], Sequence[tuple[str, Sequence[str]]]]:
        """What differs at a glance, while others may write; at most so many."""
        wrong: set[str] = set()
        async for things in self._true():
            wrong |= set(await self._mending.differing(things))
        pages = [next(iter(page.items())) async for page in self._mending.ids()]
        return sorted(wrong), await self._left(pages)

    async def _left(
        self, pages: Sequence[tuple[str, Sequence[str]]]
    ) -> Sequence[tuple[str, Sequence[str]]]:
        """Those of these documents, by their collection, that no thing stands behind."""
        found: list[tuple[str, Sequence[str]]] = []
        for name, ids in pages:
            there = await self._copy.canon.state.things(ids)
            left = [i for i in ids if i not in there or isinstance(there[i], Tombstone)]
            if left:
                found.append((name, left))
        return found

    @override
    async def glance(self) -> Sequence[Finding]:
        return await self._copy.upkeep.glance()

    @override
    async def rebuild(self, told: UpkeepProgress) -> int:
        await self._projector.catch_up()
        await self._following.erase_what_was_erased()
        done = await self._copy.upkeep.rebuild(told)
        await self._mend()
        if await self._differing_graph():
            await self._graph_anew()
        if self._words is not None:
            await self._words.anew()
        return done

    async def _differing_graph(self) -> Sequence[Finding]:
        """What of the graph is not what the copy shows, once nobody writes who might explain it."""
        if self._graph is None:
            return ()
        try:
            await self._graph.catch_up()
        except Unavailable as error:
            return (Finding(where="graph", what=error.message),)
        shown, suspects = self._graph.shown, set[str]()
        async for things in self._true():
            suspects |= set(await shown.differing(things))
        async for ids in shown.ids():
            there = await self._copy.canon.state.things(ids)
            suspects |= {each for each in ids if each not in there}
        async with self._canon.ledger.exclusive():
            await self._projector.catch_up()
            await self._graph.catch_up()
            true = await self._copy.canon.state.things(suspects)
            wrong = await shown.differing(true, sorted(suspects))
        what = "the graph is not what the records lead to"
        return [Finding(where=f"graph: {each}", what=what) for each in wrong]

    async def _differing_words(self) -> Sequence[Finding]:
        """What of the words on a server is not what the copy's things say."""
        if self._words is None:
            return ()
        try:
            if not await self._words.differing(self._true()):
                return ()
            async with self._canon.ledger.exclusive():
                await self._projector.catch_up()
                return await self._words.differing(self._true())
        except Unavailable as error:
            return (Finding(where="words", what=error.message),)

    async def _graph_anew(self) -> None:
        """Let the graph be filled again from the records; who walks through it misses things."""
        if self._graph is not None:
            async with self._canon.ledger.exclusive():
                await self._graph.anew()

    async def _mend(self) -> None:
        """Make documents right that are not; others read meanwhile, and write before and after."""
        wrong, strays = await self._suspects()
        if not wrong and not strays:
            return
        async with self._canon.ledger.exclusive():
            await self._projector.catch_up()
            for start in range(0, len(wrong), _PAGE):
                things = await self._copy.canon.state.things(wrong[start : start + _PAGE])
                await self._mending.put(things)
            for name, ids in await self._left(strays):
                await self._mending.remove(name, ids)

    @override
    async def backup(self, target: Path, told: UpkeepProgress) -> Mapping[SpaceId, tuple[int, str]]:
        return await self._back_up(target, told)

    @override
    async def purge(self, space: SpaceId, targets: Sequence[str]) -> int:
        await self._projector.catch_up()
        dropped = await self._mending.erase(space, targets)
        await self._copy.upkeep.purge(space, targets)
        await self._mend()
        await self._graph_anew()
        if self._words is not None:
            await self._words.purge()
        return dropped

    @override
    async def collect_orphans(self) -> int:
        return await self._copy.upkeep.collect_orphans()

    @override
    async def facts_about_store(self) -> Mapping[str, str | int]:
        copy = await self._copy.upkeep.facts_about_store()
        graph = {} if self._graph is None else await self._graph.facts()
        return {**copy, **graph, **await self._mending.facts()}


# Open the store in MongoDB: records and documents there, and a copy of the log in each folder.
#
# Many machines may share the records. Each answers what is no document from its own copy, which
# follows the log, and is an embedded store of its own.


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideServers:
    """What lies on servers beside the records, each where it is named; else in the copy.

    A `graph` of the state in Neo4j, for people to walk through; the index of `words` in OpenSearch
    and that of `meaning` in Qdrant, each with its key or password.
    """

    graph: str | None = None
    words: str | None = None
    words_password: str | None = None
    meaning: str | None = None
    meaning_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Polyglot(KeptStore):
    """The same with what holds the records, the blobs of the copy, and the graph, if any."""

    store: MongoStore
    blobs: Blobs
    graph: GraphBeside | None = None


async def open_polyglot(
    url: str,
    *,
    database: str,
    folder: Path,
    password: str | None = None,
    clock: Clock | None = None,
    identities: Identities | None = None,
    policy: Policy | None = None,
    objects: "ObjectStore | None" = None,
    beside: BesideServers | None = None,
) -> Polyglot:
    """Open the store in a database of a MongoDB deployment; this machine's copy is in `folder`.

    Views lie on servers `beside` it, where some are named. Files lie in `objects`, or in `folder`,
    where only this machine has them.

    Raises:
        BrokenInvariant: `store.newer`, or what is wrong with the copy.
        InvalidInput: `store.bad-url`.
        Unavailable: `store.unreachable`, or the folder cannot be used.
    """
    the_clock, the_identities = clock or SystemClock(), identities or SystemIdentities()
    beside = beside or BesideServers()
    async with AsyncExitStack() as opening:
        store = await open_store(
            url, clock=the_clock, identities=the_identities, name=database, password=password
        )
        opening.push_async_callback(store.close)
        copy = await open_embedded(
            folder / COPY, clock=the_clock, identities=the_identities, policy=policy
        )
        opening.push_async_callback(copy.close)
        follower = Follower(log=store.ledger, copy=copy.canon.ledger, purge=copy.upkeep.purge)
        opening.push_async_callback(follower.close)
        canon = _over(store, copy.canon, follower, _filing(objects, folder, the_identities))
        joined = join(canon, copied=copy.canon.ledger)
        opening.push_async_callback(joined.finish)
        graph = await _graph(beside.graph, database, canon, opening)
        words = _words(beside, database, canon, opening)
        opening.push_async_callback(ended, kept_up(joined.projector))
        closing = opening.pop_all()
    return Polyglot(
        canon=joined.canon if words is None else words.beside(joined.canon),
        upkeep=_upkeep(joined, copy, store, graph, words),
        close=closing.aclose,
        store=store,
        blobs=copy.blobs,
        graph=graph,
        vectors=None if beside.meaning is None else partial(_meaning, beside, database),
    )


def _upkeep(
    joined: Joined[Canon],
    copy: KeptStore,
    store: MongoStore,
    graph: GraphBeside | None,
    words: OpenedWords | None,
) -> PolyglotUpkeep:
    return PolyglotUpkeep(
        canon=joined.canon,
        projector=joined.projector,
        copy=copy,
        mending=MongoMending(store.database),
        back_up=partial(back_up, joined.canon),
        graph=graph,
        words=words,
    )


async def _graph(
    url: str | None, name: str, canon: Canon, opening: AsyncExitStack
) -> GraphBeside | None:
    """The graph, kept up until `opening` ends; its server may be away by now, and come later."""
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
    """The index of words, kept up until `opening` ends; its user is whom the address names."""
    if beside.words is None:
        return None
    from canonry.stores.opensearch import open_text  # noqa: PLC0415 - loads the client

    parts = urlsplit(beside.words)
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    text = open_text(bare, user=parts.username, password=beside.words_password, name=name)
    opening.push_async_callback(text.close)
    projector = Projector(ledger=canon.ledger, state=canon.state, others=(text,))
    opening.push_async_callback(ended, kept_up(projector))
    return OpenedWords(text=text, projector=projector)


def _over(store: MongoStore, copy: Canon, follower: Follower, filing: Filing | None) -> Canon:
    """Records and documents of the store, and the other views of the copy."""
    canon = replace(
        copy,
        ledger=store.ledger,
        state=follower.view(copy.state),
        documents=store.documents,
        text=follower.view(copy.text),
        catalog=follower.view(copy.catalog),
        places=follower.view(copy.places),
    )
    return canon if filing is None else canon.revise_service(RecordServices, filing=filing)


def _filing(objects: "ObjectStore | None", folder: Path, identities: Identities) -> Filing | None:
    """Files in an object store; None: they lie beside the copy."""
    if objects is None:
        return None
    return shared_filing(
        folder,
        identities,
        blobs_of=lambda user_id: objects.of(user_id.lower()),
        users=objects.owners,
        stored_at=lambda user_id, digest: objects.of(user_id.lower()).stored_at(digest),
    )

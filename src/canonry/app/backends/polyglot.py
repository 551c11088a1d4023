"""Open the store in MongoDB: records and documents there, and a copy of the log in each folder.

Many machines may share the records. Each answers what is no document from its own copy, which
follows the log, and is an embedded store of its own.
"""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from canonry.app.backends.following_copy import COPY, ended, kept_up
from canonry.app.backends.polyglot_upkeep import GraphBeside, OpenedWords, PolyglotUpkeep
from canonry.app.embedded import open_embedded
from canonry.app.filing import shared_filing
from canonry.app.moving import back_up
from canonry.app.stores import KeptStore
from canonry.app.system import SystemClock, SystemIdentities
from canonry.canon.session.canon import Canon
from canonry.log.ports.blobs import Blobs
from canonry.log.ports.world import Clock, Identities
from canonry.readmodels.ports.vectors import Vectors
from canonry.records.usecases.filing import Filing
from canonry.records.usecases.services import RecordServices
from canonry.stores.following.following import Follower
from canonry.stores.following.join import Joined, join
from canonry.stores.following.projector import Projector
from canonry.stores.mongodb import MongoMending, MongoStore, open_store
from canonry.values.errors import Unavailable
from canonry.values.policy import Policy

if TYPE_CHECKING:
    from canonry.stores.objects import ObjectStore


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
        graph = await _graph(beside.graph, database, store, opening)
        follower = Follower(log=store.ledger, copy=copy.canon.ledger, purge=copy.upkeep.purge)
        opening.push_async_callback(follower.close)
        canon = _over(store, copy.canon, follower, _filing(objects, folder, the_identities))
        joined = join(canon, copied=copy.canon.ledger)
        opening.push_async_callback(joined.finish)
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
    url: str | None, name: str, store: MongoStore, opening: AsyncExitStack
) -> GraphBeside | None:
    """The graph, kept up until `opening` ends; its server may be away by now, and come later."""
    if url is None:
        return None
    graph = GraphBeside(url, name, store.ledger)
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

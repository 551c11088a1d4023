"""Compose a canon from the ports of an engine, and the services of the installed packages."""

from dataclasses import dataclass

from canonry.app.packages import is_installed, with_packages
from canonry.app.store_files import memory_filing
from canonry.app.system import SystemClock, SystemIdentities
from canonry.canon.ports.files import DocumentReader
from canonry.canon.session.canon import Canon
from canonry.log.ports.ledger import Ledger, Sealer
from canonry.log.ports.world import Clock, Identities
from canonry.log.schemas.narrative import use_attributes
from canonry.readmodels.ports.documents import Catalog, Documents, Engine, Places
from canonry.readmodels.ports.state import State
from canonry.readmodels.ports.text import Text
from canonry.records.usecases.files import Filing, RecordServices
from canonry.values.policy import Policy


def compose_canon(
    engine: Engine, *, clock: Clock, identities: Identities, policy: Policy | None, filing: Filing
) -> Canon:
    """Return the canon over an engine, with the services of the installed packages."""
    policy = policy or Policy()
    use_attributes(policy.attributes)
    canon = Canon(
        ledger=engine.ledger,
        state=engine.state,
        documents=engine.documents,
        text=engine.text,
        catalog=engine.catalog,
        places=engine.places,
        clock=clock,
        identities=identities,
        policy=policy,
        reader=_document_reader(),
    )
    return with_packages(canon.with_service(RecordServices(filing=filing)))


def compose_memory(
    *,
    clock: Clock | None = None,
    identities: Identities | None = None,
    policy: Policy | None = None,
) -> Canon:
    """Return a canon in memory, for tests and trials."""
    from canonry.stores.memory import (  # noqa: PLC0415 - a store on disk needs none of it
        MemoryCatalog,
        MemoryDocuments,
        MemoryLedger,
        MemoryPlaces,
        MemoryState,
        MemoryStore,
        MemoryText,
    )

    store, the_clock = MemoryStore(), clock or SystemClock()
    the_identities = identities or SystemIdentities()
    engine = _Ports(
        ledger=MemoryLedger(store, Sealer(the_clock, the_identities)),
        state=MemoryState(store),
        documents=MemoryDocuments(store),
        text=MemoryText(store),
        catalog=MemoryCatalog(store),
        places=MemoryPlaces(store),
    )
    return compose_canon(
        engine,
        clock=the_clock,
        identities=the_identities,
        policy=policy,
        filing=memory_filing(the_identities),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ports:
    ledger: Ledger
    state: State
    documents: Documents
    text: Text
    catalog: Catalog
    places: Places


def _document_reader() -> DocumentReader:
    if is_installed("documents"):
        from canonry.documents.readers import LocalReader  # noqa: PLC0415 - it can be left out

        return LocalReader()
    from canonry.app.store_files import PlainReader  # noqa: PLC0415 - as before

    return PlainReader()

"""Compose a canon from concrete parts."""

from canonry.app.filing import memory_filing
from canonry.app.system import SystemClock, SystemIdentities
from canonry.canon.session.canon import Canon
from canonry.documents.readers import LocalReader
from canonry.log.ports.sealer import Sealer
from canonry.log.ports.world import Clock, Identities
from canonry.stores.memory import (
    MemoryCatalog,
    MemoryDocuments,
    MemoryLedger,
    MemoryPlaces,
    MemoryState,
    MemoryStore,
    MemoryText,
)
from canonry.values.policy import Policy
from canonry.world.rules.srd import SrdRulebook


def compose_memory(
    *,
    clock: Clock | None = None,
    identities: Identities | None = None,
    policy: Policy | None = None,
) -> Canon:
    """A canon that lives as long as this process: for tests and trials."""
    store = MemoryStore()
    the_clock = clock or SystemClock()
    the_identities = identities or SystemIdentities()
    return Canon(
        ledger=MemoryLedger(store, Sealer(the_clock, the_identities)),
        state=MemoryState(store),
        documents=MemoryDocuments(store),
        text=MemoryText(store),
        catalog=MemoryCatalog(store),
        places=MemoryPlaces(store),
        clock=the_clock,
        identities=the_identities,
        policy=policy or Policy(),
        reader=LocalReader(),
        filing=memory_filing(the_identities),
        rulebook=SrdRulebook(),
    )

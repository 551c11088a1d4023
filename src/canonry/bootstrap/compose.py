"""Compose a canon from concrete parts."""

from canonry.adapters.memory import (
    MemoryCatalog,
    MemoryDocuments,
    MemoryLedger,
    MemoryPlaces,
    MemoryState,
    MemoryStore,
    MemoryText,
)
from canonry.adapters.readers import LocalReader
from canonry.adapters.rules.srd import SrdRulebook
from canonry.adapters.system import SystemClock, SystemIdentities
from canonry.bootstrap.filing import memory_filing
from canonry.domain.policy import Policy
from canonry.ports.records.sealer import Sealer
from canonry.ports.world import Clock, Identities
from canonry.usecases.kernel.canon import Canon


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

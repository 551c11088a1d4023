"""The memory backend: the executable specification, the shortest code that keeps every promise."""

from canonry.stores.memory.blobs import MemoryBlobs
from canonry.stores.memory.catalog import MemoryCatalog
from canonry.stores.memory.documents import MemoryDocuments
from canonry.stores.memory.ledger import MemoryLedger
from canonry.stores.memory.places import MemoryPlaces
from canonry.stores.memory.state import MemoryState
from canonry.stores.memory.store import MemoryStore
from canonry.stores.memory.text import MemoryText
from canonry.stores.memory.vectors import MemoryVectors

__all__ = [
    "MemoryBlobs",
    "MemoryCatalog",
    "MemoryDocuments",
    "MemoryLedger",
    "MemoryPlaces",
    "MemoryState",
    "MemoryStore",
    "MemoryText",
    "MemoryVectors",
]

"""The memory backend: the executable specification, the shortest code that keeps every promise."""

from canonry.adapters.memory.blobs import MemoryBlobs
from canonry.adapters.memory.catalog import MemoryCatalog
from canonry.adapters.memory.documents import MemoryDocuments
from canonry.adapters.memory.ledger import MemoryLedger
from canonry.adapters.memory.places import MemoryPlaces
from canonry.adapters.memory.state import MemoryState
from canonry.adapters.memory.store import MemoryStore
from canonry.adapters.memory.text import MemoryText
from canonry.adapters.memory.vectors import MemoryVectors

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

"""The memory backend: an executable specification, the shortest code that keeps every promise."""

from canonry.stores.memory.ledger import MemoryBlobs, MemoryLedger, MemoryStore
from canonry.stores.memory.views import (
    MemoryCatalog,
    MemoryDocuments,
    MemoryPlaces,
    MemoryState,
    MemoryText,
)

__all__ = [
    "MemoryBlobs",
    "MemoryCatalog",
    "MemoryDocuments",
    "MemoryLedger",
    "MemoryPlaces",
    "MemoryState",
    "MemoryStore",
    "MemoryText",
]

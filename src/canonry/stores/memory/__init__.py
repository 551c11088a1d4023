"""The memory backend: an executable specification, the shortest code that keeps every promise."""

from canonry.stores.memory.ledger import MemoryBlobs as MemoryBlobs
from canonry.stores.memory.ledger import MemoryLedger as MemoryLedger
from canonry.stores.memory.ledger import MemoryStore as MemoryStore
from canonry.stores.memory.views import MemoryCatalog as MemoryCatalog
from canonry.stores.memory.views import MemoryDocuments as MemoryDocuments
from canonry.stores.memory.views import MemoryPlaces as MemoryPlaces
from canonry.stores.memory.views import MemoryState as MemoryState
from canonry.stores.memory.views import MemoryText as MemoryText

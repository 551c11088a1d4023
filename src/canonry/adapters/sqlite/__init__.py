"""The embedded backend: records and views in one SQLite file, changed in one transaction."""

from canonry.adapters.sqlite.connections import Durability
from canonry.adapters.sqlite.reading import SealedStore, open_sealed
from canonry.adapters.sqlite.store import SqliteStore, open_store
from canonry.adapters.sqlite.upkeep.upkeep import SqliteUpkeep

__all__ = [
    "Durability",
    "SealedStore",
    "SqliteStore",
    "SqliteUpkeep",
    "open_sealed",
    "open_store",
]

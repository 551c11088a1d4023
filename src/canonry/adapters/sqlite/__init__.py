"""The embedded backend: records and views in one SQLite file, changed in one transaction."""

from canonry.adapters.sqlite.connections import Durability
from canonry.adapters.sqlite.store import SqliteStore, open_store
from canonry.adapters.sqlite.upkeep import SqliteUpkeep

__all__ = ["Durability", "SqliteStore", "SqliteUpkeep", "open_store"]

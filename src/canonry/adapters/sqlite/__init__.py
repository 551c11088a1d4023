"""The embedded backend: records and views in one SQLite file, changed in one transaction."""

from canonry.adapters.sqlite.connections import Durability
from canonry.adapters.sqlite.reading import UNWRITABLE, SealedStore, open_sealed
from canonry.adapters.sqlite.store import SqliteStore, open_store
from canonry.adapters.sqlite.upkeep.looking import LookingUpkeep
from canonry.adapters.sqlite.upkeep.schema_check import check_file, check_store_file
from canonry.adapters.sqlite.upkeep.upkeep import SqliteUpkeep

__all__ = [
    "UNWRITABLE",
    "Durability",
    "LookingUpkeep",
    "SealedStore",
    "SqliteStore",
    "SqliteUpkeep",
    "check_file",
    "check_store_file",
    "open_sealed",
    "open_store",
]

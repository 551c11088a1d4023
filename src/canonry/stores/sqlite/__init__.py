"""The embedded backend: records and views in one SQLite file, changed in one transaction."""

from canonry.stores.sqlite.connections import Durability
from canonry.stores.sqlite.ledger import SqliteLedger
from canonry.stores.sqlite.store import (
    UNWRITABLE,
    SealedStore,
    SqliteStore,
    open_sealed,
    open_store,
)
from canonry.stores.sqlite.upkeep import LookingUpkeep, SqliteUpkeep
from canonry.stores.sqlite.verification import check_file, check_store_file

__all__ = [
    "UNWRITABLE",
    "Durability",
    "LookingUpkeep",
    "SealedStore",
    "SqliteLedger",
    "SqliteStore",
    "SqliteUpkeep",
    "check_file",
    "check_store_file",
    "open_sealed",
    "open_store",
]

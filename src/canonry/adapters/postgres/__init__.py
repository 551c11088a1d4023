"""The backend for many processes: records and views in one PostgreSQL database."""

from canonry.adapters.postgres.blobs import PostgresBlobs, owners_of_blobs
from canonry.adapters.postgres.database import Database
from canonry.adapters.postgres.store import PostgresStore, open_store
from canonry.adapters.postgres.upkeep.upkeep import PostgresUpkeep
from canonry.adapters.postgres.vectors import PostgresVectors

__all__ = [
    "Database",
    "PostgresBlobs",
    "PostgresStore",
    "PostgresUpkeep",
    "PostgresVectors",
    "open_store",
    "owners_of_blobs",
]

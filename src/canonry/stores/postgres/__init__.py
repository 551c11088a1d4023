"""Records and blobs of many machines in PostgreSQL, and vectors if pgvector is installed."""

from canonry.stores.postgres.database import Database
from canonry.stores.postgres.shards.servers import Shards
from canonry.stores.postgres.shards.store import MovedSpace, ShardedStore, move_space, open_store
from canonry.stores.postgres.store import PostgresBlobs, PostgresStore, owners_of_blobs
from canonry.stores.postgres.vectors import PostgresVectors

__all__ = [
    "Database",
    "MovedSpace",
    "PostgresBlobs",
    "PostgresStore",
    "PostgresVectors",
    "ShardedStore",
    "Shards",
    "move_space",
    "open_store",
    "owners_of_blobs",
]

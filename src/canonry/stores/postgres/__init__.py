"""The backend for many processes: records and views in one PostgreSQL database."""

from canonry.stores.postgres.database import Database
from canonry.stores.postgres.shards.moving import MovedSpace, move_space
from canonry.stores.postgres.shards.servers import Shards
from canonry.stores.postgres.shards.views import ShardedStore, ShardedUpkeep, open_shards
from canonry.stores.postgres.store import PostgresBlobs, PostgresStore, open_store, owners_of_blobs
from canonry.stores.postgres.upkeep import PostgresUpkeep
from canonry.stores.postgres.vectors import PostgresVectors

__all__ = [
    "Database",
    "MovedSpace",
    "PostgresBlobs",
    "PostgresStore",
    "PostgresUpkeep",
    "PostgresVectors",
    "ShardedStore",
    "ShardedUpkeep",
    "Shards",
    "move_space",
    "open_shards",
    "open_store",
    "owners_of_blobs",
]

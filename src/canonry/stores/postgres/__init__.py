"""The backend for many processes: records and views in one PostgreSQL database."""

from canonry.stores.postgres.blobs import PostgresBlobs, owners_of_blobs
from canonry.stores.postgres.database import Database
from canonry.stores.postgres.shards.moving import MovedSpace, move_space
from canonry.stores.postgres.shards.servers import Shards
from canonry.stores.postgres.shards.store import ShardedStore, open_shards
from canonry.stores.postgres.shards.upkeep import ShardedUpkeep
from canonry.stores.postgres.store import PostgresStore, open_store
from canonry.stores.postgres.upkeep.upkeep import PostgresUpkeep
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

"""The backend for many processes: records and views in one PostgreSQL database."""

from canonry.adapters.postgres.blobs import PostgresBlobs, owners_of_blobs
from canonry.adapters.postgres.database import Database
from canonry.adapters.postgres.shards.moving import MovedSpace, move_space
from canonry.adapters.postgres.shards.servers import Shards
from canonry.adapters.postgres.shards.store import ShardedStore, open_shards
from canonry.adapters.postgres.shards.upkeep import ShardedUpkeep
from canonry.adapters.postgres.store import PostgresStore, open_store
from canonry.adapters.postgres.upkeep.upkeep import PostgresUpkeep
from canonry.adapters.postgres.vectors import PostgresVectors

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

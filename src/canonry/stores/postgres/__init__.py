"""Records and blobs of many machines in PostgreSQL, and vectors if pgvector is installed."""

from canonry.stores.postgres.database import Database as Database
from canonry.stores.postgres.shards.move_space import MovedSpace as MovedSpace
from canonry.stores.postgres.shards.move_space import move_space as move_space
from canonry.stores.postgres.shards.servers import Shards as Shards
from canonry.stores.postgres.shards.store import ShardedStore as ShardedStore
from canonry.stores.postgres.shards.store import open_store as open_store
from canonry.stores.postgres.store import PostgresBlobs as PostgresBlobs
from canonry.stores.postgres.store import PostgresStore as PostgresStore
from canonry.stores.postgres.store import owners_of_blobs as owners_of_blobs
from canonry.stores.postgres.vectors import PostgresVectors as PostgresVectors

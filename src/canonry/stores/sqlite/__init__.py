"""The embedded backend: records and views in one SQLite file, changed in one transaction."""

from canonry.stores.sqlite.connections import Durability as Durability
from canonry.stores.sqlite.ledger import SqliteLedger as SqliteLedger
from canonry.stores.sqlite.maintenance import ReadOnlyMaintenance as ReadOnlyMaintenance
from canonry.stores.sqlite.maintenance import SqliteMaintenance as SqliteMaintenance
from canonry.stores.sqlite.store import UNWRITABLE as UNWRITABLE
from canonry.stores.sqlite.store import SealedStore as SealedStore
from canonry.stores.sqlite.store import SqliteStore as SqliteStore
from canonry.stores.sqlite.store import open_sealed as open_sealed
from canonry.stores.sqlite.store import open_store as open_store
from canonry.stores.sqlite.verification import check_file as check_file
from canonry.stores.sqlite.verification import check_store_file as check_store_file

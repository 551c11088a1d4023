"""Records and documents in MongoDB. Other engines store the other views."""

from canonry.stores.mongodb.database import MongoDatabase as MongoDatabase
from canonry.stores.mongodb.ledger import MongoLedger as MongoLedger
from canonry.stores.mongodb.store import MongoDocuments as MongoDocuments
from canonry.stores.mongodb.store import MongoMaintenance as MongoMaintenance
from canonry.stores.mongodb.store import MongoStore as MongoStore
from canonry.stores.mongodb.store import open_store as open_store

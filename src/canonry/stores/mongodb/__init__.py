"""Records and documents in MongoDB. Other engines store the other views."""

from canonry.stores.mongodb.database import MongoDatabase
from canonry.stores.mongodb.ledger import MongoLedger
from canonry.stores.mongodb.store import MongoDocuments, MongoMending, MongoStore, open_store

__all__ = [
    "MongoDatabase",
    "MongoDocuments",
    "MongoLedger",
    "MongoMending",
    "MongoStore",
    "open_store",
]

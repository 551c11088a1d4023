"""Records and documents in MongoDB; the other views are kept by other engines."""

from canonry.adapters.mongodb.database import MongoDatabase
from canonry.adapters.mongodb.documents import MongoDocuments
from canonry.adapters.mongodb.ledger import MongoLedger
from canonry.adapters.mongodb.mending import MongoMending
from canonry.adapters.mongodb.store import MongoStore, open_store

__all__ = [
    "MongoDatabase",
    "MongoDocuments",
    "MongoLedger",
    "MongoMending",
    "MongoStore",
    "open_store",
]

"""The embedded vector index: rows in a SQLite file, and a mapped file for exact search."""

from canonry.recall.vectors.index import FolderVectors
from canonry.recall.vectors.rows import SCHEMA

__all__ = ["SCHEMA", "FolderVectors"]

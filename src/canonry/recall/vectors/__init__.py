"""The embedded vector index: vectors in a SQLite file, and a mapped file that is fast to search."""

from canonry.recall.vectors.index import FolderVectors
from canonry.recall.vectors.rows import SCHEMA

__all__ = ["SCHEMA", "FolderVectors"]

"""The embedded vector index: vectors in a SQLite file, and a mapped file that is fast to search."""

from canonry.adapters.vectors.index import FolderVectors
from canonry.adapters.vectors.rows import SCHEMA

__all__ = ["SCHEMA", "FolderVectors"]

"""The embedded vector index: vectors in a SQLite file, and a mapped copy that is searched whole."""

from canonry.recall.vectors.index import FolderVectors
from canonry.recall.vectors.rows import SCHEMA

__all__ = ["SCHEMA", "FolderVectors"]

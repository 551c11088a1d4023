"""The embedded vector index: vectors in a SQLite file, and a mapped file that is fast to search."""

from canonry.adapters.vectors.index import FolderVectors

__all__ = ["FolderVectors"]

"""The embedded vector index: vectors in a SQLite file, and a mapped file that makes them fast."""

from canonry.adapters.vectors.index import FolderVectors

__all__ = ["FolderVectors"]

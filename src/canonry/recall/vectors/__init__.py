"""The embedded vector index: rows in a SQLite file, and a mapped file for exact search."""

from canonry.recall.vectors.index import FolderVectors as FolderVectors
from canonry.recall.vectors.rows import SCHEMA as SCHEMA

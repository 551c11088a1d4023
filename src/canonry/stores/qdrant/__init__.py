"""Vectors in Qdrant: `open_vectors` opens the vector view on a server."""

from canonry.stores.qdrant.vectors import QdrantVectors as QdrantVectors
from canonry.stores.qdrant.vectors import open_vectors as open_vectors

"""Vectors in Qdrant: `open_vectors` opens the vector view on a server."""

from canonry.stores.qdrant.vectors import QdrantVectors, open_vectors

__all__ = ["QdrantVectors", "open_vectors"]

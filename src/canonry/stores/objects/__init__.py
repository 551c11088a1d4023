"""Blobs in an S3 object store, which many machines share."""

from canonry.stores.objects.blobs import ObjectBlobs, ObjectStore

__all__ = ["ObjectBlobs", "ObjectStore"]

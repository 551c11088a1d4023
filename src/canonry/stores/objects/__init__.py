"""Bytes in an object store that speaks S3, which many machines share."""

from canonry.stores.objects.blobs import ObjectBlobs, ObjectStore

__all__ = ["ObjectBlobs", "ObjectStore"]

"""Blobs in an S3 object store, which many machines share."""

from canonry.stores.objects.blobs import ObjectBlobs as ObjectBlobs
from canonry.stores.objects.blobs import ObjectStore as ObjectStore

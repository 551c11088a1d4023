"""A plain folder as a place for blobs."""

from canonry.adapters.folder.blobs import FolderBlobs

__all__ = ["FolderBlobs"]

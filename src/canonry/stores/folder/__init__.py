"""Plain folders: blobs, signing keys, and local files that a caller may name."""

from canonry.stores.folder.blobs import FolderBlobs, FolderLocalFiles, kept_key, sync_folder

__all__ = ["FolderBlobs", "FolderLocalFiles", "kept_key", "sync_folder"]

"""Plain folders: a place for blobs, a key of one's own, and files that a caller may name."""

from canonry.stores.folder.blobs import FolderBlobs, FolderLocalFiles, kept_key, sync_folder

__all__ = ["FolderBlobs", "FolderLocalFiles", "kept_key", "sync_folder"]

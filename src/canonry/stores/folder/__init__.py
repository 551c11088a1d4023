"""Plain folders: a place for blobs, a key of one's own, and files that a caller may name."""

from canonry.stores.folder.blobs import FolderBlobs, sync_folder
from canonry.stores.folder.keys import kept_key
from canonry.stores.folder.local_files import FolderLocalFiles

__all__ = ["FolderBlobs", "FolderLocalFiles", "kept_key", "sync_folder"]

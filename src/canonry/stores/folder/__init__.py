"""Plain folders: blobs, signing keys, and local files that a caller may name."""

from canonry.stores.folder.blobs import FolderBlobs as FolderBlobs
from canonry.stores.folder.blobs import FolderLocalFiles as FolderLocalFiles
from canonry.stores.folder.blobs import read_key as read_key
from canonry.stores.folder.blobs import sync_folder as sync_folder

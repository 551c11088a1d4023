"""Parser of ZIP archives, which are measured first. Their members are files of their own."""

import io
import zipfile
from typing import Final

from canonry.documents.parsers.findings import Fault, Findings

PACKED: Final = b"PK\x03\x04"
"""The signature of an archive."""

_ENTRIES_MAX: Final = 10_000  # against archives whose directory alone fills the memory
_RATIO_MAX: Final = 200  # against bombs, whose members repeat one byte
_RATIO_FROM: Final = 4 * 1024 * 1024  # the size from which the compression ratio is checked

_OF_SYSTEMS: Final = ("__MACOSX/", ".DS_Store", "Thumbs.db", "desktop.ini")
"""Files that operating systems add to archives."""


def read_zip(data: bytes, found: Findings) -> None:
    """Read an archive: its list of names and its members."""
    check_archive(data, found.bounds.inflated)
    names = []
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for entry in archive.infolist():
            name = entry.filename
            if entry.is_dir() or name.startswith(_OF_SYSTEMS) or name.endswith(_OF_SYSTEMS):
                continue
            names.append(name)
            found.add_member(name, "", archive.read(entry))
    found.add_text("\n".join(names))


def check_archive(data: bytes, most: int) -> None:
    """Unpack an archive without storing anything, because its directory can be false.

    Raises:
        Fault: `bomb` or `encrypted`.
    """
    left = most
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
        if len(entries) > _ENTRIES_MAX or sum(entry.file_size for entry in entries) > most:
            raise Fault("bomb")
        for entry in entries:
            if entry.flag_bits & 1:
                raise Fault("encrypted")
            if entry.file_size > max(_RATIO_FROM, _RATIO_MAX * entry.compress_size):
                raise Fault("bomb")
            with archive.open(entry) as file:
                while piece := file.read(1 << 20):
                    left -= len(piece)
                    if left < 0:
                        raise Fault("bomb")

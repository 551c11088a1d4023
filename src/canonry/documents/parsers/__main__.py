"""The process that parses one file: bytes in, JSON out; it may be killed at any moment.

Arguments: kind, characters, cells, inflated bytes, seconds. It imports of Canonry only this folder.
"""

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from canonry.documents.parsers.findings import Bounds, Findings, answer

_MEMORY_OF: Final = (1 << 30, 4 << 30)
"""How much memory a parser may take, and how much one of images."""

_PARSERS: Final = {
    "html": "markup",
    "xlsx": "office",
    "docx": "office",
    "odt": "office",
    "pptx": "office",
    "rtf": "office",
    "epub": "office",
    "zip": "archives",
    "eml": "mail",
    "mbox": "mail",
    "msg": "outlook",
    "vcf": "cards",
    "ics": "calendars",
    "image": "images",
    "scan": "images",
    "xml": "exchanged",
    "mt940": "banks",
    "ofx": "banks",
    "qif": "banks",
}


def main() -> None:
    """Take kind and bounds from the arguments and the file from standard input."""
    kind = sys.argv[1]
    characters, cells, inflated, seconds = map(int, sys.argv[2:6])

    def said(data: bytes) -> Mapping[str, Any]:
        found = Findings(Bounds(characters=characters, cells=cells, inflated=inflated))
        import_module(f"canonry.documents.parsers.{_PARSERS[kind]}").parse(kind, data, found)
        return found.said()

    answer(said, seconds=seconds, memory=_MEMORY_OF[_PARSERS[kind] == "images"])


if __name__ == "__main__":
    main()

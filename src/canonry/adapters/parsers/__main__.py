"""The process that parses one file: bytes in, JSON out; it may be killed at any moment.

Arguments: kind, characters, cells, inflated bytes, seconds. It imports of Canonry only this folder.
"""

import json
import logging
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Final

from canonry.adapters.parsers.findings import Bounds, Fault, Findings

_MEMORY: Final = 1 << 30
_MEMORY_OF_IMAGES: Final = 4 << 30
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
    logging.disable(logging.CRITICAL)
    data = sys.stdin.buffer.read()
    wire, sys.stdout = sys.stdout, sys.stderr  # a library may print
    found = Findings(Bounds(characters=characters, cells=cells, inflated=inflated))
    try:
        parse: Callable[[str, bytes, Findings], None]
        parse = import_module(f"canonry.adapters.parsers.{_PARSERS[kind]}").parse
        _confine(seconds, _MEMORY_OF_IMAGES if _PARSERS[kind] == "images" else _MEMORY)
        parse(kind, data, found)
        said = found.said()
    except Fault as fault:
        said = {"fault": fault.name}
    except Exception:  # noqa: BLE001 - whatever a parser meets in a damaged file
        said = {"fault": "damaged"}
    wire.buffer.write(json.dumps(said).encode())


def _confine(seconds: int, memory: int) -> None:
    """Where the system can, bound what this process may take."""
    if sys.platform != "win32":
        import resource  # noqa: PLC0415 - absent on Windows

        for limit, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, seconds)):
            with suppress(ValueError, OSError):  # an outer limit may be lower
                resource.setrlimit(limit, (most, most))


if __name__ == "__main__":
    main()

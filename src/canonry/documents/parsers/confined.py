"""What every process that parses is: bounded as far as the system can, bytes in and JSON out."""

import json
import logging
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from canonry.documents.parsers.findings import Fault

_MEMORY: Final = 1 << 30


def answer(
    parse: Callable[[bytes], Mapping[str, Any]], *, seconds: int, memory: int = _MEMORY
) -> None:
    """Say on standard output what `parse` says of what comes from standard input, or its fault."""
    logging.disable(logging.CRITICAL)
    data = sys.stdin.buffer.read()
    wire, sys.stdout = sys.stdout, sys.stderr  # a library may print
    _confine(seconds, memory)
    said: Mapping[str, Any]
    try:
        said = parse(data)
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

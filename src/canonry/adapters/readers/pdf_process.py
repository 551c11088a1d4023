"""The process that parses one PDF: bytes in, JSON out; it may be killed at any moment.

It is run as a script and imports nothing of Canonry, so that it starts quickly.
"""

import io
import json
import logging
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from pypdf import PdfReader
from pypdf.generic import Destination

_MEMORY: Final = 1 << 30
_TITLE_MAX: Final = 200


def main() -> None:
    """Take the bounds from the arguments and the PDF from standard input."""
    pages, characters, seconds = map(int, sys.argv[1:4])
    _confine(seconds)
    logging.disable(logging.CRITICAL)
    data = sys.stdin.buffer.read()
    try:
        said = _read(data, pages, characters)
    except Exception:  # noqa: BLE001 - whatever the parser meets in a damaged file
        said = {"fault": "damaged"}
    sys.stdout.buffer.write(json.dumps(said).encode())


def _confine(seconds: int) -> None:
    """Where the system can, bound what this process may take."""
    if sys.platform != "win32":
        import resource  # noqa: PLC0415 - absent on Windows

        for limit, most in ((resource.RLIMIT_AS, _MEMORY), (resource.RLIMIT_CPU, seconds)):
            with suppress(ValueError, OSError):  # an outer limit may be lower
                resource.setrlimit(limit, (most, most))


def _read(data: bytes, pages_max: int, characters_max: int) -> dict[str, Any]:
    reader = PdfReader(io.BytesIO(data))
    # Files that only restrict printing open with the empty password.
    if reader.is_encrypted and not reader.decrypt(""):
        return {"fault": "encrypted"}
    if len(reader.pages) > pages_max:
        return {"fault": "pages"}
    titles = _titles(reader)
    pages: list[tuple[int, str | None, str]] = []
    title: str | None = None
    left = characters_max
    for number, page in enumerate(reader.pages, 1):
        title = titles.get(number, title)
        text = _clean(page.extract_text())
        left -= len(text)
        if left < 0:
            return {"fault": "characters"}
        pages.append((number, title, text))
    return {"pages": pages}


def _titles(reader: PdfReader) -> dict[int, str]:
    """The outline's last title on each page that has one; a broken outline is no reason to stop."""
    found: dict[int, str] = {}
    with suppress(Exception):
        found.update((page, title) for title, page in _outlined(reader, reader.outline, ()))
    return found


def _outlined(
    reader: PdfReader, outline: list[Any], above: tuple[str, ...]
) -> Iterator[tuple[str, int]]:
    last = ""
    for item in outline:
        if isinstance(item, list):
            yield from _outlined(reader, item, (*above, last) if last else above)
        elif isinstance(item, Destination):
            last = " ".join(_clean(item.title or "").split())[:_TITLE_MAX]
            page = reader.get_destination_page_number(item)
            if last and page is not None:
                yield " > ".join((*above, last)), page + 1


def _clean(text: str) -> str:
    """Without NUL and lone surrogates, which broken fonts map to."""
    whole = text.replace("\0", "").encode("utf-16", "surrogatepass").decode("utf-16", "ignore")
    return whole.replace("\r\n", "\n").replace("\r", "\n")


if __name__ == "__main__":
    main()

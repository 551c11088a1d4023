"""The process that parses one file from standard input and prints JSON.

Arguments: a module of this folder, a kind that it reads with `read_<kind>`, and the limits:
characters, cells, inflated bytes, seconds. It imports only this folder of Canonry.
"""

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from canonry.documents.parsers.findings import Bounds, Findings, run_parser

_MEMORY_OF: Final = (1 << 30, 4 << 30)
"""The memory limit of parsers in bytes, and that of the image parser."""


def main() -> None:
    """Read the parser and limits from the arguments and the file from standard input."""
    module, kind = sys.argv[1:3]
    characters, cells, inflated, seconds = map(int, sys.argv[3:7])

    def parse_file(data: bytes) -> Mapping[str, Any]:
        found = Findings(Bounds(characters=characters, cells=cells, inflated=inflated))
        parser = import_module(f"canonry.documents.parsers.{module}")
        getattr(parser, f"read_{kind}")(data, found)
        return found.to_json()

    run_parser(parse_file, seconds=seconds, memory=_MEMORY_OF[module == "images"])


if __name__ == "__main__":
    main()

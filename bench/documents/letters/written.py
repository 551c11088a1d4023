"""Documents that were written by hand, each beside a JSON file with what is true in it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bench.documents.case import Case

_PAPERS: Final = Path(__file__).with_name("papers")


def written() -> Iterator[Case]:
    """All of them, in the order of their names."""
    for path in sorted(_PAPERS.glob("*.json")):
        reply = json.loads(path.read_text(encoding="utf-8"))
        paper = path.with_name(reply["file"])
        yield Case(
            group=reply["group"],
            name=path.stem,
            file_name=paper.name,
            data=paper.read_bytes(),
            truth=[
                {name: tuple(v["any"]) if isinstance(v, dict) else v for name, v in each.items()}
                for each in reply["truth"]
            ],
            kept=False,
        )

"""Documents that were written by hand; `absent` are fields that nobody can know of one."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.documents.case import Case
from bench.documents.money.statements import is_kept


def written() -> Iterator[Case]:
    """All of them."""
    path = Path(__file__).with_name("written.toml")
    documents: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    for each in documents["document"]:
        truth = each["truth"] | dict.fromkeys(each.get("absent", ()))
        yield Case(
            group=each["group"],
            name=f"written-{each['name']}",
            file_name=each["file_name"],
            data=each["text"].lstrip().encode(),
            truth=[{"entity_type": each["group"], **truth}],
            kept=is_kept(each["name"]),
        )

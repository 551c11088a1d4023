"""Layouts of statements as banks export them: which columns, which notations, what stands around.

A column is a title and what stands in it; what it stands for in truth follows from that.
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One bank's export; `columns` are `title=content` in order, `title=-text` is always the same.

    `mark` is the decimal mark, `group` divides thousands, `day` is the format of dates. `before`
    and `after` stand around each amount, `plus` marks what came in, `late` is as `an_account` has
    it. `head` and `foot` are the rows around the table.
    """

    name: str
    country: str
    columns: Sequence[str]
    mark: str = ","
    group: str = "."
    day: str = "%d.%m.%Y"
    separator: str = ";"
    charset: str = "utf-8"
    quoted: bool = False
    newest_first: bool = False
    plus: bool = False
    after: str = ""
    before: str = ""
    head: Sequence[Sequence[str]] = ()
    foot: Sequence[Sequence[str]] = ()
    xlsx: bool = False
    late: bool = True


def layouts() -> list[Layout]:
    """All of them."""
    path = Path(__file__).with_name("layouts.toml")
    written: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    return [Layout(**each) for each in written["layout"]]

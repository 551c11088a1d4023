"""Prefixes: what some models want before a text, to tell a question from what may answer it.

Another prefix makes other vectors, so that a model's version tells its prefixes.
"""

import json
from dataclasses import dataclass
from typing import Final, Self

from canonry.readmodels.ports.vectors import Purpose

_MARK: Final = " with prefixes "


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefixes:
    """What stands before a question, and before a passage; maybe nothing."""

    query: str = ""
    passage: str = ""

    @classmethod
    def in_version(cls, version: str) -> tuple[str, Self]:
        """The operator's part of a model's version, and the prefixes that it tells."""
        plain, mark, rest = version.partition(_MARK)
        try:
            query, passage = json.loads(rest) if mark else ("", "")
        except ValueError:
            return version, cls()
        return plain, cls(query=str(query), passage=str(passage))

    def versioned(self, version: str) -> str:
        """The version of a model that gets its texts with these prefixes."""
        if self == Prefixes():
            return version
        written = json.dumps([self.query, self.passage], ensure_ascii=False)
        return f"{version}{_MARK}{written}"

    def before(self, purpose: Purpose) -> str:
        """What stands before a text for this purpose."""
        return self.query if purpose is Purpose.QUERY else self.passage

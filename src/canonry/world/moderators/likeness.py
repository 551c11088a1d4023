"""A moderator by likeness of meaning, beside the rules, which always hold.

`learned.json` has a row of numbers for each category, learned by `bench.table.learn` from labelled
texts; with the vector of a text they say how likely it falls into the category.
"""

import math
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from operator import mul
from typing import Any, Final

from typing_extensions import override

from canonry.readmodels.ports.text import Embedder, Purpose, Vector
from canonry.values.errors import Unavailable
from canonry.values.json_values import decode_json
from canonry.world.domain.moderation.moderating import TEXT_MAX, Moderation, moderate_by_words
from canonry.world.ports.moderator import Moderator

_LENGTH, _PIECES_MAX = 300, 40
"""A text is read by its sentences, since what is said once is lost in the mean of many words."""
_ENDS: Final = re.compile(r"[.!?\u2026\n]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedRows:
    """Trained weights and their model; the last number of a row is the bias."""

    version: str
    model: Mapping[str, Any]
    threshold: float
    rows: Mapping[str, Sequence[float]]

    def category_of(self, vector: Vector) -> str | None:
        """Return the likeliest category if any is likelier than the threshold."""
        numbers = struct.unpack(f"<{len(vector) // 4}f", vector)
        sums = {name: sum(map(mul, row, numbers)) + row[-1] for name, row in self.rows.items()}
        most = max(sums.values())
        shares = {name: math.exp(each - most) for name, each in sums.items()}
        innocent = shares.pop("ok") / sum(math.exp(each - most) for each in sums.values())
        return max(shares, key=lambda name: shares[name]) if 1 - innocent > self.threshold else None


@cache  # the learned rows are decoded once: bench.table, texts
def load_rows() -> LearnedRows:
    """The rows as the file has them."""
    text = files("canonry.world.moderators").joinpath("learned.json").read_bytes()
    return LearnedRows(**decode_json(text))


class LikenessModerator(Moderator):
    """Adds what was learned to what the rules say; without its model the rules are all."""

    def __init__(self, embedder: Embedder) -> None:
        """Ask an embedder, whose model is the one that the rows were learned with."""
        self._embedder = embedder

    @override
    async def moderate_text(self, text: str) -> Moderation:
        ruled = moderate_by_words(text)
        if not ruled.allowed or not text.strip():
            return ruled
        pieces = list(dict.fromkeys(pieces_of(text[:TEXT_MAX])))
        try:
            vectors = await self._embedder.embed(pieces, Purpose.QUERY)
        except Unavailable:
            return ruled
        known = load_rows()
        return ruled.with_categories(known.version, {known.category_of(each) for each in vectors})

    @override
    async def close(self) -> None:
        await self._embedder.close()


def pieces_of(text: str) -> Iterator[str]:
    """The sentences of a text, and a short text as a whole; of many sentences several together."""
    if len(text) <= _LENGTH:
        yield text
    sentences = list(dict.fromkeys(each.strip() for each in _ENDS.split(text) if each.strip()))
    group_size = -(-len(sentences) // _PIECES_MAX)
    for at in range(0, len(sentences), max(group_size, 1)):
        chunk = ". ".join(sentences[at : at + group_size])
        yield from (chunk[start : start + _LENGTH] for start in range(0, len(chunk), _LENGTH))

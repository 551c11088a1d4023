"""The reranker port: a second look at the first passages found, question and passage together."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Protocol


class Reranker(Protocol):
    """Tells how well texts answer a question; it may be away at any time."""

    @abstractmethod
    async def scores(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """One figure for each text, in their order; the greater, the better it answers.

        Only their order says anything.

        Raises:
            Unavailable: `reranker.unavailable`; the passages stay in the order they had.
        """

    @abstractmethod
    async def close(self) -> None:
        """Let go of connections and memory; closing twice is allowed."""

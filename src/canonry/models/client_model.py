"""The client's model: the language model of whoever calls, where the client lets it be asked."""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Final, Protocol

ASKED: Final = "interpretation.asked"
"""The code that ends a call whose client has to make it again with an answer: no failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientAnswer:
    """What the model said, and its name as the client tells it."""

    text: str = field(repr=False)
    model: str


class ClientModel(Protocol):
    """Asks during a call, and the one who made that call; the client may let its user decide."""

    @abstractmethod
    async def ask(
        self, *, system: str, question: str, temperature: float, tokens: int
    ) -> ClientAnswer:
        """The answer to one question.

        Raises:
            NotSupported: `interpretation.no-client-model`, this client or its revision of the
                protocol offers none.
            Unavailable: `interpretation.failed`, the client refused or does not answer;
                `interpretation.asked`, it answers by making the call again, so that nothing may
                be kept of this one.
        """

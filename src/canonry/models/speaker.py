"""Ports of language models: one that speaks, and the model of the client."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAsked:
    """A tool that the model wants to be called; arguments that are no object are none."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpeech:
    """What the model says: words, or tools that it asks for, and what that cost in tokens."""

    text: str = field(repr=False)
    asked: tuple[ToolAsked, ...] = ()
    model: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0


class SpeakingModel(Protocol):
    """Asked again after each of its tools has answered; it keeps nothing between."""

    @abstractmethod
    async def speak(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        model: str = "",
    ) -> ModelSpeech:
        """The next answer; messages and tools are in the form of the OpenAI protocol.

        Without the name of a `model` its own one answers.

        Raises:
            Unavailable: `interpretation.failed`, the model did not answer, or not as it should.
        """

    @abstractmethod
    async def close(self) -> None:
        """Let go of connections."""


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

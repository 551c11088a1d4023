"""The speaker: a language model that answers in words, or asks for tools first."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


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

"""Services outside, and the language model that speaks, which is one of them.

A service is asked while it answers, and left alone while it does not. A call that finds it away
fails at once, with the error that it failed with last. Meanwhile a task in the background asks the
service again, so that no call pays for finding out.
"""

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar

from canonry.values.errors import Unavailable

T = TypeVar("T")

FAILURES_IN_A_ROW: Final = 3
"""A service is away after so many failures in a row; one that kept a caller waiting, at once."""

LONG_WAIT: Final = 0.5
"""Seconds from which on a caller was kept waiting."""

PROBE_SECONDS: Final = 5.0
"""The longest that a probe may take."""

_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 60.0
_SERVER_ERROR: Final = 500
_BUSY: Final = frozenset({408, 425, 429})

Probe = Callable[[], Awaitable[object]]
"""Asks a service for as little as it can be asked for, within `PROBE_SECONDS`.

Raises:
    Unavailable: the service does not answer, or not as it should.
"""

ServiceListener = Callable[["OutsideService"], None]


class OutsideService:
    """One service, by a name for operators; `fault` is why it is left alone, None while it is not.

    Those who ask the same service share this object.
    """

    def __init__(
        self,
        name: str,
        *,
        failures: int = FAILURES_IN_A_ROW,
        changed: ServiceListener | None = None,
    ) -> None:
        """`changed` is called when the service went away, and when it is back."""
        self.name = name
        self.fault: Unavailable | None = None
        self.failed = 0
        """How many requests have failed in all."""
        self._failures = failures
        self._in_a_row = 0
        self._changed = changed
        self._probing: asyncio.Task[None] | None = None

    async def ask(self, work: Callable[[], Awaitable[T]], probe: Probe) -> T:
        """What `work` gives; `probe` finds out in the background when the service is back.

        A refusal in time is an answer: the service is not away. A caller who gives up after
        `LONG_WAIT` says nothing about the service, which may only be slow: then a probe finds out
        whether it answers.

        Raises:
            Unavailable: of `work`, or the last one of a service that is away.
        """
        if self.fault is not None:
            self._begin_probing(probe, at_once=False)
            raise _same(self.fault)
        began = _now()
        try:
            found = await work()
        except Unavailable as error:
            if not self._counted(error):
                self._take_back()
            elif self._in_a_row >= self._failures or _now() - began >= LONG_WAIT:
                self._leave_alone(error)
                self._begin_probing(probe, at_once=False)
            raise
        except asyncio.CancelledError:
            if _now() - began >= LONG_WAIT:
                self._begin_probing(probe, at_once=True)
            raise
        self._take_back()
        return found

    async def close(self) -> None:
        """End the probing; closing twice is allowed."""
        task, self._probing = self._probing, None
        if task is not None and not task.done():
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    def _counted(self, error: Unavailable) -> bool:
        """Count a failure, unless the service answered that it will not do what it was asked."""
        status = error.details.get("status", _SERVER_ERROR)
        if status < _SERVER_ERROR and status not in _BUSY:
            return False
        self.failed += 1
        self._in_a_row += 1
        return True

    def _leave_alone(self, error: Unavailable) -> None:
        was, self.fault = self.fault, _same(error)
        if was is None and self._changed is not None:
            self._changed(self)

    def _take_back(self) -> None:
        was, self.fault, self._in_a_row = self.fault, None, 0
        if was is not None and self._changed is not None:
            self._changed(self)

    def _begin_probing(self, probe: Probe, *, at_once: bool) -> None:
        if self._probing is None or self._probing.done():
            self._probing = asyncio.create_task(self._probe_until_answered(probe, at_once=at_once))

    async def _probe_until_answered(self, probe: Probe, *, at_once: bool) -> None:
        pause = 0.0 if at_once else _FIRST_PAUSE
        while True:
            await asyncio.sleep(pause)
            try:
                await probe()
            except Unavailable as error:
                if self._counted(error):
                    self._leave_alone(error)
                    pause = min(max(2 * pause, _FIRST_PAUSE), _LONGEST_PAUSE)
                    continue
            self._take_back()
            return


class OutsideServices:
    """The services that one store was told of, by their names."""

    def __init__(self) -> None:
        """None yet."""
        self.changed: ServiceListener | None = None
        """Called when a service went away, and when it is back."""
        self._known: dict[str, OutsideService] = {}

    def service(self, name: str, *, failures: int = FAILURES_IN_A_ROW) -> OutsideService:
        """The service of that name, which is made when it is first asked for."""
        if name not in self._known:
            self._known[name] = OutsideService(name, failures=failures, changed=self._tell)
        return self._known[name]

    def __iter__(self) -> Iterator[OutsideService]:
        """The services in the order of their names."""
        return iter(sorted(self._known.values(), key=lambda each: each.name))

    def _tell(self, service: OutsideService) -> None:
        if self.changed is not None:
            self.changed(service)


def _same(error: Unavailable) -> Unavailable:
    """The same error without its traceback, which holds what was asked."""
    return Unavailable(error.code, error.message, **error.details)


def _now() -> float:
    return asyncio.get_running_loop().time()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAsked:
    """A tool that the model wants to be called; arguments that are no object are none."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpeech:
    """An answer of the model: words, or calls of tools, and its cost in tokens."""

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
    """The words of the model, and its name as the client gives it."""

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

"""External services, and the port to a speaking language model.

A service gets requests while it answers. While it is away, each call fails at once with the last
error of the service, and a background task probes it, so that no call waits to find out.
"""

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Final, Protocol, TypeVar

from canonry.values.errors import Unavailable

T = TypeVar("T")

FAILURES_IN_A_ROW: Final = 3
"""Failures in a row after which a service is away. One failure after a long wait is enough."""

LONG_WAIT: Final = 0.5
"""Seconds that count as a long wait."""

PROBE_SECONDS: Final = 5.0
"""Seconds that a probe may take at most."""

_FIRST_PAUSE: Final = 1.0  # a service that restarts is asked again soon
_LONGEST_PAUSE: Final = 60.0  # a service that returns is noticed within a minute
_SERVER_ERROR: Final = 500

Probe = Callable[[], Awaitable[object]]
"""Sends a minimal request to a service, within `PROBE_SECONDS`.

Raises:
    Unavailable: the service does not answer, or answers wrongly.
"""

ServiceListener = Callable[["OutsideService"], None]


@dataclass(eq=False)
class OutsideService:
    """One service, with a name for operators. `fault` is None unless the service is away.

    All users of the same service share this object.
    """

    name: str
    _: KW_ONLY
    failures: int = FAILURES_IN_A_ROW
    changed: ServiceListener | None = None
    """Called when the service goes away and when it is back."""
    fault: Unavailable | None = None
    failed: int = 0
    """Number of failed requests."""
    _in_a_row: int = 0
    _probing: asyncio.Task[None] | None = None

    async def run_work(self, work: Callable[[], Awaitable[T]], probe: Probe) -> T:
        """Return the result of `work`. In the background, `probe` checks an absent service.

        A refusal in time is an answer: the service is not away. A caller that gives up after
        `LONG_WAIT` proves nothing, because the service may only be slow. A probe then checks it.

        Raises:
            Unavailable: the error of `work`, or the last error of an absent service.
        """
        if self.fault is not None:
            self._begin_probing(probe, at_once=False)
            raise _copy_error(self.fault)
        began = _loop_time()
        try:
            found = await work()
        except Unavailable as error:
            if not self._count_failure(error):
                self._note_state(None)
            elif self._in_a_row >= self.failures or _loop_time() - began >= LONG_WAIT:
                self._note_state(error)
                self._begin_probing(probe, at_once=False)
            raise
        except asyncio.CancelledError:
            if _loop_time() - began >= LONG_WAIT:
                self._begin_probing(probe, at_once=True)
            raise
        self._note_state(None)
        return found

    async def close(self) -> None:
        """Stop probing. Closing twice is allowed."""
        task, self._probing = self._probing, None
        if task is not None and not task.done():
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    def _count_failure(self, error: Unavailable) -> bool:
        """Count a failure, unless the service answered with a refusal."""
        status = error.details.get("status", _SERVER_ERROR)
        if status < _SERVER_ERROR and status not in {408, 425, 429}:
            return False
        self.failed += 1
        self._in_a_row += 1
        return True

    def _note_state(self, fault: Unavailable | None) -> None:
        """Note that the service is away with this fault, or that it answers."""
        was, self.fault = self.fault, fault and _copy_error(fault)
        if fault is None:
            self._in_a_row = 0
        if (was is None) is not (fault is None) and self.changed is not None:
            self.changed(self)

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
                if self._count_failure(error):
                    self._note_state(error)
                    pause = min(max(2 * pause, _FIRST_PAUSE), _LONGEST_PAUSE)
                    continue
            self._note_state(None)
            return


class OutsideServices:
    """The external services of one store, by name."""

    def __init__(self) -> None:
        """Start without services."""
        self.changed: ServiceListener | None = None
        """Called when a service goes away and when it is back."""
        self._known: dict[str, OutsideService] = {}

    def service_named(self, name: str, *, failures: int = FAILURES_IN_A_ROW) -> OutsideService:
        """Return the service with this name, and create it at the first request."""
        if name not in self._known:
            self._known[name] = OutsideService(name, failures=failures, changed=self._report_change)
        return self._known[name]

    def __iter__(self) -> Iterator[OutsideService]:
        """Iterate over the services in the order of their names."""
        return iter(sorted(self._known.values(), key=lambda each: each.name))

    def _report_change(self, service: OutsideService) -> None:
        if self.changed is not None:
            self.changed(service)


def _copy_error(error: Unavailable) -> Unavailable:
    """Copy an error without its traceback, which contains the request."""
    return Unavailable(error.code, error.message, **error.details)


def _loop_time() -> float:
    return asyncio.get_running_loop().time()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAsked:
    """A tool call by the model. Arguments that are not an object become empty."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpeech:
    """An answer of the model: text or tool calls, and its tokens."""

    text: str = field(repr=False)
    asked: tuple[ToolAsked, ...] = ()
    model: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0


class SpeakingModel(Protocol):
    """A model that is called again after each tool result. It keeps no state between calls."""

    @abstractmethod
    async def next_answer(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        model: str = "",
    ) -> ModelSpeech:
        """Return the next answer. Messages and tools have the form of the OpenAI protocol.

        `model` replaces the default model.

        Raises:
            Unavailable: `interpretation.failed`, the model did not answer, or answered wrongly.
        """

    @abstractmethod
    async def close(self) -> None:
        """Close the connections."""


ASKED: Final = "interpretation.asked"
"""Code that ends a call which the client must repeat with an answer. It is not a failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientAnswer:
    """The text of the model, and its name as the client reports it."""

    text: str = field(repr=False)
    model: str


class ClientModel(Protocol):
    """Asks the model of the client during its call. The client may ask its user first."""

    @abstractmethod
    async def ask_model(
        self, *, system: str, question: str, temperature: float, tokens: int
    ) -> ClientAnswer:
        """Return the answer to one question.

        Raises:
            NotSupported: `interpretation.no-client-model`, this client or its protocol revision
                offers none.
            Unavailable: `interpretation.failed`, the client refused or does not answer;
                `interpretation.asked`, the client answers by repeating the call, so keep nothing of
                this one.
        """

"""Limits of one call, and the check of texts that a store can keep."""

import asyncio
from collections import deque
from collections.abc import Coroutine, Generator, Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Final, TypeVar

from canonry.log.ports.world import enter_scope
from canonry.values.errors import InvalidInput, Unavailable

_SHOWN: Final = 80  # an error does not return a pasted text


def is_clean(text: str) -> bool:
    """Return whether `text` can be written as UTF-8 and holds no NUL."""
    if "\x00" in text:
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def checked_text(value: str, maximum: int, *, path: str) -> str:
    """Return the text if it is neither empty nor too long.

    Raises:
        InvalidInput: `text.empty` or `text.too-long`.
    """
    if not value.strip():
        raise InvalidInput("text.empty", f"{path} is empty. Write a text.", path=path)
    if len(value) > maximum:
        message = f"{path} has {len(value)} characters; the limit is {maximum}."
        raise InvalidInput("text.too-long", message, path=path, limit=maximum)
    return value


def shown_text(text: str) -> str:
    """Return a caller's text for an error message: short, printable and always encodable."""
    cut = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    return cut if cut.isprintable() else cut.encode("unicode_escape").decode("ascii")


def json_pointer(*steps: str | int) -> str:
    """Return the JSON pointer (RFC 6901) of a value in the arguments."""
    return "".join(
        f"/{shown_text(str(step)).replace('~', '~0').replace('/', '~1')}" for step in steps
    )


def suggest_name(name: str, known: Iterable[str]) -> str:
    """Return a question with the nearest known name; "" if no name is near."""
    near = get_close_matches(name[:_SHOWN].casefold(), known, n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""


_LARGEST: Final = 2**53  # JSON readers round larger numbers
_LIGHT: Final = 2_000
"""The most values that are checked on the event loop; more are checked in a thread."""

_OVERHEAD: Final = 8  # the size of a value that is not text
SECONDS: Final = 30.0
"""The deadline of a call for which neither its tool nor the operator sets one."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one call. `per_minute` is calls per principal; None means no limit.

    `reply` is the most characters in the reply of a read; `seconds` None means the operator's
    deadline. With `any_number`, whole numbers of any size pass, for a toolset that keeps them
    exactly. With `any_text`, a NUL passes, for tools that keep no text.
    """

    characters: int = 4_000_000
    reply: int = 16_000_000
    depth: int = 32
    seconds: float | None = None
    per_minute: int | None = None
    any_number: bool = False
    any_text: bool = False

    def capped_by(self, operator: "Limits") -> "Limits":
        """Return a tool's own limits, with at most the operator's deadline."""
        if operator.seconds is None:
            return self
        own = operator.seconds if self.seconds is None else self.seconds
        return replace(self, seconds=min(own, operator.seconds))


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRate:
    """The number of calls that a contract grants each client in a number of seconds."""

    calls: int
    seconds: float = 60.0


class _SpotError(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(code)
        self.code = code
        self.message = message
        self.steps: deque[str | int] = deque()


def measure_arguments(arguments: Mapping[str, Any], limits: Limits) -> int:
    """Return the size of `arguments` in characters, if a store can keep all of them.

    Raises:
        InvalidInput: `limits.size`, `limits.depth`, `limits.text`, `limits.number` or
            `limits.type`, with the path.
    """
    try:
        size = _measure_object(arguments, limits, limits.depth)
        if size > limits.characters:
            raise _too_long(limits)
    except _SpotError as refused:
        path = json_pointer(*refused.steps)
        raise InvalidInput(refused.code, refused.message, path=path) from None
    return size


def is_heavy(arguments: Mapping[str, Any]) -> bool:
    """Return whether a check of all values of the arguments takes long.

    It stops counting at the bound.
    """
    inside = [value for value in arguments.values() if isinstance(value, dict | list) and value]
    count = 0
    while inside:
        value = inside.pop()
        count += len(value)
        if count > _LIGHT:
            return True
        inner = value.values() if isinstance(value, dict) else value
        inside += [each for each in inner if isinstance(each, dict | list) and each]
    return False


def _measure_value(value: object, limits: Limits, depth: int) -> int:
    if isinstance(value, str):
        return _measure_text(value, limits)
    if isinstance(value, dict):
        return _measure_object(value, limits, depth)
    if isinstance(value, list):
        return _measure_list(value, limits, depth)
    if isinstance(value, int | float):
        if -_LARGEST <= value <= _LARGEST:  # false for NaN
            return _OVERHEAD
        if limits.any_number and isinstance(value, int):
            return value.bit_length()
        message = "A number must lie between -2^53 and 2^53. Write a larger one as text."
        raise _SpotError("limits.number", message)
    if value is None:
        return _OVERHEAD
    raise _SpotError("limits.type", "The value is not a JSON value.")


def _measure_object(value: Mapping[Any, Any], limits: Limits, depth: int) -> int:
    if depth == 0:
        raise _too_deep(limits)
    size = _OVERHEAD
    for key, inner in value.items():
        try:
            size += _measure_text(key, limits)
            # The commonest case is written out: a function call costs more than the check.
            if isinstance(inner, str):
                size += _measure_text(inner, limits)
            else:
                size += _measure_value(inner, limits, depth - 1)
        except _SpotError as refused:
            refused.steps.appendleft(key)
            raise
    return size


def _measure_list(value: list[Any], limits: Limits, depth: int) -> int:
    if depth == 0:
        raise _too_deep(limits)
    size = _OVERHEAD
    index = 0
    try:
        for index, inner in enumerate(value):  # noqa: B007 - named for the error path
            size += _measure_value(inner, limits, depth - 1)
    except _SpotError as refused:
        refused.steps.appendleft(index)
        raise
    return size


def _measure_text(text: object, limits: Limits) -> int:
    if not isinstance(text, str):
        raise _SpotError("limits.type", "The name of a property must be text.")
    if len(text) > limits.characters:
        raise _too_long(limits)
    if text.isascii() and (limits.any_text or "\0" not in text):
        return len(text)
    if not is_clean(text.replace("\0", "") if limits.any_text else text):
        raise _SpotError("limits.text", "The text holds a NUL or a lone surrogate. Remove it.")
    return len(text)


def _too_long(limits: Limits) -> _SpotError:
    message = f"The arguments of a call may hold {limits.characters} characters; these hold more."
    return _SpotError("limits.size", message)


def _too_deep(limits: Limits) -> _SpotError:
    return _SpotError(
        "limits.depth", f"The arguments are nested too deeply. At most {limits.depth} levels fit."
    )


async def run_within(
    seconds: float | None, work: Coroutine[Any, Any, T], *, writes: bool = False
) -> T:
    """Await `work` for at most `seconds`; `writes` goes into the error.

    Raises:
        Unavailable: `call.deadline`.
    """
    seconds = SECONDS if seconds is None else seconds
    with enter_scope(asyncio.get_running_loop().time() + seconds, writes=writes):
        # Most reads never wait. A timer for each would cost 3.3 us, half of the whole path. The
        # work is driven by hand to its first wait, and only then a timer is armed.
        try:
            first = work.send(None)
        except StopIteration as done:
            answer: T = done.value
            return answer
        scope = asyncio.timeout(seconds)
        try:
            async with scope:
                rest: T = await _Resumed(first, work)
                return rest
        except TimeoutError:
            if not scope.expired():
                raise
            message = (
                f"The call took longer than {seconds:g} s and was stopped. "
                "Retry it, or ask for less."
            )
            raise Unavailable("call.deadline", message, seconds=seconds) from None


class _Resumed:
    """The rest of a coroutine that has already yielded once."""

    def __init__(self, first: object, work: Coroutine[Any, Any, Any]) -> None:
        self._first = first
        self._work = work

    def __await__(self) -> Generator[Any, Any, Any]:
        awaited = self._first
        try:
            while True:
                try:
                    sent = yield awaited
                except BaseException as error:  # noqa: BLE001 - handed to the coroutine it is for
                    awaited = self._work.throw(error)
                else:
                    awaited = self._work.send(sent)
        except StopIteration as done:
            return done.value

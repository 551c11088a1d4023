"""The call under way, for engines that are far away: when it ends, and what it has been told.

An engine may stop by itself what runs longer. It may also answer the same question of one call
twice without asking its server again, until the call looks where a log stands or writes: a verdict
rests on nothing that was read before.
"""

from collections.abc import Awaitable, Callable, Hashable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final


@dataclass(slots=True)
class ToldAnswers:
    """What a call, and all calls that it is made of, were told."""

    answers: dict[Hashable, Any] = field(default_factory=dict)
    is_up: bool = False
    """Whether views that follow a log show what was in it when the call began, or later."""

    at_end: dict[Hashable, Callable[[], Awaitable[None]]] = field(default_factory=dict)
    """What is done once before whoever called is answered, however often it came up."""


@dataclass(slots=True)
class CallScope:
    """A call: `ends` is a time of its event loop; what it leaves behind has no `is_open` scope.

    Whether it `writes` says whoever knows; an engine may then ask ahead for what a write needs.
    """

    ends: float
    writes: bool = False
    is_part: bool = False
    told: ToldAnswers = field(default_factory=ToldAnswers)
    is_open: bool = True


_SCOPE: Final[ContextVar[CallScope | None]] = ContextVar("call_scope", default=None)


def scope() -> CallScope | None:
    """The call under way, if this is part of one."""
    found = _SCOPE.get()
    return found if found is not None and found.is_open else None


class entered:  # noqa: N801 - a context manager, and four times as quick as one made of a generator
    """Be a call, or a part of one, that ends at a time of the event loop."""

    __slots__ = ("_scope", "_token")

    def __init__(self, ends: float, *, writes: bool = False) -> None:
        """A part ends with the whole at the latest, and is told what that is told."""
        outer = scope()
        if outer is None:
            self._scope = CallScope(ends, writes)
        else:
            self._scope = CallScope(min(ends, outer.ends), writes, is_part=True, told=outer.told)

    def __enter__(self) -> CallScope:
        """Begin."""
        self._token = _SCOPE.set(self._scope)
        return self._scope

    def __exit__(self, *_: object) -> None:
        """End; tasks that go on are no part of it any more."""
        self._scope.is_open = False
        _SCOPE.reset(self._token)


def answers() -> dict[Hashable, Any]:
    """What the call under way was told; empty, and kept by nobody, where this is part of none."""
    found = scope()
    return {} if found is None else found.told.answers


def forget() -> None:
    """Ask everything anew from now on; what is still being asked is not kept."""
    found = scope()
    if found is not None:
        found.told.answers = {}

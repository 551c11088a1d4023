"""What all contracts share: a backend as they see it; gaps are data, and no test is overridden."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, TypeAlias, TypeVar

import pytest

from canonry.canon.session.canon import Canon
from canonry.log.ports.blobs import Blobs
from canonry.readmodels.ports.upkeep import Upkeep
from canonry.testing.worlds import HandClock

T = TypeVar("T")

_Test = TypeVar("_Test", bound=Callable[..., Any])
_PROVES: Final = "proves_requirements"

OpenBackend: TypeAlias = Callable[[], Awaitable["Backend"]]
Damage: TypeAlias = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One observable promise and the reason why it is made."""

    promise: str
    because: str


REQUIREMENTS: Final[dict[str, Requirement]] = {}
"""Every promise that a port makes, by a stable id `port:subject:promise`."""


def requirement(requirement_id: str, *, because: str) -> Callable[[_Test], _Test]:
    """Name a test as the proof of a promise, which its docstring states; each id has one test."""

    def apply(test: _Test) -> _Test:
        promise = Requirement(promise=" ".join((test.__doc__ or "").split()), because=because)
        if REQUIREMENTS.setdefault(requirement_id, promise) != promise:
            raise KeyError(requirement_id)
        setattr(test, _PROVES, requirement_id)
        return test

    return apply


def proved_by(test: Callable[..., Any]) -> tuple[str, ...]:
    """The ids of the promises that a test proves."""
    proved: str | None = getattr(test, _PROVES, None)
    return () if proved is None else (proved,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Damages:
    """How to harm a store behind its back, by what is harmed; `verify` must find each one.

    Each acts on what `canonry.testing.conformance.chronicle` has written. `views` can be rebuilt,
    `records` cannot; `blob` alters the bytes under a digest.
    """

    views: Mapping[str, Damage]
    records: Mapping[str, Damage]
    blob: Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """An empty store that a contract may fill; None stands for what the backend does not have.

    `another` opens a different, empty store of the same kind; `reopen` closes this one and opens
    the same store again, `second` opens the same store beside it (as
    another process would), `open_backup` opens a folder that `upkeep.backup` wrote, and `close`
    closes. The fixture closes whatever these gave. `files` lists every file of the store.
    """

    canon: Canon
    blobs: Blobs
    clock: HandClock
    another: OpenBackend
    upkeep: Upkeep | None = None
    close: Callable[[], Awaitable[None]] | None = None
    reopen: OpenBackend | None = None
    second: OpenBackend | None = None
    open_backup: Callable[[Path], Awaitable["Backend"]] | None = None
    files: Callable[[], Iterable[Path]] | None = None
    damages: Damages | None = None


def present(part: T | None) -> T:
    """The part of a backend that its contract needs."""
    assert part is not None, "this contract is for backends that have this; leave it out"
    return part


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownGap:
    """A promise this backend does not keep yet; its test must fail until the gap is closed."""

    requirement: str
    reason: str


@pytest.mark.anyio
class Contract:
    """Subclass a contract, give it a fixture `backend` that yields a `Backend`, and run pytest."""

    known_gaps: ClassVar[tuple[KnownGap, ...]] = ()

    @pytest.fixture
    def anyio_backend(self) -> str:
        """Run on asyncio alone, also where other loops are installed."""
        return "asyncio"

    @pytest.fixture(autouse=True)
    def _apply_known_gaps(self, request: pytest.FixtureRequest) -> None:
        reasons = {gap.requirement: gap.reason for gap in self.known_gaps}
        unknown = sorted(reasons.keys() - REQUIREMENTS.keys())
        assert not unknown, f"gaps of promises that nobody makes: {unknown}"
        for proved in proved_by(request.function):
            if proved in reasons:
                gap = pytest.mark.xfail(reason=reasons[proved], strict=True)
                request.node.add_marker(gap)

    async def test_contract_is_not_weakened(self) -> None:
        """A backend states a gap in `known_gaps`; it does not rewrite or drop a test."""
        tellers = Counter(name for part in type(self).__mro__ for name in vars(part))
        told_twice = sorted(
            n for n, count in tellers.items() if n.startswith("test_") and count > 1
        )
        assert not told_twice, f"overridden contract tests: {told_twice}"

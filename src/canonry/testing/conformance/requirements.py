"""Every promise that a port makes, by a stable id `port:subject:promise`.

A promise without a test, and a test without a promise, both fail `tests/meta`.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from canonry.testing.conformance.promises import Requirement
from canonry.testing.conformance.promises.blobs import BLOBS
from canonry.testing.conformance.promises.catalog import CATALOG
from canonry.testing.conformance.promises.documents import DOCUMENTS
from canonry.testing.conformance.promises.ledger import LEDGER
from canonry.testing.conformance.promises.places import PLACES
from canonry.testing.conformance.promises.state import STATE
from canonry.testing.conformance.promises.text import TEXT
from canonry.testing.conformance.promises.upkeep import UPKEEP
from canonry.testing.conformance.promises.vectors import VECTORS
from canonry.testing.conformance.promises.view import VIEW

_Test = TypeVar("_Test", bound=Callable[..., Any])

REQUIREMENTS: Final[Mapping[str, Requirement]] = {
    **LEDGER,
    **BLOBS,
    **STATE,
    **DOCUMENTS,
    **TEXT,
    **CATALOG,
    **PLACES,
    **UPKEEP,
    **VIEW,
    **VECTORS,
}


_PROVES: Final = "proves_requirements"


def requirement(requirement_id: str) -> Callable[[_Test], _Test]:
    """Name a test as the proof of one promise; an unknown id fails at import."""
    if requirement_id not in REQUIREMENTS:
        raise KeyError(requirement_id)

    def apply(test: _Test) -> _Test:
        setattr(test, _PROVES, (*proved_by(test), requirement_id))
        return test

    return apply


def proved_by(test: Callable[..., Any]) -> tuple[str, ...]:
    """The ids of the promises that a test proves."""
    proved: tuple[str, ...] = getattr(test, _PROVES, ())
    return proved

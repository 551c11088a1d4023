"""Provenance: authority and evidence."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeVar

from canonry.values.errors import InvalidInput
from canonry.values.ids import is_uuid


class Authority(StrEnum):
    """Whose word a statement is."""

    SOURCE = "source"
    GM = "gm"
    PLAYER = "player"
    SYSTEM = "system"


AUTHORITY_RANK: Final = {
    Authority.SOURCE: 3,
    Authority.GM: 2,
    Authority.PLAYER: 1,
    Authority.SYSTEM: 0,
}
"""Higher outranks lower."""


def outranks(new: Authority, old: Authority) -> bool:
    """Whether the word `new` retcons what rests on `old`; the game master's always does."""
    return new is Authority.GM or AUTHORITY_RANK[new] > AUTHORITY_RANK[old]


def may_end(new: Authority, old: Authority) -> bool:
    """Whether the word `new` ends what was established by `old`; the game master's always does."""
    return new is Authority.GM or AUTHORITY_RANK[new] >= AUTHORITY_RANK[old]


def strongest(authorities: Iterable[Authority]) -> Authority:
    """The highest of these; none: the lowest there is."""
    return max(authorities, key=AUTHORITY_RANK.__getitem__, default=Authority.SYSTEM)


class CanonLevel(StrEnum):
    """How far a thing is true: waiting, true, no longer true; a source may be authoritative."""

    PROPOSED = "proposed"
    CANON = "canon"
    RETCONNED = "retconned"
    AUTHORITATIVE = "authoritative"


class EvidenceKind(StrEnum):
    """What may support a statement; `rule` refers to an axiom, `proposal` to one of a world."""

    SOURCE = "source"
    TURN = "turn"
    SCENE = "scene"
    SNIPPET = "snippet"
    RULE = "rule"
    PROPOSAL = "proposal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A reference to what supports a statement."""

    kind: EvidenceKind
    ref: str

    def __str__(self) -> str:
        return self.kind + ":" + self.ref  # every listed thing writes some: half an f-string's time


def parse_evidence(text: str, *, path: str = "") -> Evidence:
    """Read `kind:uuid`.

    Raises:
        InvalidInput: `evidence.malformed`, with the offending `path`.
    """
    kind, _, ref = text.partition(":")
    if kind not in list(EvidenceKind) or not is_uuid(ref):
        kinds = ", ".join(EvidenceKind)
        message = f"evidence is written kind:uuid, where kind is one of {kinds}"
        raise InvalidInput("evidence.malformed", message, path=path)
    return Evidence(kind=EvidenceKind(kind), ref=ref.lower())


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """The agent on whose behalf a commit is made."""

    agent_id: str
    agent_type: str
    user: str | None = None


K = TypeVar("K")
R = TypeVar("R")

_MOST: Final = 512
"""So many values are kept; then all are forgotten."""


def remembered(work: Callable[[K], R]) -> Callable[[K], R]:
    """`work`, done once for the very same value while it is remembered; equal ones are others."""
    kept: dict[int, tuple[K, R]] = {}

    def found(value: K) -> R:
        known = kept.get(id(value))
        if known is None or known[0] is not value:
            if len(kept) >= _MOST:
                kept.clear()
            known = kept[id(value)] = (value, work(value))
        return known[1]

    return found

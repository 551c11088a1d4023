"""Provenance: authority and evidence."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeVar

from canonry.values.errors import InvalidInput
from canonry.values.ids import is_uuid


class Authority(StrEnum):
    """The rank of a statement's author."""

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
"""A higher number outranks a lower one."""


def may_retcon(new: Authority, old: Authority) -> bool:
    """Return whether `new` may retcon a statement of `old`; the game master always may."""
    return new is Authority.GM or AUTHORITY_RANK[new] > AUTHORITY_RANK[old]


def may_end(new: Authority, old: Authority) -> bool:
    """Return whether `new` may end a statement of `old`; the game master always may."""
    return new is Authority.GM or AUTHORITY_RANK[new] >= AUTHORITY_RANK[old]


def highest_authority(authorities: Iterable[Authority]) -> Authority:
    """Return the highest authority; without any, the lowest one."""
    return max(authorities, key=AUTHORITY_RANK.__getitem__, default=Authority.SYSTEM)


class CanonLevel(StrEnum):
    """The state of a statement: proposed, canon or retconned; a source may be authoritative."""

    PROPOSED = "proposed"
    CANON = "canon"
    RETCONNED = "retconned"
    AUTHORITATIVE = "authoritative"


class EvidenceKind(StrEnum):
    """The kinds of support; `rule` refers to an axiom, `proposal` to one in a world."""

    SOURCE = "source"
    TURN = "turn"
    SCENE = "scene"
    SNIPPET = "snippet"
    RULE = "rule"
    PROPOSAL = "proposal"

    @property
    def item_kind(self) -> str:
        """Return the kind of item that it refers to."""
        return "axiom" if self is EvidenceKind.RULE else self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A reference to the support of a statement."""

    kind: EvidenceKind
    ref: str

    def __str__(self) -> str:
        return self.kind + ":" + self.ref  # listed with every item; an f-string is slower


def parse_evidence(text: str, *, path: str = "") -> Evidence:
    """Read `kind:uuid`.

    Raises:
        InvalidInput: `evidence.malformed`, with the offending `path`.
    """
    kind, _, ref = text.partition(":")
    if kind not in list(EvidenceKind) or not is_uuid(ref):
        kinds = ", ".join(EvidenceKind)
        message = f"{path or 'The text'} is not evidence. Write kind:uuid; kind is one of {kinds}."
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

_MOST: Final = 512  # the most values that are kept; then the cache is cleared


def cache_by_identity(work: Callable[[K], R]) -> Callable[[K], R]:
    """Cache `work` by the identity of its argument; equal but different values do not share."""
    kept: dict[int, tuple[K, R]] = {}

    def cached(value: K) -> R:
        known = kept.get(id(value))
        if known is None or known[0] is not value:
            if len(kept) >= _MOST:
                kept.clear()
            known = kept[id(value)] = (value, work(value))
        return known[1]

    return cached

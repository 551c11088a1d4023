"""Gate 4, duplication: what was admitted lately, found again by its content or by being so alike.

Likeness is the share of four-letter pieces that two texts have in common. `NEAR` was chosen on
labelled pairs, which `tests/domain/world/admission` holds: from there on texts are told apart only
by chance, unless they differ in a number, a denial, a direction or the state of something.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final
from zlib import crc32

from canonry.language.clauses.quantities import number_of
from canonry.language.texts.sentences import plain_statement
from canonry.language.words.frame_words import NEGATIONS
from canonry.readmodels.edges import Direction
from canonry.values.json_values import canonical_json, decode_json, encode_json
from canonry.world.domain.admission.kit import Rejection, refusal
from canonry.world.domain.admission.schema import (
    Action,
    AddLayer,
    CreateExit,
    Dialogue,
    Proposed,
    Spawn,
)

NEAR: Final = 0.7
_PIECE: Final = 4
_BITS: Final = 1_024
_STATES: Final = (
    "open closed shut",
    "lit unlit dark extinguished",
    "locked unlocked",
    "wet dry",
    "full empty",
    "hot cold warm cool",
    "begins ends stops",
    "rises falls sinks",
    "day night dawn dusk noon midnight",
    "dead alive asleep awake",
    "left right",
    "rain snow fog hail storm sun",
)
_STATE: Final = {word for line in _STATES for word in line.split()}
_DENIALS: Final = NEGATIONS["english"]
_WAYS: Final = frozenset(Direction)
ProposedPlace = tuple[str, str]
"""The kind of an action, and the scope that it is about."""


@dataclass(frozen=True, slots=True)
class SaidBefore:
    """What a text comes down to: its pieces, a mask of their bits, and what must not differ."""

    pieces: frozenset[int]
    decisive: frozenset[str]
    mask: int

    @classmethod
    def of(cls, text: str) -> "SaidBefore":
        """What this text comes down to."""
        plain = f" {plain_statement(text)} "
        last = max(1, len(plain) - _PIECE + 1)
        pieces = frozenset(crc32(plain[at : at + _PIECE].encode()) for at in range(last))
        mask = 0
        for piece in pieces:
            mask |= 1 << piece % _BITS
        return cls(pieces, frozenset(filter(_decides, plain.split())), mask)


def _decides(word: str) -> bool:
    return word in _DENIALS or word in _WAYS or word in _STATE or number_of(word) is not None


def likeness(one: SaidBefore, other: SaidBefore) -> float:
    """From 0 to 1; 0 also where texts say decidedly other things."""
    if one.decisive != other.decisive:
        return 0.0
    common = len(one.pieces & other.pieces)
    return common / (len(one.pieces) + len(other.pieces) - common)


def text_of(action: Action) -> str | None:
    """The text by which an action is told apart from others; None for one that may be repeated."""
    match action.params:
        case AddLayer(layer_content=text) | Dialogue(text=text):
            return text
        case Spawn(name=name, description=text):
            return f"{name}: {text}"
        case CreateExit(description=text):
            return text or ""
        case _:
            return None


def repeats_itself(proposed: Proposed) -> bool:
    """Whether all that is proposed is told apart by what it says."""
    return all(text_of(action) is not None for action in proposed.actions)


def digest(value: Any) -> str:
    """What stands for a value that is sent again."""
    return sha256(canonical_json(value)).hexdigest()


def content_of(proposed: Proposed) -> str:
    """What stands for all that is proposed, whatever ids and times it bears."""
    envelope = proposed.envelope
    told = [
        proposed.player,
        _plain(envelope.actor),
        _plain(envelope.generation),
    ]
    return digest([*told, *map(_told, proposed.actions)])


def action_digests(proposed: Proposed) -> tuple[str, ...]:
    """What stands for each action that is told apart by what it says."""
    return tuple(
        digest(_told(action)) for action in proposed.actions if text_of(action) is not None
    )


def _told(action: Action) -> list[Any]:
    params = {
        name: plain_statement(value) if isinstance(value, str) else value
        for name, value in _plain(action.params).items()
    }
    return [action.kind, ":".join(action.scope), params]


def _plain(value: Any) -> Any:
    return decode_json(encode_json(value))


@dataclass(slots=True, eq=False)
class SaidLately:
    """The texts that were admitted lately, by where and by what must not differ."""

    _there: dict[tuple[ProposedPlace, frozenset[str]], list[tuple[int, int, str, SaidBefore]]] = (
        field(default_factory=dict)
    )

    def add(self, proposal: str, place: ProposedPlace, said: SaidBefore) -> None:
        """Remember a text."""
        one = (said.mask, len(said.pieces), proposal, said)
        self._there.setdefault((place, said.decisive), []).append(one)

    def drop(self, proposal: str, place: ProposedPlace, said: SaidBefore) -> None:
        """Forget a text."""
        key = (place, said.decisive)
        left = [each for each in self._there.get(key, ()) if each[2:] != (proposal, said)]
        if left:
            self._there[key] = left
        else:
            self._there.pop(key, None)

    def nearest(self, place: ProposedPlace, said: SaidBefore) -> tuple[str, float] | None:
        """The proposal whose text is most alike, from `NEAR` on.

        Texts have no more pieces in common than bits, and those pieces that share a bit.
        """
        mask, size = said.mask, len(said.pieces)
        sharing = size - mask.bit_count()
        alike = [
            (likeness(said, other), proposal)
            for their, count, proposal, other in self._there.get((place, said.decisive), ())
            if (mask & their).bit_count() + sharing >= _COMMON * (size + count)
        ]
        best = max(alike, default=(0.0, ""))
        return (best[1], best[0]) if best[0] >= NEAR else None


_COMMON: Final = NEAR / (1 + NEAR) - 1e-9
"""Of all their pieces, so many times two have in common what are as alike as `NEAR`."""


def places_said(proposed: Proposed) -> Iterator[tuple[int, ProposedPlace, SaidBefore]]:
    """Each text of a proposal that is compared with others, and where it is said."""
    for number, action in enumerate(proposed.actions):
        text = text_of(action)
        if text:
            yield number, (action.kind, ":".join(action.scope)), SaidBefore.of(text)


def too_alike(proposed: Proposed, lately: SaidLately) -> Rejection | None:
    """The refusal of the first text that was as good as said before."""
    for number, place, said in places_said(proposed):
        nearest = lately.nearest(place, said)
        if nearest is not None:
            proposal, share = nearest
            reason = f"it says nearly what proposal {proposal} said there (likeness {share:.2f})"
            return refusal("duplication.near", reason, path=f"/proposedActions/{number}/params")
    return None

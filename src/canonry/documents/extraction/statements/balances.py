"""Running balances: whether each follows from the one before, which proves how all were read."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import TypeAlias

Booked: TypeAlias = tuple[Decimal | None, Decimal | None]
"""The amount of a line and the balance after it, where they are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """How many steps from line to line the balances confirm, of how many.

    `broken` are the places of lines that do not follow, `newest_first` says in which direction the
    lines run.
    """

    steps: int
    held: int
    newest_first: bool
    broken: tuple[int, ...]

    @property
    def whole(self) -> bool:
        """Whether every line follows from the one before."""
        return 0 < self.held == self.steps

    @property
    def runs(self) -> bool:
        """Whether these are running balances at all."""
        return self.held > 0 and 2 * self.held >= self.steps


def proof_of(lines: Sequence[Booked]) -> Proof:
    """What the balances of lines say of them, in the direction in which they say more."""
    return max((_in(lines, newest) for newest in (False, True)), key=lambda proof: proof.held)


def _in(lines: Sequence[Booked], newest_first: bool) -> Proof:  # noqa: FBT001
    steps, broken = 0, []
    for place, (above, below) in enumerate(pairwise(lines), 1):
        earlier, later = (below, above) if newest_first else (above, below)
        if earlier[1] is None or later[1] is None:
            continue
        steps += 1
        if later[0] is None or earlier[1] + later[0] != later[1]:
            broken.append(place)
    return Proof(
        steps=steps, held=steps - len(broken), newest_first=newest_first, broken=tuple(broken)
    )

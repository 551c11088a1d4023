"""Proposals of the narrative before the gates: their texts, and what was staged like them.

Of a content only what has several words is text that may be said otherwise. All the rest, such as
ids, numbers and whether a tag is added or removed, has to be the same for two to be alike.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Self

from canonry.canon.canonization.proposals import StagedContent
from canonry.values.moments import Instant
from canonry.values.policy import AdmissionLimits, StagingGates
from canonry.world.domain.admission.kit import GateName, Rejection, refusal
from canonry.world.domain.admission.safety import (
    NEAR,
    SaidBefore,
    Spent,
    digest,
    likeness,
    over_budget,
)

_UNLIMITED: Final = 1 << 62


@dataclass(frozen=True, kw_only=True)
class ComparedContent(StagedContent):
    """What is proposed, with what it is compared by."""

    @classmethod
    def of(cls, staged: StagedContent) -> Self:
        """The same, to be compared."""
        return cls(kind=staged.kind, scene=staged.scene, content=staged.content, path=staged.path)

    @cached_property
    def whole(self) -> str:
        """What stands for all of it."""
        return digest([self.kind, self.scene, self.content])

    @cached_property
    def fixed(self) -> str:
        """What stands for all that is no text, and for where texts are."""
        told = values_in(self.content, "")
        values = [(path, None if _is_text(value) else value) for path, value in told]
        return digest([self.kind, self.scene, values])

    @cached_property
    def said(self) -> SaidBefore | None:
        """What its texts come down to."""
        texts = [value for _, value in values_in(self.content, "") if _is_text(value)]
        return SaidBefore.of(" ".join(texts)) if texts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedBefore:
    """A proposal that was staged before; `stands`: nobody rejected it."""

    id: str
    by: str
    at: Instant
    stands: bool
    told: ComparedContent


def values_in(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Each value that holds no others, with its place."""
    match value:
        case Mapping():
            for key, each in value.items():
                yield from values_in(each, f"{path}/{key}")
        case list() | tuple():
            for number, each in enumerate(value):
                yield from values_in(each, f"{path}/{number}")
        case _:
            yield path, value


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value.split()) > 1


def repeated(told: ComparedContent, earlier: Sequence[StagedBefore]) -> Rejection | None:
    """Gate 4: the refusal of what was staged already, word by word or nearly so."""
    standing = [each for each in earlier if each.stands]
    for each in standing:
        if each.told.whole == told.whole:
            reason = f"exactly this was staged as proposal {each.id}"
            return refusal("duplication.repeated", reason, path=told.path)
    for each in standing:
        other = each.told.said if each.told.fixed == told.fixed else None
        if told.said is None or other is None:
            continue
        share = likeness(told.said, other)
        if share >= NEAR:
            reason = f"proposal {each.id} says nearly the same (likeness {share:.2f})"
            return refusal("duplication.near", reason, path=told.path)
    return None


def too_many(
    by: str, earlier: Sequence[StagedBefore], now: Instant, gates: StagingGates
) -> Rejection | None:
    """Gate 6: the refusal of what goes beyond the windows of an agent or of all of them."""
    limits = AdmissionLimits(
        player_a_minute=gates.agent_a_minute or _UNLIMITED,
        world_a_minute=gates.universe_a_minute or _UNLIMITED,
    )
    mine = [each.at for each in earlier if each.by == by]
    return over_budget(
        Spent(instants=mine, tokens=[]), [each.at for each in earlier], 0, now, limits
    )


def passed_of(gates: StagingGates, rejection: Rejection) -> tuple[GateName, ...]:
    """The gates that are on and were passed before this one refused."""
    rate = bool(gates.agent_a_minute or gates.universe_a_minute)
    on = {
        GateName.SCHEMA: True,
        GateName.SAFETY: gates.safety,
        GateName.DUPLICATION: gates.duplication,
        GateName.RATE: rate,
    }
    order = [gate for gate, works in on.items() if works]
    return tuple(order[: order.index(rejection.gate)])

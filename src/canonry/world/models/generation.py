"""Generation: which model a purpose gets, how many tools it may call, and what it said already.

Whoever asks a model asks this first; it knows no model itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from canonry.canon.session.ai_words import ModelPurpose
from canonry.values.errors import Conflict
from canonry.values.policy import ModelTiers
from canonry.world.domain.admission.duplication import digest

KEPT_MAX: Final = 1_000


def model_for(purpose: ModelPurpose, tiers: ModelTiers) -> str:
    """The model of the tier that a purpose has; empty: the operator has named none."""
    rich = tiers.rich if str(purpose) in tiers.rich_purposes else ""
    return rich or tiers.cheap


def cost_of(prompt_tokens: int, completion_tokens: int, model: str, tiers: ModelTiers) -> int:
    """What tokens cost in millionths of the operator's currency, by the price of the tier."""
    rich = bool(tiers.rich) and model == tiers.rich
    asked, answered = tiers.rich_prices if rich else tiers.cheap_prices
    return round(1_000 * (prompt_tokens * asked + completion_tokens * answered))


@dataclass(slots=True, eq=False)
class ToolBudget:
    """So many tool calls one task may make; the one after the last fails."""

    most: int
    made: int = 0

    @property
    def left(self) -> int:
        """How many calls can be made."""
        return self.most - self.made

    def spend(self) -> None:
        """Count a call before it is made.

        Raises:
            Conflict: `generation.tool-calls`, there are none left.
        """
        if not self.left:
            message = f"a task makes at most {self.most} tool calls; answer from what is known"
            raise Conflict("generation.tool-calls", message, limit=self.most)
        self.made += 1


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRequest:
    """What a model is asked, as far as it decides what the answer rests on."""

    purpose: ModelPurpose
    model: str
    template_hash: str
    context_hash: str
    parameters: Mapping[str, str]

    @property
    def name(self) -> str:
        """The same for the same question about the same context."""
        told = (str(self.purpose), self.model, self.template_hash, self.context_hash)
        return digest([*told, dict(self.parameters)])


@dataclass(slots=True, eq=False)
class Generated:
    """What models said lately; the same question about the same context is not asked again."""

    _kept: dict[str, str] = field(default_factory=dict)

    def find(self, asked: GenerationRequest) -> str | None:
        """What was said to exactly this."""
        said = self._kept.pop(asked.name, None)
        if said is not None:
            self._kept[asked.name] = said
        return said

    def keep(self, asked: GenerationRequest, said: str) -> None:
        """Remember an answer; the one that was wanted longest ago makes room."""
        self._kept[asked.name] = said
        if len(self._kept) > KEPT_MAX:
            del self._kept[next(iter(self._kept))]

"""Policy: the numbers and choices that decide what becomes canon and how much is returned."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from canonry.values.attributes.table import current_attributes, exclusive_words
from canonry.values.moments import DAY
from canonry.values.provenance import Authority

NAME_MAX: Final = 200
DESCRIPTION_MAX: Final = 2_000  # bounds a summary, of which one reply holds many
STATEMENT_MAX: Final = 1_000  # a fact is one statement, no text
TURN_MAX: Final = 10_000  # longer than a reply in a dialogue
QUERY_MAX: Final = 1_000  # each word of a query is searched


@dataclass(frozen=True, slots=True, kw_only=True)
class Strengths:
    """The weight of each signal for one class of query; keywords have the weight 1.

    Keyword scores are relative to a mix of the best possible score (with the share `possible`) and
    the best found score. A higher share ranks questions with few matches by meaning; but similar
    passages then outrank one that has all words of the question which anybody uses.
    """

    keywords_alone: float
    meaning: float
    meaning_alone: float
    named: float
    dated: float
    possible: float


POINTED: Final = Strengths(
    keywords_alone=0.5, meaning=1.0, meaning_alone=1.0, named=0.12, dated=0.3, possible=0.5
)
"""For a short question: few turns answer it, and the speaker matters."""

BROAD: Final = Strengths(
    keywords_alone=0.75, meaning=0.8, meaning_alone=0.0, named=0.1, dated=0.3, possible=0.0
)
"""For a long description: a stretch of conversation answers it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingWeights:
    """The numbers of the ranking formula; `bench/recall` has the data that they were tuned on.

    `reach` is the share of a signal that a neighbouring passage gets. A query of at most `few`
    terms is pointed, one of at least `many` is broad, and weights are interpolated in between.
    """

    pointed: Strengths = POINTED
    broad: Strengths = BROAD
    few: int = 6
    many: int = 14
    reach: float = 0.93
    unrelated: float = 0.2
    """A similarity up to this counts as none."""
    pool: int = 128
    """Passages that keywords and meaning each find for a pointed query; twice that for a broad."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextLimits:
    """The longest texts accepted, in characters."""

    name: int = NAME_MAX
    description: int = DESCRIPTION_MAX
    statement: int = STATEMENT_MAX
    turn: int = TURN_MAX
    memory: int = DESCRIPTION_MAX
    summary: int = DESCRIPTION_MAX
    snippet: int = TURN_MAX
    query: int = QUERY_MAX
    tag: int = NAME_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoring:
    """A proposal's score: confidence x weight of its authority x evidence factor."""

    weights: Mapping[Authority, float] = field(
        default_factory=lambda: {
            Authority.SOURCE: 1.0,
            Authority.GM: 0.9,
            Authority.PLAYER: 0.7,
            Authority.SYSTEM: 0.5,
        }
    )
    without_evidence: float = 0.5
    threshold: float = 0.5
    below: str = "reject"
    """`reject` or `defer`: a deferred proposal stays pending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextLimits:
    """The size of a scene's context."""

    tokens: int = 4_000
    facts: int = 50
    turns: int = 20
    scenes: int = 3
    recalled: int = 5
    relations: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallWeights:
    """The parts of a memory's score; recency halves every `half_life` microseconds."""

    meaning: float = 0.4
    importance: float = 0.3
    recency: float = 0.3
    half_life: int = 30 * DAY


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """Days until sources are withdrawn, and until withdrawn ones are erased.

    None: never.
    """

    brought_days: int | None = None
    withdrawn_days: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TruthPolicy:
    """The number of interpretation runs of a user in 30 days; None: no limit."""

    interpretations: int | None = None
    retention: Retention = field(default_factory=Retention)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionLimits:
    """The number of proposals that a world admits, and the model tokens of a player's proposals."""

    player_a_minute: int = 30
    world_a_minute: int = 600
    tokens_an_hour: int = 60_000


STAGED_MAX: Final = 500
"""The most recent proposals of a universe that the gates read, none older than a day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StagingGates:
    """The gates that a narrative proposal passes before it is staged; by default none.

    The contract has no refusals for them, so an operator must enable them. A rate of 0 is none.
    """

    safety: bool = False
    duplication: bool = False
    agent_a_minute: int = 0
    universe_a_minute: int = 0

    @property
    def is_enabled(self) -> bool:
        """Return whether any model is enabled."""
        return self != StagingGates()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTiers:
    """The models by task, their prices, and the tool calls that one task may make.

    Prices are for a thousand tokens asked and answered, in the operator's currency.
    `hourly_budget`, in its millionths, is the cost of a model in an hour above which one warning is
    written; 0: none.
    """

    cheap: str = ""
    rich: str = ""
    rich_purposes: tuple[str, ...] = ("quest_seed", "npc_dialogue")
    cheap_prices: tuple[float, ...] = (0.0, 0.0)
    rich_prices: tuple[float, ...] = (0.0, 0.0)
    tool_calls: int = 6
    hourly_budget: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """All policies; the settings make one."""

    limits: TextLimits = field(default_factory=TextLimits)
    scoring: Scoring = field(default_factory=Scoring)
    context: ContextLimits = field(default_factory=ContextLimits)
    recall: RecallWeights = field(default_factory=RecallWeights)
    ranking: RankingWeights = field(default_factory=RankingWeights)
    truth: TruthPolicy = field(default_factory=TruthPolicy)
    admission: AdmissionLimits = field(default_factory=AdmissionLimits)
    staging: StagingGates = field(default_factory=StagingGates)
    models: ModelTiers = field(default_factory=ModelTiers)
    memories_open: bool = False
    """True if every role may search `memory_chunks`."""
    tags_exclusive: tuple[tuple[str, ...], ...] = ()
    """Groups of state tags besides the built-in ones, of which at most one may hold."""
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Attributes besides the built-in ones, or in place of one, as `attributes.toml` has them."""

    @property
    def exclusive_tags(self) -> tuple[tuple[str, ...], ...]:
        """All groups of state tags of which at most one may hold, those of attributes first."""
        return (*exclusive_words(current_attributes()), *self.tags_exclusive)

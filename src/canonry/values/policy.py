"""Policy: every number and choice that decides what becomes canon and how much is answered."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from canonry.values.moments import DAY
from canonry.values.provenance import Authority
from canonry.values.state_tags import EXCLUSIVE_GROUPS

NAME_MAX: Final = 200
DESCRIPTION_MAX: Final = 2_000
STATEMENT_MAX: Final = 1_000
TURN_MAX: Final = 10_000
QUERY_MAX: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Strengths:
    """How much each signal counts, for one class of query; keywords are the measure and count 1.

    `possible` is the share of the best keyword score that any passage could have in the scale that
    keywords are measured by; the rest is the best score found. Measured by what is possible, a
    question whose words hardly occur leaves the order to its meaning; but then whatever is
    somewhat like it comes before a passage that has all of its words that anybody uses.
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
"""For a short question: few turns answer it, and who said it matters."""

BROAD: Final = Strengths(
    keywords_alone=0.75, meaning=0.8, meaning_alone=0.0, named=0.1, dated=0.3, possible=0.0
)
"""For a long description: a stretch of conversation answers it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingWeights:
    """The formula's figures; `bench/recall` states what they were chosen on.

    `reach` is what remains of a signal one place on. A query of at most `few` terms is pointed,
    one of at least `many` is broad, and between them the strengths change evenly.
    """

    pointed: Strengths = POINTED
    broad: Strengths = BROAD
    few: int = 6
    many: int = 14
    reach: float = 0.93
    unrelated: float = 0.2
    """A similarity up to this says nothing."""
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
    """A proposal's score is confidence x weight of its authority x evidence factor."""

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
    """How much a scene's context holds."""

    tokens: int = 4_000
    facts: int = 50
    turns: int = 20
    scenes: int = 3
    recalled: int = 5
    relations: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallWeights:
    """How a memory's score is made up; recency halves every `half_life` microseconds."""

    meaning: float = 0.4
    importance: float = 0.3
    recency: float = 0.3
    half_life: int = 30 * DAY


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """After how many days what was brought is withdrawn, and what was withdrawn is erased.

    None: never.
    """

    brought_days: int | None = None
    withdrawn_days: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TruthPolicy:
    """How much a user may ask of interpreters: so many runs in 30 days; None: no limit."""

    interpretations: int | None = None
    retention: Retention = field(default_factory=Retention)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionLimits:
    """How many proposals a world admits, and how many tokens of models a player's may cost."""

    player_a_minute: int = 30
    world_a_minute: int = 600
    tokens_an_hour: int = 60_000


STAGED_MAX: Final = 500
"""So many proposals of a universe are looked back at, the newest, and none older than a day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StagingGates:
    """Which gates of the kit a proposal of the narrative passes before it is staged: none of these.

    The contract knows no such refusals, so that an operator says so. A rate of 0 is none.
    """

    safety: bool = False
    duplication: bool = False
    agent_a_minute: int = 0
    universe_a_minute: int = 0

    @property
    def opened(self) -> bool:
        """Whether any of them judges."""
        return self != StagingGates()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTiers:
    """Which model is asked for what, what it costs, and how many tools one task may call.

    Prices are of a thousand tokens asked and answered, in the operator's currency. An hour in
    which a model costs more than `hourly_budget`, in its millionths, is told of once; 0: no hour.
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
    """All of them together; the settings make one."""

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
    """Whether every role may search `memory_chunks`."""
    tags_exclusive: tuple[tuple[str, ...], ...] = ()
    """Groups of state tags beside the built-in ones, of which at most one may hold."""

    @property
    def exclusive_tags(self) -> tuple[tuple[str, ...], ...]:
        """All groups of state tags of which at most one may hold, the built-in ones first."""
        return (*EXCLUSIVE_GROUPS, *self.tags_exclusive)

"""Services of a world: admission of texts, rules of play, models, and counts of their use."""

from asyncio import Lock
from collections import Counter, OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import pairwise
from typing import Any, Final
from zlib import crc32

from canonry.canon.session.canon import Canon
from canonry.canon.session.telemetry_names import CallOutcome, EventName, ModelPurpose
from canonry.log.commits import Position
from canonry.models.outside_services import SpeakingModel
from canonry.values.ids import SpaceId
from canonry.values.json_values import encode_json
from canonry.values.moments import SECOND, Instant
from canonry.values.policy import ModelTiers
from canonry.world.domain.admission import safety
from canonry.world.domain.admission.schema import ReadProposal, Rejection
from canonry.world.domain.moderation.moderating import Moderation, moderate_by_words
from canonry.world.domain.prompts.templates import find_template
from canonry.world.ports.moderator import Moderator, Rulebook

# Generation: every request to a model passes here first. This part knows no model itself.

KEPT_MAX: Final = 1_000  # bounds the memory of cached answers


def model_for(purpose: ModelPurpose, tiers: ModelTiers) -> str:
    """The model of the tier that a purpose has; empty: the operator has named none."""
    rich = tiers.rich if str(purpose) in tiers.rich_purposes else ""
    return rich or tiers.cheap


def cost_of(prompt_tokens: int, completion_tokens: int, model: str, tiers: ModelTiers) -> int:
    """Return the price of tokens in millionths of the operator's currency, by tier."""
    rich = bool(tiers.rich) and model == tiers.rich
    asked, answered = tiers.rich_prices if rich else tiers.cheap_prices
    return round(1_000 * (prompt_tokens * asked + completion_tokens * answered))


def generation_key(purpose: ModelPurpose, model: str, template_hash: str, context_hash: str) -> str:
    """Return a key for a question about a context."""
    return safety.digest_value([str(purpose), model, template_hash, context_hash])


@dataclass(slots=True, eq=False)
class AnswerCache:
    """Cache of model answers, by question and context."""

    _kept: dict[str, str] = field(default_factory=dict)

    def find_answer(self, key: str) -> str | None:
        """Return the cached answer to this question."""
        answer = self._kept.pop(key, None)
        if answer is not None:
            self._kept[key] = answer
        return answer

    def keep_answer(self, key: str, answer: str) -> None:
        """Remember an answer; the one that was wanted longest ago makes room."""
        self._kept[key] = answer
        if len(self._kept) > KEPT_MAX:
            del self._kept[next(iter(self._kept))]


# Telemetry. It keeps no text: only purpose, event, model, tokens, milliseconds and outcome. It
# reports sums for each space. It lives as long as the process; earlier requests to models are
# counted again from the records
# (`usecases/dialogue.py`).

HOUR: Final = 3_600 * SECOND
HOURS_MAX: Final = 24 * 31  # a month: bounds the memory of counts
BOUNDS_MS: Final = (10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000)
"""Bounds of the latency buckets, in milliseconds."""
MODELS_MAX: Final = 50  # bounds the memory of counts
SPACES_MAX: Final = 1_000
"""Limit of spaces with their own counts; later ones count together."""
DISTINCT_MAX: Final = 20_000  # bounds the memory of counted pairs
OTHER: Final = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """Measurements of one model call; these are the `ai.*` dimensions.

    Of the `text` only its variety is kept; `micros` is its cost in millionths
    of the operator's currency.
    """

    purpose: ModelPurpose
    model: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    latency_ms: float | None = None
    tool_calls: int = 0
    outcome: CallOutcome | None = None
    flagged: bool = False
    cache_hit: bool = False
    micros: int = 0
    text: str = ""


@dataclass(slots=True, eq=False)
class UsageSums:
    """Totals of one hour for a purpose, an event and a model.

    `latencies` counts by the place among `BOUNDS_MS`; of `words`, pairs of neighbours were said,
    and these are the different ones.
    """

    numbers: Counter[str] = field(default_factory=Counter[str])
    outcomes: Counter[str] = field(default_factory=Counter[str])
    rules: Counter[str] = field(default_factory=Counter[str])
    latencies: Counter[int] = field(default_factory=Counter[int])
    distinct: set[int] = field(default_factory=set[int])

    def add_call(self, call: Invocation) -> None:
        """Count an asking."""
        self.numbers.update(
            prompt_tokens=call.prompt_tokens,
            completion_tokens=call.completion_tokens,
            tool_calls=call.tool_calls,
            flagged=call.flagged,
            cache_hits=call.cache_hit,
            micros=call.micros,
        )
        if call.outcome is not None:
            self.outcomes[call.outcome] += 1
        if call.latency_ms is not None:
            self.latencies[sum(call.latency_ms > bound for bound in BOUNDS_MS)] += 1
        pairs = [crc32(f"{a} {b}".encode()) for a, b in pairwise(call.text.casefold().split())]
        self.numbers["pairs"] += len(pairs)
        self.distinct.update(pairs[: max(0, DISTINCT_MAX - len(self.distinct))])

    def add_sums(self, other: "UsageSums") -> None:
        """Add what another hour adds up to."""
        for name in (each.name for each in fields(UsageSums)):
            getattr(self, name).update(getattr(other, name))


Key = tuple[str, str, str]
"""Purpose, event and model; the purpose is empty where no model was asked."""
UsageKey = tuple[Key, SpaceId | None]
"""The same in one space; None: in no space in particular, such as calls of tools."""


@dataclass(slots=True, eq=False)
class Telemetry:
    """Sums by the hour of all that is stated; the names of events are a closed list."""

    _hours: dict[int, dict[UsageKey, UsageSums]] = field(default_factory=dict)
    _models: dict[str, None] = field(default_factory=dict)
    _spaces: set[SpaceId] = field(default_factory=set)
    began: Instant | None = None
    recounted: bool = False

    def record_event(
        self,
        event: EventName,
        at: Instant,
        invocation: Invocation | None = None,
        rule: str = "",
        budget: int = 0,
        *,
        space: SpaceId | None = None,
    ) -> None:
        """Count an event of a space; `rule` is by which a gate refused.

        That an hour's cost of a model passes the `budget`, in millionths, is an event of its own.
        """
        self.began = at if self.began is None else self.began
        hour = self._hours.setdefault(at // HOUR, {})
        while len(self._hours) > HOURS_MAX:
            del self._hours[min(self._hours)]
        purpose, model = (
            ("", "")
            if invocation is None
            else (str(invocation.purpose), self._bounded_model(invocation.model))
        )
        key = (purpose, str(event), model)
        if space is not None and len(self._spaces) < SPACES_MAX:
            self._spaces.add(space)
        sums = hour.setdefault((key, (space if space in self._spaces else None)), UsageSums())
        sums.numbers["count"] += 1
        if invocation is not None:
            sums.add_call(invocation)
        if rule:
            sums.rules[rule] += 1
        if invocation is not None and budget:
            spent = sum(s.numbers["micros"] for (key, _), s in hour.items() if key[2] == model)
            if spent > budget >= spent - invocation.micros:
                over = Invocation(purpose=invocation.purpose, model=invocation.model)
                self.record_event(EventName.BUDGET_REACHED, at, over)

    def _bounded_model(self, name: str) -> str:
        """Return the name of a model; beyond a limit, new names share one."""
        if name not in self._models and len(self._models) >= MODELS_MAX:
            return OTHER
        self._models[name] = None
        return name

    def sums_since(
        self, since: Instant, spaces: Collection[SpaceId] | None
    ) -> Mapping[Key, UsageSums]:
        """Return the totals from the hour of that instant on; only of `spaces`, if given."""
        found: dict[Key, UsageSums] = {}
        hours = (by_key for hour, by_key in self._hours.items() if hour >= since // HOUR)
        for (key, space), sums in (each for by_key in hours for each in by_key.items()):
            if spaces is None or space in spaces:
                found.setdefault(key, UsageSums()).add_sums(sums)
        return found


def invocation_of(
    proposed: ReadProposal | None, rejection: Rejection | None, tiers: ModelTiers
) -> Invocation | None:
    """Return the model call that a proposal reports; None if no model made it."""
    generation = None if proposed is None else proposed.envelope.generation
    if generation is None:
        return None
    template = find_template(generation.template_name, generation.template_version)
    return Invocation(
        purpose=ModelPurpose.AMBIENCE if template is None else template.purpose,
        model=generation.model,
        prompt_tokens=generation.prompt_tokens,
        completion_tokens=generation.completion_tokens,
        outcome=CallOutcome.ACCEPTED if rejection is None else CallOutcome.REJECTED,
        micros=cost_of(
            generation.prompt_tokens, generation.completion_tokens, generation.model, tiers
        ),
        flagged=rejection is not None and rejection.gate == "safety",
    )


_SHARES: Final = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def usage_report(
    telemetry: Telemetry,
    since: Instant,
    purpose: ModelPurpose | None = None,
    spaces: Collection[SpaceId] | None = None,
) -> Sequence[Mapping[str, Any]]:
    """A row for each purpose, event and model, in the order of their names; of `spaces` or of all.

    A latency is the upper bound in milliseconds of the class that holds this share of all; null
    where it lies beyond the last. `diversity` is the share of pairs of neighbouring words that are
    different ones.
    """
    return [
        _usage_row(*key, sums)
        for key, sums in sorted(
            telemetry.sums_since(since, spaces).items(), key=lambda each: each[0]
        )
        if purpose in {None, key[0]}
    ]


def _usage_row(purpose: str, event: str, model: str, sums: UsageSums) -> dict[str, Any]:
    numbers = sums.numbers
    row = {
        "purpose": purpose or None,
        "eventType": event,
        "model": model or None,
        "count": numbers["count"],
        "rejections": dict(sorted(sums.rules.items())),
    }
    if not purpose:
        return row
    decided = sum(sums.outcomes.values())
    return {
        **row,
        "promptTokens": numbers["prompt_tokens"],
        "completionTokens": numbers["completion_tokens"],
        "costMicros": numbers["micros"],
        "toolCalls": numbers["tool_calls"],
        "cacheHits": numbers["cache_hits"],
        "retries": 0,  # a model is asked once; the report has the field since its first version
        "flaggedRatio": numbers["flagged"] / numbers["count"],
        "outcomes": dict(sorted(sums.outcomes.items())),
        "rejectionRate": sums.outcomes["rejected"] / decided if decided else None,
        "latencyMs": {name: _latency_bound(sums, share) for name, share in _SHARES.items()},
        "diversity": len(sums.distinct) / numbers["pairs"] if numbers["pairs"] else None,
    }


def _latency_bound(sums: UsageSums, share: float) -> int | None:
    left = share * sum(sums.latencies.values())
    for index, bound in enumerate(BOUNDS_MS):
        left -= sums.latencies[index]
        if left <= 0 < sum(sums.latencies.values()):
            return bound
    return None


# Admissions: what a world has admitted lately, kept in memory and brought up to date by the log.
# The record is the log. Each process follows it, so that budgets and likeness hold for all of
# them.

WORLDS_MAX: Final = 50  # bounds the memory; another world is read again from its log
CONTEXTS_MAX: Final = 10_000
"""Limit of the remembered contexts that a process gave out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """The parts of an admitted proposal that later ones are compared with."""

    proposal: str
    player: str
    at: Instant
    tokens: int
    content: str
    actions: tuple[str, ...]
    texts: tuple[tuple[safety.ActionScope, safety.TextFingerprint], ...]


@dataclass(slots=True, eq=False)
class RecentAdmissions:
    """Recent admissions of one world, earliest first."""

    position: Position | None = None
    texts: safety.RecentTexts = field(default_factory=safety.RecentTexts)
    by_content: dict[str, str] = field(default_factory=dict)
    by_action: dict[str, str] = field(default_factory=dict)
    pending: dict[str, Instant] = field(default_factory=dict)
    known: OrderedDict[str, Admitted] = field(default_factory=OrderedDict)
    instants: list[Instant] = field(default_factory=list)
    by_player: dict[str, safety.Spent] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def add_admission(self, one: Admitted) -> None:
        """Remember an admission."""
        if one.proposal in self.known:
            return
        self.known[one.proposal] = one
        self.instants.append(one.at)
        mine = self.by_player.setdefault(one.player, safety.Spent(instants=[], tokens=[]))
        mine.instants.append(one.at)
        mine.tokens.append(one.tokens)
        self.by_content[one.content] = one.proposal
        for action in one.actions:
            self.by_action[action] = one.proposal
        for scope, fingerprint in one.texts:
            self.texts.add_text(one.proposal, scope, fingerprint)

    def forget_before(self, instant: Instant) -> None:
        """Drop admissions that are too old to matter."""
        gone = 0
        while self.known and (one := next(iter(self.known.values()))).at < instant:
            self.forget_texts(one.proposal)
            del self.known[one.proposal]
            mine = self.by_player[one.player]
            del mine.instants[0], mine.tokens[0]
            if not mine.instants:
                del self.by_player[one.player]
            gone += 1
        del self.instants[:gone]

    def forget_texts(self, proposal: str) -> None:
        """Forget the texts of a proposal that was not applied, to allow them again."""
        one = self.known.get(proposal)
        if one is None:
            return
        for scope, fingerprint in one.texts:
            self.texts.drop_text(proposal, scope, fingerprint)
        if self.by_content.get(one.content) == proposal:
            del self.by_content[one.content]
        for action in one.actions:
            if self.by_action.get(action) == proposal:
                del self.by_action[action]

    def spent_by(self, player: str) -> safety.Spent:
        """Return the times and tokens admitted on behalf of a player."""
        return self.by_player.get(player) or safety.Spent(instants=[], tokens=[])


@dataclass(slots=True, eq=False)
class Admissions:
    """Recent admissions of all worlds, and the contexts given out."""

    _worlds: dict[SpaceId, RecentAdmissions] = field(default_factory=dict)
    _contexts: dict[tuple[SpaceId, str], bytes] = field(default_factory=dict)

    def recent_of(self, world: SpaceId) -> RecentAdmissions:
        """Return the recent admissions of a world; empty at first."""
        recent = self._worlds.pop(world, None) or RecentAdmissions()
        self._worlds[world] = recent
        if len(self._worlds) > WORLDS_MAX:
            del self._worlds[next(iter(self._worlds))]
        return recent

    def record_context(self, world: SpaceId, context: Mapping[str, Any]) -> str:
        """Remember a context that somebody was stated; the hash by which a prompt names it."""
        name = f"sha256:{safety.digest_value(context)}"
        self._contexts.pop((world, name), None)
        self._contexts[world, name] = encode_json(context)
        if len(self._contexts) > CONTEXTS_MAX:
            del self._contexts[next(iter(self._contexts))]
        return name

    def find_context(self, world: SpaceId, name: str) -> bytes | None:
        """The context of that hash as JSON, if it was given out and not too long ago."""
        return self._contexts.get((world, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldServices:
    """Optional services of a world, apart from the store's ports.

    Without `moderator`, word lists alone moderate texts; without `listener`, rules alone read what
    players say; without `speaker`, characters answer with set sentences.
    """

    rulebook: Rulebook | None = None
    speaker: SpeakingModel | None = None
    listener: SpeakingModel | None = None
    moderator: Moderator | None = None
    admissions: Admissions = field(default_factory=Admissions)
    telemetry: Telemetry = field(default_factory=Telemetry)
    generated: AnswerCache = field(default_factory=AnswerCache)

    async def close(self) -> None:
        """Close the connections of models."""
        for each in (self.speaker, self.listener, self.moderator):
            if each is not None:
                await each.close()


def count_event(
    canon: Canon,
    event: EventName,
    invocation: Invocation | None = None,
    rule: str = "",
    *,
    space: SpaceId | None = None,
) -> None:
    """Count an event of telemetry now, with the details of a model's call."""
    telemetry = canon.find_service(WorldServices).telemetry
    budget = canon.policy.models.hourly_budget
    telemetry.record_event(event, canon.clock.now(), invocation, rule, budget, space=space)


async def moderate_content(canon: Canon, text: str) -> Moderation:
    """Judge a text by the moderator, or by rules if there is none."""
    moderator = canon.find_service(WorldServices).moderator
    return moderate_by_words(text) if moderator is None else await moderator.moderate_text(text)

"""Models are asked by tier, within a budget of tools, once for each context, and counted."""

from canonry.canon.session.telemetry_names import CallOutcome, EventName, ModelPurpose
from canonry.values.ids import SpaceId
from canonry.values.moments import Instant
from canonry.values.policy import ModelTiers
from canonry.world.models.services import (
    HOUR,
    HOURS_MAX,
    KEPT_MAX,
    MODELS_MAX,
    SPACES_MAX,
    AnswerCache,
    Invocation,
    Telemetry,
    cost_of,
    generation_key,
    model_for,
    usage_report,
)

TIERS = ModelTiers(
    cheap="small", rich="large", cheap_prices=(0.00015, 0.0006), rich_prices=(0.0025, 0.01)
)


def test_a_purpose_has_its_tier() -> None:
    assert model_for(ModelPurpose.AMBIENCE, TIERS) == "small"
    assert model_for(ModelPurpose.QUEST_SEED, TIERS) == "large"
    assert model_for(ModelPurpose.QUEST_SEED, ModelTiers(cheap="small")) == "small"
    assert model_for(ModelPurpose.AMBIENCE, ModelTiers()) == ""


def test_tokens_cost_the_price_of_their_tier() -> None:
    assert cost_of(1_000, 1_000, "small", TIERS) == 750
    assert cost_of(1_000, 1_000, "large", TIERS) == 12_500
    assert cost_of(1_000, 1_000, "large", ModelTiers()) == 0


def ask_model(context: str, model: str = "small") -> str:
    return generation_key(ModelPurpose.AMBIENCE, model, "sha256:1", context)


def test_a_repeated_question_on_the_same_context_is_not_asked_again() -> None:
    kept = AnswerCache()
    kept.keep_answer(ask_model("one"), "Grey.")

    assert kept.find_answer(ask_model("one")) == "Grey."
    assert kept.find_answer(ask_model("two")) is None
    assert kept.find_answer(ask_model("one", "large")) is None
    for number in range(KEPT_MAX - 1):
        kept.keep_answer(ask_model(str(number)), "x")
    assert kept.find_answer(ask_model("one")) == "Grey."
    kept.keep_answer(ask_model("more"), "x")
    assert kept.find_answer(ask_model("0")) is None
    assert kept.find_answer(ask_model("one")) == "Grey."


def test_telemetry_adds_up_and_gives_shares() -> None:
    telemetry, now = Telemetry(), Instant(100 * HOUR)
    for latency, said in ((20, "a grey grey day"), (40, "a grey day"), (9_000, "a"), (10**6, "")):
        result = Invocation(
            purpose=ModelPurpose.NPC_DIALOGUE,
            model="small",
            prompt_tokens=10,
            completion_tokens=5,
            latency_ms=latency,
            tool_calls=2,
            outcome=CallOutcome.REJECTED if latency > 1_000 else CallOutcome.ACCEPTED,
            flagged=latency > 10_000,
            cache_hit=latency < 30,
            micros=7,
            text=said,
        )
        telemetry.record_event(EventName.PROMPT_ISSUED, now, result)
    telemetry.record_event(EventName.TOOL_FAILED, now)

    dialogue, tools = sorted(
        usage_report(telemetry, Instant(0)), key=lambda row: row["purpose"] is None
    )
    assert dialogue == {
        "purpose": "npc_dialogue",
        "eventType": "Prompt.Genesis.Issued",
        "model": "small",
        "count": 4,
        "rejections": {},
        "promptTokens": 40,
        "completionTokens": 20,
        "costMicros": 28,
        "toolCalls": 8,
        "cacheHits": 1,
        "retries": 0,
        "flaggedRatio": 0.25,
        "outcomes": {"accepted": 2, "rejected": 2},
        "rejectionRate": 0.5,
        "latencyMs": {"p50": 50, "p95": None, "p99": None},
        "diversity": 3 / 5,
    }
    assert tools == {
        "purpose": None,
        "eventType": "MCP.Failed",
        "model": None,
        "count": 1,
        "rejections": {},
    }


def test_telemetry_is_bounded_in_hours_and_names() -> None:
    telemetry = Telemetry()
    for hour in range(HOURS_MAX + 5):
        telemetry.record_event(EventName.TOOL_FAILED, Instant(hour * HOUR))
    assert usage_report(telemetry, Instant(0))[0]["count"] == HOURS_MAX

    now = Instant(10_000 * HOUR)
    for number in range(MODELS_MAX + 5):
        result = Invocation(purpose=ModelPurpose.RETRIEVAL, model=f"m{number}")
        telemetry.record_event(EventName.PROMPT_ISSUED, now, result)
    rows = usage_report(telemetry, now, ModelPurpose.RETRIEVAL)
    counts = {row["model"]: row["count"] for row in rows}
    assert len(counts) == MODELS_MAX + 1
    assert counts["other"] == 5
    assert rows[0]["rejectionRate"] is None
    assert rows[0]["diversity"] is None

    spaces = [SpaceId(f"s{number}") for number in range(SPACES_MAX + 5)]
    for space in spaces:
        telemetry.record_event(EventName.PROPOSAL_ACCEPTED, now, space=space)
    assert [row["count"] for row in usage_report(telemetry, now, None, spaces)] == [SPACES_MAX]
    rows = usage_report(telemetry, now)
    [whole] = [row["count"] for row in rows if row["eventType"] == EventName.PROPOSAL_ACCEPTED]
    assert whole == len(spaces)

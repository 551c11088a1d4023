"""The kit of the gates, and what has no world: order, claims, budgets, replay, word lists."""

import pytest

from canonry.readmodels.edges import Direction
from canonry.values.errors import BrokenInvariant
from canonry.values.moments import SECOND, Instant
from canonry.values.policy import AdmissionLimits
from canonry.world.domain.admission.safety import (
    HOUR,
    MINUTE,
    Spent,
    reject_over_budget,
    reject_unreplayable,
)
from canonry.world.domain.admission.schema import (
    ACTION_TYPES,
    LASTING,
    ORDER,
    RULES,
    GateName,
    Generation,
    envelope_schema,
    gates_before,
    make_rejection,
    recorded_proposal,
    reject_false_claims,
)
from canonry.world.domain.moderation.moderating import moderate_by_words
from canonry.world.domain.prompts.templates import find_template
from tests.toolsets.world.proposals.cases import CASES

LIMITS = AdmissionLimits(player_a_minute=2, world_a_minute=3, tokens_an_hour=100)
NOW = Instant(10 * HOUR)


def test_a_refusal_passed_all_earlier_gates() -> None:
    found = make_rejection("exit.unknown", "no")

    assert (found.gate, found.gate_index) == (GateName.INVARIANTS, 3)
    assert gates_before(found) == ORDER[:2]
    assert gates_before(None) == ORDER


def test_every_rule_names_an_admissible_form_and_has_a_gate() -> None:
    for rule in RULES:
        found = make_rejection(rule, "no")
        assert found.admissible
        assert found.transient == (found.gate in {GateName.RATE, GateName.AUDIT})
    assert make_rejection("safety.hate", "no").gate is GateName.SAFETY
    assert set(RULES) >= LASTING


def test_every_rule_has_an_adversarial_case() -> None:
    tried = {case.rule for case in CASES}
    elsewhere = {  # in test_admission and test_scheduling, which need a history
        "duplication.other-content",
        "duplication.near",
        "duplication.repeated",
        "rate.player",
        "rate.world",
        "audit.unavailable",
        "world.stands-against",
    }
    assert set(RULES) - tried == elsewhere


def test_the_published_schema_allows_exactly_the_actions() -> None:
    schema, parts = envelope_schema()
    assert schema == {"$ref": "#/$defs/Envelope"}
    assert len(parts["ActionAsSent"]["oneOf"]) == len(ACTION_TYPES)
    closed = [part for part in parts.values() if part.get("type") == "object"]
    assert closed
    assert all(part["additionalProperties"] is False for part in closed)


@pytest.mark.parametrize(
    "text",
    [
        "The door to the yard creaks.",
        "There is no new door anywhere.",
        "You dream that a hidden passage opens to the north.",
        "Is there a secret door that leads north?",
        "You find it hard to breathe.",
        "The smell of the sea comes in with the tide.",
        "Night comes, and the Inn falls silent.",
        "A path leads out between the barrels.",
        "The bridge groans in the wind.",
        "You can't tell whether the roar is a dragon or the echo of the cliff.",
        "Legend says that a hidden gate opens once a year.",
        "It is as if somebody had walked over a grave.",
    ],
)
def test_prose_without_changes_passes(text: str) -> None:
    assert reject_false_claims(text, (Direction.OUT,)) is None


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("A narrow bridge now spans the gorge.", "text.claims-way"),
        ("A stair leads up to the loft.", "text.claims-way"),
        ("You receive 30 gold pieces.", "text.claims-item"),
        ("Silence. Captain Bragg enters with two men.", "text.claims-arrival"),
    ],
)
def test_prose_that_would_change_the_world_is_found(text: str, rule: str) -> None:
    found = reject_false_claims(text, (Direction.OUT,))
    assert found is not None
    assert found.rule == rule


def test_windows_slide_and_report_when_capacity_returns() -> None:
    times = [Instant(NOW - 50 * SECOND), Instant(NOW - 20 * SECOND)]
    mine = Spent(instants=times, tokens=[0, 0])

    mine_full = reject_over_budget(mine, times, 0, NOW, LIMITS)
    assert mine_full is not None
    assert (mine_full.rule, mine_full.retry_after_ms) == ("rate.player", 10_000)
    later = Instant(NOW + 10 * SECOND)
    assert reject_over_budget(mine, times, 0, later, LIMITS) is None

    nobody = Spent(instants=[], tokens=[])
    full = reject_over_budget(nobody, [*times, NOW], 0, NOW, LIMITS)
    assert full is not None
    assert full.rule == "rate.world"


def test_a_burst_at_the_edge_of_a_window_does_not_double_it() -> None:
    first = [Instant(NOW), Instant(NOW + 59 * SECOND)]
    for after in range(60, 119):
        now = Instant(NOW + after * SECOND)
        within = [each for each in first if each > now - MINUTE]
        found = reject_over_budget(Spent(instants=first, tokens=[0, 0]), first, 0, now, LIMITS)
        assert (found is None) == (len(within) < 2)


def test_tokens_of_an_hour_are_freed_one_by_one() -> None:
    times = [Instant(NOW - 50 * MINUTE), Instant(NOW - 30 * MINUTE)]
    mine = Spent(instants=times, tokens=[40, 50])

    assert reject_over_budget(mine, [], 10, NOW, LIMITS) is None
    some = reject_over_budget(mine, [], 30, NOW, LIMITS)
    most = reject_over_budget(mine, [], 90, NOW, LIMITS)
    never = reject_over_budget(mine, [], 101, NOW, LIMITS)

    waits = [None if each is None else each.retry_after_ms for each in (some, most, never)]
    assert waits == [10 * 60_000, 30 * 60_000, 30 * 60_000]


def a_generation(**more: object) -> Generation:
    template = find_template("ambience")
    assert template is not None
    fields: dict[str, object] = {
        "template_name": "ambience",
        "template_version": template.version,
        "template_hash": template.content_hash,
        "context_hash": "sha256:" + "0" * 64,
        "parameters": {"location": "x", "weather": "x", "timeOfDay": "x"},
        "model": "m",
        "prompt_tokens": 1,
        "completion_tokens": 1,
    }
    return Generation(**{**fields, **more})  # type: ignore[arg-type]


def test_replay_needs_template_hash_parameters_and_a_known_context() -> None:
    assert reject_unreplayable(None, lambda _: False) is None
    assert reject_unreplayable(a_generation(), lambda _: True) is None
    rules = [
        (a_generation(template_name="x"), "replay.unknown-template"),
        (a_generation(template_hash="sha256:" + "1" * 64), "replay.other-hash"),
        (a_generation(parameters={}), "replay.parameters"),
        (a_generation(), "replay.unknown-context"),
    ]
    for generation, rule in rules:
        found = reject_unreplayable(generation, lambda _: False)
        assert found is not None
        assert found.rule == rule


@pytest.mark.parametrize(
    "text",
    [
        "I will kill you, foul dragon!",
        "The corpse hangs from the gallows, bled dry.",
        "He was a child when the sea took his father.",
        "Room 101 costs 12 silver a night.",
        "Follow the instructions on the map.",
    ],
)
def test_fiction_passes_the_rules_of_moderation(text: str) -> None:
    assert moderate_by_words(text).allowed


def test_a_record_that_was_never_admitted_is_a_defect() -> None:
    with pytest.raises(BrokenInvariant, match="cannot be read"):
        recorded_proposal("ann", {"version": 1})

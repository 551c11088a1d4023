"""What agents that build software keep: features, releases, sessions, decisions and checks."""

from typing import Final

from canonry.log.schemas.truth_types.kit import (
    array,
    built_in,
    date,
    key,
    mapping,
    number,
    text,
    texts,
)

FEATURE_UNIT: Final = built_in(
    "feature_unit",
    "Feature unit",
    fields=(
        text("id", "feature_unit_id", required=True, pattern="feature_unit"),
        text("description", required=True),
        text(
            "status",
            required=True,
            choices="planning in_progress completed deployed deferred cancelled",
        ),
        array("dependencies"),
        text("risk_level", choices="low medium high"),
        date("created_at", required=True, event="FeatureUnitCreated"),
        date("updated_at", required=True),
        *texts("title notes"),
    ),
    identity=(key("id"),),
    names=("id title", "id"),
    order=(("created_at", "updated_at"),),
)

RELEASE: Final = built_in(
    "release",
    "Release",
    fields=(
        text("id", "release_id", required=True, pattern="release"),
        text("version", required=True),
        array("feature_units", required=True),
        text(
            "status",
            required=True,
            choices="planning in_progress ready_for_deployment deployed cancelled",
        ),
        array("acceptance_criteria"),
        date("target_ship_date", event="ReleaseTargeted"),
        date("created_at", required=True, event="ReleaseCreated"),
        date("updated_at", required=True),
        *texts("name description notes"),
    ),
    identity=(key("id"), key("version")),
    names=("name", "id", "version"),
    order=(("created_at", "updated_at"),),
)

AGENT_DECISION: Final = built_in(
    "agent_decision",
    "Agent decision",
    fields=(
        text("decision", required=True, pattern="ten_characters"),
        text("rationale", required=True, pattern="ten_characters"),
        mapping("context"),
        text("decision_type", choices="technical architectural process strategic"),
        date("timestamp", required=True, event="DecisionMade"),
        text("agent_id"),
    ),
    identity=(key("decision timestamp"),),
    names=("decision",),
)

AGENT_SESSION: Final = built_in(
    "agent_session",
    "Agent session",
    fields=(
        text("session_id", "id", required=True),
        array("actions", required=True),
        array("checkpoints"),
        array("outcomes"),
        number("duration"),
        date("started_at", required=True, event="SessionStarted"),
        date("ended_at", event="SessionEnded"),
        text("agent_id"),
    ),
    identity=(key("session_id"),),
    names=("session_id",),
    order=(("started_at", "ended_at"),),
)

VALIDATION_RESULT: Final = built_in(
    "validation_result",
    "Validation result",
    fields=(
        text(
            "validation_type",
            required=True,
            choices="lint test security compliance acceptance_criteria custom",
        ),
        text("status", required=True, choices="passed failed warning skipped"),
        mapping("details"),
        text("target"),
        date("timestamp", required=True, event="ValidationRun"),
        text("notes"),
    ),
    identity=(key("validation_type timestamp", optional="target"),),
    names=("validation_type target timestamp", "validation_type"),
)

CODEBASE_ENTITY: Final = built_in(
    "codebase_entity",
    "Codebase entity",
    fields=(
        text(
            "codebase_entity_type",
            "kind",
            required=True,
            choices="subsystem component module package service api database integration",
        ),
        text("name", required=True, pattern="two_characters"),
        array("relationships"),
        *texts("description path notes"),
    ),
    identity=(key("name codebase_entity_type", optional="path"), key("name", optional="path")),
    names=("name",),
)

ARCHITECTURAL_DECISION: Final = built_in(
    "architectural_decision",
    "Architectural decision",
    also="adr",
    fields=(
        text("decision", "title", required=True),
        text("rationale", required=True),
        text("impact"),
        array("alternatives"),
        text("status", choices="proposed accepted deprecated superseded"),
        date("timestamp", "date", required=True, event="DecisionMade"),
        text("notes"),
    ),
    identity=(key("decision timestamp"),),
    names=("decision",),
)

"""The closed vocabulary of telemetry: purposes of model calls and names of events.

Telemetry reports only values in these lists.
"""

from enum import StrEnum


class ModelPurpose(StrEnum):
    """The purpose of a model call."""

    AMBIENCE = "ambience"
    NPC_DIALOGUE = "npc_dialogue"
    QUEST_SEED = "quest_seed"
    CLASSIFICATION = "classification"
    RETRIEVAL = "retrieval"


class EventName(StrEnum):
    """The name of a telemetry event: `Domain.Subject.Action`."""

    TOOL_INVOKED = "MCP.Tool.Invoked"
    TOOL_FAILED = "MCP.Failed"
    TOOL_ALLOWED = "MCP.Auth.Allowed"
    TOOL_DENIED = "MCP.Auth.Denied"
    TOOL_THROTTLED = "MCP.Throttled"
    PROPOSAL_RECEIVED = "Agent.Proposal.Received"
    PROPOSAL_ACCEPTED = "Agent.Proposal.Accepted"
    PROPOSAL_APPLIED = "Agent.Proposal.Applied"
    PROPOSAL_REJECTED = "Agent.Proposal.Rejected"
    PROPOSAL_DUPLICATE = "Agent.Proposal.Duplicate"
    PROPOSAL_WITHDRAWN = "Agent.Proposal.Withdrawn"
    PROMPT_ISSUED = "Prompt.Genesis.Issued"
    PROMPT_REJECTED = "Prompt.Genesis.Rejected"
    LAYER_GENERATED = "Prompt.Layer.Generated"
    TEMPLATE_READ = "PromptTemplate.Get"
    BUDGET_REACHED = "Prompt.Cost.BudgetThreshold"
    DIALOGUE_TURN = "Agent.Dialogue.Turn"
    DIALOGUE_FALLBACK = "Agent.Dialogue.Fallback"
    INTENT_READ = "PlayerCommand.ParseSucceeded"
    INTENT_FALLBACK = "PlayerCommand.ParseFailed"


class CallOutcome(StrEnum):
    """The outcome of a model's reply."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    MODIFIED = "modified"

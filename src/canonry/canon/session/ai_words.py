"""The words of telemetry: the purposes that models are asked for, and the names of events.

Both lists are closed: what is not in here is not told.
"""

from enum import StrEnum


class ModelPurpose(StrEnum):
    """What a model is asked for."""

    AMBIENCE = "ambience"
    NPC_DIALOGUE = "npc_dialogue"
    QUEST_SEED = "quest_seed"
    CLASSIFICATION = "classification"
    RETRIEVAL = "retrieval"


class EventName(StrEnum):
    """What telemetry tells of: `Domain.Subject.Action`."""

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
    """What became of what a model said."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    MODIFIED = "modified"

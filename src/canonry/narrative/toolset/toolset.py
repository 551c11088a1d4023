"""The toolset `narrative`: its tools and prompts."""

from collections.abc import Mapping
from typing import Final

from canonry.gateway.catalogue import ContractFile, outlined
from canonry.gateway.replies import DialectTable
from canonry.gateway.tool import ANYONE, Prompt, PromptArgument, Tool, Toolset
from canonry.narrative.toolset import FACE, canonizing, entities, facts, scenes, search, shapes
from canonry.narrative.toolset.contract import CONTENTS, KEEPER, agent_types
from canonry.narrative.toolset.search import SHELVES

_SCENE: Final = PromptArgument(
    name="scene_id", description="Id of the scene to work on; leave it out if there is none yet"
)

_TEXTS: Final[Mapping[str, tuple[str, str, str]]] = {
    "work_as_orchestrator": (
        "Work as Orchestrator",
        "How to open stories and scenes and keep the game going",
        """You run the game. The Narrator tells the story, and the CanonKeeper decides what is true.

1. Find the universe with neo4j_query_universes and its entities with neo4j_query_entities. You
   cannot write canon: ask the CanonKeeper to create what is missing.
2. Open a story with neo4j_create_story, then open scenes with mongodb_create_scene. Name every
   participant and the location, because the scene's context is gathered around them.
3. Record what users say with mongodb_append_turn (speaker user). Use mongodb_update_scene to store
   secrets and plans (gm_notes; only context assembly returns them) and the scene's story time
   (time_ref). Proposals without a time of their own get that story time.
4. When a scene has achieved its purpose, stop adding turns and ask the CanonKeeper to canonize it.
   A scene that is being canonized accepts no turns. Continue in a new scene.""",
    ),
    "work_as_narrator": (
        "Work as Narrator",
        "How to tell a scene and propose what should become canon",
        """You tell what happens. This does not make it canon.

1. Ask ContextAssembly for the scene's context before you write, and do not contradict its canon.
2. Append each utterance with mongodb_append_turn: speaker gm for narration, speaker entity with
   entity_id for a character's speech. Turns cannot be changed. Correct a mistake in a new turn.
3. If something should remain true after the scene, propose it with mongodb_create_proposed_change.
   Make one change a proposal, and give the turn_id of the turn that shows it. A new entity can have
   "ref": "$name"; other proposals of the scene can then refer to it by that name.
4. State your real confidence, and as authority name the one who made the claim.""",
    ),
    "work_as_canon_keeper": (
        "Work as CanonKeeper",
        "How to judge proposals and write canon",
        """You alone decide what is canon. Cite evidence for everything you write.

1. Check before you write: neo4j_query_entities finds entities with the same name,
   neo4j_query_facts finds existing facts, and mongodb_get_pending_proposals lists pending
   proposals.
2. Canonize a finished scene with composite_canonize_scene. It judges every proposal, names the rule
   and conflicts of each refusal, and closes the scene. If it reports a partial failure, call it
   again: nothing is written twice.
3. Judge proposals from documents, which belong to no scene, with composite_canonize_proposals.
4. List proposals that need your review with mongodb_query_reviews. Accept each one with a
   rationale, or reject it, with mongodb_evaluate_proposal.
5. Write directly (neo4j_create_entity, neo4j_create_fact and similar tools) only if no judgement is
   needed. Cite evidence as kind:uuid.
6. Correct a mistake with neo4j_retcon_fact. It keeps the old statement and records its replacement.
7. To explain why something is true, call neo4j_explain.""",
    ),
    "work_as_context_assembly": (
        "Work as ContextAssembly",
        "How to gather what a model should know before the next turn",
        """You give other agents the context they need, without secrets that they must not know.

1. Call composite_assemble_scene_context. By default it searches with the scene's purpose, title and
   last turns. Give semantic_query to search for something specific.
2. Present canonical as true, narrative as what was said, and recalled as a suggestion.
   metadata.degraded lists what recall could not use. metadata.omitted lists what did not fit the
   token budget.
3. Each memory belongs to the character it names and may be wrong. Give a character only its own
   memories.
4. Give gm_notes only to the agent that leads the game, never to a player's character.""",
    ),
    "work_as_resolver": (
        "Work as Resolver",
        "How to resolve an action and propose its consequences",
        """You decide the outcome of an action.

1. Read the scene with mongodb_get_scene and the entities involved with neo4j_get_entity. Their
   state tags show what they can do.
2. Find the rule that applies with qdrant_semantic_search in snippet_chunks, and the laws of the
   world with neo4j_query_axioms.
3. Propose each consequence with mongodb_create_proposed_change: state_change for tags, relationship
   for relations, event for what happened. Cite the turn, and the snippet or rule that decided it.
4. Use authority system unless a game master made the decision. Give the turn that shows the
   outcome, because a proposal without evidence counts half.""",
    ),
    "work_as_memory_manager": (
        "Work as MemoryManager",
        "How to keep what characters believe",
        """You keep what characters remember. A memory may be wrong and does not become canon.

1. After a scene, read its transcript with mongodb_get_turns. For each participant, write what they
   noticed with mongodb_create_character_memory, in their words and from their point of view.
2. Set importance (0 to 1: what they recall first), certainty (0 to 1: how sure they are) and
   emotional_valence (-1 to 1: how it feels). If the memory is about a fact, link that fact.
3. Check mongodb_retrieve_character_memories first: writing a text twice creates two memories.
4. Never copy a memory from one character to another. If a character was told something, write a
   memory of being told.""",
    ),
    "work_as_indexer": (
        "Work as Indexer",
        "How to add documents and check that search finds them",
        """You add the content of documents. The server builds its search index automatically.

1. Ask the CanonKeeper to register each document with neo4j_create_source.
2. Add its text with mongodb_ingest_source. This creates snippets that you can cite.
3. Propose each statement of the document with mongodb_propose_change, one statement a proposal.
   Cite the source or snippet and use authority source.
4. Check with qdrant_semantic_search that search finds the passages. Each hit lists the words that
   matched.
5. See the verdicts on your proposals, with reasons, in mongodb_query_proposals.""",
    ),
}


def _prompt(name: str, title: str, description: str, text: str) -> Prompt:
    def render(arguments: Mapping[str, str]) -> str:
        scene_id = arguments.get("scene_id")
        return text if scene_id is None else f"{text}\n\nWork on scene {scene_id}."

    return Prompt(
        name=name,
        title=title,
        description=description,
        roles=ANYONE,
        arguments=(_SCENE,),
        render=render,
    )


PROMPTS: Final[tuple[Prompt, ...]] = tuple(_prompt(name, *parts) for name, parts in _TEXTS.items())


# Importing this module imports all tools. They are listed with outlines of their replies; the
# reference describes the replies in full.

EXACT: Final[tuple[Tool, ...]] = (
    *entities.TOOLS,
    *facts.TOOLS,
    *scenes.STORIES_TOOLS,
    *canonizing.SOURCES_TOOLS,
    *entities.AXIOMS_TOOLS,
    *scenes.TOOLS,
    *canonizing.PROPOSALS_TOOLS,
    *search.TOOLS,
    *scenes.CONTEXT_TOOLS,
    *canonizing.JUDGING_TOOLS,
    *facts.EXPLANATIONS_TOOLS,
    *canonizing.TOOLS,
    *shapes.TOOLS,
)
"""The tools with the complete schemas of their replies, which the tests check."""


DIALECT: Final = DialectTable(
    not_allowed="UNAUTHORIZED",
    not_found="NOT_FOUND",
    invalid_input="VALIDATION_ERROR",
    conflict="CONSTRAINT_VIOLATION",
    unavailable="TRANSACTION_FAILED",
    not_supported="NOT_SUPPORTED",
    codes={
        "scene.completed": "ALREADY_CANONIZED",
        "scene.in-progress": "IN_PROGRESS",
        "limits.rate": "RATE_LIMITED",
        "proposal.too-many": "RATE_LIMITED",
        "call.deadline": "DEADLINE_EXCEEDED",
        "document.too-slow": "DEADLINE_EXCEEDED",
        "document.no-reader": "UNAVAILABLE",
        "ledger.busy": "BUSY",
        "canon.contended": "BUSY",
        "ledger.closed": "UNAVAILABLE",
        "ledger.full": "UNAVAILABLE",
        "text.unavailable": "UNAVAILABLE",
    },
    numbers={"scene.completed": -32006},
).flat
"""The six error codes of the contract, with their data."""

NARRATIVE: Final = Toolset(
    **FACE.told(),
    agent_types=agent_types(),
    masters=KEEPER,
    dialect=DIALECT,
    tools=tuple(map(outlined, EXACT)),
    remedies={
        "entity.other-audience": "Use neo4j_set_audience to change an audience.",
        "proposal.of-a-scene": "Use composite_canonize_scene to judge a scene's proposals.",
        "quantity.uncounted": "Use neo4j_create_relationship to state a quantity or an item.",
    },
    resources=(*search.RESOURCES, *CONTENTS),
    prompts=PROMPTS,
    shelves=SHELVES,
    words=ContractFile("canonry.narrative.toolset.contract", "words.json").published(),
)

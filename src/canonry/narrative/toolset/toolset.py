"""The toolset `narrative` behind its face: its tools and prompts."""

from collections.abc import Mapping
from typing import Final

from canonry.gateway.catalogue import ContractFile, outlined
from canonry.gateway.replies import DialectTable
from canonry.gateway.tool import ANYONE, Prompt, PromptArgument, Tool, Toolset
from canonry.narrative.toolset import FACE, canonizing, entities, facts, scenes, search, shapes
from canonry.narrative.toolset.contract import CONTENTS, KEEPER, agent_types
from canonry.narrative.toolset.search import SHELVES

_SCENE: Final = PromptArgument(
    name="scene_id", description="The scene that the work is about, if there is one already"
)

_TEXTS: Final[Mapping[str, tuple[str, str, str]]] = {
    "work_as_orchestrator": (
        "Work as Orchestrator",
        "How to open stories and scenes and keep the play going",
        """You run the play; others tell it and others decide what is true.

1. Find the universe with neo4j_query_universes and its entities with neo4j_query_entities. Ask the
   CanonKeeper for what is missing; you do not write canon.
2. Open a story with neo4j_create_story, then scenes with mongodb_create_scene. Name everybody who
   takes part, and the place: context is gathered around them.
3. Record what users say with mongodb_append_turn (speaker user). Keep secrets and plans with
   mongodb_update_scene (gm_notes; only context assembly reads them), and say there when the scene
   plays (time_ref): what is proposed in it without a time happens then.
4. When a scene has reached its purpose, stop adding turns and ask the CanonKeeper to canonize it.
   A scene that is being canonized takes no turns: go on in the next one.""",
    ),
    "work_as_narrator": (
        "Work as Narrator",
        "How to tell a scene and bring up what should become canon",
        """You tell what happens; telling it does not make it true.

1. Ask ContextAssembly for the scene's context before you speak, and stay within its canon.
2. Append each utterance with mongodb_append_turn: speaker gm for narration, speaker entity with
   entity_id for what a character says. Turns are never changed; correct yourself in a new one.
3. Propose whatever should outlast the scene with mongodb_create_proposed_change, one change a
   proposal, with turn_id of the turn that shows it. A new entity can carry "ref": "$name", by which
   other proposals of the scene refer to it.
4. Give the confidence you have and the authority that spoke, not more.""",
    ),
    "work_as_canon_keeper": (
        "Work as CanonKeeper",
        "How to judge what was proposed and write canon",
        """You alone decide what is true, and everything true needs evidence.

1. Look before you write: neo4j_query_entities for namesakes, neo4j_query_facts for what already
   holds, mongodb_get_pending_proposals for what waits.
2. Canonize a finished scene with composite_canonize_scene. It judges every proposal, names the rule
   and the conflicts of each refusal, and closes the scene. If it reports a partial failure, call it
   again: nothing is written twice. What documents propose belongs to no scene: judge it with
   composite_canonize_proposals. What needs review waits in mongodb_query_reviews; accept it
   with a rationale by mongodb_evaluate_proposal, or reject it.
3. Write directly (neo4j_create_entity, neo4j_create_fact and the like) only what needs no
   judgement, and cite evidence as kind:uuid.
4. Never erase a mistake: neo4j_retcon_fact keeps the old statement and says what replaced it.
5. Asked why something is true, answer with neo4j_explain.""",
    ),
    "work_as_context_assembly": (
        "Work as ContextAssembly",
        "How to gather what a model should know before the next turn",
        """You hand others what they need to know, and nothing that they must not.

1. Call composite_assemble_scene_context. Without semantic_query the scene's purpose, title and last
   turns ask; give one when you look for something in particular.
2. Pass canonical on as true, narrative as said, recalled as a suggestion. metadata.degraded says
   what recall had to do without, metadata.omitted what the token budget left out.
3. Each memory belongs to the character it names and may be wrong. Give a character only its own.
4. gm_notes are for whoever leads the game, never for a player's character.""",
    ),
    "work_as_resolver": (
        "Work as Resolver",
        "How to settle an action and propose what follows from it",
        """You settle what an action leads to.

1. Read the scene with mongodb_get_scene and those involved with neo4j_get_entity: their state tags
   say what they can do.
2. Look for the rule that applies with qdrant_semantic_search in snippet_chunks, and for the laws of
   the world with neo4j_query_axioms.
3. Propose each consequence with mongodb_create_proposed_change: state_change for tags, relationship
   for ties, event for what happened. Cite the turn, and the snippet or rule that decided it.
4. Your word is authority system unless a game master gave you theirs; give the turn that shows it,
   for a proposal without evidence counts half.""",
    ),
    "work_as_memory_manager": (
        "Work as MemoryManager",
        "How to keep what characters believe",
        """You keep what characters remember. Memories are theirs: they may err, and canon does not
follow from them.

1. After a scene read its transcript with mongodb_get_turns and ask of each participant what they
   noticed. Write it with mongodb_create_character_memory, in their words and from where they stood.
2. importance (0 to 1) decides what comes to mind first, certainty how sure they are,
   emotional_valence (-1 to 1) how it feels. Link the fact it is about if there is one.
3. Look with mongodb_retrieve_character_memories first: the same text twice is two memories.
4. Never copy a memory from one character to another; who was told something has a memory of being
   told.""",
    ),
    "work_as_indexer": (
        "Work as Indexer",
        "How to bring documents in and check that they are found",
        """You bring in what stands in documents; this server indexes on its own.

1. Ask the CanonKeeper to register each document with neo4j_create_source.
2. Propose what a document says with mongodb_propose_change, one statement a proposal, citing the
   source or snippet, with authority source.
3. Check with qdrant_semantic_search that passages are found; each hit names the words that matched.
4. mongodb_query_proposals tells what became of your proposals and why.""",
    ),
}


def _prompt(name: str, title: str, description: str, text: str) -> Prompt:
    def render(arguments: Mapping[str, str]) -> str:
        scene_id = arguments.get("scene_id")
        return text if scene_id is None else f"{text}\n\nThe scene at hand is {scene_id}."

    return Prompt(
        name=name,
        title=title,
        description=description,
        roles=ANYONE,
        arguments=(_SCENE,),
        render=render,
    )


PROMPTS: Final[tuple[Prompt, ...]] = tuple(_prompt(name, *parts) for name, parts in _TEXTS.items())


# The tools of the narrative toolset behind its face; importing this imports all of them. They are
# listed with outlines of their replies, which the reference describes in full.

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
"""The tools with the whole schemas of their replies, which the tests hold every reply against."""


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
"""Every error as one of the six codes of the contract, with its data."""

NARRATIVE: Final = Toolset(
    **FACE.told(),
    agent_types=agent_types(),
    masters=KEEPER,
    dialect=DIALECT,
    tools=tuple(map(outlined, EXACT)),
    remedies={
        "entity.other-audience": "neo4j_set_audience does that",
        "proposal.of-a-scene": "composite_canonize_scene closes one and canonizes what is its own",
        "quantity.uncounted": "neo4j_create_relationship takes either",
    },
    resources=(*search.RESOURCES, *CONTENTS),
    prompts=PROMPTS,
    shelves=SHELVES,
    words=ContractFile("canonry.narrative.toolset.contract", "words.json").published(),
)

"""A stage to test scenes on: a world with a story, two hobbits, a place, and short ways to play."""

from dataclasses import dataclass
from typing import Any

from canonry.log.commits import Append, Draft, Position
from canonry.log.entries import Entry
from canonry.testing.clocks import ACTOR
from canonry.testing.example_items import an_axiom, creation_entries
from canonry.values.ids import CommitId, SpaceId
from canonry.values.policy import Policy
from tests.toolsets.narrative.kit import World, a_world


@dataclass
class Stage:
    """A world in which a story can be played."""

    world: World
    story_id: str
    frodo: str
    sam: str
    shire: str

    async def scene(self, title: str = "A long-expected party", **more: Any) -> str:
        """A new scene with both hobbits in the Shire."""
        arguments: dict[str, Any] = {
            "story_id": self.story_id,
            "universe_id": self.world.universe_id,
            "title": title,
            "participating_entities": [self.frodo, self.sam],
            "location_ref": self.shire,
            **more,
        }
        reply = await self.world.call("mongodb_create_scene", "Orchestrator", **arguments)
        return str(reply["scene_id"])

    async def turn(self, scene_id: str, text: str = "It was a party.", **more: Any) -> str:
        """A new turn, by default told by the game master."""
        arguments = {"speaker": "gm", **more}
        reply = await self.world.call(
            "mongodb_append_turn", "Narrator", scene_id=scene_id, text=text, **arguments
        )
        return str(reply["turn_id"])

    async def propose(self, scene_id: str, **more: Any) -> str:
        """A new proposal, by default a fact about Frodo."""
        reply = await self.world.call(
            "mongodb_create_proposed_change", "Narrator", **self.proposal(scene_id, **more)
        )
        return str(reply["proposal_id"])

    def proposal(self, scene_id: str, **more: Any) -> dict[str, Any]:
        """The arguments of a proposal."""
        return {
            "scene_id": scene_id,
            "type": "fact",
            "content": {"statement": "Frodo has the Ring", "entity_ids": [self.frodo]},
            "evidence": [{"type": "source", "ref_id": self.world.source_id}],
            "confidence": 0.9,
            "authority": "gm",
            **more,
        }

    async def remember(self, entity_id: str, text: str, **more: Any) -> str:
        """A new memory."""
        arguments = {"emotional_valence": 0.0, "importance": 0.5, "certainty": 1.0, **more}
        reply = await self.world.call(
            "mongodb_create_character_memory",
            "MemoryManager",
            entity_id=entity_id,
            text=text,
            **arguments,
        )
        return str(reply["memory_id"])

    async def write_axiom(self, statement: str, space: str | None = None) -> str:
        """A new law of this world, or of another one."""
        where = SpaceId(space or self.world.universe_id)
        axiom = an_axiom(f"{statement} in {where}", statement=statement, space=where)
        await self.write(*creation_entries(axiom), space=space)
        return axiom.id

    async def complete(self, scene_id: str, summary: str = "They left.") -> None:
        """Close a scene by hand."""
        await self.world.call(
            "mongodb_finalize_scene", scene_id=scene_id, canonical_outcome_ids=[], summary=summary
        )

    async def write(self, *entries: Entry, space: str | None = None) -> None:
        """Append entries that no tool writes yet, without judging them."""
        canon = self.world.canon
        draft = Draft(
            id=CommitId(canon.identities.new_id()),
            space=SpaceId(space or self.world.universe_id),
            actor=ACTOR,
            tool="test",
            entries=entries,
        )
        append = Append(draft=draft, judged_at=Position(0), reads=frozenset())
        await canon.ledger.append_drafts([append])


async def a_stage(policy: Policy | None = None) -> Stage:
    """Middle-earth with the Shire, two of its hobbits, and a story."""
    return await stage_world(await a_world(policy))


async def stage_world(world: World) -> Stage:
    """The same in a world that is there."""
    return Stage(
        world=world,
        story_id=await world.story("There and back"),
        frodo=await world.entity("Frodo"),
        sam=await world.entity("Sam"),
        shire=await world.entity("The Shire", entity_type="location"),
    )


CONTEXT_TOOL = "composite_assemble_scene_context"


async def assemble_context(stage: Stage, scene_id: str, **more: Any) -> dict[str, Any]:
    """The context of a scene."""
    return await stage.world.call(CONTEXT_TOOL, "ContextAssembly", scene_id=scene_id, **more)


def names_in(context: dict[str, Any]) -> list[str]:
    """The names of the entities that a context tells of."""
    return [entity["name"] for entity in context["canonical"]["entities"]]


def statements_in(context: dict[str, Any]) -> list[str]:
    """Return the statements of the facts in a context."""
    return [fact["statement"] for fact in context["canonical"]["facts"]]

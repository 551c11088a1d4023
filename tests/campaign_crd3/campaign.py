"""Two sessions that were really played, as a campaign: played through the tools, scene by scene.

The files beside this one point to turns of the transcripts and tell them in words of their own.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from canonry.narrative.usecases.transcripts import TranscriptLine
from tests.toolsets.narrative.kit import World

HERE: Final = Path(__file__).parent
GM: Final = "MATT"
WAITS: Final = "needs_review"
RELATED: Final = {
    "place": ("LOCATED_IN", "out"),
    "owner": ("OWNS", "in"),
    "enemy": ("ENEMY_OF", "any"),
    "ally": ("ALLY_OF", "any"),
}
NOBODY: Final = "nothing that is canon"
"""A conflict with something that no proposal of the campaign brought up."""


def rows_of(name: str) -> list[dict[str, Any]]:
    """The objects of a file beside this one, one a line."""
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


PROPOSALS: Final = rows_of("proposals.jsonl")
ANSWERS: Final = rows_of("answers.jsonl")
SCENES: Final = rows_of("scenes.jsonl")


def read_verdict(row: dict[str, Any]) -> dict[str, Any]:
    """A verdict by meaning, or that of today, in one form."""
    return {
        "status": row.get("expect") or row["status"],
        "conflict": sorted(row.get("conflict", ())),
        "same_as": row.get("same_as"),
    }


@dataclass
class Campaign:
    """The sessions as they are played through the tools, scene by scene."""

    world: World
    story: str
    source: str
    lines: dict[str, Sequence[TranscriptLine]]
    items: dict[str, str] = field(default_factory=dict)
    """The items to which the names of the proposals refer, once they are canon."""
    firsts: dict[str, str] = field(default_factory=dict)
    """The proposal that first brought up an item of the canon."""
    found: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The verdicts in the form of the file."""
    reasons: dict[str, tuple[str, str]] = field(default_factory=dict)
    """The rule and the rationale of each verdict."""

    async def play_scene(self, scene: dict[str, Any]) -> None:
        """Open a scene, let its turns be said, propose what they mean, and make it canon."""
        rows = [row for row in PROPOSALS if row["scene"] == scene["id"]]
        place = scene.get("location")
        reply = await self.world.call(
            "mongodb_create_scene",
            "Orchestrator",
            story_id=self.story,
            universe_id=self.world.universe_id,
            title=scene["title"],
            participating_entities=[self.items[one] for one in scene["participants"]],
            **({} if place is None else {"location_ref": self.items[place]}),
        )
        scene_id = reply["scene_id"]
        turns = await self.say_turns(scene_id, scene)
        ids = {}
        for row in rows:
            ids[await self.propose_row(scene_id, row, turns)] = row
        reply = await self.world.call("composite_canonize_scene", scene_id=scene_id)
        for verdict in reply["verdicts"]:
            self.note_verdict(ids[verdict["proposal_id"]], verdict)
        for verdict in reply["verdicts"]:
            self.compare_verdict(ids[verdict["proposal_id"]], verdict, reply["pending_proposals"])

    async def say_turns(self, scene_id: str, scene: dict[str, Any]) -> dict[int, str]:
        """All turns of a scene, by their numbers in the session."""
        lines = self.lines[scene["episode"]]
        turns = {}
        for number in range(scene["start"], scene["end"] + 1):
            reply = await self.world.call(
                "mongodb_append_turn",
                "Narrator",
                scene_id=scene_id,
                speaker="gm" if GM in lines[number].speakers else "user",
                text=lines[number].text,
            )
            turns[number] = reply["turn_id"]
        return turns

    async def propose_row(self, scene_id: str, row: dict[str, Any], turns: dict[int, str]) -> str:
        """The id of a new proposal with the turns, and for written introductions their source."""
        evidence = [{"type": "turn", "ref_id": turns[turn]} for turn in row["turns"]]
        if row["authority"] == "source":
            evidence.append({"type": "source", "ref_id": self.source})
        reply = await self.world.call(
            "mongodb_create_proposed_change",
            "Narrator",
            scene_id=scene_id,
            turn_id=turns[row["turns"][-1]],
            type=row["type"],
            content=self.resolve_names(row["content"]),
            evidence=evidence,
            confidence=row["confidence"],
            authority=row["authority"],
        )
        return str(reply["proposal_id"])

    def resolve_names(self, content: Any) -> Any:
        """The content with names replaced by the ids of what is canon; new names stay."""
        if isinstance(content, dict):
            return {key: self.resolve_names(value) for key, value in content.items()}
        if isinstance(content, list):
            return [self.resolve_names(value) for value in content]
        return self.items.get(content, content) if isinstance(content, str) else content

    def note_verdict(self, row: dict[str, Any], verdict: dict[str, Any]) -> None:
        """Remember what a proposal became."""
        self.firsts[verdict["proposal_id"]] = row["id"]
        item = verdict["canonical_id"]
        if item is None:
            return
        for one in (item, *verdict.get("made", ())):
            self.firsts.setdefault(one, row["id"])
        if row["type"] == "entity":
            self.items.setdefault(row["content"]["ref"], item)

    def compare_verdict(
        self, row: dict[str, Any], verdict: dict[str, Any], pending: list[str]
    ) -> None:
        """Put the verdict into the form of the file."""
        self.reasons[row["id"]] = (verdict["rule"], verdict["rationale"])
        waits = verdict["proposal_id"] in pending
        item = verdict["canonical_id"]
        first = None if item is None else self.firsts[item]
        against = {self.firsts.get(one, NOBODY) for one in verdict["conflicts"]}
        self.found[row["id"]] = {
            "status": WAITS if waits else verdict["status"],
            "conflict": sorted(against),
            "same_as": None if first == row["id"] else first,
        }

    async def answer_row(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return the answer of the canon to a question, reduced to what the row asks for."""
        entity = self.items[row["of"]]
        match row["ask"]:
            case "tags":
                shown = await self.world.call("neo4j_get_entity", entity_id=entity)
                return divide_held(row, shown["state_tags"])
            case "says":
                return divide_held(row, await self.statements_about(entity))
            case "count" if "event" in row:
                events = await self.list_pages("neo4j_query_events", "events", entity)
                return {"is": sum(one["title"] == row["event"] for one in events)}
            case "count":
                said = [one.rstrip(".") for one in await self.statements_about(entity)]
                return {"is": said.count(row["statement"])}
            case _:
                return {"is": await self.related_names(row["ask"], entity)}

    async def related_names(self, how: str, entity: str) -> list[str]:
        """The names of those that an entity is related to now."""
        rel_type, direction = RELATED[how]
        found = await self.world.call(
            "neo4j_query_relationships",
            entity_id=entity,
            rel_type=rel_type,
            direction=direction,
            current_only=True,
        )
        ends = [{one["from_entity_id"], one["to_entity_id"]} for one in found["relationships"]]
        names = {item: name for name, item in reversed(self.items.items())}
        return sorted(names[one] for pair in ends for one in pair - {entity})

    async def statements_about(self, entity: str) -> list[str]:
        """Return the statements of canon about an entity now."""
        facts = await self.list_pages("neo4j_query_facts", "facts", entity)
        return [one["statement"] for one in facts if one["superseded_by"] is None]

    async def list_pages(self, tool: str, kind: str, entity: str) -> list[dict[str, Any]]:
        """All that a tool lists about an entity and that holds."""
        reply = await self.world.call(tool, entity_id=entity, canon_level="canon", limit=100)
        assert len(reply[kind]) < 100
        return list(reply[kind])


def divide_held(row: dict[str, Any], held: list[str]) -> dict[str, Any]:
    """Divide the words of a question into held ones and others."""
    asked = [*row.get("has", ()), *row.get("lacks", ())]
    return {
        "has": sorted(one for one in asked if one in held),
        "lacks": sorted(one for one in asked if one not in held),
    }


def read_belief(row: dict[str, Any]) -> dict[str, Any]:
    """An answer by meaning, or that of today, in one form."""
    names = [name for name in ("has", "lacks", "is") if name in row]
    values = {name: row[name] for name in names}
    return {name: sorted(v) if isinstance(v, list) else v for name, v in values.items()}

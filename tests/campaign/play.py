"""Playing a campaign through the tools, and comparing every step with the model."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import Any

from tests.campaign.model import Line, Stretch, Told, Truth, in_order
from tests.campaign.plots import FEELINGS, HEROES, PLACES, THINGS, PlannedScene, Plot, Said
from tests.toolsets.narrative.kit import World

RELATIONS = {"place": ("LOCATED_IN",), "owner": ("OWNS",), "feeling": FEELINGS}


class DisagreementError(AssertionError):
    """The tools say one thing and the model another."""


def instant(day: int | None) -> str | None:
    return None if day is None else f"{date(1400, 1, 1) + timedelta(days=day)}T00:00:00Z"


def day_of(text: str | None) -> int | None:
    return None if text is None else (date.fromisoformat(text[:10]) - date(1400, 1, 1)).days


@dataclass
class Table:
    """A world in which a plot is played."""

    world: World
    plot: Plot
    truth: Truth = field(default_factory=Truth)
    ids: dict[str, str] = field(default_factory=dict)
    scenes: dict[int, str] = field(default_factory=dict)
    proposed: dict[str, Told] = field(default_factory=dict)
    related: dict[str, Told] = field(default_factory=dict)
    trail: list[str] = field(default_factory=list)
    told: int = 0
    checks: int = 0

    async def play(self, after: Callable[[], None] | None = None) -> None:
        """Everything in the plot; whatever differs from the model is raised."""
        await self._open()
        for step in self.plot.steps:
            if isinstance(step, int):
                await self._canonize(self.plot.scenes[step - 1])
            else:
                await self._write(step)
            await self._compare()
            if after is not None:
                after()

    async def result(self) -> list[tuple[str, object]]:
        """What the tools say in the end, without what tells in which order it was canonized."""
        found: list[tuple[str, object]] = []
        for hero in HEROES:
            shown = await self.world.call("neo4j_get_entity", entity_id=self.ids[hero])
            found.append((hero, shown["state_tags"]))
        lines = {told.line for told in self.proposed.values() if told.line[0] in RELATIONS}
        told = [(str(line), _joined(await self._relations(line))) for line in sorted(lines)]
        return [*found, *told, ("timeline", await self._timeline())]

    async def _open(self) -> None:
        for names, kind in ((HEROES, "character"), (PLACES, "location"), (THINGS, "object")):
            for name in names:
                self.ids[name] = await self.world.entity(name, entity_type=kind)
        self.ids["Chronicle"] = await self.world.entity("Chronicle", entity_type="object")
        story = await self.world.story("The campaign")
        for scene in self.plot.scenes:
            made = await self.world.call(
                "mongodb_create_scene",
                "Orchestrator",
                story_id=story,
                universe_id=self.world.universe_id,
                title=f"Scene {scene.number}",
                order=scene.number,
                participating_entities=[],
            )
            self.scenes[scene.number] = made["scene_id"]
            if scene.day is not None:
                await self.world.call(
                    "mongodb_update_scene", scene_id=made["scene_id"], time_ref=instant(scene.day)
                )

    async def _canonize(self, scene: PlannedScene) -> None:
        waiting = [await self._propose(scene, said) for said in scene.said]
        reply = await self.world.call(
            "composite_canonize_scene", scene_id=self.scenes[scene.number]
        )
        verdicts = {each["proposal_id"]: each for each in reply["verdicts"]}
        ranks = {"state": 1, "event": 2}
        waiting.sort(
            key=lambda each: (
                ranks.get(each[1].line[0], 0),
                each[1].day is not None,
                each[1].day or 0,
                each[1].told,
            )
        )
        for proposal, told in waiting:
            expected = self.truth.judge(told)
            verdict = verdicts[proposal]
            self._equal(expected, verdict["status"], f"verdict on {told}: {verdict['rationale']}")

    async def _propose(self, scene: PlannedScene, said: Said) -> tuple[str, Told]:
        kind, content = self._content(said)
        reply = await self.world.call(
            "mongodb_create_proposed_change",
            "Resolver",
            scene_id=self.scenes[scene.number],
            type=kind,
            content=content,
            confidence=1.0,
            authority=said.authority,
            evidence=[{"type": "source", "ref_id": self.world.source_id}],
        )
        told = self._told(said, scene)
        self.proposed[reply["proposal_id"]] = told
        return reply["proposal_id"], told

    def _told(self, said: Said, scene: PlannedScene | None) -> Told:
        self.told += 1
        day = said.day if said.day is not None or scene is None else scene.day
        number = 0 if scene is None else scene.number
        told = Told(
            line=said.line,
            value=said.value,
            authority=said.authority,
            told=self.told,
            holds=said.holds,
            day=day,
            own_day=said.day is not None,
            scene=number,
            order=number,
        )
        self.trail.append(str(told))
        return told

    def _content(self, said: Said) -> tuple[str, dict[str, Any]]:
        when = {} if said.day is None else {"time_ref": instant(said.day)}
        match said.line[0]:
            case "state":
                change = "add" if said.holds else "remove"
                content = {"entity_id": self.ids[said.line[1]], change: [said.value], **when}
                return "state_change", content
            case "event":
                involved = [self.ids[said.line[1]], self.ids["Chronicle"]]
                actors = involved[:1] if said.line[2] == "acts" else []
                return "event", {
                    "title": said.value, "involved": involved, "actor_ids": actors, **when,
                }  # fmt: skip
            case _:
                return "relationship", {**self._ends(said), **when}

    def _ends(self, said: Said) -> dict[str, str]:
        match said.line[0]:
            case "place":
                names = (said.line[1], "LOCATED_IN", said.value)
            case "owner":
                names = (said.value, "OWNS", said.line[1])
            case _:
                names = (said.line[1], said.value, said.line[2])
        start, kind, end = names
        return {"from": self.ids[start], "type": kind, "to": self.ids[end]}

    async def _write(self, said: Said) -> None:
        told = self._told(said, None)
        if said.line[0] == "state":
            await self.world.call(
                "neo4j_update_entity_state",
                entity_id=self.ids[said.line[1]],
                state_tag_changes={"add" if said.holds else "remove": [said.value]},
                authority="gm",
                evidence_refs=self.world.evidence,
            )
        else:
            ends = self._ends(said)
            reply = await self.world.call(
                "neo4j_create_relationship",
                from_entity_id=ends["from"],
                rel_type=ends["type"],
                to_entity_id=ends["to"],
                authority="gm",
                evidence_refs=self.world.evidence,
            )
            self.related.setdefault(reply["relationship_id"], told)
        self.truth.write(told)

    async def _compare(self) -> None:
        for hero in HEROES:
            await self._compare_state(hero)
        lines = {line for line in self.truth.said if line[0] in RELATIONS}
        for line in sorted(lines):
            await self._compare_line(line)
        await self._compare_events()

    async def _compare_state(self, hero: str) -> None:
        shown = await self.world.call(
            "neo4j_get_entity", entity_id=self.ids[hero], include_state_history=True
        )
        tags = self.truth.tags(hero)
        self._equal(tags, shown["state_tags"], f"tags of {hero}")
        told = [
            fact["statement"]
            for fact in shown["state_history"]
            if fact["canon_level"] == "canon" and fact["superseded_by"] is None
        ]
        stated = {each.removeprefix(f"{hero} is ") for each in told if "no longer" not in each}
        self._equal(tags, sorted(stated), f"facts about the state of {hero}")
        days = {one.day for one in self.truth.of(("state", hero)) if one.day is not None}
        for day in sorted({each + step for each in days for step in (-1, 0)}):
            then = await self.world.call(
                "neo4j_get_entity_at", entity_id=self.ids[hero], at=instant(day)
            )
            self._equal(self.truth.tags(hero, day), then["state_tags"], f"tags of {hero} at {day}")

    async def _compare_line(self, line: Line) -> None:
        found = await self._relations(line)
        self._equal(self.truth.stretches(line), _joined(found), f"line {line}")

    async def _relations(self, line: Line) -> list[tuple[Told, Stretch]]:
        names = {entity: name for name, entity in self.ids.items()}
        found: list[tuple[Told, Stretch]] = []
        for kind in RELATIONS[line[0]]:
            reply = await self.world.call(
                "neo4j_query_relationships",
                entity_id=self.ids[line[1]],
                rel_type=kind,
                current_only=False,
                limit=500,
            )
            for each in reply["relationships"]:
                ends = {names[each["from_entity_id"]], names[each["to_entity_id"]]}
                if each["canon_level"] != "canon" or not ends >= set(line[1:]):
                    continue
                value = kind if line[0] == "feeling" else (ends - set(line[1:])).pop()
                told = self.proposed.get(each["proposal_id"] or "")
                stretch = Stretch(
                    value=value,
                    since=day_of(each["since"]),
                    until=day_of(each["until"]),
                    current=each["current"],
                )
                found.append((told or self.related[each["relationship_id"]], stretch))
        order = [one for _day, one in in_order([told for told, _stretch in found])]
        return sorted(found, key=lambda each: order.index(each[0]))

    async def _compare_events(self) -> None:
        happened = [one.value for _day, one in in_order(self.truth.events)]
        self._equal(happened, await self._timeline(), "timeline")

    async def _timeline(self) -> list[str]:
        told = await self.world.call(
            "neo4j_get_timeline",
            universe_id=self.world.universe_id,
            entity_ids=[self.ids["Chronicle"]],
            limit=500,
        )
        return [each["event"]["title"] for each in told["items"]]

    def _equal(self, expected: object, shown: object, what: str) -> None:
        self.checks += 1
        if expected != shown:
            said = "\n  ".join(self.trail)
            message = f"{what}\n model: {expected}\n tools: {shown}\n  {said}"
            raise DisagreementError(f"seed {self.plot.seed}: {message}")


def _joined(found: Iterable[tuple[Told, Stretch]]) -> list[Stretch]:
    """Neighbours of one value are one stretch."""
    joined: list[Stretch] = []
    for _told, one in found:
        last = joined.pop() if joined else None
        if last is not None and last.value == one.value and last.until == one.since:
            joined.append(replace(one, since=last.since))
        else:
            joined += [one] if last is None else [last, one]
    return joined

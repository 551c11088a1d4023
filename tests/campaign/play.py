"""Playing a campaign through the tools, and comparing every step with the model."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from tests.campaign.model import EVERYBODY, MASTERS, Line, Stated, Truth
from tests.campaign.plots import (
    DOUBLES,
    HEROES,
    ITEMS,
    PLACES,
    READERS,
    Correction,
    Ending,
    Gift,
    Hiding,
    Merging,
    PlannedScene,
    PlannedStatement,
    Plot,
    Reveal,
    Step,
)
from tests.campaign.viewer_checks import RELATIONS, VIEWERS, ViewerCheck, reader_name, to_instant
from tests.toolsets.narrative.kit import World

COINS = 10


class DisagreementError(AssertionError):
    """The tools say one value and the model another."""


@dataclass
class Table:
    """A world in which a plot is played."""

    world: World
    plot: Plot
    truth: Truth = field(default_factory=Truth)
    ids: dict[str, str] = field(default_factory=dict)
    scenes: dict[int, str] = field(default_factory=dict)
    proposed: dict[str, Stated] = field(default_factory=dict)
    related: dict[str, Stated] = field(default_factory=dict)
    direct: list[Stated] = field(default_factory=list)
    became: dict[int, str] = field(default_factory=dict)
    sources: dict[str, list[str]] = field(default_factory=dict)
    trail: list[str] = field(default_factory=list)
    number: int = 0
    checks: int = 0

    async def play_plot(self, after: Callable[[], None] | None = None) -> None:
        """Everything in the plot; whatever differs from the model is raised."""
        await self.open_scene()
        for step in self.plot.steps:
            await self.play_step(step)
            for viewer in VIEWERS if self.plot.secrets else (MASTERS,):
                truth = self.truth.seen_by(viewer)
                await ViewerCheck(played=self, truth=truth, viewer=viewer).compare_views()
            if after is not None:
                after()

    async def play_step(self, step: Step) -> None:
        match step:
            case int():
                await self._canonize_scene(self.plot.scenes[step - 1])
            case PlannedStatement():
                await self._write_directly(step)
            case Gift():
                await self._give_coins(step)
            case Correction():
                await self._correct_statement(step)
            case Reveal():
                await self._reveal_item(step)
            case Hiding():
                await self._hide_statement(step)
            case Ending():
                await self._end_relation(step)
            case Merging():
                await self._merge_entities(step)

    async def open_scene(self) -> None:
        for names, kind in ((HEROES, "character"), (PLACES, "location"), (ITEMS, "object")):
            doubles = [DOUBLES[name] for name in names if name in DOUBLES]
            for name in (*names, *doubles):
                self.ids[name] = await self.world.entity(name, entity_type=kind)
        self.ids["Coins"] = await self.world.entity("Coins", entity_type="object")
        self.ids["Chronicle"] = await self.world.entity("Chronicle", entity_type="object")
        for viewer in READERS if self.plot.secrets else ():
            made = await self.world.call(
                "neo4j_create_source",
                universe_id=self.world.universe_id,
                doc_id=f"letters of {viewer}",
                title="Letters",
                source_type="lore",
                canon_level="canon",
                audience=[reader_name(viewer, self.ids)],
            )
            self.sources[viewer] = [f"source:{made['source_id']}"]
        stories = [await self.world.story(f"Campaign {number}") for number in range(2)]
        for hero in HEROES:
            await self.world.relation(
                self.ids[hero], "OWNS", self.ids["Coins"], properties={"quantity": COINS}
            )
            self.truth.coins[hero] = COINS
        for scene in self.plot.scenes:
            made = await self.world.call(
                "mongodb_create_scene",
                "Orchestrator",
                story_id=stories[scene.story],
                universe_id=self.world.universe_id,
                title=f"Scene {scene.number}",
                order=scene.number,
                participating_entities=[],
            )
            self.scenes[scene.number] = made["scene_id"]
            if scene.day is not None:
                await self.world.call(
                    "mongodb_update_scene",
                    scene_id=made["scene_id"],
                    time_ref=to_instant(scene.day),
                )

    async def _canonize_scene(self, scene: PlannedScene) -> None:
        waiting = [await self.propose_statement(scene, each) for each in scene.said]
        reply = await self.world.call(
            "composite_canonize_scene", scene_id=self.scenes[scene.number]
        )
        verdicts = {each["proposal_id"]: each for each in reply["verdicts"]}
        for proposal, reported in sorted(waiting, key=lambda each: _turn_of(each[1])):
            expected = self.truth.judge_proposal(reported)
            verdict = verdicts[proposal]
            if verdict["canonical_id"] is not None:
                self.became.setdefault(reported.number, verdict["canonical_id"])
            self.equal(
                expected, verdict["status"], f"verdict on {reported}: {verdict['rationale']}"
            )

    async def propose_statement(
        self, scene: PlannedScene, said: PlannedStatement
    ) -> tuple[str, Stated]:
        result = self._propose_state(said, scene)
        kind, content = self._content_of(said)
        old = self._replace_statement(said)
        if old is not None:
            result = replace(result, instead=old.number)
            content = {**content, "replaces": self.became[old.number]}
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
        self.proposed[reply["proposal_id"]] = result
        return reply["proposal_id"], result

    def _replace_statement(self, said: PlannedStatement) -> Stated | None:
        """The fact in whose place another one is proposed; no fact twice."""
        if said.instead is None:
            return None
        taken = {reported.instead for reported in self.proposed.values()}
        known = self.truth.seen_by(said.audience).words_about(said.line)
        facts = [one for one in known if one.holds and one.number in self.became]
        facts = [one for one in facts if one.number not in taken]
        return facts[int(said.instead * len(facts))] if facts else None

    def _propose_state(self, said: PlannedStatement, scene: PlannedScene | None) -> Stated:
        self.number += 1
        day = said.day if said.day is not None or scene is None else scene.day
        number = 0 if scene is None else scene.number
        result = Stated(
            line=self.truth.root_line(said.line),
            value=self.truth.root(said.value),
            authority=said.authority,
            number=self.number,
            holds=said.holds,
            day=day,
            own_day=said.day is not None,
            scene=number,
            story=0 if scene is None else scene.story,
            order=number,
            audience=said.audience,
        )
        self.trail.append(str(result))
        return result

    def _content_of(self, said: PlannedStatement) -> tuple[str, dict[str, Any]]:
        when: dict[str, Any] = {} if said.day is None else {"time_ref": to_instant(said.day)}
        if said.audience != EVERYBODY:
            when["audience"] = [reader_name(said.audience, self.ids)]
        match said.line[0]:
            case "state":
                change = "add" if said.holds else "remove"
                content = {"entity_id": self.ids[said.line[1]], change: [said.value], **when}
                return "state_change", content
            case "fact":
                involved = [self.ids[said.line[1]]]
                return "fact", {"statement": said.value, "involved": involved, **when}
            case "event":
                involved = [self.ids[said.line[1]], self.ids["Chronicle"]]
                actors = involved[:1] if said.line[2] == "acts" else []
                return "event", {
                    "title": said.value, "involved": involved, "actor_ids": actors, **when,
                }  # fmt: skip
            case _:
                return "relationship", {**self._ends_of(said), **when}

    def _ends_of(self, said: PlannedStatement) -> dict[str, str]:
        match said.line[0]:
            case "place":
                names = (said.line[1], "LOCATED_IN", said.value)
            case "owner":
                names = (said.value, "OWNS", said.line[1])
            case _:
                names = (said.line[1], said.value, said.line[2])
        start, kind, end = names
        return {"from": self.ids[start], "type": kind, "to": self.ids[end]}

    async def _write_directly(self, said: PlannedStatement) -> None:
        result = self._propose_state(said, None)
        if said.line[0] == "state":
            await self.world.call(
                "neo4j_update_entity_state",
                entity_id=self.ids[said.line[1]],
                state_tag_changes={"add" if said.holds else "remove": [said.value]},
                authority="gm",
                evidence_refs=self.sources.get(said.audience, self.world.evidence),
            )
        else:
            ends = self._ends_of(said)
            reply = await self.world.call(
                "neo4j_create_relationship",
                from_entity_id=ends["from"],
                rel_type=ends["type"],
                to_entity_id=ends["to"],
                authority="gm",
                evidence_refs=self.sources.get(said.audience, self.world.evidence),
            )
            self.related.setdefault(reply["relationship_id"], result)
            self.direct.append(result)
            self.became[result.number] = reply["relationship_id"]
        self.truth.write_directly(result)

    async def _give_coins(self, gift: Gift) -> None:
        self.trail.append(str(gift))
        asked = {
            "from_entity_id": self.ids[gift.giver],
            "to_entity_id": self.ids[gift.taker],
            "thing_entity_id": self.ids["Coins"],
            "quantity": gift.amount,
            "authority": "gm",
            "evidence_refs": self.world.evidence,
        }
        done = await self.world.outcome("neo4j_transfer_quantity", asked)
        given = self.truth.give_coins(gift.giver, gift.taker, gift.amount)
        self.equal(given, done.error is None, f"{gift}: {done.text}")

    async def _correct_statement(self, correction: Correction) -> None:
        """Retcon something that was said once; a state by the fact that states it."""
        known = self.truth.correctable_statements()
        if not known:
            return
        reported = known[int(correction.pick * len(known))]
        item = self.became.get(reported.number)
        if reported.line[0] == "state":
            item = await self._read_stated(reported)
        if item is None:
            return
        self.trail.append(f"never was: {reported}")
        await self.world.call("neo4j_retcon_thing", id=item, reason="it never was")
        self.truth.retract_statements(reported)

    async def _reveal_item(self, reveal: Reveal) -> None:
        """Reveal to everybody an item of the canon that only few know."""
        secrets = self.truth.secret_statements()
        if not secrets:
            return
        reported = secrets[int(reveal.pick * len(secrets))]
        item = self.became.get(reported.number)
        if reported.line[0] == "state":
            item = await self._read_stated(reported)
        if item is None:
            return
        self.trail.append(f"revealed: {reported}")
        asked = {"id": item, "audience": ["everyone"], "reason": "it came out"}
        done = await self.world.outcome("neo4j_set_audience", asked)
        if done.error is None:
            self.truth.reveal_statement(reported)
            return
        others = self.truth.has_secrets(reported.line, beside=reported)
        named = done.error.data.get("code") == "audience.names-secrets"
        self.equal((True, True), (others, named), f"it is refused: {done.text}")

    async def _hide_statement(self, hiding: Hiding) -> None:
        """Let few know of what was said once, and not to fewer; what has changed others stays."""
        known = [
            one
            for one in self.truth.correctable_statements()
            if one.line[0] != "state" and one.number in self.became
            if self.truth.audience_of(one) == EVERYBODY
        ]
        if not known:
            return
        reported = known[int(hiding.pick * len(known))]
        self.trail.append(f"hidden: {reported} from all but {hiding.audience}")
        asked = {
            "id": self.became[reported.number],
            "audience": [reader_name(hiding.audience, self.ids)],
            "reason": "better not known",
        }
        done = await self.world.outcome("neo4j_set_audience", asked)
        if done.error is None:
            self.truth.hide_statement(reported, hiding.audience)
        else:
            self.equal("audience.told", done.error.data["code"], f"it is refused: {done.text}")

    async def _end_relation(self, ending: Ending) -> None:
        """End a relation that holds for those who know of it."""
        first: dict[str, int] = {}
        for number, item in self.became.items():  # in the order in which they were judged
            first.setdefault(item, number)
        found: list[Stated] = []
        doubled = {*DOUBLES, *DOUBLES.values()}  # an end stays with whom it was said of
        for line in self.truth.known_lines():
            if self.plot.merges and not doubled.isdisjoint((*line, *self._values_of(line))):
                continue
            for viewer in VIEWERS if line[0] in RELATIONS else ():
                run = self.truth.seen_by(viewer).holding_words(line)
                mine = [one for one in run[-1:] if self.truth.audience_of(one) == viewer]
                found += [
                    one for one in mine if first.get(self.became.get(one.number, "")) == one.number
                ]
        if not found:
            return
        reported = found[int(ending.pick * len(found))]
        self.number += 1
        end = replace(
            self.truth.as_stated(reported.number),
            holds=False,
            number=self.number,
            authority="gm",
            day=None,
            own_day=False,
            scene=0,
            story=0,
            order=0,
            audience=self.truth.audience_of(reported),
            instead=reported.number,
        )
        self.trail.append(str(end))
        await self.world.call(
            "neo4j_end_relationship",
            relationship_id=self.became[reported.number],
            reason="it is over",
        )
        self.truth.record_statement(end)

    async def _merge_entities(self, merging: Merging) -> None:
        """Let one stand for another, or each for themselves again."""
        double = DOUBLES[merging.kept]
        self.trail.append(f"{merging}: {double}")
        if merging.back:
            await self.world.call(
                "neo4j_unmerge_entities", entity_id=self.ids[double], reason="they are two"
            )
            self.truth.merged.pop(double, None)
            return
        await self.world.call(
            "neo4j_merge_entities",
            kept_entity_id=self.ids[merging.kept],
            merged_entity_id=self.ids[double],
            reason="they are one",
        )
        self.truth.merged[double] = merging.kept

    def _values_of(self, line: Line) -> set[str]:
        return {one.value for one in self.truth.words_about(line)}

    async def _read_stated(self, stated: Stated) -> str | None:
        shown = await self.world.call(
            "neo4j_get_entity", entity_id=self.ids[stated.line[1]], include_state_history=True
        )
        facts = [
            fact["fact_id"]
            for fact in shown["state_history"]
            if fact["statement"] in {f"{name} is {stated.value}" for name in self.ids}
            and fact["canon_level"] == "canon"
        ]
        return facts[0] if len(facts) == 1 else None

    def equal(self, expected: object, shown: object, what: str) -> None:
        self.checks += 1
        if expected != shown:
            said = "\n  ".join(self.trail)
            message = f"{what}\n model: {expected}\n tools: {shown}\n  {said}"
            raise DisagreementError(f"seed {self.plot.seed}: {message}")


def _turn_of(stated: Stated) -> tuple[int, bool, int, int]:
    """When it is judged among what is said in its scene."""
    rank = {"state": 1, "event": 2, "fact": 3}.get(stated.line[0], 0)
    return rank, stated.day is not None, stated.day or 0, stated.number

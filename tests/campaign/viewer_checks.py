"""Comparing what one viewer is told by the tools with what the model says that they may know."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import pairwise
from typing import Any, Protocol

from canonry.gateway.principal import Principal
from canonry.values.provenance import Authority
from tests.campaign.model import EVERYBODY, MASTERS, Line, Stated, Stretch, Truth, in_order
from tests.campaign.plots import FEELINGS, HEROES
from tests.toolsets.narrative.kit import World

RELATIONS = {"place": ("LOCATED_IN",), "owner": ("OWNS",), "feeling": FEELINGS}
BO_S_PLAYER = "9f8fad5b-d9cb-469f-a165-708677289500"
VIEWERS = (MASTERS, "Bo", "Cid", EVERYBODY)


def to_instant(day: int | None) -> str | None:
    return None if day is None else f"{date(1400, 1, 1) + timedelta(days=day)}T00:00:00Z"


def day_of(text: str | None) -> int | None:
    return None if text is None else (date.fromisoformat(text[:10]) - date(1400, 1, 1)).days


class Played(Protocol):
    """The campaign as it was played so far."""

    world: World
    ids: dict[str, str]
    proposed: dict[str, Stated]
    related: dict[str, Stated]
    direct: list[Stated]

    def equal(self, expected: object, shown: object, what: str) -> None:
        """Raise where the model and the tools differ."""


def reader_name(viewer: str, ids: Mapping[str, str]) -> str:
    """Return the name of a viewer in an audience: the player of Bo, Cid as a character."""
    named = {MASTERS: "gm", EVERYBODY: "everyone", "Bo": f"player:{BO_S_PLAYER}"}
    return named.get(viewer) or f"character:{ids[viewer]}"


@dataclass(frozen=True, kw_only=True)
class ViewerCheck:
    """One viewer, and what is true to them."""

    played: Played
    truth: Truth
    viewer: str = MASTERS

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The reply to whoever looks; all but the masters may not speak as the game master."""
        if self.viewer == MASTERS:
            return await self.played.world.call(tool, **arguments)
        who = Principal(
            agent_id="keeper-1",
            agent_type="CanonKeeper",
            user=BO_S_PLAYER if self.viewer == "Bo" else None,
            characters=frozenset({self.played.ids["Cid"]} if self.viewer == "Cid" else ()),
            authorities=frozenset(Authority) - {Authority.GM},
        )
        result = await self.played.world.gateway.call(tool, arguments, who)
        assert result.error is None, result.text
        return dict(result.body)

    def _require_equal(self, expected: object, shown: object, what: str) -> None:
        self.played.equal(expected, shown, f"to {self.viewer}: {what}")

    async def _compare_coins(self) -> None:
        reply = await self.call(
            "neo4j_query_relationships",
            entity_id=self.played.ids["Coins"],
            rel_type="OWNS",
            current_only=True,
        )
        has = dict.fromkeys(HEROES, 0)
        names = {entity: name for name, entity in self.played.ids.items()}
        for each in reply["relationships"]:
            has[names[each["from_entity_id"]]] += each["properties"]["quantity"]
        self._require_equal(self.truth.coins, has, "coins")

    async def compare_views(self) -> None:
        await self._compare_coins()
        for hero in (*HEROES, "Stranger"):
            if self.truth.root(hero) == hero:
                await self._compare_state(hero)
                await self._compare_facts(hero)
        for line in self.truth.known_lines():
            if line[0] in RELATIONS:
                await self._compare_line(line)
        await self._compare_events()

    async def _compare_state(self, hero: str) -> None:
        shown = await self.call(
            "neo4j_get_entity", entity_id=self.played.ids[hero], include_state_history=True
        )
        tags = self.truth.tags_at(hero)
        self._require_equal(tags, shown["state_tags"], f"tags of {hero}")
        found = [
            fact["statement"]
            for fact in shown["state_history"]
            if fact["canon_level"] == "canon" and fact["superseded_by"] is None
        ]
        stated = {each.partition(" is ")[2] for each in found if "no longer" not in each}
        self._require_equal(tags, sorted(stated), f"facts about the state of {hero}")
        days = {one.day for one in self.truth.words_about(("state", hero)) if one.day is not None}
        for day in sorted({each + step for each in days for step in (-1, 0)}):
            then = await self.call(
                "neo4j_get_entity_at", entity_id=self.played.ids[hero], at=to_instant(day)
            )
            self._require_equal(
                self.truth.tags_at(hero, day), then["state_tags"], f"tags of {hero} at {day}"
            )

    async def _compare_facts(self, hero: str) -> None:
        found = await self.call("neo4j_query_facts", entity_id=self.played.ids[hero], limit=500)
        listed = [
            fact["statement"]
            for fact in found["facts"]
            if fact["canon_level"] == "canon"
            and " is " not in fact["statement"]
            and fact["superseded_by"] is None  # told for an earlier time, it goes on as the later
        ]
        self._require_equal(
            self.truth.statements_about(hero), sorted(listed), f"facts about {hero}"
        )

    async def _compare_line(self, line: Line) -> None:
        found = await self.relations_of(line)
        self._require_equal(self.truth.stretches_of(line), join_stretches(found), f"line {line}")

    async def relations_of(self, line: Line) -> list[tuple[Stated, Stretch]]:
        names = {entity: name for name, entity in self.played.ids.items()}
        found: list[tuple[Stated, Stretch]] = []
        items: dict[int, str] = {}
        for kind in RELATIONS[line[0]]:
            reply = await self.call(
                "neo4j_query_relationships",
                entity_id=self.played.ids[line[1]],
                rel_type=kind,
                current_only=False,
                limit=500,
                detail=True,
            )
            for each in reply["relationships"]:
                ends = {
                    self.truth.root(names[each[end]]) for end in ("from_entity_id", "to_entity_id")
                }
                if each["canon_level"] != "canon" or not ends >= set(line[1:]):
                    continue
                value = kind if line[0] == "feeling" else (ends - set(line[1:])).pop()
                result = self.played.proposed.get(each["proposal_id"] or "")
                stretch = Stretch(
                    value=value,
                    since=day_of(each["since"]),
                    until=day_of(each["until"]),
                    current=each["current"],
                )
                result = result or self._written_word(each["relationship_id"], line, value)
                items[result.number] = each["relationship_id"]
                found.append((result, stretch))
        every = {
            one.number: one
            for one in (*(result for result, _ in found), *self.truth.words_about(line))
        }
        order = [one for _day, one in in_order(every.values())]
        turns = [one.number for one in order]
        found.sort(key=lambda each: turns.index(each[0].number))
        for index, ((result, one), (then, after)) in enumerate(pairwise(tuple(found))):
            if not one.current and one.value == after.value:
                fall = (await self.call("neo4j_explain", id=items[result.number]))["fall"]
                anew = (await self.call("neo4j_explain", id=items[then.number]))["recorded"]
                over = fall is not None and fall["by"] is None
                cut = over and fall["position"] < anew["position"]
                found[index] = (result, replace(one, cut=cut))
        return found

    def _written_word(self, item: str, line: Line, value: str) -> Stated:
        """The direct word by which a relation is; one that was news to few made it for them."""
        words = self.truth.words_about(line)
        if item not in self.played.related:
            found = [one.number for one in words if one.value == value]
            said = [one for one in self.played.direct if one.number in found]
            self.played.related[item] = said[-1]
        return self.played.related[item]

    async def _compare_events(self) -> None:
        happened = [one.value for _day, one in in_order(self.truth.events)]
        self._require_equal(happened, await self.read_timeline(), "timeline")

    async def read_timeline(self) -> list[str]:
        reply = await self.call(
            "neo4j_get_timeline",
            universe_id=self.played.world.universe_id,
            entity_ids=[self.played.ids["Chronicle"]],
            limit=500,
        )
        return [each["event"]["title"] for each in reply["items"]]


def join_stretches(found: Iterable[tuple[Stated, Stretch]]) -> list[Stretch]:
    """Neighbours of one value are one stretch; so are two that are for different audiences."""
    row: list[tuple[Stated, Stretch]] = []
    for reported, one in found:
        before, last = row.pop() if row else (reported, None)
        if last is None:
            row.append((reported, one))
        elif (
            last.value == one.value
            and (last.current or not last.cut)
            and (
                last.until == one.since
                or (before.audience != reported.audience and _ends_alike(last, one))
            )
        ):
            row.append((reported, replace(one, since=last.since)))
        else:
            row += [(before, last), (reported, one)]
    return [one for _reported, one in row]


def _ends_alike(one: Stretch, other: Stretch) -> bool:
    return (one.until, one.current) == (other.until, other.current)

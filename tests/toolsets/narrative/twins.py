"""Twins: two worlds that are told the same, but one of them is told secrets besides."""

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from canonry.canon.session.canon import Canon
from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.gateway.tool import Toolset
from canonry.narrative.toolset import NARRATIVE
from canonry.testing.clocks import CountingIdentities, HandClock
from canonry.values.provenance import Authority
from tests.toolsets.narrative.filled_world import ROLES, a_furnished_world
from tests.toolsets.narrative.kit import World

WORDS: Final = ("zyxophant", "Zyxophant", "zyxy", "character:", "player:")
"""The words that stand in every secret, and nowhere else."""

PLAYER: Final = "9f8fad5b-d9cb-469f-a165-708677289500"
_SECOND: Final = 1_000_000
_STAMPS: Final = re.compile(r'(?<=\d{2}:\d{2}:\d{2})\.\d+(?=Z")|"position":\d+|"trace_id":"[^"]*"')
"""Places in the log, and the microseconds by which commits of one instant are told apart: they say
that something was written, and nothing of it."""


@dataclass
class Twin:
    """A world with the hands that move its time and count its ids."""

    world: World
    clock: HandClock
    identities: CountingIdentities
    known: dict[str, Any] = field(default_factory=dict)


@dataclass
class Twins:
    """`informed` knows secrets, `other` does not; `hidden` are the ids of secrets."""

    informed: Twin
    other: Twin
    hidden: list[str] = field(default_factory=list)

    async def do_in_both(self, act: Callable[[World], Awaitable[Any]]) -> Any:
        """Let the same happen in both; what comes of it is the same."""
        self._at_once()
        one, another = await act(self.informed.world), await act(self.other.world)
        assert one == another
        return one

    async def do_secretly(self, act: Callable[[World], Awaitable[Any]]) -> Any:
        """Let it happen in the one that knows secrets alone."""
        self._at_once()
        return await act(self.informed.world)

    def _at_once(self) -> None:
        """Let both be at the same time, and give the same ids from here on."""
        most = max(each.identities._count for each in (self.informed, self.other))
        for each in (self.informed, self.other):
            each.identities._count = most
            each.clock.move_by(_SECOND)


def a_twin(canon: Canon, clock: HandClock, identities: CountingIdentities) -> Twin:
    world = World(canon=canon, gateway=Gateway(canon, (NARRATIVE,)), clock=clock)
    return Twin(world=world, clock=clock, identities=identities)


async def furnish_twin(twin: Twin) -> Twin:
    """The twin with one item of nearly every kind, that everybody may see."""
    await twin.world.begin("Middle-earth")
    _, twin.known = await a_furnished_world(twin.world)
    return twin


async def record_secrets(twins: Twins, audience: Any = "gm") -> None:
    """Let canon take in one secret of each kind, by proposals and directly."""
    known = twins.informed.known
    ann, ben, inn = known["entity_id"], known["to_entity_id"], known["location_ref"]
    contents: list[tuple[str, dict[str, Any]]] = [
        ("fact", {"statement": "Ann is a zyxophant", "involved_entity_ids": [ann]}),
        ("fact", {"statement": "It rains zyxophant drops", "involved_entity_ids": [ann, ben]}),
        ("entity", {"name": "Zyxophant", "entity_type": "character", "state_tags": ["zyxy"]}),
        ("entity", {"name": "Ann", "entity_type": "character", "properties": {"zyxy": "yes"}}),
        ("relationship", {"from_entity_id": ann, "to_entity_id": ben, "rel_type": "ALLY_OF"}),
        ("relationship", {"from_entity_id": ann, "to_entity_id": ben, "rel_type": "LOCATED_IN"}),
        ("state_change", {"entity_id": ann, "add": ["zyxy", "dead"], "remove": ["alive"]}),
        ("event", {"title": "Zyxophant rises", "involved_entity_ids": [ann, inn]}),
    ]
    contents[5][1]["to_entity_id"] = await twins.do_in_both(
        lambda world: world.entity("Cellar", entity_type="location")
    )
    for kind, content in contents:
        twins.hidden.append(
            await twins.do_secretly(propose_content(kind, {**content, "audience": audience}))
        )
    decided = await twins.do_secretly(
        lambda world: world.call("composite_canonize_proposals", proposal_ids=twins.hidden)
    )
    for verdict in decided["verdicts"]:
        assert verdict["status"] == "accepted", verdict
        twins.hidden += [verdict["canonical_id"]] if verdict["canonical_id"] != ann else []
    direct = {
        "rel_type": "ENEMY_OF",
        "to_id": ben,
        "audience": [audience],
        "authority": "gm",
    }
    twins.hidden.append(
        await twins.do_secretly(
            lambda world: world.relation(ann, **direct, evidence_refs=world.evidence)
        )
    )


async def live_on(twins: Twins) -> None:
    """Let the story go on in both, and secrets be stated in its scene besides."""
    known = twins.informed.known
    ann, ben, inn = known["entity_id"], known["to_entity_id"], known["location_ref"]
    scene = known["scene_id"]
    dov = await twins.do_in_both(lambda world: world.entity("Dov"))
    await twins.do_in_both(lambda world: world.fact("Ann is tall", ann, dov))
    await twins.do_in_both(lambda world: world.event("Dov arrives", dov, ann))
    await twins.do_in_both(lambda world: world.relation(dov, "ALLY_OF", ann))
    await twins.do_in_both(lambda world: world.relation(ben, "LOCATED_IN", inn))
    await twins.do_in_both(
        lambda world: world.call(
            "neo4j_update_entity_state",
            entity_id=dov,
            state_tag_changes={"add": ["tired"], "remove": []},
            authority="gm",
            evidence_refs=world.evidence,
        )
    )
    gone = {"title": "Zyxophant sets", "involved_entity_ids": [dov], "audience": "gm"}
    moved = {"from_entity_id": ben, "to_entity_id": dov, "rel_type": "OWNS", "audience": "gm"}
    for kind, content in (("event", gone), ("relationship", moved)):
        twins.hidden.append(await twins.do_secretly(propose_content(kind, content, scene)))
    said = {"statement": "Dov sings", "involved_entity_ids": [dov]}
    for kind, content in (("fact", said), ("state_change", {"entity_id": dov, "tag": "merry"})):
        await twins.do_in_both(propose_content(kind, content, scene))
    await twins.do_in_both(close_scene(scene))


def close_scene(scene_id: str) -> Callable[[World], Awaitable[str]]:
    async def close(world: World) -> str:
        reply = await world.call("composite_canonize_scene", scene_id=scene_id)
        return str(reply["summary"])

    return close


def propose_content(
    kind: str, content: Mapping[str, Any], scene_id: str | None = None
) -> Callable[[World], Awaitable[str]]:
    async def propose(world: World) -> str:
        reported = (
            "mongodb_propose_change" if scene_id is None else "mongodb_create_proposed_change"
        )
        within = {"universe_id": world.universe_id} if scene_id is None else {"scene_id": scene_id}
        reply = await world.call(
            reported,
            "CanonKeeper" if scene_id is None else "Narrator",
            **within,
            type=kind,
            content=content,
            evidence=[{"type": "source", "ref_id": world.source_id}],
            confidence=1.0,
            authority="gm",
        )
        return str(reply["proposal_id"])

    return propose


def yield_strangers() -> Iterator[Principal]:
    """Callers of every role who may not speak as the game master."""
    few = frozenset(Authority) - {Authority.GM}
    for role in ROLES:
        yield Principal(agent_id=f"{role}-1", agent_type=role, user=PLAYER, authorities=few)


async def count_alike(
    twins: Twins,
    name: str,
    arguments: Sequence[Mapping[str, Any]],
    who: Principal,
    toolset: Toolset = NARRATIVE,
) -> int:
    """Check that both twins answer a caller without secrets with the same bytes.

    Returns how many of the answers are no refusals.
    """
    answered = 0
    gateways = [Gateway(each.world.canon, (toolset,)) for each in (twins.informed, twins.other)]
    for given in arguments:
        results = [await gateway.call(name, given, who) for gateway in gateways]
        answered += results[1].error is None
        answers = [result.text for result in results]
        bare = [_STAMPS.sub("", answer) for answer in answers]
        assert bare[0] == bare[1], (name, who.agent_type, given)
        assert "internal error" not in answers[0], (name, given)
        found = [word for word in WORDS if word in answers[0] and word not in str(given)]
        assert not found, (name, found)
        ids = [one for one in twins.hidden if one in answers[0] and one not in str(given)]
        assert not ids, (name, ids)
    return answered

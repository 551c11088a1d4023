"""Services of a world: admission of texts, rules of play, models and counts."""

from asyncio import Lock
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from canonry.canon.session.ai_words import EventName
from canonry.canon.session.canon import Canon
from canonry.log.commits import Position
from canonry.models.speaker import SpeakingModel
from canonry.values.ids import SpaceId
from canonry.values.json_values import encode_json
from canonry.values.moments import Instant
from canonry.world.domain.admission.safety import (
    ProposedPlace,
    SaidBefore,
    SaidLately,
    Spent,
    digest,
)
from canonry.world.domain.moderation.moderating import Moderation, moderate_by_words
from canonry.world.models.telemetry import Generated, Invocation, Telemetry
from canonry.world.ports.moderator import Moderator, Rulebook

# Admissions: what a world has admitted lately, kept in memory and brought up to date by the log.
#
# The record is the log. Each process follows it, so that budgets and likeness hold for all of
# them.

WORLDS_MAX: Final = 50
CONTEXTS_MAX: Final = 10_000
"""So many contexts are remembered as given out, the latest of a process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """A proposal that was admitted, as far as later ones are held against it."""

    proposal: str
    player: str
    at: Instant
    tokens: int
    content: str
    actions: tuple[str, ...]
    said: tuple[tuple[ProposedPlace, SaidBefore], ...]


@dataclass(slots=True, eq=False)
class Lately:
    """What one world has admitted lately, the earliest first."""

    position: Position | None = None
    admitted: deque[Admitted] = field(default_factory=deque)
    said: SaidLately = field(default_factory=SaidLately)
    by_content: dict[str, str] = field(default_factory=dict)
    by_action: dict[str, str] = field(default_factory=dict)
    pending: dict[str, Instant] = field(default_factory=dict)
    known: dict[str, Admitted] = field(default_factory=dict)
    instants: list[Instant] = field(default_factory=list)
    by_player: dict[str, Spent] = field(default_factory=dict)
    turn: Lock = field(default_factory=Lock)

    def add(self, one: Admitted) -> None:
        """Remember an admission."""
        if one.proposal in self.known:
            return
        self.known[one.proposal] = one
        self.admitted.append(one)
        self.instants.append(one.at)
        mine = self.by_player.setdefault(one.player, Spent(instants=[], tokens=[]))
        mine.instants.append(one.at)
        mine.tokens.append(one.tokens)
        self.by_content[one.content] = one.proposal
        for action in one.actions:
            self.by_action[action] = one.proposal
        for place, said in one.said:
            self.said.add(one.proposal, place, said)

    def forget_before(self, instant: Instant) -> None:
        """Drop what was admitted too long ago to matter."""
        gone = 0
        while self.admitted and self.admitted[0].at < instant:
            one = self.admitted.popleft()
            self.unsay(one.proposal)
            self.known.pop(one.proposal, None)
            mine = self.by_player[one.player]
            del mine.instants[0], mine.tokens[0]
            if not mine.instants:
                del self.by_player[one.player]
            gone += 1
        del self.instants[:gone]

    def unsay(self, proposal: str) -> None:
        """What it said does not stand: it may be said again."""
        one = self.known.get(proposal)
        if one is None:
            return
        for place, said in one.said:
            self.said.drop(proposal, place, said)
        if self.by_content.get(one.content) == proposal:
            del self.by_content[one.content]
        for action in one.actions:
            if self.by_action.get(action) == proposal:
                del self.by_action[action]

    def spent_by(self, player: str) -> Spent:
        """What was admitted on behalf of a player."""
        return self.by_player.get(player) or Spent(instants=[], tokens=[])


@dataclass(slots=True, eq=False)
class Admissions:
    """What worlds have admitted lately, and the contexts that were given out of them."""

    _worlds: dict[SpaceId, Lately] = field(default_factory=dict)
    _contexts: dict[tuple[SpaceId, str], bytes] = field(default_factory=dict)

    def of(self, world: SpaceId) -> Lately:
        """What is known of a world; nothing yet where nobody has asked."""
        lately = self._worlds.pop(world, None) or Lately()
        self._worlds[world] = lately
        if len(self._worlds) > WORLDS_MAX:
            del self._worlds[next(iter(self._worlds))]
        return lately

    def gave_out(self, world: SpaceId, context: Mapping[str, Any]) -> str:
        """Remember a context that somebody was told; the hash by which a prompt names it."""
        name = f"sha256:{digest(context)}"
        self._contexts.pop((world, name), None)
        self._contexts[world, name] = encode_json(context)
        if len(self._contexts) > CONTEXTS_MAX:
            del self._contexts[next(iter(self._contexts))]
        return name

    def context(self, world: SpaceId, name: str) -> bytes | None:
        """The context of that hash as JSON, if it was given out and not too long ago."""
        return self._contexts.get((world, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldServices:
    """What a world uses beside the ports of the store; each may be missing.

    Without `moderator`, word lists alone moderate texts; without `listener`, rules alone read what
    players say; without `speaker`, characters answer with set sentences.
    """

    rulebook: Rulebook | None = None
    speaker: SpeakingModel | None = None
    listener: SpeakingModel | None = None
    moderator: Moderator | None = None
    admissions: Admissions = field(default_factory=Admissions)
    telemetry: Telemetry = field(default_factory=Telemetry)
    generated: Generated = field(default_factory=Generated)

    async def close(self) -> None:
        """Close the connections of models."""
        for each in (self.speaker, self.listener, self.moderator):
            if each is not None:
                await each.close()


def count_event(
    canon: Canon,
    event: EventName,
    told: Invocation | None = None,
    rule: str = "",
    *,
    space: SpaceId | None = None,
) -> None:
    """Count an event of telemetry now, and what the asking of a model told of it."""
    telemetry, budget = canon.service(WorldServices).telemetry, canon.policy.models.hourly_budget
    telemetry.tell(event, canon.clock.now(), told, rule, budget, space=space)


async def moderate_content(canon: Canon, text: str) -> Moderation:
    """What the moderator says; without one, what the rules say."""
    moderator = canon.service(WorldServices).moderator
    return moderate_by_words(text) if moderator is None else await moderator.moderate(text)

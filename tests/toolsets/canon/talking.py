"""A conversation in a space of its own: somebody states facts, and asks what the canon knows."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from canonry.app.compose import compose_memory
from canonry.assistant import CANON
from canonry.gateway.call import Gateway
from canonry.narrative.toolset import NARRATIVE
from canonry.testing.clocks import CountingIdentities, HandClock
from canonry.values.moments import SECOND, Instant
from tests.toolsets.canon.kit import ToolDriver

RECORDED_ON = datetime(2026, 11, 9, 12, tzinfo=UTC)
"""A Monday, on which all conversations begin."""


def claim_fact(says: str, **more: Any) -> dict[str, Any]:
    return {"kind": "fact", "says": says, **more}


def claim_relation(start: str, kind: str, end: str, **more: Any) -> dict[str, Any]:
    return {"kind": "relation", "from": start, "type": kind, "to": end, **more}


@dataclass
class Talk:
    """Calls of one person, and short forms of the replies."""

    driver: ToolDriver

    async def propose_text(self, said: str, *claims: dict[str, Any], **more: Any) -> dict[str, Any]:
        """Propose what somebody said, by default as one fact in these words."""
        listed = [*claims] or [claim_fact(said)]
        return await self.driver.call("propose", said=said, claims=listed, **more)

    async def propose_cited(self, evidence: str, *claims: dict[str, Any]) -> dict[str, Any]:
        """Propose claims with a document or a turn as evidence."""
        return await self.driver.call("propose", evidence=[evidence], claims=[*claims])

    async def ingest_document(self, title: str, text: str) -> None:
        await self.driver.call("tell", title=title, text=text)

    async def play_turn(self, scene: str, by: str, text: str, **more: Any) -> str:
        """Tell one turn of a scene; its id."""
        reply = await self.driver.call(
            "tell", scene=scene, turns=[{"by": by, "text": text}], **more
        )
        return str(reply["turns"][0]["id"])

    async def holding_statements(self, of: str, **when: Any) -> set[str]:
        """The facts and relations of an entity that hold, in words."""
        got = await self.driver.call("get", of=of, full=True, **when)
        rows = [*got.get("facts", ()), *got.get("relations", ())]
        return {row["says"].rstrip(".") for row in rows}

    async def find_statements(self, text: str, **more: Any) -> dict[str, dict[str, Any]]:
        """Facts and relations that a search finds, by their words."""
        reply = await self.driver.call("find", text=text, **more)
        stated = [row for row in reply["found"] if row["kind"] in {"fact", "relation"}]
        return {row["says"].rstrip("."): row for row in stated}

    def pass_time(self, days: int = 0, hours: int = 0) -> None:
        self.driver.clock.move_by((days * 24 + hours) * 3_600 * SECOND)


async def start_talk(**entities: str) -> Talk:
    """A conversation with these known entities, by name with `_` for a space, and their types."""
    clock = HandClock(Instant(int(RECORDED_ON.timestamp()) * SECOND))
    canon = compose_memory(clock=clock, identities=CountingIdentities())
    one = Talk(ToolDriver(canon, Gateway(canon, [CANON, NARRATIVE]), clock, "Solo"))
    await one.driver.call("open", name="Home")
    named = [(name.replace("_", " "), kind) for name, kind in entities.items()]
    known = [{"kind": "entity", "name": name, "type": kind} for name, kind in named]
    if known:
        await one.propose_text("These are known.", *known)
    return one


def last_verdict(reply: dict[str, Any]) -> str:
    """The verdict on the last claim of a reply."""
    return str(reply["verdicts"][-1]["verdict"])


def grades_in(reply: dict[str, Any]) -> list[str]:
    """The grades of what stands against the last claim."""
    return [each["grade"] for each in reply["verdicts"][-1].get("against", ())]

"""The same calls on any commit, in process: what `bench compare` measures and the meta tests trace.

Modules are named by where they are today and where they were before, so that this file can run
against the source of an older commit: `PYTHONPATH=<checkout>/src python -m bench.recorded_calls`.
It then prints CPU milliseconds by call as JSON.
"""

import asyncio
import gc
import json
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Final

FORMER: Final = {
    "canonry.app.load_settings": "canonry.app.settings",
    "canonry.app.packages": "canonry.bootstrap.toolsets",
    "canonry.app": "canonry.bootstrap",
    "canonry.values": "canonry.domain",
}
REPEATS: Final = 12
WARM: Final = 4
BULK_RECORDS: Final = 200
FACTS: Final = 120
STARTS: Final = 3
Step = Callable[[int], Awaitable[Any]]


def module(name: str) -> Any:
    """The module of this name, or of the name that it had before the packages were divided."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        for now, before in FORMER.items():
            if name == now or name.startswith(f"{now}."):
                return import_module(before + name.removeprefix(now))
        raise


@dataclass(slots=True)
class Recording:
    """A gateway over an embedded store in a folder, with one space and one scene to call about."""

    gateway: Any
    canon: Any
    close: Callable[[], Awaitable[None]]
    ids: dict[str, str] = field(default_factory=dict)

    @classmethod
    async def open(cls, folder: Path, *toolsets: str) -> "Recording":
        """Open the store and make what the calls are about."""
        settings = module("canonry.app.load_settings").load_settings(
            {"data": folder, "recall_embedder": "none"}, environment={}
        )
        store = await module("canonry.app.stores").open_kept_store(settings)
        loaded = module("canonry.app.packages").load_toolsets(toolsets)
        gateway = module("canonry.app.serving").gateway_for(settings, store.canon, loaded)
        return cls(gateway=gateway, canon=store.canon, close=store.close)

    async def call(self, agent: str, tool: str, /, **arguments: Any) -> Any:
        """The body of the reply of a trusted agent of this type; a refused call ends the run."""
        principal = module("canonry.gateway.principal").Principal(
            agent_id="bench",
            agent_type=agent,
            authorities=frozenset(module("canonry.values.provenance").Authority),
            user="u1",
            world=self.ids.get("world"),
        )
        reply = await self.gateway.call(tool, arguments, principal)
        if reply.error is not None:
            message = f"{tool} answers {reply.text}"
            raise RuntimeError(message)
        return reply.body

    async def prepare(self) -> None:
        """A universe with a scene, people and facts, and a space of the default toolset."""
        made = await self.call(
            "CanonKeeper", "neo4j_create_universe", name="Saltmere", description="A coast."
        )
        self.ids["universe"] = universe = made["universe_id"]
        story = await self.call(
            "CanonKeeper",
            "neo4j_create_story",
            universe_id=universe,
            title="Tides",
            story_type="campaign",
        )
        self.ids["story"] = story["story_id"]
        self.ids["scene"] = await self.scene("Quay")
        turn = await self.append_turn(0)
        self.ids["turn"] = turn["turn_id"]
        entity = await self.create_entity(0)
        self.ids["entity"] = entity["entity_id"]
        opened = await self.call("Solo", "open", name="Harbour")
        self.ids["space"] = opened["id"]
        people = [
            {"kind": "entity", "name": f"Person {_letters(n)}", "type": "character"}
            for n in range(10)
        ]
        await self.call("Solo", "propose", space=self.ids["space"], said="They met.", claims=people)
        for number in range(FACTS // 20):
            claims = [_fact(number * 20 + n) for n in range(20)]
            await self.call(
                "Solo", "propose", space=self.ids["space"], said="So it was.", claims=claims
            )

    async def scene(self, title: str) -> str:
        """The id of a new scene."""
        made = await self.call(
            "Orchestrator",
            "mongodb_create_scene",
            universe_id=self.ids["universe"],
            story_id=self.ids["story"],
            title=title,
            participating_entities=[],
        )
        scene_id: str = made["scene_id"]
        return scene_id

    async def append_turn(self, number: int) -> Any:
        """One turn of the game master."""
        return await self.call(
            "Narrator",
            "mongodb_append_turn",
            scene_id=self.ids["scene"],
            speaker="gm",
            text=f"The tide turns, {_letters(number)}.",
        )

    async def create_entity(self, number: int) -> Any:
        """One person, written directly."""
        return await self.call(
            "CanonKeeper",
            "neo4j_create_entity",
            universe_id=self.ids["universe"],
            entity_class="EntityInstance",
            entity_type="character",
            name=f"Keeper {_letters(number)}",
            description="A keeper of the light.",
            properties={},
            confidence=1.0,
            authority="gm",
            evidence_refs=[f"turn:{self.ids['turn']}"],
        )

    async def create_fact(self, number: int) -> Any:
        """One fact, written directly."""
        return await self.call(
            "CanonKeeper",
            "neo4j_create_fact",
            universe_id=self.ids["universe"],
            statement=f"Lamp {_letters(number)} stands on the quay",
            involved_entity_ids=[self.ids["entity"]],
            confidence=1.0,
            authority="gm",
            evidence_refs=[f"scene:{self.ids['scene']}"],
        )

    async def get(self, number: int) -> Any:
        """One entity of the default toolset by its name."""
        name = f"Person {_letters(number % 10)}"
        return await self.call("Solo", "get", space=self.ids["space"], of=name)

    async def propose(self, number: int) -> Any:
        """One fact through the gates of the default toolset."""
        claims = [_fact(FACTS + number)]
        return await self.call(
            "Solo", "propose", space=self.ids["space"], said="One more.", claims=claims
        )

    async def find(self, number: int) -> Any:
        """One question by words."""
        text = f"which boat does person {_letters(number % 10)} mend"
        return await self.call("Solo", "find", space=self.ids["space"], text=text)

    async def context(self, number: int) -> Any:
        """The context of one person."""
        name = f"Person {_letters(number % 10)}"
        return await self.call("Solo", "context", space=self.ids["space"], of=name)

    async def canonize(self, number: int) -> Any:
        """A scene of ten proposals, and its canonization."""
        scene_id = await self.scene(f"Scene {_letters(number)}")
        turn = await self.call(
            "Narrator", "mongodb_append_turn", scene_id=scene_id, speaker="gm", text="It rains."
        )
        for index in range(10):
            await self.call(
                "Narrator",
                "mongodb_create_proposed_change",
                scene_id=scene_id,
                type="fact",
                content={
                    "statement": f"Rope {_letters(number)} {_letters(index)} is coiled",
                    "involved_entity_ids": [self.ids["entity"]],
                },
                evidence=[{"type": "turn", "ref_id": turn["turn_id"]}],
                confidence=0.9,
                authority="gm",
            )
        return await self.call("CanonKeeper", "composite_canonize_scene", scene_id=scene_id)

    async def ingest(self, number: int) -> Any:
        """One record."""
        return await self.call("any", "ingest", user_id="u1", entities=[_invoice(number)])

    async def bulk(self, number: int) -> Any:
        """Records of one file of a program, at once."""
        first = 10_000 + number * BULK_RECORDS
        entities = [_invoice(first + n) for n in range(BULK_RECORDS)]
        return await self.call("any", "ingest", user_id="u1", entities=entities)


def _letters(number: int) -> str:
    """A name for a number that no reader of digits takes for one."""
    digits = "bdfgklmnprst"
    name = ""
    while True:
        number, last = divmod(number, len(digits))
        name = f"{digits[last]}a{name}"
        if not number:
            return name.capitalize()


def _fact(number: int) -> Mapping[str, Any]:
    who = f"Person {_letters(number % 10)}"
    return {"kind": "fact", "says": f"{who} mends boat {_letters(number)}", "about": [who]}


def _invoice(number: int) -> Mapping[str, Any]:
    return {
        "entity_type": "invoice",
        "invoice_number": f"A-{number}",
        "vendor_name": "Acme",
        "amount_due": 10.5,
        "currency": "EUR",
        "invoice_date": "2026-01-02",
    }


MEASURED: Final = (
    *("create_fact", "create_entity", "append_turn", "get", "propose", "canonize", "find"),
    *("context", "ingest", "bulk"),
)


def calibration() -> float:
    """CPU milliseconds of a fixed piece of work, by which machines are compared."""
    began = time.process_time()
    with sqlite3.connect(":memory:") as db:
        db.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, body TEXT)")
        for number in range(2_000):
            body = json.dumps({"n": number, "names": [f"name {n}" for n in range(10)]})
            db.execute("INSERT INTO rows (body) VALUES (?)", (body,))
        total = sum(
            len(json.loads(body)["names"]) for (body,) in db.execute("SELECT body FROM rows")
        )
    assert total == 20_000
    return (time.process_time() - began) * 1e3


def started() -> float:
    """CPU milliseconds of a process that says its help and its tools."""
    began = sum(_child_times())
    code = (
        "from importlib import import_module as m\n"
        "from bench.recorded_calls import module\n"
        "module('canonry.app.packages').load_toolsets(('canon',))\n"
        "module('canonry.app.stores'); module('canonry.app.serving')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    return (sum(_child_times()) - began) * 1e3


def _child_times() -> tuple[float, float]:
    import resource

    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime, usage.ru_stime


async def measured() -> dict[str, float]:
    """CPU milliseconds a call: the least of several medians is taken by who compares."""
    with tempfile.TemporaryDirectory() as folder:
        recording = await Recording.open(Path(folder), "canon", "narrative", "truth")
        try:
            await recording.prepare()
            found = {name: await _median_of(getattr(recording, name)) for name in MEASURED}
        finally:
            await recording.close()
    return found


async def _median_of(step: Step) -> float:
    for number in range(WARM):
        await step(1_000 + number)
    gc.collect()
    spent = []
    for number in range(REPEATS):
        began = time.process_time()
        await step(2_000 + number)
        spent.append((time.process_time() - began) * 1e3)
    return sorted(spent)[len(spent) // 2]


def main() -> None:
    """Print CPU milliseconds by call, the calibration among them."""
    before = calibration()
    found = asyncio.run(measured())
    found["start"] = sorted(started() for _ in range(STARTS))[STARTS // 2]
    found["calibration"] = min(before, calibration(), calibration())
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()

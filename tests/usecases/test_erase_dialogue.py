"""Erasing a player reaches what was said with characters, and the proposals that came of it."""

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from bench.table.scene import scene
from canonry.app.embedded import Embedded, open_embedded
from canonry.canon.maintenance.erase import erase_items, plan_erasure
from canonry.canon.session.canon import Canon
from canonry.models.outside_services import ModelSpeech, SpeakingModel
from canonry.testing.clocks import a_caller
from canonry.values.fields import with_changes
from canonry.world.domain.atlas import item_id_of
from canonry.world.toolset.toolset import _DECIDED
from canonry.world.usecases.dialogue import PlayerUtterance, Voices, take_turn
from canonry.world.usecases.exchange import import_world
from canonry.world.usecases.proposals.admission import propose_actions
from canonry.world.usecases.worlds import BoundWorld, require_world

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("plain_rows")]

SAID, REPLY, LAYER = "my cousin Xanthippe", "Xanthippe, you say", "Tears fell here for Xanthippe."
CHANGES = (
    '{"actionType": "Layer.Add", "params": {"locationId": "harbour", "layerType": "ambient", '
    f'"layerContent": "{LAYER}"}}}}, '
    '{"actionType": "Item.Transfer", "params": {"itemId": "crown", "fromHolderId": "duke", '
    '"toHolderId": "ann"}}'
)


class Echo(SpeakingModel):
    """A model that repeats a name and lets something follow from it."""

    async def next_answer(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        model: str = "",
    ) -> ModelSpeech:
        """Always the same."""
        text = f'{{"say": "{REPLY}", "changes": [{CHANGES}]}}'
        return ModelSpeech(text=text, model="m", prompt_tokens=1, completion_tokens=1)

    async def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Embedded]:
    opened = await open_embedded(tmp_path)
    yield opened
    await opened.close()


async def speak_of_cousin(canon: Canon) -> BoundWorld:
    """A world in which Ann has spoken of her cousin, which led to two proposals."""
    caller = a_caller("Narrative")
    done = await import_world(
        canon, a_caller("Operator", "import"), scene(), origin="test", progress=lambda *_: None
    )
    world = await require_world(canon, caller, done.world_id)

    async def proposing(asked: Mapping[str, Any]) -> Any:
        decided = await propose_actions(
            canon, caller, world, asked["playerId"], asked["actionEnvelope"]
        )
        return _DECIDED(decided)

    said = PlayerUtterance(player="ann", npc="mara", text=SAID, correlation_id="c")
    turn = await take_turn(canon, caller, world, said, Voices(speaker=Echo(), propose=proposing))
    assert not turn.is_fallback
    assert len(turn.changes) == len(["a layer", "a crown"])
    return world


def store_contains(folder: Path, text: str) -> bool:
    """Return whether a file of the store has this text."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return any(text.encode() in path.read_bytes() for path in files)


async def test_a_players_utterances_and_replies_are_erased_with_the_player(
    store: Embedded, tmp_path: Path
) -> None:
    canon = with_changes(store.canon)
    world = await speak_of_cousin(canon)
    ann = item_id_of(world.space, "ann")
    plan = await plan_erasure(canon, "entity", ann)
    counts = dict(plan.counts)
    assert store_contains(tmp_path, SAID)
    assert store_contains(tmp_path, REPLY)
    assert (counts["proposal"], counts["event"] >= 1) == (2, True)

    await erase_items(canon, store.maintenance, a_caller(), plan, reason="asked for")
    await store.close()

    assert not store_contains(tmp_path, SAID)
    assert not store_contains(tmp_path, REPLY)

"""Gates, narration, dialogue and contexts agree on characters who are dead or away."""

from dataclasses import replace
from typing import Any

import pytest

from bench.table.scene import scene
from canonry.testing.clocks import a_caller
from canonry.values.errors import InvalidInput
from canonry.world.usecases.dialogue import PlayerUtterance, Voices, take_turn
from canonry.world.usecases.worlds import require_world
from tests.toolsets.world.kit import Isle, a_world
from tests.toolsets.world.proposals.adversarial import make_act, make_envelope
from tests.toolsets.world.proposals.kit import send_proposal, with_new_ids

pytestmark = pytest.mark.anyio

GONE: dict[str, tuple[dict[str, Any], str]] = {
    "said to be dead": ({"alive": False}, "dead"),
    "an attribute": ({"attributes": {"status": "Slain"}}, "dead"),
    "an attribute of life": ({"attributes": {"alive": False}}, "dead"),
    "a tag": ({"tags": ("dead",)}, "dead"),
    "away": ({"present": False}, "absent"),
    "in another place": ({"location": "tavern"}, "elsewhere"),
}


async def a_scene_with(**changed: Any) -> Isle:
    """The scene in which Old Mara is otherwise."""
    atlas = scene()
    movers = tuple(
        replace(each, **changed) if each.key == "mara" else each for each in atlas.characters
    )
    return await a_world(replace(atlas, characters=movers))


async def propose_speech(isle: Isle) -> Any:
    """Propose that she speaks to a player at the harbour, and return the answer."""
    said = {"npcId": "mara", "playerId": "ann", "text": "The nets are torn."}
    sent = with_new_ids(make_envelope(make_act("NPC.Dialogue", "loc:harbour", **said)))
    return await send_proposal(isle, sent, "ann")


async def narrate_greeting(isle: Isle) -> list[str]:
    reply = await isle.call(
        "check-narration", "Narrative", narration="Old Mara bows to you.", playerId="ann"
    )
    return [each["constraint"] for each in reply["violations"]]


async def speak_to(isle: Isle) -> None:
    """A player speaks to her."""
    world = await require_world(isle.canon, a_caller(), isle.world)
    said = PlayerUtterance(player="ann", npc="mara", text="Hello?", correlation_id="c")

    async def nobody(*_: Any) -> Any:
        raise AssertionError("nothing follows from a greeting")

    await take_turn(isle.canon, a_caller("Narrative"), world, said, Voices(propose=nobody))


@pytest.mark.parametrize("way", GONE)
async def test_a_removed_character_is_gone_for_all_toolsets(way: str) -> None:
    changed, how = GONE[way]
    isle = await a_scene_with(**changed)

    answer = await propose_speech(isle)
    context = await isle.call("get-character-context", "Narrative", characterId="mara")

    rules = {"dead": "person.dead", "absent": "person.absent", "elsewhere": "scope.mismatch"}
    assert answer["rejection"]["rule"] == rules[how]
    assert await narrate_greeting(isle) == ["dead" if how == "dead" else "absent"]
    with pytest.raises(InvalidInput, match="cannot answer"):
        await speak_to(isle)
    assert context["status"]["alive"] == (how != "dead")
    assert context["status"]["present"] == (how != "absent")


async def test_an_explicit_statement_wins_over_an_attribute() -> None:
    isle = await a_scene_with(attributes={"status": "dead"}, tags=("dead",))
    await isle.call("set-status", "WorldBuilder", moverId="mara", alive=True)

    assert (await propose_speech(isle))["outcome"] == "accepted"
    assert await narrate_greeting(isle) == []
    await speak_to(isle)

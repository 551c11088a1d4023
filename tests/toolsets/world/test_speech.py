"""The gateway reads the speech of players into frames of what is there, and judges texts."""

from dataclasses import dataclass

import pytest

from canonry.gateway.call import Gateway
from canonry.world.domain.moderation.moderating import Moderation
from canonry.world.models.services import WorldServices
from canonry.world.ports.moderator import Moderator
from canonry.world.toolset import WORLD
from tests.toolsets.world.kit import a_world

pytestmark = pytest.mark.anyio


async def test_an_utterance_is_checked_against_the_players_location() -> None:
    isle = await a_world()
    said = {"utterance": "give the cook two cups, then go outside", "playerId": "ann"}
    reply = await isle.call("parse-to-action-frame", "IntentParser", **said)
    give, go = reply["frames"]
    assert (give["direct"]["id"], give["secondary"]["id"]) == (isle.id("cup"), isle.id("cook"))
    assert give["quantity"] == 2
    assert (go["verb"], go["direction"]) == ("move", "out")
    assert reply["category"] == "action"
    assert not reply["needsClarification"]


async def test_hidden_or_distant_items_cannot_be_named() -> None:
    isle = await a_world()
    for text in ("go to the cellar", "talk to Bob"):
        reply = await isle.call(
            "parse-to-action-frame", "Narrative", utterance=text, playerId="ann"
        )
        assert "id" not in reply["frames"][0]["direct"], text
        assert reply["needsClarification"]


async def test_earlier_utterances_count() -> None:
    isle = await a_world()
    reply = await isle.call(
        "parse-to-action-frame",
        "Narrative",
        utterance="drop it",
        playerId="ann",
        previous=["look at the cup"],
    )
    assert reply["frames"][0]["direct"]["id"] == isle.id("cup")


async def test_an_unknown_player_is_not_found() -> None:
    isle = await a_world()
    outcome = await isle.outcome(
        "parse-to-action-frame", {"utterance": "look", "playerId": "cook"}, "Narrative"
    )
    assert outcome.body["error"]["code"] == "NOT_FOUND"


async def test_a_category_needs_no_world() -> None:
    isle = await a_world()
    reply = await isle.call("classify-intent", "IntentParser", utterance="brb")
    assert reply["category"] == "ooc"


async def test_a_flagged_text_has_its_position() -> None:
    isle = await a_world()
    text = "well met. kill yourself"
    reply = await isle.call("moderate-content", "Safety", text=text)
    assert reply["verdict"] == "flagged"
    assert reply["categories"] == ["self-harm"]
    [span] = reply["spans"]
    assert text[span["start"] : span["end"]] == "kill yourself"
    assert (await isle.call("moderate-content", "Safety", text="Kill the orc!"))["verdict"] == "ok"


@dataclass
class Strict(Moderator):
    """Lets nothing stand."""

    async def moderate_text(self, text: str) -> Moderation:
        """Spam, whatever it is."""
        return Moderation(categories=("spam",) if text else (), policy_version="strict")

    async def close(self) -> None:
        """It holds nothing."""


async def test_a_configured_moderator_is_asked() -> None:
    isle = await a_world()
    isle.gateway = Gateway(isle.canon.revise_service(WorldServices, moderator=Strict()), (WORLD,))
    reply = await isle.call("moderate-content", "Safety", text="Hello")
    assert (reply["categories"], reply["policyVersion"]) == (["spam"], "strict")

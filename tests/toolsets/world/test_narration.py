"""Bounded plausibility: a narrator may smooth and compress, and may not contradict the world."""

import time
from dataclasses import replace

import pytest

from bench.table.scene import scene
from canonry.world.domain.atlas import Atlas
from tests.toolsets.world.kit import Isle, a_world

pytestmark = pytest.mark.anyio

ALLOWED = (
    "The wind screams along the cliff face, turning every handhold into a gamble. You retreat "
    "into a narrow fissure and edge sideways, inch by inch, until the dragon\u2019s shadow passes "
    "below. You haven\u2019t climbed the cliff\u2014but you have found shelter and bought time."
)
FORBIDDEN = (
    "You leap and catch the wind, soaring to the cliff top as the dragon snaps futilely below."
)
SECONDS = 0.02


async def check_text(isle: Isle, text: str, player: str = "ann", **more: object) -> list[str]:
    """The constraints that a text violates; each span is where its text says."""
    reply = await isle.call("check-narration", "Narrative", narration=text, playerId=player, **more)
    for each in reply["violations"]:
        span = each["span"]
        assert text[span["start"] : span["end"]] == span["text"] != ""
        assert each["against"]
    assert (reply["verdict"] == "ok") == (not reply["violations"])
    return [each["constraint"] for each in reply["violations"]]


async def test_a_climb_without_a_way_up_is_a_violation() -> None:
    isle = await a_world(scene())
    assert await check_text(isle, ALLOWED, "ben") == []
    assert await check_text(isle, FORBIDDEN, "ben") == ["position"]


async def test_the_same_words_pass_if_a_way_leads_up() -> None:
    isle = await a_world(scene())
    text = "You climb up and stand at the top, out of breath."
    assert set(await check_text(isle, text, "ben")) == {"position"}
    assert await check_text(isle, text, "ann") == []


async def test_each_violated_constraint_is_reported() -> None:
    isle = await a_world(scene())
    reported = {
        "Captain Veyra bows to you.": ("absent", isle.id("veyra")),
        "Duke Oswin bows to you.": ("dead", isle.id("duke")),
        "You walk south.": ("direction", isle.id("harbour")),
        "You draw your ash spear.": ("item", isle.id("spear")),
        "The sun blazes.": ("layer", isle.layer("rain")),
        "The Tide Council has seven members.": ("lore", "council"),
        "It is midnight.": ("time", isle.id("harbour")),
        "A moment later you reach the Lighthouse Stair.": ("time", isle.id("stair")),
    }
    for text, (constraint, against) in reported.items():
        reply = await isle.call("check-narration", "Safety", narration=text, playerId="ann")
        [violation] = reply["violations"]
        assert (violation["constraint"], violation["against"]) == (constraint, against), text


async def test_dreams_questions_denials_and_speech_claim_nothing() -> None:
    isle = await a_world(scene())
    for text in (
        "You dream that you fly.",
        "Does Captain Veyra bow to you?",
        "Captain Veyra does not bow to you.",
        '"Duke Oswin lives!" cries Mara.',
        "Some say that the Tide Council has seven members.",
        "...",
        "\u202e!",
    ):
        assert await check_text(isle, text) == [], text


async def test_without_a_player_the_location_counts() -> None:
    isle = await a_world(scene())
    for place, count in (("tavern", 0), ("harbour", 1)):
        reply = await isle.call(
            "check-narration",
            "Canonicality",
            narration="Captain Veyra laughs and lifts her ash spear.",
            locationId=place,
        )
        assert len(reply["violations"]) == count, place
    starter = await isle.call(
        "check-narration", "Safety", narration="You raise the lantern and go north."
    )
    assert starter["verdict"] == "ok"


async def test_a_narration_is_checked_against_the_world_of_its_tick() -> None:
    isle = await a_world(scene())
    await isle.call("move", moverId="veyra", teleportTo="harbour", reason="A walk")
    await isle.call("advance-clock", durationMs=60_000)
    text = "Captain Veyra winks at you."
    assert await check_text(isle, text) == []
    assert await check_text(isle, text, tick=49_999_999) == ["absent"]


async def test_archived_lore_forbids_nothing() -> None:
    isle = await a_world(scene())
    fields = {"name": "Tide Council", "description": "The Tide Council has nine members."}
    await isle.call("record-lore", factId="council", type="faction", fields=fields, archived=True)
    assert await check_text(isle, "The Tide Council has seven members.") == []


async def test_unknown_people_or_places_are_not_found() -> None:
    isle = await a_world(replace(scene(), players=scene().players))
    for wrong in ({"playerId": "nobody"}, {"locationId": "nowhere"}):
        outcome = await isle.outcome("check-narration", {"narration": "Hm.", **wrong}, "Safety")
        assert outcome.body["error"]["code"] == "NOT_FOUND"


async def test_a_world_without_a_clock_has_no_time_of_day() -> None:
    isle = await a_world(replace(timeless_atlas(), tick=None))
    assert await check_text(isle, "The moon is high.") == []


def timeless_atlas() -> Atlas:
    atlas = scene()
    return replace(atlas, layers=())


async def test_a_hundred_words_take_no_time() -> None:
    isle = await a_world(scene())
    text = " ".join((ALLOWED + " " + FORBIDDEN).split() * 2)[:600]
    await check_text(isle, text, "ben")
    taken = []
    for _ in range(5):
        begin = time.thread_time()
        await check_text(isle, text, "ben")
        taken.append(time.thread_time() - begin)
    assert min(taken) < 5 * SECONDS  # the least, as a collection of garbage may come in

"""Two sessions that were really played: what was said becomes canon as a game master would have it.

People judged the expected answers by their meaning first. If the rules answer differently today,
`differs` holds that answer, so that every change is noticed, for the better too.
"""

from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from canonry.cli.imports import read_transcripts
from tests.campaign_crd3.campaign import (
    ANSWERS,
    PROPOSALS,
    SCENES,
    WAITS,
    Campaign,
    read_belief,
    read_verdict,
)
from tests.toolsets.narrative.kit import a_world

pytestmark = pytest.mark.anyio
CRD3: Final = Path(__file__).parents[3] / "shared" / "data" / "crd3"


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The backend of the module, since the campaign is played once for all its tests."""
    return "asyncio"


@pytest.fixture(scope="module")
async def campaign(anyio_backend: str) -> Campaign:
    """The campaign after both sessions."""
    del anyio_backend
    if not CRD3.is_dir():
        pytest.skip("the shared data folder is absent")
    read = read_transcripts([CRD3 / f"{one}.json" for one in ("C1E001", "C1E002")])
    world = await a_world()
    source = await world.call(
        "neo4j_create_source",
        universe_id=world.universe_id,
        doc_id="introductions",
        title="The introductions of the characters",
        source_type="lore",
        canon_level="canon",
    )
    played = Campaign(
        world=world,
        story=await world.story("The campaign"),
        source=source["source_id"],
        lines={each.title: each.lines for each in read},
    )
    for scene in SCENES:
        await played.play_scene(scene)
    return played


def test_the_campaign_is_large_and_every_judgement_is_explained() -> None:
    assert len(PROPOSALS) >= 120
    assert len({row["id"] for row in PROPOSALS}) == len(PROPOSALS)
    assert all(row["why"] and row["turns"] for row in PROPOSALS)
    assert {row["scene"] for row in PROPOSALS} == {scene["id"] for scene in SCENES}
    assert min(Counter(row["type"] for row in PROPOSALS).values()) >= 20
    assert {row["expect"] for row in PROPOSALS} == {"accepted", "rejected", WAITS}


def test_every_proposal_cites_turns_of_its_own_scene() -> None:
    spans = {one["id"]: range(one["start"], one["end"] + 1) for one in SCENES}
    episodes = {one["id"]: one["episode"] for one in SCENES}
    for row in PROPOSALS:
        assert row["episode"] == episodes[row["scene"]], row["id"]
        assert all(turn in spans[row["scene"]] for turn in row["turns"]), row["id"]
    turns = [(one["episode"], turn) for one in SCENES for turn in spans[one["id"]]]
    assert len(set(turns)) == len(turns)


def test_an_expected_difference_differs_and_has_a_reason() -> None:
    for row in PROPOSALS:
        if "differs" in row:
            assert read_verdict(row["differs"]) != read_verdict(row), row["id"]
            assert row["differs"]["why"], row["id"]
    for row in ANSWERS:
        assert row["why"]
        if "differs" in row:
            assert read_belief(row["differs"]) != read_belief(row), row
            assert row["differs"]["why"]


async def test_every_verdict_matches_a_game_master_or_a_known_difference(
    campaign: Campaign,
) -> None:
    wrong = {
        row["id"]: (campaign.found[row["id"]], read_verdict(row.get("differs", row)))
        for row in PROPOSALS
        if campaign.found[row["id"]] != read_verdict(row.get("differs", row))
    }

    assert wrong == {}, "found first, then what the file says"


async def test_every_verdict_names_its_rule_and_reason(campaign: Campaign) -> None:
    assert len(campaign.reasons) == len(PROPOSALS)
    unexplained = [one for one, (rule, why) in campaign.reasons.items() if not rule or not why]
    assert unexplained == []


async def test_final_canon_matches_a_game_master_or_a_known_difference(
    campaign: Campaign,
) -> None:
    wrong = []
    for row in ANSWERS:
        found, said = await campaign.answer_row(row), read_belief(row.get("differs", row))
        if found != said:
            wrong.append((row["ask"], row["of"], found, said))

    assert wrong == [], "found first, then what the file says"

"""Use cases refuse players' laws, closed stories and endless reads, whoever asks."""

from dataclasses import replace

import pytest

from canonry.canon.commands import sources as ingest_source
from canonry.canon.commands.facts import create_axiom
from canonry.canon.commands.sources import excerpts_of
from canonry.canon.judging.slices import ItemLookup, Slice
from canonry.canon.session import viewpoint as folding
from canonry.canon.session.commit_change import LOADS_MAX, extend_slice
from canonry.canon.session.viewpoint import entities_then
from canonry.canon.session.what_holds import moment_at
from canonry.language.texts.sentences import Part
from canonry.log.items.facts import AxiomDomain
from canonry.log.items.scenes import StoryStatus
from canonry.narrative.usecases.scenes import SceneRequest, create_scene
from canonry.testing.clocks import a_caller
from canonry.testing.example_items import MIDDLE_EARTH, a_story, an_observation, uuid_of
from canonry.values.errors import BrokenInvariant, Conflict, InvalidInput, Unavailable
from canonry.values.ids import EntityId
from canonry.values.provenance import Authority
from tests.usecases.stage import a_stage, id_of, make_backing, world_day

pytestmark = pytest.mark.anyio


async def test_a_players_statement_is_no_law_of_the_world() -> None:
    stage = await a_stage()
    law, domain = "Nobody flies.", AxiomDomain.PHYSICS
    before = await stage.canon.ledger.head_position(MIDDLE_EARTH)

    with pytest.raises(InvalidInput) as refused:
        await create_axiom(
            stage.canon, a_caller(), make_backing(Authority.PLAYER), law, domain=domain
        )
    await create_axiom(stage.canon, a_caller(), make_backing(Authority.GM), law, domain=domain)

    assert (refused.value.code, refused.value.details["path"]) == (
        "axiom.players-word",
        "/authority",
    )
    assert await stage.canon.ledger.head_position(MIDDLE_EARTH) == before + 1


@pytest.mark.parametrize("status", [StoryStatus.COMPLETED, StoryStatus.ABANDONED])
async def test_a_closed_story_gets_no_scene(status: StoryStatus) -> None:
    stage = await a_stage()
    await stage.make(replace(a_story("told"), status=status))
    request = SceneRequest(
        universe_id=MIDDLE_EARTH,
        story_id=uuid_of("told"),
        title="After the end",
        purpose=None,
        order=None,
        location_id=None,
        participant_ids=(),
    )

    with pytest.raises(Conflict) as refused:
        await create_scene(stage.canon, a_caller(), request)

    assert refused.value.code == "story.closed"
    assert status.value in refused.value.message


async def test_a_gate_with_endless_requests_is_a_defect_and_no_endless_loop() -> None:
    stage = await a_stage()
    asked: list[str] = []

    def judge(known: Slice) -> tuple[tuple[ItemLookup, ...], None]:
        asked.append(uuid_of(f"thing {len(asked)}"))
        return (ItemLookup(asked[-1]),), None

    start = Slice(space=MIDDLE_EARTH)
    with pytest.raises(BrokenInvariant) as refused:
        await extend_slice(stage.canon, start, judge)

    assert refused.value.code == "canonization.endless"
    assert len(asked) == LOADS_MAX


async def test_an_overlong_past_is_reported_and_a_shorter_one_is_complete(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = await a_stage()
    await stage.entity("Frodo")
    for number in range(4):
        said = an_observation("frodo", f"said {number}", fields={"description": f"{number}"})
        await stage.make(
            replace(said, entity_id=EntityId(id_of("Frodo")), observed_at=world_day(number))
        )
    frodo = (await stage.canon.space_scope(MIDDLE_EARTH).root_entities([id_of("Frodo")]))[
        id_of("Frodo")
    ]
    whole = await entities_then(stage.canon, (frodo,), moment_at(world_day(2)))
    monkeypatch.setattr(folding, "PAGE_MAX", 2)
    in_pages = await entities_then(stage.canon, (frodo,), moment_at(world_day(2)))
    monkeypatch.setattr(folding, "PAGES_MAX", 2)

    with pytest.raises(Unavailable) as refused:
        await entities_then(stage.canon, (frodo,), moment_at(world_day(2)))

    assert in_pages == whole
    assert whole[frodo.id].description == "2"
    assert refused.value.code == "entity.too-long"


async def test_a_document_with_too_many_snippets_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = await a_stage()
    text = ("It rains. " * 40 + "\n\n") * 30
    parts = (Part(text=text),)
    count = len(await excerpts_of(stage.canon, parts))
    monkeypatch.setattr(ingest_source, "SNIPPETS_MAX", count - 1)

    with pytest.raises(InvalidInput) as refused:
        await excerpts_of(stage.canon, parts)

    assert refused.value.code == "document.too-large"
    assert refused.value.details["unit"] == "snippets"

"""Importing transcripts: who speaks, what is proposed and judged, and that again adds nothing."""

from dataclasses import replace

import pytest

from canonry.app.compose import compose_memory
from canonry.canon.session.canon import Canon
from canonry.log.items.scenes import Scene, SceneStatus, Speaker, StoryType, Turn
from canonry.log.schemas.narrative import EntityType
from canonry.narrative.usecases.transcripts import (
    ImportReport,
    ImportRequest,
    Summary,
    Transcript,
    TranscriptLine,
    TranscriptReport,
    import_transcripts,
)
from canonry.readmodels.ports.documents import SceneQuery
from canonry.readmodels.ports.state import EventQuery
from canonry.testing.clocks import a_caller
from canonry.values.ids import SpaceId
from canonry.values.moments import DAY, Instant
from canonry.values.policy import Policy, TextLimits
from canonry.values.provenance import Authority, EvidenceKind

pytestmark = pytest.mark.anyio

SESSION = Transcript(
    title="Session 1",
    lines=(
        TranscriptLine(speakers=("GM",), text="A dragon sleeps on the bridge."),
        TranscriptLine(speakers=("ANN",), text="I sneak past the dragon."),
        TranscriptLine(speakers=("BEN", "ANN"), text="Cheers!"),
        TranscriptLine(speakers=("ALL",), text="Hooray!"),
        TranscriptLine(speakers=("BEN",), text="I ring the bell."),
    ),
    summaries=(
        Summary(start=0, end=1, text="Ann sneaks past a dragon on the bridge. It is dark."),
        Summary(start=4, end=4, text="Ben rings the bell."),
    ),
)
REQUEST = ImportRequest(
    universe="Home", story="The Bridge", transcripts=(SESSION,), gm_names=frozenset({"gm"})
)


def ignore_progress(done: int, total: int | None) -> None:
    """Ignore progress, because no test watches it."""


async def run_import(canon: Canon, request: ImportRequest = REQUEST) -> ImportReport:
    return await import_transcripts(canon, a_caller(), request, ignore_progress)


async def turns_of(canon: Canon, report: ImportReport) -> list[Turn]:
    scenes = await canon.documents.scenes(SceneQuery(limit=100))
    assert report.transcripts
    return [turn for scene in scenes.items for turn in await canon.documents.turns(scene.id)]


async def test_a_session_becomes_an_episode_of_a_campaign_with_scenes_and_turns() -> None:
    canon = compose_memory()
    report = await run_import(canon)
    space = SpaceId(report.universe_id)
    stories = (await canon.state.stories(space, limit=10, offset=0)).items
    scenes = (await canon.documents.scenes(SceneQuery(limit=10))).items

    assert [(s.title, s.story_type) for s in stories] == [
        ("The Bridge", StoryType.CAMPAIGN),
        ("Session 1", StoryType.EPISODE),
    ]
    assert stories[1].parent_id == stories[0].id == report.story_id
    assert [scene.status for scene in scenes] == [SceneStatus.COMPLETED]
    assert scenes[0].title == "Ann sneaks past a dragon on the bridge."
    assert (scenes[0].summary or "").endswith("Ben rings the bell.")


async def test_each_speaker_has_their_own_identity() -> None:
    canon = compose_memory()
    turns = await turns_of(canon, await run_import(canon))
    ids = {turn.entity_id for turn in turns if turn.entity_id}
    items = await canon.state.items_by_id(ids)
    names = {i: getattr(item, "name", "") for i, item in items.items()}

    assert [(t.speaker, names.get(t.entity_id or ""), t.text) for t in turns] == [
        (Speaker.GM, None, "A dragon sleeps on the bridge."),
        (Speaker.ENTITY, "Ann", "I sneak past the dragon."),
        (Speaker.USER, None, "BEN, ANN: Cheers!"),
        (Speaker.USER, None, "ALL: Hooray!"),
        (Speaker.ENTITY, "Ben", "I ring the bell."),
    ]


async def test_summaries_become_events_with_table_talk_as_evidence() -> None:
    canon = compose_memory()
    report = await run_import(canon)
    events = (await canon.state.events(EventQuery(limit=10))).items
    turns: dict[str, Turn] = {turn.id: turn for turn in await turns_of(canon, report)}
    sneaking = next(event for event in events if "dragon" in event.title)

    assert (report.transcripts[0].proposals, report.transcripts[0].accepted) == (2, 2)
    assert sneaking.authority is Authority.SOURCE
    said = [turns[e.ref].text for e in sneaking.evidence if e.kind is EvidenceKind.TURN]
    assert said[:2] == ["A dragon sleeps on the bridge.", "I sneak past the dragon."]
    kinds = {evidence.kind for evidence in sneaking.evidence}
    assert kinds >= {EvidenceKind.SOURCE, EvidenceKind.SNIPPET, EvidenceKind.SCENE}


async def test_a_player_may_be_mapped_to_a_character() -> None:
    canon = compose_memory()
    report = await run_import(canon, replace(REQUEST, casting={"ann": "Thorin"}))
    space = SpaceId(report.universe_id)

    (thorin,) = await canon.state.entities_named(space, EntityType.CHARACTER, "Thorin")
    assert thorin.properties == {"speaker": "ANN"}
    assert not await canon.state.entities_named(space, EntityType.CHARACTER, "Ann")


async def test_importing_again_adds_nothing() -> None:
    canon = compose_memory()
    first = await run_import(canon)
    head = await canon.ledger.head_position(SpaceId(first.universe_id))
    second = await run_import(canon)

    assert second.universe_id == first.universe_id
    assert second.story_id == first.story_id
    assert await canon.ledger.head_position(SpaceId(first.universe_id)) == head
    assert report_figures(second.transcripts[0]) == report_figures(first.transcripts[0])
    assert second.transcripts[0].commits == 0


async def test_dates_added_later_are_stored_by_importing_again() -> None:
    canon = compose_memory()
    report = await run_import(canon)
    when, later = Instant(5 * DAY), Instant(6 * DAY)

    await run_import(canon, replace(REQUEST, transcripts=(replace(SESSION, said_at=when),)))
    (scene,) = (await canon.documents.scenes(SceneQuery(limit=10))).items
    assert (scene.said_at, scene.status) == (when, SceneStatus.COMPLETED)

    head = await canon.ledger.head_position(SpaceId(report.universe_id))
    await run_import(canon, replace(REQUEST, transcripts=(replace(SESSION, said_at=when),)))
    assert await canon.ledger.head_position(SpaceId(report.universe_id)) == head

    await run_import(canon, replace(REQUEST, transcripts=(replace(SESSION, said_at=later),)))
    (scene,) = (await canon.documents.scenes(SceneQuery(limit=10))).items
    assert scene.said_at == later


async def test_a_dated_line_dates_its_turn_and_the_first_of_them_the_scene() -> None:
    canon = compose_memory()
    when = Instant(5 * DAY)
    lines = (*SESSION.lines[:2], replace(SESSION.lines[2], said_at=when), *SESSION.lines[3:])

    report = await run_import(canon, replace(REQUEST, transcripts=(replace(SESSION, lines=lines),)))

    (scene,) = (await canon.documents.scenes(SceneQuery(limit=10))).items
    assert scene.said_at == when
    assert [turn.said_at for turn in await turns_of(canon, report)] == [
        None,
        None,
        when,
        None,
        None,
    ]


def report_figures(report: TranscriptReport) -> tuple[int, int, int, int]:
    return report.turns, report.scenes, report.proposals, report.accepted


async def test_a_second_session_joins_the_campaign_and_knows_its_speakers() -> None:
    canon = compose_memory()
    await run_import(canon)
    more = await run_import(
        canon, replace(REQUEST, transcripts=(replace(SESSION, title="Session 2"),))
    )
    space = SpaceId(more.universe_id)

    assert (await canon.state.stories(space, limit=10, offset=0)).total == 3
    assert len(await canon.state.entities_named(space, EntityType.CHARACTER, "Ann")) == 1


async def test_an_overlong_turn_is_cut_between_sentences() -> None:
    canon = compose_memory(policy=Policy(limits=TextLimits(turn=40)))
    long = TranscriptLine(
        speakers=("GM",), text="The gate falls with a crash. Everyone runs for the hills."
    )
    request = replace(REQUEST, transcripts=(Transcript(title="Long", lines=(long,)),))
    turns = await turns_of(canon, await run_import(canon, request))

    assert [turn.text for turn in turns] == [
        "The gate falls with a crash.",
        "Everyone runs for the hills.",
    ]


async def test_scenes_name_their_speakers() -> None:
    canon = compose_memory()
    await run_import(canon)
    (scene,) = (await canon.documents.scenes(SceneQuery(limit=10))).items
    items = await canon.state.items_by_id(scene.participants)

    assert isinstance(scene, Scene)
    assert {getattr(item, "name", "") for item in items.values()} == {"GM", "Ann", "Ben"}


async def test_every_proposal_of_a_long_scene_is_counted() -> None:
    result = tuple(
        Summary(start=0, end=4, text=f"The bell rings {n} times.") for n in range(1, 502)
    )
    session = replace(SESSION, summaries=result)

    report = await run_import(compose_memory(), replace(REQUEST, transcripts=(session,)))

    assert (report.transcripts[0].scenes, report.transcripts[0].proposals) == (1, 501)

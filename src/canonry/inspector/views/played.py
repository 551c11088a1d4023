"""What was played: a scene as it was told with what each turn made canon, and a story's scenes."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from canonry.assistant.desk import Desk, desk_of
from canonry.canon.canonization.proposals import ProposalQuery, list_proposals
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.tool import Arguments
from canonry.inspector.views.log import as_of, one_as_of
from canonry.inspector.views.places import SpaceSeen, place_of
from canonry.inspector.views.queue import PAGE_MAX, WaitingSeen, waiting_of
from canonry.inspector.views.things import LinkTo, links
from canonry.log.items.proposals import Proposal
from canonry.log.items.scenes import Scene, Story, Turn
from canonry.narrative.usecases.scenes import SceneQuery, get_scene, query_scenes
from canonry.narrative.usecases.stories import get_turns

TURNS: Final = 100
SCENES: Final = 200
_LOOKED_AT: Final = 1_000
"""So many proposals of the space are looked through for what cites a turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeSeen:
    """What became of a proposal: `status`, and the thing that it became."""

    proposal: WaitingSeen
    status: str
    became: LinkTo | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSeen:
    """A turn, who speaks, and what was proposed on its words."""

    turn: Turn
    speaker: str
    outcomes: Sequence[OutcomeSeen]


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneSeen:
    """A scene with a page of its turns; `loose` is what was proposed on no turn of this page."""

    space: SpaceSeen
    scene: Scene
    story: LinkTo | None
    place: LinkTo | None
    present: Sequence[LinkTo]
    turns: Sequence[TurnSeen]
    loose: Sequence[OutcomeSeen]
    total: int
    following: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StorySeen:
    """A story with its scenes in their order."""

    space: SpaceSeen
    story: Story
    scenes: Sequence[Scene]
    total: int


async def seen_scene(canon: Canon, caller: Caller, arguments: Arguments) -> SceneSeen:
    """The scene that `of` names, with the turns past `after`."""
    desk = await desk_of(canon, caller, arguments, "of")
    reading = await get_scene(canon, caller, arguments["of"], turns=0)
    scene = await one_as_of(desk, reading.scene, arguments)
    page = await get_turns(
        canon, caller, scene.id, after=int(arguments.get("offset", 0)) - 1, limit=TURNS
    )
    turns = await as_of(desk, page.turns, arguments)
    shown = {turn.id for turn in turns}
    outcomes: dict[str | None, list[OutcomeSeen]] = {}
    where: dict[str, tuple[str | None, Proposal]] = {
        each.id: (each.turn_id, each) for each in reading.proposals.items
    }
    where |= await _citing(desk, shown)
    proposals = await as_of(desk, (each for _, each in where.values()), arguments)
    made = [str(p.decision.canonical_id) for p in proposals if p.decision]
    things = (await canon.seen_by(caller).things(made)).values()
    stood = [each.id for each in await as_of(desk, things, arguments)]
    became = {each.id: each for each in await links(desk, stood)}
    for proposal in proposals:
        outcome = _outcome(proposal, await waiting_of(desk, proposal), became)
        outcomes.setdefault(where[proposal.id][0], []).append(outcome)
    found = {each.id: each for each in await links(desk, (scene.story_id, *scene.participants))}
    place = await links(desk, () if scene.location_ref is None else (scene.location_ref,))
    return SceneSeen(
        space=await place_of(desk),
        scene=scene,
        story=found.get(scene.story_id),
        place=next(iter(place), None),
        present=[found[each] for each in scene.participants if each in found],
        turns=[
            TurnSeen(
                turn=turn,
                speaker=page.names.get(turn.entity_id or "", ""),
                outcomes=outcomes.get(turn.id, ()),
            )
            for turn in turns
        ],
        loose=[o for turn, each in outcomes.items() if turn not in shown for o in each],
        total=page.total,
        following=None if page.following is None else page.following + 1,
    )


async def _citing(desk: Desk, turns: AbstractSet[str]) -> Mapping[str, tuple[str | None, Proposal]]:
    """Of the newest proposals of no scene those that cite one of the turns, with which."""
    found: dict[str, tuple[str | None, Proposal]] = {}
    first = await list_proposals(
        desk.canon, desk.caller, ProposalQuery(limit=1), universe_id=desk.space.id
    )
    for offset in range(max(0, first.total - _LOOKED_AT), first.total, PAGE_MAX):
        query = ProposalQuery(limit=PAGE_MAX, offset=offset)
        page = await list_proposals(desk.canon, desk.caller, query, universe_id=desk.space.id)
        for proposal in page.items:
            cited = (each.ref for each in proposal.evidence if each.ref in turns)
            turn = None if proposal.scene_id is not None else next(cited, None)
            if turn is not None:
                found[proposal.id] = turn, proposal
    return found


def _outcome(proposal: Proposal, seen: WaitingSeen, became: Mapping[str, LinkTo]) -> OutcomeSeen:
    decision = proposal.decision
    canonical = None if decision is None else decision.canonical_id
    status = proposal.status.value
    if proposal.decision is None and proposal.review is not None:
        status = "needs_review"
    return OutcomeSeen(proposal=seen, status=status, became=became.get(canonical or ""))


async def seen_story(canon: Canon, caller: Caller, arguments: Arguments) -> StorySeen:
    """The story that `of` names."""
    desk = await desk_of(canon, caller, arguments, "of")
    story = await desk.thing(arguments["of"], Story, path="/of")
    assert isinstance(story, Story)  # noqa: S101 - the kind was asked for
    query = SceneQuery(story_id=story.id, limit=SCENES)
    page = await query_scenes(canon, caller, query, universe_id=story.space)
    scenes = await as_of(desk, page.items, arguments)
    story = await one_as_of(desk, story, arguments)
    return StorySeen(space=await place_of(desk), story=story, scenes=scenes, total=page.total)

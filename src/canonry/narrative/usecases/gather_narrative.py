"""Gather the narrative part of a scene's context: what was said, what came before, what is open."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from canonry.canon.session.canon import Canon
from canonry.log.items.facts import Event, Fact
from canonry.log.items.proposals import Proposal, ProposalStatus, ProposalType
from canonry.log.items.scenes import Scene, SceneStatus, Turn
from canonry.narrative.usecases.as_of_scene import events_until, moment_of, precedes
from canonry.narrative.usecases.stories import names_of
from canonry.readmodels.ports.documents import ProposalQuery, SceneQuery
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.recall.domain.context import loose_ends

THREADS_MAX: Final = 10
"""The most open threads of each kind."""


class ThreadKind(StrEnum):
    """Why something is still open."""

    PROPOSAL = "unresolved_proposal"
    EVENT = "event_without_effect"
    FACT = "promised_fact"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """Something that the story has not settled: the thing, and what it says."""

    kind: ThreadKind
    id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrative:
    """`turns` in the order of play, `scenes` the completed ones before, newest last."""

    turns: Sequence[Turn] = ()
    total_turns: int = 0
    scenes: Sequence[Scene] = ()
    threads: Sequence[Thread] = ()
    names: Mapping[str, str]


async def gather_narrative(canon: Canon, scene: Scene, events: Sequence[Event]) -> Narrative:
    """The last turns of the scene, the summaries of the last scenes of its story, open threads.

    An open thread is a proposal of this scene that nobody has decided, or a canon event of those
    present that names no effect yet. Promised facts, which only begin after the scene's own time,
    are added where the canonical part is gathered.
    """
    turns, scenes, proposals = await asyncio.gather(
        last_turns(canon, scene),
        _last_scenes(canon, scene),
        _pending(canon, scene),
    )
    unresolved = [thread_of_proposal(each) for each in proposals]
    open_events = loose_ends(events_until(moment_of(scene), events))[:THREADS_MAX]
    loose = [Thread(kind=ThreadKind.EVENT, id=e.id, text=e.title) for e in open_events]
    return Narrative(
        turns=turns,
        total_turns=max(scene.turn_count, turns[-1].index + 1 if turns else 0),
        scenes=scenes,
        threads=(*unresolved, *loose),
        names=await names_of(canon, turns),
    )


def promises(facts: Sequence[Fact]) -> Sequence[Thread]:
    """The threads that facts open which have not begun to hold."""
    return [
        Thread(kind=ThreadKind.FACT, id=fact.id, text=fact.statement)
        for fact in facts[:THREADS_MAX]
    ]


async def last_turns(canon: Canon, scene: Scene) -> Sequence[Turn]:
    """The last turns of the scene, as many as a context may hold."""
    return await canon.documents.turns(scene.id, last=canon.policy.context.turns)


def thread_of_proposal(proposal: Proposal) -> Thread:
    """The thread that an undecided proposal is."""
    content: Mapping[str, Any] = proposal.content
    if proposal.type is ProposalType.STATE_CHANGE:
        changes = content["state_tag_changes"]
        gone = (f"no longer {tag}" for tag in changes["remove"])
        words = ", ".join((*changes["add"], *gone))
    else:
        told = ("statement", "title", "name", "rel_type")
        words = next((str(content[key]) for key in told if key in content), "")
    return Thread(kind=ThreadKind.PROPOSAL, id=proposal.id, text=f"{proposal.type}: {words}")


async def _last_scenes(canon: Canon, scene: Scene) -> Sequence[Scene]:
    """The last completed scenes that come before this one, in the order of their story."""
    most = canon.policy.context.scenes
    asked = SceneQuery(
        spaces=frozenset((scene.space,)),
        story_id=scene.story_id,
        status=SceneStatus.COMPLETED,
        limit=most + 1,
    )
    end = (await canon.documents.scenes(replace(asked, limit=1))).total
    found: list[Scene] = []
    while end > 0 and len(found) < most:
        start = max(0, end - asked.limit)
        page = await canon.documents.scenes(replace(asked, limit=end - start, offset=start))
        found = [each for each in page.items if precedes(each, scene)] + found
        end, asked = start, replace(asked, limit=PAGE_MAX)
    return found[-most:]


async def _pending(canon: Canon, scene: Scene) -> Sequence[Proposal]:
    query = ProposalQuery(
        spaces=frozenset((scene.space,)),
        scene_id=scene.id,
        status=ProposalStatus.PENDING,
        limit=THREADS_MAX,
    )
    return (await canon.documents.proposals(query)).items

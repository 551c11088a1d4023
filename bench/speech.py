"""Speech: stores filled with turns of a stated number, from stretches of what was really said."""

import json
import random
from typing import Any

from bench.recall.conversations import CRD3, EPISODES, written
from bench.worlds import Scribe
from canonry.canon.session.canon import Canon
from canonry.log.entries import Made
from canonry.log.items.scenes import (
    SceneDraft,
    SceneStatus,
    Speaker,
    StoryDraft,
    StoryStatus,
    StoryType,
    TurnDraft,
)
from canonry.values.ids import SceneId, SpaceDraft, SpaceId, SpaceKind, StoryId, TurnId

TURNS_A_SCENE, RARE_WORDS, RARE_SHARE = 500, 50_000, 0.03


class Speech:
    """Stretches of what was really said, with rare words among them."""

    def __init__(self) -> None:
        """Draw the same stretches every time."""
        self._random = random.Random(5)  # noqa: S311 - benches repeat, they need not be secret
        self._words = _said().split()

    def stretch(self, shortest: int, longest: int, rare: float) -> str:
        """So many words in a row, some of them exchanged for rare ones."""
        start = self._random.randrange(len(self._words) - longest)
        words = self._words[start : start + self._random.randint(shortest, longest)]
        for n, _ in enumerate(words):
            if self._random.random() < rare:
                words[n] = f"name{self._random.randrange(RARE_WORDS)}"
        return " ".join(words)


async def fill(canon: Canon, speech: Speech, count: int) -> SpaceId:
    """A universe with so many turns."""
    fresh = canon.identities.new_id
    space, story = SpaceId(fresh()), StoryId(fresh())
    scribe = Scribe(canon, space)
    await scribe.add(Made(thing=_universe(space)), Made(thing=_story(space, story)))
    scene = SceneId("")
    for number in range(count):
        if number % TURNS_A_SCENE == 0:
            scene = SceneId(fresh())
            await scribe.add(Made(thing=_scene(space, story, scene, number)))
        text = speech.stretch(5, 30, RARE_SHARE)
        await scribe.add(Made(thing=_turn(space, scene, TurnId(fresh()), text)))
    await scribe.flush()
    return space


def _universe(space: SpaceId) -> SpaceDraft:
    return SpaceDraft(id=space, kind=SpaceKind.UNIVERSE, name="Bench", description="", parent=None)


def _story(space: SpaceId, story: StoryId) -> StoryDraft:
    return StoryDraft(
        id=story,
        space=space,
        title="Bench",
        story_type=StoryType.CAMPAIGN,
        theme=None,
        premise=None,
        parent_id=None,
        start_time_ref=None,
        status=StoryStatus.PLANNED,
    )


def _scene(space: SpaceId, story: StoryId, scene: SceneId, number: int) -> SceneDraft:
    return SceneDraft(
        id=scene,
        space=space,
        story_id=story,
        title=f"Scene {number}",
        purpose=None,
        order=number + 1,
        location_ref=None,
        participants=(),
        status=SceneStatus.ACTIVE,
    )


def _turn(space: SpaceId, scene: SceneId, turn: TurnId, text: str) -> TurnDraft:
    return TurnDraft(
        id=turn,
        space=space,
        scene_id=scene,
        speaker=Speaker.GM,
        entity_id=None,
        text=text,
        resolution_ref=None,
    )


def _said() -> str:
    """Everything that was said in the episodes; in our own dialogue where they are absent."""
    if not CRD3.is_dir():
        return " ".join(turn.text for turn in written("heldout").turns)
    found: list[str] = []
    for episode in EPISODES:
        turns: Any = json.loads((CRD3 / f"{episode}.json").read_text("utf-8"))["TURNS"]
        found += [" ".join(turn["UTTERANCES"]) for turn in turns]
    return " ".join(found)

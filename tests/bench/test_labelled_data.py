"""Canonry reads sentences at a table as people do, also in the half that was kept apart."""

import pytest

from bench.table.measures import (
    half,
    innocents,
    measured_moderation,
    measured_narrations,
    measured_utterances,
)
from bench.table.utterances import labels_of, lines, read_labels
from canonry.world.domain.moderation.moderating import CATEGORIES, moderate_by_words
from canonry.world.domain.utterances.lexicon import VERBS, Category

UTTERANCES, FRAMES, MODERATION, REFUSED = 300, 0.85, 0.90, 0.01
UNSEEN = 0.67
NARRATIONS, PRECISION, RECALL = 200, 0.92, 0.65


def test_labels_use_the_words_of_the_contract() -> None:
    labels = read_labels()
    assert len(labels) >= UTTERANCES
    assert {label.category for label in labels} <= set(Category)
    assert {frame.split()[0] for label in labels for frame in label.frames} <= set(VERBS)
    found = {line.split(" | ")[0] for line in lines("moderation.txt")}
    assert found == {"ok", *CATEGORIES}


@pytest.mark.anyio
@pytest.mark.parametrize("kept", [False, True], ids=["development", "kept apart"])
async def test_utterances_are_read_as_labelled(kept: bool) -> None:
    found = await measured_utterances([each for each in read_labels() if each.kept == kept])
    assert found.frames >= FRAMES
    assert found.categories >= FRAMES


@pytest.mark.anyio
async def test_unseen_utterances_are_read_no_worse_than_before() -> None:
    found = await measured_utterances(labels_of("utterances_second.txt"))
    assert found.frames >= UNSEEN  # the aim of .85 is not reached here
    assert found.categories >= FRAMES


@pytest.mark.anyio
@pytest.mark.parametrize("kept", [False, True], ids=["development", "kept apart"])
async def test_texts_are_moderated_as_labelled(kept: bool) -> None:
    result = half(lines("moderation.txt"), kept=kept)
    assert (await measured_moderation(result)).categories >= MODERATION


def test_legitimate_play_is_rarely_refused() -> None:
    said = innocents()
    refused = [text for text in said if not moderate_by_words(text).allowed]
    assert len(refused) <= REFUSED * len(said), refused


@pytest.mark.anyio
@pytest.mark.parametrize("part", ["development", "kept apart", "afterwards", "second"])
async def test_narrations_are_checked_as_labelled(part: str) -> None:
    result = lines("narrations.txt")
    assert len(result) >= NARRATIONS
    if part in {"afterwards", "second"}:
        result = lines(f"narrations_{part}.txt")
    else:
        result = list(half(result, kept=part == "kept apart"))
    found = await measured_narrations(result)
    assert found.precision >= PRECISION
    assert found.recall >= RECALL

"""Print how well what is said at a table is read: python -m bench.table."""

import asyncio

from bench.table.measures import (
    half,
    measured_moderation,
    measured_narrations,
    measured_utterances,
    unlearned,
)
from bench.table.utterances import labels_of, lines, read_labels
from canonry.recall.embedders.onnx import OnnxEmbedder
from canonry.world.moderators.likeness import LikenessModerator

AFTER = ("afterwards", "last", "fresh", "newest", "apart", "first", "second")


async def main() -> None:
    """Every figure, by half and for what was written after the code."""
    utterances = {
        part: [label for label in read_labels() if label.kept == (part == "kept apart")]
        for part in ("development", "kept apart")
    }
    utterances |= {part: labels_of(f"utterances_{part}.txt") for part in AFTER}
    for part, labels in utterances.items():
        read = await measured_utterances(labels)
        print(
            f"utterances, {part}: frames {read.frames:.3f}, categories {read.categories:.3f} "
            f"of {read.count}, {read.median_ms:.2f} ms"
        )
    texts = {
        part: half(lines("moderation.txt"), kept=part == "kept apart")
        for part in ("development", "kept apart")
    }
    texts |= {part: lines(f"moderation_{part}.txt") for part in AFTER}
    texts["final"] = lines("moderation_final.txt")
    texts["only what may stand"] = [f"ok | {text}" for text in unlearned()]
    moderator = LikenessModerator(OnnxEmbedder())
    for part, reported in texts.items():
        found = await measured_moderation(reported)
        more = await measured_moderation(reported, moderator.moderate_text)
        print(
            f"moderation, {part}: verdicts {found.verdicts:.3f}, by likeness too "
            f"{more.verdicts:.3f} (with category {more.categories:.3f}) of {found.count}"
        )
    await moderator.close()
    narrations = {
        part: half(lines("narrations.txt"), kept=part == "kept apart")
        for part in ("development", "kept apart")
    }
    narrations |= {p: lines(f"narrations_{p}.txt") for p in ("afterwards", "first", "second")}
    for part, reported in narrations.items():
        checked = await measured_narrations(reported)
        print(
            f"narrations, {part}: precision {checked.precision:.3f}, recall {checked.recall:.3f} "
            f"of {checked.found + checked.missed}, {checked.median_ms:.2f} ms"
        )


asyncio.run(main())

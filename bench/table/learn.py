"""Learn what the moderator by likeness goes by: python -m bench.table.learn.

It learns from all sets but the second, and from the half of what is legitimately said that is there
to develop on. The other half and the second set are what it is measured with.
"""

import asyncio
import json
from pathlib import Path

import numpy as np

from bench.table.measures import half
from bench.table.utterances import lines, read_labels
from canonry.readmodels.ports.text import Purpose
from canonry.recall.embedders.onnx import MINILM, OnnxEmbedder
from canonry.world.domain.moderation.moderating import CATEGORIES
from canonry.world.moderators import likeness

KINDS = ("ok", *CATEGORIES)
PARTS = ("afterwards", "last", "fresh", "newest", "apart", "final", "first")
LEARNED_FROM = ("moderation", *(f"moderation_{part}" for part in PARTS))
DECAY, HARM, THRESHOLD, STEPS, STRIDE = 0.03, 2.0, 0.75, 3_000, 0.02


def examples() -> list[tuple[str, str]]:
    """The labels and texts to learn from."""
    found = [line.split(" | ", 1) for name in LEARNED_FROM for line in lines(f"{name}.txt")]
    said = [label.text for label in read_labels() if not label.kept]
    said += [line.split("|")[2] for line in half(lines("narrations.txt"), kept=False)]
    return [*((label, text.strip()) for label, text in found), *(("ok", t.strip()) for t in said)]


async def main() -> None:
    """Write the rows anew."""
    embedder = OnnxEmbedder()
    known = examples()
    vectors = await embedder.embed([text for _, text in known], Purpose.QUERY)
    await embedder.close()
    given = np.array([[*np.frombuffer(each, dtype="<f4"), 1.0] for each in vectors])
    wanted = np.array([[float(k in label.split(", ")) for k in KINDS] for label, _ in known])
    wanted /= wanted.sum(axis=1, keepdims=True)
    weight = np.where(wanted[:, :1] > 0, 1.0, HARM)
    rows = np.zeros((given.shape[1], len(KINDS)))
    speed = np.zeros_like(rows)
    for _ in range(STEPS):
        sums = given @ rows
        shares = np.exp(sums - sums.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        slope = given.T @ (weight * (shares - wanted))
        slope[:-1] += DECAY * rows[:-1]
        speed = 0.9 * speed + slope
        rows -= STRIDE * speed
    arguments = {
        "version": "likeness-2",
        "model": {"name": MINILM.identity.name, "digest": MINILM.identity.digest},
        "threshold": THRESHOLD,
        "rows": {k: [round(float(x), 3) for x in rows[:, n]] for n, k in enumerate(KINDS)},
    }
    file = Path(str(likeness.__file__)).with_name("learned.json")
    file.write_text(
        json.dumps(arguments, separators=(",", ":")).replace('],"', '],\n"') + "\n", "utf-8"
    )


if __name__ == "__main__":
    asyncio.run(main())

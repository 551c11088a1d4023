"""Measures: how well utterances, texts and narrations are read, half by half, and how fast."""

import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from bench.table.scene import scene
from bench.table.utterances import Label, counted, labels_of, lines, read_labels
from canonry.app.compose import compose_memory
from canonry.canon.session.canon import Canon
from canonry.testing.clocks import CountingIdentities, HandClock, a_caller
from canonry.world.domain.moderation.moderating import Moderation, moderate_by_words
from canonry.world.usecases.exchange import import_world
from canonry.world.usecases.speech import check_narration, parse_to_action_frame
from canonry.world.usecases.worlds import BoundWorld, require_world, world_at

MILLISECONDS = 1_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterances:
    """Shares of frames and categories that are right, of so many utterances."""

    frames: float
    categories: float
    count: int
    median_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Moderated:
    """Shares of verdicts that are right, and that are right and name the category."""

    verdicts: float
    categories: float
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrations:
    """The numbers of violations that are found, missed and wrongly reported, by sentence."""

    found: int
    missed: int
    wrong: int
    median_ms: float

    @property
    def precision(self) -> float:
        """The share of findings that are right."""
        return self.found / (self.found + self.wrong)

    @property
    def recall(self) -> float:
        """Of what is so, the share that is stated with its constraint."""
        return self.found / (self.found + self.missed)


async def the_scene() -> tuple[Canon, BoundWorld]:
    """The scene in a canon of its own."""
    canon = compose_memory(clock=HandClock(), identities=CountingIdentities())
    caller = a_caller("Operator", "world import")
    done = await import_world(canon, caller, scene(), origin="bench", progress=lambda *_: None)
    return canon, await require_world(canon, caller, done.world_id)


async def measured_utterances(labels: Sequence[Label]) -> Utterances:
    """Measure the reading of these utterances."""
    canon, world = await the_scene()
    right = wanted = categories = 0
    times = []
    for label in labels:
        begin = time.process_time()
        read = await parse_to_action_frame(canon, world, "ann", label.text)
        times.append((time.process_time() - begin) * MILLISECONDS)
        some, most, category = counted(label, read, world.space)
        right, wanted, categories = right + some, wanted + most, categories + category
    return Utterances(
        frames=right / wanted,
        categories=categories / len(labels),
        count=len(labels),
        median_ms=median(times),
    )


async def by_words(text: str) -> Moderation:
    """Moderate a text by the rules alone."""
    return moderate_by_words(text)


async def measured_moderation(
    texts: Iterable[str], moderate: Callable[[str], Awaitable[Moderation]] = by_words
) -> Moderated:
    """Measure the moderation of these texts, by default by the rules."""
    listed = [line.split(" | ", 1) for line in texts]
    verdicts = categories = 0
    for label, text in listed:
        found = await moderate(text)
        right = (label == "ok") == found.allowed
        verdicts += right
        categories += right and (label == "ok" or label in found.categories)
    return Moderated(
        verdicts=verdicts / len(listed), categories=categories / len(listed), count=len(listed)
    )


async def measured_narrations(reported: Iterable[str]) -> Narrations:
    """Measure checks of such narrations; a sentence is found with the constraint of its label."""
    canon, world = await the_scene()
    found = missed = wrong = 0
    times = []
    for line in reported:
        player, label, text = (part.strip() for part in line.split("|"))
        begin = time.process_time()
        violations = await check_narration(world_at(canon, world), text, player)
        times.append((time.process_time() - begin) * MILLISECONDS)
        constraints = {str(each.constraint) for each in violations}
        right = label in constraints
        found, missed = found + right, missed + (label != "ok" and not right)
        wrong += bool(constraints - {label})
    return Narrations(found=found, missed=missed, wrong=wrong, median_ms=median(times))


def innocents() -> Sequence[str]:
    """Everything that players and narrators legitimately say in the other two sets."""
    said = [line.split("=>")[0].strip() for line in lines("utterances.txt")]
    found = [line.split("|")[2].strip() for line in lines("narrations.txt")]
    return [*said, *found]


def unlearned() -> Sequence[str]:
    """Return legitimate texts from which nothing was learned."""
    found = [label.text for label in read_labels() if label.kept]
    found += [line.split("|")[2].strip() for line in half(lines("narrations.txt"), kept=True)]
    for part in ("afterwards", "last", "fresh", "newest", "apart", "first", "second"):
        found += [label.text for label in labels_of(f"utterances_{part}.txt")]
    return found


def half(all_lines: Iterable[str], *, kept: bool) -> Sequence[str]:
    """Every second line is kept apart from development."""
    return [line for place, line in enumerate(all_lines) if (place % 2 == 1) == kept]

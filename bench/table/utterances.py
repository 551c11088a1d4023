"""Utterances with their labels, and how many of their frames are read as they should be."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from canonry.values.ids import SpaceId
from canonry.world.domain.atlas import item_id_of
from canonry.world.domain.utterances.lexicon import ActionFrame, EntityRef, UtteranceReading

FOLDER = Path(__file__).parent
PLURAL = re.compile(r"s$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """The reading that an utterance should have."""

    text: str
    frames: tuple[str, ...]
    category: str
    kept: bool


def lines(name: str) -> list[str]:
    """The lines of a labelled file."""
    return [
        line
        for line in (FOLDER / name).read_text("utf-8").splitlines()
        if line and not line.startswith("#")
    ]


def read_labels() -> list[Label]:
    """All labels; every second one is kept apart from development."""
    return labels_of("utterances.txt")


def labels_of(name: str) -> list[Label]:
    """The labels of a file."""
    found = []
    for place, line in enumerate(lines(name)):
        text, frames, category = (part.strip() for part in line.split("=>"))
        result = tuple(each.strip() for each in frames.split(" ; ") if each.strip())
        found.append(Label(text=text, frames=result, category=category, kept=place % 2 == 1))
    return found


def is_right(label: str, frame: ActionFrame, space: SpaceId) -> bool:
    """Return whether a frame is as its label says, in every part that the label can tell."""
    plain, _, topic = label.partition(" :")
    verb, *reported = plain.split()
    direct = next((t for t in reported if t[0] not in "@>#!?"), None)
    marks = {t[0]: t[1:] for t in reported if t[0] in "@>#!?"}
    quantity = marks.get("#")
    return (
        frame.verb == verb
        and _fits(direct, frame.direct, space)
        and _fits(marks.get("@"), frame.secondary, space)
        and (frame.direction or None) == (marks.get(">") or None)
        and (quantity is None or str(frame.quantity) == quantity)
        and (frame.quantity in {None, 1} or quantity is not None)
        and frame.negated == ("!" in marks)
        and frame.conditional == ("?" in marks)
        and (not topic or (frame.topic or "").casefold() == topic.casefold())
    )


def _fits(label: str | None, ref: EntityRef | None, space: SpaceId) -> bool:
    if label is None or ref is None:
        return label is None and ref is None
    if label.startswith("~"):
        head = ref.surface.casefold().split()[-1]
        return ref.id is None and not ref.candidates and head == label[1:]
    wanted = {item_id_of(space, key) for key in label.split("/")}
    return {c.id for c in ref.candidates} == wanted if len(wanted) > 1 else ref.id in wanted


def counted(label: Label, read: UtteranceReading, space: SpaceId) -> tuple[int, int, bool]:
    """Return the numbers of right and of wanted or found frames, and whether the category fits."""
    right = sum(
        is_right(wanted, frame, space)
        for wanted, frame in zip(label.frames, read.frames, strict=False)
    )
    return right, max(len(label.frames), len(read.frames)), read.category == label.category


def shown(read: UtteranceReading, names: dict[str, str]) -> str:
    """A reading in the notation of the labels, to be looked at."""
    return " ; ".join(_shown(frame, names) for frame in read.frames) + f" => {read.category}"


def _shown(frame: ActionFrame, names: dict[str, str]) -> str:
    def ref(each: EntityRef | None) -> str:
        if each is None:
            return ""
        if each.candidates:
            return "/".join(names[c.id] for c in each.candidates)
        return names[each.id] if each.id else f"~{each.surface}"

    parts: Sequence[str] | Iterable[str] = (
        frame.verb,
        ref(frame.direct),
        f"@{ref(frame.secondary)}" if frame.secondary else "",
        f">{frame.direction}" if frame.direction else "",
        f"#{frame.quantity}" if frame.quantity else "",
        "!" if frame.negated else "",
        "?" if frame.conditional else "",
        f":{frame.topic}" if frame.topic else "",
    )
    return " ".join(part for part in parts if part)

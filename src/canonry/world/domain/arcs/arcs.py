"""An arc as a value, how it is drawn from a seed, and what would be wrong with one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeVar

from canonry.values.data_files import read_toml
from canonry.world.domain.mechanics import random_numbers
from canonry.world.domain.utterances.lexicon import Nameable

T = TypeVar("T")
BEATS_MIN, BEATS_MAX, BEATS = 3, 12, 5
_BRANCHING: Final = 6
_MIDDLE: Final = ("search", "meeting", "obstacle", "choice", "reversal")
_LIKELIER: Final = 3  # locations where somebody lives are so much likelier than others


@dataclass(frozen=True, slots=True, kw_only=True)
class ArcLore:
    """A fact that an arc can be about, and of which type it is."""

    key: str
    name: str
    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArcMaterials:
    """Material of an arc: locations, beginning with the first, and their connections.

    `reachable` are the locations that can be reached from one, in any number of steps; `wanted` are
    locations that have to occur. `people` are alive, by their location.
    """

    locations: tuple[Nameable, ...]
    reachable: Mapping[str, frozenset[str]]
    people: Mapping[str, tuple[Nameable, ...]]
    lore: tuple[ArcLore, ...]
    wanted: tuple[str, ...] = ()
    themes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """A step of an arc; `requires` and `leads_to` are the numbers of others."""

    index: int
    kind: str
    summary: str
    location: str
    characters: tuple[str, ...]
    lore: tuple[str, ...]
    requires: tuple[int, ...]
    leads_to: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arc:
    """A quest from its hook to its end."""

    id: str
    seed: str
    title: str
    hook: str
    beats: tuple[Beat, ...]


def _one_of(draws: Iterator[int], items: Sequence[T]) -> T:
    return items[next(draws) % len(items)]


_TEMPLATES: Final[Mapping[str, Sequence[str]]] = read_toml(__package__, "words.toml")


def draw_arc(
    arc_id: str, seed: str, beats: int, materials: ArcMaterials, *, attempt: int = 0
) -> Arc | None:
    """Return the arc of a seed; None if these locations do not allow its number of beats.

    Each attempt draws anew.
    """
    draws = islice(random_numbers(f"{arc_id}/{seed}/{attempt}"), 1, None)
    route = _find_route(draws, beats, materials)
    if route is None:
        return None
    about = _one_of(draws, materials.lore) if materials.lore else None
    theme = about.name if about else next(iter(materials.themes), "an old promise")
    kinds = ["opening", *(_one_of(draws, _MIDDLE) for _ in range(beats - 3)), "climax", "ending"]
    made, title, hook = [], "", ""
    for index, (kind, location) in enumerate(zip(kinds, route, strict=True)):
        people = materials.people.get(location.id, ())
        person = _one_of(draws, people) if people else None
        words = {"place": location.name, "about": theme, "person": person.name if person else ""}
        template = _choose_template(draws, kind, words, about)
        if index == 0:
            title, hook = (
                _fill_names(_choose_template(draws, k, words, about), words)
                for k in ("title", "hook")
            )
        lore = (about.key,) if about and "{about}" in template else ()
        requires, leads_to = _beat_order(index, beats)
        made.append(
            Beat(
                index=index, kind=kind, summary=_fill_names(template, words), location=location.id,
                characters=(person.id,) if person and "{person}" in template else (),
                lore=lore, requires=requires, leads_to=leads_to
            )
        )  # fmt: skip
    return Arc(id=arc_id, seed=seed, title=title, hook=hook, beats=tuple(made))


def _choose_template(
    draws: Iterator[int], kind: str, words: Mapping[str, str], about: ArcLore | None
) -> str:
    """Return a line of this kind; lines with speech need a person at the location."""
    typed = _TEMPLATES.get(f"{kind}.{about.kind if about else ''}", ())
    templates = [*_TEMPLATES[kind], *typed]
    return _one_of(draws, [e for e in templates if words["person"] or "{person}" not in e])


def _fill_names(template: str, words: Mapping[str, str]) -> str:
    """Fill the names into a line; braces within names stay as they are."""
    parts = template.replace("}", "{").split("{")
    text = "".join(words[part] if index % 2 else part for index, part in enumerate(parts))
    return text[:1].upper() + text[1:]


def _find_route(draws: Iterator[int], beats: int, materials: ArcMaterials) -> list[Nameable] | None:
    """Return a location for each beat, reachable from the one before, with all wanted ones."""
    by_id = {location.id: location for location in materials.locations}
    route = [materials.locations[0]]
    missing = [each for each in materials.wanted if each != route[0].id]
    for left in range(beats - 1, 0, -1):
        reached = materials.reachable.get(route[-1].id, frozenset()) | {route[-1].id}
        due = [each for each in missing if each in reached]
        if len(missing) >= left and not due:
            return None
        if due and (len(missing) >= left or _one_of(draws, (True, False))):
            following = due[0]
            missing.remove(following)
        else:
            following = _one_of(
                draws,
                [
                    location.id
                    for location in materials.locations if location.id in reached
                    for _ in range(_LIKELIER if location.id in materials.people else 1)
                ]
            )  # fmt: skip
            missing = [each for each in missing if each != following]
        route.append(by_id[following])
    return None if missing else route


def _beat_order(index: int, beats: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the beats before and after a beat; long arcs branch once."""
    before = (index - 1,) if index else ()
    after = (index + 1,) if index + 1 < beats else ()
    branches = {1: (before, (2, 3)), 2: (before, (4,)), 3: ((1,), after), 4: ((2, 3), after)}
    straight = (before, after)
    return straight if beats < _BRANCHING else branches.get(index, straight)

"""The System Reference Document 5.1, from a package; it is read when somebody first asks."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any, Final

from typing_extensions import override

from canonry.language.texts.stems import query_stems, stems_of, terms_of
from canonry.world.domain.admission.safety import values_in
from canonry.world.domain.mechanics import RuleEntry, RuleKind
from canonry.world.ports.moderator import Rulebook

ATTRIBUTION: Final = (
    "This work includes material taken from the System Reference Document 5.1 "
    "(\u201cSRD 5.1\u201d) by Wizards of the Coast LLC and available at "
    "https://dnd.wizards.com/resources/systems-reference-document. The SRD 5.1 is licensed under "
    "the Creative Commons Attribution 4.0 International License available at "
    "https://creativecommons.org/licenses/by/4.0/legalcode."
)
_MODULES: Final = (
    ("Spells", RuleKind.SPELL),
    ("Monsters", RuleKind.MONSTER),
    ("Equipment", RuleKind.EQUIPMENT),
    ("MagicItems", RuleKind.EQUIPMENT),
    ("Conditions", RuleKind.CONDITION),
    ("RuleSections", RuleKind.RULE),
)
_LEFT_OUT: Final = frozenset({"url", "image", "index", "desc", "subclasses"})
_USUAL_LENGTH: Final = 200
_DEPTH: Final = 8


class SrdRulebook(Rulebook):
    """Spells, monsters, equipment, conditions and sections of rules."""

    @property
    @override
    def attribution(self) -> str:
        return ATTRIBUTION

    @override
    def find_entry(self, kind: RuleKind, name: str) -> RuleEntry | None:
        return self._entries_by_name.get((kind, " ".join(terms_of(name))))

    @override
    def search_entries(self, query: str, kind: RuleKind | None, limit: int) -> Sequence[RuleEntry]:
        scores: dict[int, float] = defaultdict(float)
        for stem in query_stems(query):
            found = self._stem_weights.get(stem, {})
            weight = math.log(1 + len(self._all_entries) / (1 + len(found)))
            for index, share in found.items():
                scores[index] += weight * share
        fitting = [
            (score, self._all_entries[index])
            for index, score in scores.items()
            if kind is None or self._all_entries[index].kind is kind
        ]
        best = sorted(fitting, key=lambda each: (-each[0], each[1].name, each[1].id))
        return [entry for _, entry in best[:limit]]

    @cached_property
    def _all_entries(self) -> Sequence[RuleEntry]:
        return [entry for module, kind in _MODULES for entry in _read_module(module, kind)]

    @cached_property
    def _entries_by_name(self) -> Mapping[tuple[RuleKind, str], RuleEntry]:
        return {(each.kind, " ".join(terms_of(each.name))): each for each in self._all_entries}

    @cached_property
    def _stem_weights(self) -> Mapping[str, Mapping[int, float]]:
        """Stem -> its entries and their weights; names count most."""
        found: dict[str, dict[int, float]] = defaultdict(dict)
        for index, entry in enumerate(self._all_entries):
            text_stems = stems_of(f"{entry.text}\n{' '.join(_all_texts(entry.details))}")
            named = frozenset(stems_of(entry.name))
            counts = Counter(text_stems) | Counter(named)
            for stem, count in counts.items():
                long = len(text_stems) / _USUAL_LENGTH
                found[stem][index] = count / (count + 1.0 + long) + (stem in named)
        return found


def _read_module(module: str, kind: RuleKind) -> Iterator[RuleEntry]:
    source = import_module(f"tinys_srd.{module}")
    for key in source.entries:
        members = vars(getattr(source, key))
        desc = members.get("desc") or ()
        text = desc if isinstance(desc, str) else "\n".join(map(str, desc))
        details = {
            name: _plain_json(value)
            for name, value in members.items()
            if name not in _LEFT_OUT and value not in (None, [], "", {})
        }
        yield RuleEntry(
            kind=kind,
            id=str(members["index"]),
            name=str(members["name"]),
            text=text or "\n".join(_ability_texts(details)) or ", ".join(_all_texts(details)),
            details={name: value for name, value in details.items() if name != "name"},
        )


def _plain_json(value: Any, depth: int = _DEPTH) -> Any:
    """The value as JSON, with names in place of references."""
    match value:
        case {"name": str(name), "index": str()}:
            return name
        case Mapping() if depth:
            return {str(k): _plain_json(v, depth - 1) for k, v in value.items() if k != "url"}
        case list() | tuple() if depth:
            return [_plain_json(each, depth - 1) for each in value]
        case bool() | int() | float() | str():
            return value
        case _:
            return str(value)


def _ability_texts(value: Any) -> Iterator[str]:
    match value:
        case {"name": str(name), "desc": str(text)}:
            yield f"{name}. {text}"
        case Mapping():
            for each in value.values():
                yield from _ability_texts(each)
        case list():
            for each in value:
                yield from _ability_texts(each)
        case _:
            return


def _all_texts(value: Any) -> Iterator[str]:
    return (each for _, each in values_in(value, "") if isinstance(each, str))

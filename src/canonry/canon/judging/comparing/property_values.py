"""Property values: two structured values of one property, compared with their units."""

import re
from collections.abc import Mapping
from typing import Any, Final

from canonry.canon.judging.comparing.findings import Clash, Setting, contradiction, possible
from canonry.canon.judging.comparing.rivalries import is_exclusive
from canonry.language.clauses.phrases import phrases_of
from canonry.language.clauses.quantities import Measured, Quantity, compared
from canonry.language.clauses.tokens import lemma, sentences_in
from canonry.language.words.frame_words import ONE_VALUED

_ONE: Final = frozenset(map(lemma, ONE_VALUED))
_GLUED: Final = re.compile(r"(?<=\d)(?=[a-z])", re.IGNORECASE)
_FIXED: Final = frozenset(map(lemma, ("birth", "birthday", "birthplace", "born", "mother", "father",
                                      "blood", "founded", "founder", "species")))  # fmt: skip


def compared_properties(
    held: Mapping[str, Any], said: Mapping[str, Any], setting: Setting
) -> Clash | None:
    """How the values of the properties that both sides name stand to each other."""
    common = held.keys() & said.keys()
    if not common or not _one_subject(setting):
        return None
    worst: Clash | None = None
    for name in sorted(common):
        stems = frozenset(lemma(part) for part in name.casefold().split("_"))
        if not setting.one_moment and not stems & _FIXED:
            continue
        found = _compared(name, stems, held[name], said[name])
        if found is not None and (worst is None or found.graver_than(worst)):
            worst = found
    return worst


def _one_subject(setting: Setting) -> bool:
    mine, theirs = setting.standing, setting.claimed
    return bool(mine) and bool(theirs) and (mine <= theirs or theirs <= mine)


def _compared(name: str, stems: frozenset[str], held: Any, said: Any) -> Clash | None:  # noqa: PLR0911 - one exclusion a line
    if _folded(held) == _folded(said):
        return None
    why = f"{name} has two values"
    if isinstance(held, bool) or isinstance(said, bool):
        return contradiction(why) if type(held) is type(said) else possible(why)
    mine, theirs = _quantity(held), _quantity(said)
    if mine is not None and theirs is not None:
        match compared(mine, theirs):
            case Measured.SAME:
                return None
            case Measured.UNCLEAR:
                return possible(why)
            case Measured.OTHER:
                return contradiction(why)
    if not isinstance(held, str) or not isinstance(said, str):
        return _collections(held, said, why)
    one, other = held.casefold().strip(), said.casefold().strip()
    if is_exclusive(lemma(one), lemma(other)) or stems & _ONE:
        return contradiction(why)
    return possible(why)


def _collections(held: Any, said: Any, why: str) -> Clash | None:
    mine, theirs = _folded(held), _folded(said)
    if isinstance(mine, frozenset) and isinstance(theirs, frozenset):
        return None if mine <= theirs or theirs <= mine else possible(why)
    return possible(why)


def _folded(value: Any) -> Any:
    if isinstance(value, str):
        return value.casefold().strip()
    if isinstance(value, list | tuple | set | frozenset):
        return frozenset(repr(_folded(each)) for each in value)
    return value


def _quantity(value: Any) -> Quantity | None:
    if isinstance(value, int | float):
        return Quantity(low=float(value), high=float(value))
    if not isinstance(value, str):
        return None
    for sentence in sentences_in(_GLUED.sub(" ", value))[:1]:
        phrases = phrases_of(sentence)
        if len(phrases) == 1 and phrases[0].quantity is not None and not phrases[0].extras:
            return phrases[0].quantity
    return None

"""Likenesses: two statements that speak of the same and do not say the same, by their words alone.

The rules know what they have read; this offers for review what they have not.
"""

from collections.abc import Callable
from typing import Final

from canonry.canon.judging.comparing.findings import Clash, Setting, possible
from canonry.language.clauses.gists import Gist

_WIDE: Final = 4
"""Different words of both sides, below which frames are read well enough to be trusted."""
_BEGUN: Final = 3
"""Letters that a word and one derived of it share at least."""
_LIKE: Final = 0.5
"""How much of their words two statements share whose language no frames are read of."""


def likeness(
    held: Gist, said: Gist, setting: Setting, *called: Callable[[], frozenset[str]]
) -> Clash | None:
    """Whether somebody should look at the two of one moment, though no rule says why.

    `called` tell by which words the entities are called: who shares them speaks only of the same.
    """
    mine, theirs = held.everything, said.everything
    if mine == theirs and held.negative == said.negative:
        return None
    if not (held.told and said.told) or not _about(held, said, setting):
        return None
    if held.framed and said.framed:
        closer = (mine <= theirs or theirs <= mine) and held.negative == said.negative
        if closer or not _one_time(held, said):
            return None
        why = _reason(held, said, frozenset().union(*[each() for each in called]))
        return None if why is None else possible(why)
    like = len(mine & theirs) >= _LIKE * len(mine | theirs)
    return possible("they share most of their words, and say not the same") if like else None


def _one_time(held: Gist, said: Gist) -> bool:
    return not held.when or not said.when or held.when == said.when


def _about(held: Gist, said: Gist, setting: Setting) -> bool:
    if setting.standing and setting.claimed:
        return not setting.standing.isdisjoint(setting.claimed)
    return not held.everything.isdisjoint(said.everything)


def _reason(held: Gist, said: Gist, called: frozenset[str]) -> str | None:
    shared = (held.words & said.words) - called
    beyond = shared - (held.subject & said.subject)
    if beyond and len(held.everything | said.everything) >= _WIDE:
        return f"both speak of {said.forms[min(beyond)]}, and say not the same"
    if shared and (held.closing or said.closing):
        return "one leaves nothing open of what both speak of"
    mine, theirs = held.words - said.words - called, said.words - held.words - called
    for one in sorted(mine):
        for other in sorted(theirs):
            if _go_together(one, other, held, said):
                return f"{held.forms[one]} and {said.forms[other]} may not go together"
    return None


def _go_together(one: str, other: str, held: Gist, said: Gist) -> bool:
    """Whether two words are of one topic, or one is the beginning of the other."""
    mine, theirs = held.topics.get(one), said.topics.get(other)
    if mine is not None and theirs is not None and not mine.isdisjoint(theirs):
        return True
    return min(len(one), len(other)) >= _BEGUN and (one.startswith(other) or other.startswith(one))

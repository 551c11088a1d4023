"""Unlinked claims: facts and events that are linked to nobody, or not to all that they name."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from canonry.assistant.claims import ClaimReading
from canonry.assistant.rows import Row
from canonry.canon.canonization.create_proposal import Suggestion
from canonry.canon.queries.find_mentioned import Mentions, find_near
from canonry.canon.queries.find_named import candidate
from canonry.log.items.entities import Entity
from canonry.values.json_values import encode_json
from canonry.values.provenance import Evidence

_SHOWN: Final = 3
"""Claims that one hint speaks of."""


async def with_links(
    reading: ClaimReading,
    claims: Sequence[Mapping[str, Any]],
    suggestions: Sequence[Suggestion],
    reply: Row,
) -> Row:
    """The reply, with a hint where claims are linked to nobody or a name fits several."""
    hints = [reply["hint"]] if "hint" in reply else []
    open_ones = [
        (_Open(claims[n], suggestions[n].evidence, reply["verdicts"][n].get("id")), mentions)
        for n, mentions in reading.mentions.items()
        if mentions.unclear or not (mentions.found or claims[n].get("who"))
    ]
    hints += [await _hint(reading, *each) for each in open_ones[:_SHOWN]]
    if len(open_ones) > _SHOWN:
        hints.append(f"{len(open_ones) - _SHOWN} further claims are not linked either")
    return {**reply, "hint": "; ".join(hints)} if hints else reply


class _Open(NamedTuple):
    """A claim that is not linked, what it rests on, and what was made of it."""

    claim: Mapping[str, Any]
    evidence: Sequence[Evidence]
    made: str | None

    def linked(self, about: Sequence[str]) -> Mapping[str, Any]:
        """The call that links it, in place of what was made of it."""
        is_fact = self.made is not None and self.claim["kind"] == "fact"
        claim = {**self.claim, "about": about, **({"replaces": self.made} if is_fact else {})}
        evidence = [each.ref for each in self.evidence]
        return {"claims": [claim], **({"evidence": evidence} if evidence else {})}


async def _hint(reading: ClaimReading, unlinked: _Open, mentions: Mentions) -> str:
    says = unlinked.claim["says"].strip()
    if mentions.unclear:
        linked = "none of them: " + ", ".join(
            f"{name} may mean {_told(bearers, ' or ')}"
            for name, bearers in mentions.unclear.items()
        )
        near = next(iter(mentions.unclear.values()))
    else:
        near = await find_near(reading.desk.canon, reading.desk.space.id, says)
        linked = f"no entity; nearest: {_told(near, ', ')}" if near else "no entity"
    if not near:
        return f'"{says}" is linked to {linked}; if it is about one, name it in about'
    others = [bearer or name for name, bearer in mentions.found.items()]
    name, reference = _called(near)[0]
    call = encode_json(unlinked.linked([reference, *others])).decode()
    return f'"{says}" is linked to {linked}. If {name} is meant: propose {call}'


def _called(near: Sequence[Entity | str]) -> list[tuple[str, str]]:
    """What each is called, and what names it to another call: an id where names are equal."""
    names = [one.name if isinstance(one, Entity) else one for one in near]
    return [
        (candidate(one), one.id)
        if isinstance(one, Entity) and names.count(name) > 1
        else (name, name)
        for one, name in zip(near, names, strict=True)
    ]


def _told(near: Sequence[Entity | str], between: str) -> str:
    return between.join(name for name, _ in _called(near))

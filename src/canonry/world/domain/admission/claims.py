"""Claims: what a text upon a place would make so, which only an action of its own may do.

The patterns are few and plain, so that prose passes: a way that opens or leads somewhere, a thing
that is found or given to the reader, somebody who arrives or leaves.
"""

import re
from collections.abc import Iterable
from typing import Final

from canonry.readmodels.edges import Direction
from canonry.world.domain.admission.kit import Rejection, refusal

_WAY: Final = (
    r"(?:door|doorway|gate|passage|passageway|path|tunnel|bridge|stair(?:s|case|way)?|ladder"
    r"|portal|trapdoor|exit|archway|hatch)s?"
)
_NEW: Final = (
    rf"\b(?:a|an|another|the)\s+(?:(?:new|hidden|secret|second|magical|unseen|narrow)\s+)+{_WAY}\b"
)
_OPENS: Final = r"\b(?:appears?|opens?|opened|leads?|has appeared|forms?|is revealed|now)\b"
_WAYS: Final = re.compile(rf"{_NEW}[^.!?]*{_OPENS}|{_OPENS}[^.!?]*{_NEW}", re.IGNORECASE)
_LEADS: Final = re.compile(
    rf"\b(?:a|an)\s+(?:\w+\s+)?{_WAY}\b[^.!?,;]*\bleads?\b[^.!?,;]*?"
    rf"\b({'|'.join(Direction)})\b",
    re.IGNORECASE,
)
_ITEM: Final = re.compile(
    r"\byou\s+(?:now\s+)?(?:find|receive|gain|obtain|are given|pick up|acquire)"
    r"\s+(?:an?|the|\d+)\b",
    re.IGNORECASE,
)
_ARRIVES: Final = re.compile(
    r"(?:^|[.!?]\s+)(?:The\s+)?[A-Z]\w+(?:\s+[A-Z]\w+)?\s+"
    r"(?:arrives|comes in|enters|walks in|joins you|departs|has arrived)\b"
)
_UNREAL: Final = re.compile(
    r"\b(?:no|not|never|nobody|nothing|without|if|as if|as though|like|dreams?|imagin\w+|perhaps"
    r"|maybe|would|could|rumou?r\w*|legend|once|used to)\b|\?",
    re.IGNORECASE,
)
_SENTENCE: Final = re.compile(r"[^.!?]+[.!?]*")


def claimed(text: str, exits: Iterable[Direction]) -> Rejection | None:
    """What a text says is so and the world does not, if it says such a thing."""
    known = frozenset(exits)
    for sentence in _SENTENCE.findall(text):
        if _UNREAL.search(sentence):
            continue
        leads = _LEADS.search(sentence)
        astray = leads is not None and Direction(leads[1].lower()) not in known
        if _WAYS.search(sentence) or astray:
            reason = "the text tells of a way that the world does not have"
            return refusal("text.claims-way", reason)
        if _ITEM.search(sentence):
            reason = "the text gives the reader something that nobody has transferred"
            return refusal("text.claims-item", reason)
        if _ARRIVES.search(sentence.strip()):
            reason = "the text lets somebody come or go who has not moved"
            return refusal("text.claims-arrival", reason)
    return None

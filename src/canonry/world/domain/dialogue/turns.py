"""Turns: the messages to a model, what its answer says, and the words where there is no answer."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from typing import Any, Final

from canonry.language.texts.visible import marked
from canonry.values.json_values import decode_json
from canonry.world.domain.prompts.templates import templates

CHANGES_MAX: Final = 5
REPLY_MAX: Final = 2_000
INPUT_MAX: Final = 2_000
_RESULT_MAX: Final = 6_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What a character says, what is seen meanwhile, and what would follow from it.

    `changes` are as the model sent them, whatever they are; one too many stands for the rest.
    """

    say: str
    narration: str = ""
    changes: tuple[Any, ...] = ()

    @property
    def reply(self) -> str:
        """What the player is told."""
        return f"{self.narration} {self.say}".strip() if self.narration else self.say


[TEMPLATE] = [one for one in templates() if (one.id, one.version) == ("npc_dialogue", "2.0.0")]
"""How a model is asked; all messages after this one are the context."""
FALLBACKS: Final = [
    line.removeprefix("fallback: ")
    for line in (files("canonry.world.domain.dialogue") / "words.txt")
    .read_text("utf-8")
    .splitlines()
]


def opening(
    context: Mapping[str, Any], past: Sequence[Mapping[str, str]], said: str
) -> list[dict[str, str]]:
    """The messages with which a turn begins; `past` has what the `player` and `you` said."""
    known = {**context, "lastExchanges": past, "playerSays": said}
    data = json.dumps(known, ensure_ascii=False, sort_keys=True)
    return [
        {"role": "system", "content": TEMPLATE.template},
        {"role": "user", "content": marked(data)},
    ]


def result_of(reply: Any) -> str:
    """What a tool answered, as data, and cut where it is long."""
    return marked(json.dumps(reply, ensure_ascii=False, default=str)[:_RESULT_MAX])


def answer_in(text: str) -> Answered | None:
    """What a model said; None where it said nothing that can be told."""
    told = json_in(text)
    if told is None:
        plain = text.replace("\0", "").strip()
        return Answered(say=plain[:REPLY_MAX]) if plain and not plain.startswith("{") else None
    say, narration = told.get("say"), told.get("narration") or ""
    if not isinstance(say, str) or not isinstance(narration, str) or not say.strip():
        return None
    changes = told.get("changes") or []
    kept = changes if isinstance(changes, list) else [changes]
    return Answered(
        say=say.replace("\0", "").strip()[:REPLY_MAX],
        narration=narration.replace("\0", "").strip()[:REPLY_MAX],
        changes=tuple(kept[: CHANGES_MAX + 1]),
    )


def json_in(text: str) -> Mapping[str, Any] | None:
    """The JSON object that a model answered with, in a fence or not; None where it is none."""
    bare = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```")
    try:
        told = decode_json(bare.encode())
    except (ValueError, RecursionError):  # no JSON, or what nobody could write down again
        return None
    return told if isinstance(told, Mapping) else None


def fallback_for(name: str, key: str) -> str:
    """Words that claim nothing; one turn always gets the same ones."""
    place = sha256(key.encode("utf-8", "surrogatepass")).digest()[0] % len(FALLBACKS)
    return FALLBACKS[place].replace("{name}", name[:200])

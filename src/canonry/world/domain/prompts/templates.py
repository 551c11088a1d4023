"""Prompt templates: files that never change once they are published; a change is a new version.

The hash is SHA-256 over the canonical JSON of the whole template, so that nothing in it is beside
the hash. `[name]` in the text stands for a variable.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from canonry.canon.session.telemetry_names import ModelPurpose
from canonry.language.texts.visible import add_marks
from canonry.values.json_values import canonical_json, decode_json


class Variable(Struct, frozen=True, forbid_unknown_fields=True):
    """A variable of a template, written `[name]`."""

    name: Annotated[str, Meta(pattern="^[a-z][A-Za-z0-9]*$")]
    description: str
    required: bool = True


class Template(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A prompt of one version; `completion_tokens` is how long an answer may be."""

    id: Annotated[str, Meta(pattern="^[a-z0-9_-]{1,100}$")]
    version: Annotated[str, Meta(pattern=r"^\d+\.\d+\.\d+$")]
    name: Annotated[str, Meta(max_length=200)]
    description: Annotated[str, Meta(max_length=1_000)]
    purpose: ModelPurpose
    tags: tuple[str, ...]
    completion_tokens: Annotated[int, Meta(ge=1, le=100_000)]
    template: Annotated[str, Meta(min_length=1, max_length=50_000)]
    variables: tuple[Variable, ...]

    @property
    def content_hash(self) -> str:
        """`sha256:` and the digest of its canonical form as JSON."""
        return f"sha256:{sha256(canonical_json(self.to_json())).hexdigest()}"

    def to_json(self) -> dict[str, Any]:
        """The template as JSON."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found


@cache  # read from files once
def all_templates() -> Sequence[Template]:
    """All versions of all templates, by id, the oldest first."""
    folder = files(__package__) / "templates"
    found = [
        msgspec.json.decode(each.read_bytes(), type=Template)
        for each in folder.iterdir()
        if each.name.endswith(".json")
    ]
    return sorted(found, key=lambda e: (e.id, [int(part) for part in e.version.split(".")]))


def find_template(name: str, version: str | None = None) -> Template | None:
    """The template of that id in that version, or in the newest."""
    known = [one for one in all_templates() if one.id == name and version in {None, one.version}]
    return known[-1] if known else None


def list_templates(tag: str | None = None) -> Sequence[Template]:
    """The newest versions of all templates, or of those with a tag."""
    newest = {each.id: each for each in all_templates()}
    return [each for each in newest.values() if tag is None or tag in each.tags]


def wrong_parameters(template: Template, given: Mapping[str, str]) -> str | None:
    """Describe missing or unknown parameters of a template."""
    names = {each.name for each in template.variables}
    missing = {each.name for each in template.variables if each.required} - given.keys()
    if missing:
        return f"`parameters` has no text for {', '.join(sorted(missing))}."
    if unknown := given.keys() - names:
        return f"The template has no variable {', '.join(sorted(unknown))}."
    return None


# Turns: the messages to a model, what its answer says, and the words where there is no answer.

CHANGES_MAX: Final = 5  # one more is kept, so that a check can refuse too many
REPLY_MAX: Final = 2_000  # an answer that repeats itself is cut
INPUT_MAX: Final = 2_000  # bounds the tokens of a prompt
_RESULT_MAX: Final = 6_000  # bounds the tokens of a prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class CharacterAnswer:
    """A character's words, visible gestures and proposed changes.

    `changes` are as the model sent them, whatever they are; one too many stands for the rest.
    """

    say: str
    narration: str = ""
    changes: tuple[Any, ...] = ()

    @property
    def reply_text(self) -> str:
        """Text for the player."""
        return f"{self.narration} {self.say}".strip() if self.narration else self.say


def require_template(name: str, version: str) -> Template:
    """Return the template of that id in that version, which there is."""
    [found] = [one for one in all_templates() if (one.id, one.version) == (name, version)]
    return found


def question_messages(template: Template, data: str) -> list[dict[str, str]]:
    """Return the messages that ask a model about data; the second one is the context."""
    return [
        {"role": "system", "content": template.template},
        {"role": "user", "content": add_marks(data)},
    ]


TEMPLATE: Final = require_template("npc_dialogue", "2.0.0")
"""The instructions of the model; all messages after this one are the context."""
FALLBACKS: Final = [
    line.removeprefix("fallback: ")
    for line in (files(__package__) / "words.txt").read_text("utf-8").splitlines()
]


def opening_messages(
    context: Mapping[str, Any], past: Sequence[Mapping[str, str]], player_text: str
) -> list[dict[str, str]]:
    """The messages with which a turn begins; `past` has what the `player` and `you` said."""
    known = {**context, "lastExchanges": past, "playerSays": player_text}
    return question_messages(TEMPLATE, json.dumps(known, ensure_ascii=False, sort_keys=True))


def tool_result(reply: Any) -> str:
    """Return a tool's answer as data, truncated if it is long."""
    return add_marks(json.dumps(reply, ensure_ascii=False, default=str)[:_RESULT_MAX])


def read_answer(text: str) -> CharacterAnswer | None:
    """Return the model's reply; None if it is unusable."""
    answer = read_json(text)
    if answer is None:
        plain = text.replace("\0", "").strip()
        return (
            CharacterAnswer(say=plain[:REPLY_MAX]) if plain and not plain.startswith("{") else None
        )
    say, narration = answer.get("say"), answer.get("narration") or ""
    if not isinstance(say, str) or not isinstance(narration, str) or not say.strip():
        return None
    changes = answer.get("changes") or []
    kept = changes if isinstance(changes, list) else [changes]
    return CharacterAnswer(
        say=say.replace("\0", "").strip()[:REPLY_MAX],
        narration=narration.replace("\0", "").strip()[:REPLY_MAX],
        changes=tuple(kept[: CHANGES_MAX + 1]),
    )


def read_json(text: str) -> Mapping[str, Any] | None:
    """The JSON object that a model answered with, in a fence or not; None where it is none."""
    bare = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```")
    try:
        parsed = decode_json(bare.encode())
    except (ValueError, RecursionError):  # no JSON, or what nobody could write down again
        return None
    return parsed if isinstance(parsed, Mapping) else None


def fallback_for(name: str, key: str) -> str:
    """Return a reply without any claim; one turn always gets the same reply."""
    index = sha256(key.encode("utf-8", "surrogatepass")).digest()[0] % len(FALLBACKS)
    return FALLBACKS[index].replace("{name}", name[:200])

"""Prompt templates: files that never change once they are published; a change is a new version.

The hash is SHA-256 over the canonical JSON of the whole template, so that nothing in it is beside
the hash. `[name]` in the text stands for a variable.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from canonry.canon.session.ai_words import ModelPurpose
from canonry.values.json_values import canonical_json


class Variable(Struct, frozen=True, forbid_unknown_fields=True):
    """What is filled in for `[name]`."""

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
    def hash(self) -> str:
        """What stands for all of it: `sha256:` and the digest of its canonical form as JSON."""
        return f"sha256:{sha256(canonical_json(self.told())).hexdigest()}"

    def told(self) -> dict[str, Any]:
        """The template as JSON."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found


@cache
def templates() -> Sequence[Template]:
    """All versions of all templates, by id, the oldest first."""
    folder = files(__package__) / "templates"
    found = [
        msgspec.json.decode(each.read_bytes(), type=Template)
        for each in folder.iterdir()
        if each.name.endswith(".json")
    ]
    return sorted(
        found, key=lambda each: (each.id, [int(part) for part in each.version.split(".")])
    )


def find_template(name: str, version: str | None = None) -> Template | None:
    """The template of that id in that version, or in the newest."""
    known = [one for one in templates() if one.id == name and version in {None, one.version}]
    return known[-1] if known else None


def list_templates(tag: str | None = None) -> Sequence[Template]:
    """The newest versions of all templates, or of those with a tag."""
    newest = {each.id: each for each in templates()}
    return [each for each in newest.values() if tag is None or tag in each.tags]


def wrong_parameters(template: Template, given: Mapping[str, str]) -> str | None:
    """What is missing or too much among the parameters of a template."""
    names = {each.name for each in template.variables}
    missing = {each.name for each in template.variables if each.required} - given.keys()
    if missing:
        return f"there is no text for {', '.join(sorted(missing))}"
    if unknown := given.keys() - names:
        return f"the template has no variable {', '.join(sorted(unknown))}"
    return None

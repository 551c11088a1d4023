"""World files: an atlas as JSON, checked against its schema before anything is made of it."""

import json
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from canonry.gateway.validation import compile_arguments
from canonry.language.texts.visible import visible
from canonry.values.errors import InvalidInput
from canonry.values.json_values import encode_pretty, read_value, schema_of
from canonry.world.domain.atlas import Atlas


def read_atlas(path: Path) -> tuple[Atlas, str]:
    """The atlas in a file, and how the file is told apart from others.

    Raises:
        InvalidInput: `world.not-json`, `input.invalid`, `input.missing` or
            `input.unknown-property`, with the path within the file.
    """
    data = path.read_bytes()
    return parse_atlas(data), f"{path.name}@{sha256(data).hexdigest()[:16]}"


def parse_atlas(data: bytes) -> Atlas:
    """The atlas that these bytes describe; raises as `read_atlas` does."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        message = "a world is a file in JSON; `canonry world export` writes one to look at"
        raise InvalidInput("world.not-json", message, path="") from None
    if not isinstance(value, dict):
        raise InvalidInput("world.not-json", "a world is an object in JSON", path="")
    return read_value(_checker()(value), Atlas)


@cache
def _checker() -> Callable[[dict[str, Any]], dict[str, Any]]:
    return compile_arguments(schema_of(Atlas))


def atlas_bytes(atlas: Atlas) -> bytes:
    """The file of an atlas; it may be looked at on a terminal."""
    return visible(encode_pretty(atlas).decode()).encode()


def demo_atlas() -> Atlas:
    """The world that comes with Canonry."""
    return parse_atlas(files(__package__).joinpath("demo.json").read_bytes())

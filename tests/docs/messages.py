"""The page of every message: errors by their codes, and all other texts by where they are made."""

import json
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from canonry.app.packages import TOOLSETS, load_toolsets
from canonry.app.settings import SETTINGS
from tests.docs.errors import errors_section, every_error
from tests.meta.prose import yield_messages
from tests.meta.tree import PACKAGE

# Tables of languages are input, not messages; only developers read the conformance kit's texts.
LEFT_OUT = ("language", "testing")
SECTIONS = {
    "log": "Lines of the log",
    "cli": "The command line",
    "reply": "Replies, hints and reasons",
}
TEXTS = {
    "Prompts": "narrative/toolset/prompts.toml",
    "Advice on refused proposals": "world/domain/admission/rules.toml",
    "Last steps for clients": "cli/connect/clients.toml",
    "Remedies that doctor names": "app/remedies.toml",
    "Introduction of the toolset canon": "assistant/face.toml",
    "Words of replies of the toolset canon": "assistant/wording.toml",
    "Introduction of the toolset narrative": "narrative/toolset/face.toml",
    "Introduction of the toolset truth": "records/toolset/face.toml",
    "Introduction of the toolset world": "world/toolset/face.toml",
    "Introduction of the toolset catalog": "catalog/toolset/face.toml",
    "Introduction of the toolset operator": "catalog/operator/face.toml",
}
"""Heading -> the data file with its texts, in tables by name or without."""


def messages_page(note: str) -> str:
    """Return the page: errors, then replies, the command line, the log and the inspector."""
    intro = (
        f"# Messages\n\n{note}\n\n"
        "Read here everything that Canonry says apart from the [tools](tools.md) and the\n"
        "[settings](settings.md). An … stands for a value.\n\n"
    )
    parts = [intro, errors_section()]
    found = _other_messages()
    for kind in ("reply", "cli", "log"):
        parts.append(f"\n## {SECTIONS[kind]}\n")
        for module, texts in found[kind].items():
            parts.append(f"\n### `{module}`\n\n")
            parts += [f"- {escape_line(text)}\n" for text in texts]
    catalogue = PACKAGE / "inspector" / "catalogue" / "en.json"
    parts.append("\n## The inspector\n\n| key | text |\n| --- | --- |\n")
    texts = json.loads(catalogue.read_text(encoding="utf-8"))
    parts += [f"| `{key}` | {escape_line(text)} |\n" for key, text in texts.items()]
    for heading, file in TEXTS.items():
        parts.append(f"\n## {heading}\n\n")
        for each in tomllib.loads((PACKAGE / file).read_text(encoding="utf-8")).values():
            values = each.values() if isinstance(each, dict) else (each,)
            listed = [text for text in values if isinstance(text, str) and " " in text]
            parts += [f"- {escape_line(' '.join(text.split()))}\n" for text in listed]
    return "".join(parts)


def _other_messages() -> Mapping[str, Mapping[str, list[str]]]:
    """Kind of text -> module -> its texts in the order of the lines; no text twice in a module."""
    known = {each.message for places in every_error().values() for each in places}
    known |= {row.help for row in SETTINGS} | set(yield_descriptions(load_toolsets(TOOLSETS)))
    found: Mapping[str, dict[str, list[str]]] = {kind: defaultdict(list) for kind in SECTIONS}
    for path in sorted(PACKAGE.rglob("*.py")):
        inner = path.relative_to(PACKAGE)
        package = inner.parts[0]
        if package in LEFT_OUT:
            continue
        for each in yield_messages(path):
            kind = "log" if each.is_log else "cli" if package == "cli" else "reply"
            texts = found[kind][".".join(("canonry", *inner.with_suffix("").parts))]
            if each.text not in known and each.text not in texts:
                texts.append(each.text)
    return {
        kind: {module: texts for module, texts in by_module.items() if texts}
        for kind, by_module in found.items()
    }


def yield_descriptions(given: Any) -> Iterator[str]:
    """Yield the descriptions of tools and of what their schemas hold."""
    for toolset in given:
        yield toolset.purpose
        yield from toolset.descriptions.values()
        for each in (*toolset.tools, *toolset.resources, *toolset.prompts):
            yield each.description
        for tool in toolset.tools:
            yield from yield_texts(tool.input_schema)
            yield from yield_texts(tool.output_schema)


def yield_texts(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        if isinstance(text := schema.get("description"), str):
            yield text
        schema = list(schema.values())
    if isinstance(schema, list | tuple):
        for each in schema:
            yield from yield_texts(each)


def escape_line(text: str) -> str:
    """Show a text as one line of a list or cell: no markup of it takes effect."""
    parts = " ".join(text.replace("\b", "").split()).split("`")
    for outside in range(0, len(parts), 2):
        parts[outside] = re.sub(r"[\\|*_\[~]", r"\\\g<0>", parts[outside]).replace("<", "&lt;")
    return "`".join(parts)

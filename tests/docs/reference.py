"""The generated pages of docs/reference; `make reference` writes them, a test compares."""

import inspect
import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from canonry.app.packages import TOOLSETS, load_toolsets
from canonry.app.settings import SETTINGS
from canonry.canon.judging.gates import GATES
from canonry.canon.judging.gates.verdicts import Gate
from canonry.gateway.tool import ANYONE, Tool, Toolset
from canonry.testing.conformance import REQUIREMENTS, proved_by
from canonry.testing.conformance.kit import Contract
from canonry.values.policy import Policy
from tests.docs.api import api_page
from tests.docs.contents import contents_page
from tests.docs.markdown import ROOT
from tests.docs.messages import messages_page
from tests.docs.picture import draw_picture
from tests.docs.replies import replies_page
from tests.docs.sizes import sizes_page

FOLDER = ROOT / "docs" / "reference"
CONFORMANCE = ROOT / "tests" / "conformance"
NOTE = "`make reference` generates this page from the code."

CONSISTENT = (
    "`_meta` of each listed tool also holds its consistency tier. `strong` means that a reply "
    "reflects every call that was answered before it. Deterministic means that equal calls on "
    "equal stores get equal replies, apart from instants and random ids."
)


def make_pages() -> dict[Path, str]:
    """Every generated page with its text."""
    return {
        FOLDER / "tools.md": tools_page(load_toolsets(TOOLSETS)),
        FOLDER / "replies.md": replies_page(NOTE),
        FOLDER / "contents.md": contents_page(NOTE),
        FOLDER / "settings.md": settings_page(),
        FOLDER / "rules.md": rules_page(),
        FOLDER / "promises.md": promises_page(proved_by_backend()),
        FOLDER / "messages.md": messages_page(NOTE),
        FOLDER / "api.md": api_page(NOTE),
        FOLDER / "sizes.md": sizes_page(NOTE),
        ROOT / "docs" / "pictures" / "session.svg": draw_picture(),
    }


def make_table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    """A table; a bar within a cell is escaped."""
    lines = [head, tuple("---" for _ in head), *rows]
    escaped = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in escaped)


def tools_page(toolsets: tuple[Toolset, ...]) -> str:
    """Return the page of tools, resources and prompts, with the roles that may use them."""
    intro = (
        f"# Tools\n\n{NOTE}\n"
        "`canonry tools` prints the same with schemas. [Replies](replies.md) lists the properties\n"
        "of each reply.\n"
    )
    parts = [intro]
    for toolset in toolsets:
        parts += [f"\n## {toolset.name}\n\n{toolset.purpose}\n"]
        tiers = any(tool.consistency for tool in toolset.tools)
        parts += [f"\n{CONSISTENT}\n"] if tiers else []
        for title, extension in (("Tools of the contract", False), ("Extension tools", True)):
            chosen = [tool for tool in toolset.tools if tool.extension is extension]
            if chosen:
                head = ("tool", "description", "effect", "agent types", "consistency")
                result = make_table(head if tiers else head[:-1], map(tool_row, chosen))
                parts += [f"\n### {title}\n\n", result]
        if toolset.resources:
            rows = (
                (f"`{r.uri_template}`", r.description, roles_of(r.roles)) for r in toolset.resources
            )
            parts += [
                "\n### Resources\n\n",
                make_table(("address", "content", "agent types"), rows),
            ]
        if toolset.prompts:
            rows = ((f"`{p.name}`", p.description, roles_of(p.roles)) for p in toolset.prompts)
            parts += ["\n### Prompts\n\n", make_table(("prompt", "purpose", "agent types"), rows)]
    return "".join(parts)


def tool_row(tool: Tool) -> tuple[str, ...]:
    """Return a tool as a row of the table; the members of contents have their own page."""
    said, _, contents = tool.description.partition("\n")
    reported = f"{said} [Contents](contents.md)." if contents else said
    row = (f"`{tool.name}`", reported, effect_of(tool), roles_of(tool.roles))
    if tool.consistency is None:
        return row
    alike = "deterministic" if tool.deterministic else "not deterministic"
    return (*row, f"{tool.consistency}, {alike}")


def effect_of(tool: Tool) -> str:
    """Return the effect of a tool on the canon in a few words."""
    if tool.read_only:
        return "reads, cached" if tool.cached else "reads"
    words = ["changes existing items" if tool.destructive else "adds"]
    return ", ".join([*words, "repeatable"] if tool.idempotent else words)


def roles_of(allowed: frozenset[str]) -> str:
    """Return the roles that may use an item."""
    return "all" if allowed >= ANYONE else ", ".join(sorted(allowed))


def rules_page() -> str:
    """Return the page of gates in the order in which they run."""
    return (
        f"# Rules\n\n{NOTE}\n\n"
        "Every proposal passes these gates in this order. A decision names the gate that decided.\n"
        "[How to add a rule](../how-to/add-a-rule.md) lists the data that a gate may read.\n\n"
        f"{make_table(('rule', 'meaning'), map(rule_row, GATES))}"
    )


def rule_row(gate: Gate) -> tuple[str, ...]:
    """Return a gate as a row of the table: its id and its docstring."""
    return (f"`{gate.id}`", " ".join((gate.examine.__doc__ or "").split()))


def settings_page() -> str:
    """Every setting under its three names, and the numbers of the policy."""
    head = ("key", "option", "variable", "default", "meaning")
    rows = (
        (
            f"`{row.key}`",
            f"`{row.option}{'' if row.kind.flag else f' {row.metavar}'}`",
            f"`{row.variable}`",
            row.default or "not set",
            row.help,
        )
        for row in SETTINGS
    )
    policy = ((f"`{key}`", f"`{value}`") for key, value in policy_rows("policy", Policy()))
    return (
        f"# Settings\n\n{NOTE}\n\n"
        "The command line wins over the environment, the environment over the settings file, and\n"
        "the file over the defaults. In the file, write a dotted key as a table.\n"
        f"`canonry doctor` shows the value in force and its origin.\n\n"
        f"{make_table(head, rows)}\n## Policy\n\n"
        "These values control the gates and the size of replies. Set them in the file only.\n\n"
        f"{make_table(('key', 'default'), policy)}"
    )


def policy_rows(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Dotted key and default of everything in a policy."""
    if is_dataclass(value):
        for each in fields(value):
            yield from policy_rows(f"{name}.{each.name}", getattr(value, each.name))
    elif isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from policy_rows(f"{name}.{key}", inner)
    else:
        yield name, json.dumps(value)


def proved_by_backend() -> dict[str, dict[str, str]]:
    """Backend -> promise -> how it stands, from the classes of tests/conformance."""
    found: dict[str, dict[str, str]] = {}
    for path in sorted(CONFORMANCE.glob("test_*.py")):
        module = import_module(f"tests.conformance.{path.stem}")
        contracts = [
            item
            for item in vars(module).values()
            if inspect.isclass(item)
            and issubclass(item, Contract)
            and item.__module__ == module.__name__
        ]
        if contracts:
            backend = found.setdefault(path.stem.removeprefix("test_"), {})
            for contract in contracts:
                backend.update(promises_of(contract))
    return found


def promises_of(contract: type[Contract]) -> dict[str, str]:
    """Each promise that a contract class proves, or the reason why it does not yet."""
    gaps = {gap.requirement: f"not yet: {gap.reason}" for gap in contract.known_gaps}
    return {
        proved: gaps.get(proved, "yes")
        for _, test in inspect.getmembers(contract, inspect.isfunction)
        for proved in proved_by(test)
    }


def promises_page(proved: Mapping[str, Mapping[str, str]]) -> str:
    """Backend x promise, by port."""
    intro = (
        f"# Promises\n\n{NOTE}\n"
        "Each promise has a test in `canonry.testing.conformance`; *yes* means that the backend\n"
        "passes it. [How to add a backend](../how-to/add-a-backend.md) shows how to run them.\n"
    )
    parts = [intro]
    for port in dict.fromkeys(name.partition(":")[0] for name in REQUIREMENTS):
        rows = (
            (f"`{name}`", each.promise, each.because, *(p.get(name, "") for p in proved.values()))
            for name, each in REQUIREMENTS.items()
            if name.startswith(f"{port}:")
        )
        head = ("promise", "meaning", "reason", *proved)
        parts += [f"\n## `{port}`\n\n", make_table(head, rows)]
    return "".join(parts)


if __name__ == "__main__":
    for page, text in make_pages().items():
        page.parent.mkdir(exist_ok=True)
        page.write_text(text, encoding="utf-8")

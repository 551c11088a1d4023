"""The page that says how much a client reads: before its first call, in replies, in sessions."""

import asyncio
import json
from collections.abc import Iterator

from canonry.app.packages import TOOLSETS, load_toolsets
from canonry.gateway.offers import select_toolsets
from canonry.gateway.principal import may_use
from canonry.gateway.tool import ANYONE, Toolset
from canonry.server.binding import tool_entry
from tests.toolsets.canon.comparing import COMPARED
from tests.toolsets.narrative.heavy import BEFORE, MANY, a_long_campaign, reply_weights

CHARACTERS_A_TOKEN = 4
BUDGETS = {
    "canon": 4_500,
    "narrative": 16_000,
    "truth": 10_000,
    "world": 12_000,
    "catalog": 2_300,
    "operator": 3_200,
}
"""The most tokens of the whole list of a toolset."""


def count_tokens(toolset: Toolset, role: str | None) -> tuple[int, int]:
    """Return the number of tools that a role sees, and about how many tokens their list has."""
    shown = [
        tool_entry(tool, toolset)
        for tool in toolset.tools
        if role is None or may_use(toolset, tool.roles, role)
    ]
    size = len(json.dumps(shown, separators=(",", ":"), ensure_ascii=False))
    return len(shown), -(-size // CHARACTERS_A_TOKEN)


def sizes_page(note: str) -> str:
    """The whole page."""
    head = "| toolset | role | tools | tokens | of the contract alone |\n|---|---|---|---|---|\n"
    return (
        f"# Sizes of lists and replies\n\n{note}\n"
        "The first table measures the list of tools that a client of a role gets, with all "
        f"descriptions. A token counts as {CHARACTERS_A_TOKEN} characters of compact JSON.\n\n"
        f"{head}{''.join(size_rows())}"
        f"\n## Sizes of replies\n\n"
        f"Bytes of JSON for a campaign with {MANY} items of each kind. Each call gives only the "
        "required arguments. Entities, facts and pending proposals come in pages of 50, as the "
        "contract publishes; other lists come in pages of 20. `detail` returns whole rows. *Before*"
        " is the size when every list returned 50 whole rows.\n\n"
        "| tool | bytes | before |\n|---|---|---|\n"
        f"{asyncio.run(weights_text())}"
        "\n## Sizes of whole sessions\n\n"
        "The same session through the `canon` toolset, and through the toolset of a contract with "
        "its extensions. Arguments and replies count, the list of tools does not.\n\n"
        "| session | by canon: calls | tokens | by | calls | tokens |\n|---|---|---|---|---|---|\n"
        f"{asyncio.run(sessions_text())}"
    )


async def weights_text() -> str:
    found = await reply_weights(*await a_long_campaign())
    return "".join(f"| `{name}` | {size:,} | {BEFORE[name]:,} |\n" for name, size in found.items())


async def sessions_text() -> str:
    lines = []
    for name, (toolset, by_verbs, by_contract) in COMPARED.items():
        (plain, _), (other, _) = await by_verbs(), await by_contract()
        took = f"{plain.calls} | {plain.tokens:,} | {toolset} | {other.calls} | {other.tokens:,}"
        lines.append(f"| {name} | {took} |\n")
    return "".join(lines)


def size_rows() -> Iterator[str]:
    every = load_toolsets(TOOLSETS)
    for toolset, contract in zip(every, select_toolsets(every, contract_only=True), strict=True):
        named = sorted(toolset.agent_types - ANYONE)
        for role in (None, *named):
            count, size = count_tokens(toolset, role)
            _, published = count_tokens(contract, role)
            alone = f"{published:,}" if published != size else ""
            who = "everybody together" if role is None and named else role or "everybody"
            yield f"| {toolset.name} | {who} | {count} | {size:,} | {alone} |\n"

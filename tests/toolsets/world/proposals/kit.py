"""A proposer in the besieged isle, who calls through the real gateway."""

from copy import deepcopy
from itertools import count
from typing import Any

from canonry.testing.clocks import HandClock
from canonry.world.domain.prompts.templates import find_template
from tests.toolsets.world.kit import Isle, a_world
from tests.toolsets.world.proposals.adversarial import the_besieged_isle

_NUMBERS = count(1)


async def the_isle(clock: HandClock | None = None) -> Isle:
    """The besieged isle in a canon of its own."""
    return await a_world(the_besieged_isle(), clock)


async def with_true_hashes(isle: Isle, sent: Any) -> Any:
    """The envelope with the true hashes where it says so."""
    if not isinstance(sent, dict) or not isinstance(sent.get("generation"), dict):
        return sent
    found = deepcopy(sent)
    generation = found["generation"]
    if generation.get("templateHash") == "TRUE":
        template = find_template(generation["templateName"], generation["templateVersion"])
        generation["templateHash"] = template.content_hash if template else "sha256:" + "0" * 64
    if generation.get("contextHash") == "TRUE":
        answer = await isle.outcome("get-location-context", {"locationId": "inn"}, "Narrative")
        generation["contextHash"] = answer.meta["dev.canonry/context-hash"]
    return found


async def send_proposal(
    isle: Isle, sent: Any, player: str = "ann", agent: str = "Narrative"
) -> Any:
    """Return the answer to a proposal."""
    sent = await with_true_hashes(isle, sent)
    return await isle.call("propose-action", agent, playerId=player, actionEnvelope=sent)


def with_new_ids(sent: dict[str, Any]) -> dict[str, Any]:
    """The same proposal under another id and key."""
    number = next(_NUMBERS)
    ids = {"proposalId": f"00000000-0000-4000-8000-{number:012x}", "idempotencyKey": f"k{number}"}
    return {**deepcopy(sent), **ids}

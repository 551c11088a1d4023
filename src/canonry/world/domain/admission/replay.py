"""Gate 5, replay: the very prompt can be put together again from what a proposal says of it."""

from collections.abc import Callable

from canonry.world.domain.admission.envelope import Generation
from canonry.world.domain.admission.kit import Rejection, refusal
from canonry.world.domain.prompts.templates import find_template, wrong_parameters


def not_replayable(
    generation: Generation | None, gave_out: Callable[[str], bool]
) -> Rejection | None:
    """Why the prompt cannot be had again; `gave_out` knows the hashes of contexts told."""
    if generation is None:
        return None
    path = "/generation/"
    named = f"{generation.template_name} {generation.template_version}"
    template = find_template(generation.template_name, generation.template_version)
    if template is None:
        reason = f"there is no template {named}"
        return refusal("replay.unknown-template", reason, path=f"{path}templateName")
    if generation.template_hash != template.hash:
        reason = f"{named} has another hash"
        return refusal("replay.other-hash", reason, path=f"{path}templateHash")
    wrong = wrong_parameters(template, generation.parameters)
    if wrong is not None:
        return refusal("replay.parameters", wrong, path=f"{path}parameters")
    if not gave_out(generation.context_hash):
        reason = "this server has given out no context of that hash, or long ago"
        return refusal("replay.unknown-context", reason, path=f"{path}contextHash")
    return None

"""Speaking: the model by which characters find words, and the one that moderates, as it is set."""

import os

from canonry.bootstrap.settings import DIALOGUE_KEY_VARIABLE, Settings
from canonry.domain.revising import revised
from canonry.usecases.kernel.canon import Canon


def voiced(canon: Canon, settings: Settings) -> Canon:
    """The canon with what the settings name; without an address, rules and set words are all."""
    if settings.dialogue_url is None:
        return canon
    # Only a model needs a client for endpoints.
    from canonry.adapters.interpreters.endpoint import ModelEndpoint  # noqa: PLC0415
    from canonry.adapters.interpreters.speaker import EndpointSpeaker  # noqa: PLC0415
    from canonry.adapters.moderators.endpoint import (  # noqa: PLC0415
        EndpointModerator,
        ModeratingEndpoint,
    )
    from canonry.adapters.moderators.words import WordModerator  # noqa: PLC0415

    key = os.environ.get(DIALOGUE_KEY_VARIABLE) or None
    url, model = settings.dialogue_url, settings.dialogue_model
    if model is not None:
        endpoint = ModelEndpoint(
            base_url=url, model=model, key=key, timeout=60.0, attempts=1, answer_tokens=800
        )
        canon = revised(canon, speaker=EndpointSpeaker(endpoint))
    if settings.dialogue_moderator is not None:
        asked = ModeratingEndpoint(base_url=url, model=settings.dialogue_moderator, key=key)
        canon = revised(canon, moderator=EndpointModerator(WordModerator(), asked))
    return canon

"""Speaking: the models by which characters find words, players are read and texts are moderated."""

import os

from canonry.app.settings import DIALOGUE_KEY_VARIABLE, LOCAL, Settings
from canonry.canon.session.canon import Canon


def voiced(canon: Canon, settings: Settings) -> Canon:
    """The canon with what the settings name; without an address, rules and set words are all."""
    if settings.dialogue_moderator is None and settings.dialogue_url is None:
        return canon
    from canonry.world.models.services import WorldServices  # noqa: PLC0415 - it can be left out

    if settings.dialogue_moderator == LOCAL:
        from canonry.recall.embedders.onnx import OnnxEmbedder  # noqa: PLC0415 - as below
        from canonry.world.moderators.likeness import LikenessModerator  # noqa: PLC0415

        embedder = OnnxEmbedder(folder=settings.recall_model_folder, threads=1)
        canon = canon.revise_service(WorldServices, moderator=LikenessModerator(embedder))
    url = settings.dialogue_url
    if url is None:
        return canon
    # Only a model needs a client for endpoints.
    from canonry.models.endpoint import (  # noqa: PLC0415 - only a model needs it
        EndpointSpeaker,
        ModelEndpoint,
    )
    from canonry.world.moderators.endpoint import EndpointModerator  # noqa: PLC0415

    key = os.environ.get(DIALOGUE_KEY_VARIABLE) or None

    def endpoint(model: str, timeout: float, tokens: int = 800) -> ModelEndpoint:
        return ModelEndpoint(
            base_url=url, model=model, key=key, timeout=timeout, attempts=1, answer_tokens=tokens
        )

    if settings.dialogue_model is not None:
        asked = endpoint(settings.dialogue_model, 60.0)
        speaker = EndpointSpeaker(asked, service=canon.outside.service("speaker"))
        canon = canon.revise_service(WorldServices, speaker=speaker)
    if settings.dialogue_intents is not None:
        asked = endpoint(settings.dialogue_intents, settings.dialogue_seconds, 500)
        service = canon.outside.service("listener")
        listener = EndpointSpeaker(asked, temperature=0.0, service=service)
        canon = canon.revise_service(WorldServices, listener=listener)
    asked_of = settings.dialogue_moderator
    if asked_of is not None and asked_of != LOCAL:
        moderator = EndpointModerator(endpoint(asked_of, 1.0), canon.outside.service("moderator"))
        canon = canon.revise_service(WorldServices, moderator=moderator)
    return canon

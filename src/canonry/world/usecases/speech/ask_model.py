"""Ask a model what a player sets out to do; whatever it answers is held against what was asked."""

from canonry.canon.session.ai_words import CallOutcome, EventName, ModelPurpose
from canonry.canon.session.canon import Canon
from canonry.models.speaker import ModelSpeech, SpeakingModel
from canonry.values.errors import CanonryError
from canonry.values.ids import SpaceId
from canonry.world.domain.admission.duplication import digest
from canonry.world.domain.dialogue.turns import json_in
from canonry.world.domain.utterances.frames import Heard
from canonry.world.domain.utterances.modelled import UtteranceQuestion, reading_in, template
from canonry.world.models.generation import GenerationRequest, cost_of, model_for
from canonry.world.models.services import WorldServices
from canonry.world.models.telemetry import Invocation


async def modelled(
    canon: Canon, listener: SpeakingModel, asked: UtteranceQuestion, space: SpaceId | None = None
) -> Heard | None:
    """The reading of the model; None where it does not answer, or not what can stand.

    What it answered to exactly this is not asked again. It waits no longer than `listener` does.
    """
    if not asked.text.strip():
        return None
    request = GenerationRequest(
        purpose=ModelPurpose.CLASSIFICATION,
        model=model_for(ModelPurpose.CLASSIFICATION, canon.policy.models),
        template_hash=template().hash,
        context_hash=digest(asked.context()),
        parameters={},
    )
    kept = canon.service(WorldServices).generated.find(request)
    started = canon.clock.monotonic()
    spoken = ModelSpeech(text=kept or "", model=request.model)
    if kept is None:
        try:
            spoken = await listener.speak(asked.messages(), (), request.model)
        except CanonryError:
            _count(canon, spoken, started, space=space)
            return None
    read = reading_in(json_in(spoken.text), asked)
    _count(canon, spoken, started, read, cached=kept is not None, space=space)
    if read is not None:
        canon.service(WorldServices).generated.keep(request, spoken.text)
    return read


def _count(
    canon: Canon,
    spoken: ModelSpeech,
    started: float,
    read: Heard | None = None,
    *,
    cached: bool = False,
    space: SpaceId | None,
) -> None:
    tiers = canon.policy.models
    outcome = CallOutcome.REJECTED if read is None else CallOutcome.ACCEPTED
    told = Invocation(
        purpose=ModelPurpose.CLASSIFICATION,
        model=spoken.model,
        prompt_tokens=spoken.prompt_tokens,
        completion_tokens=spoken.completion_tokens,
        latency_ms=None if cached else (canon.clock.monotonic() - started) * 1_000,
        outcome=outcome if spoken.text else None,
        cache_hit=cached,
        micros=cost_of(spoken.prompt_tokens, spoken.completion_tokens, spoken.model, tiers),
    )
    event = EventName.INTENT_FALLBACK if read is None else EventName.INTENT_READ
    now, telemetry = canon.clock.now(), canon.service(WorldServices).telemetry
    telemetry.tell(event, now, told, budget=tiers.hourly_budget, space=space)

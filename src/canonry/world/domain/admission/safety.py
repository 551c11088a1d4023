"""Gates on safety, replay, budgets and invariants."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from canonry.values.moments import SECOND, Instant
from canonry.values.policy import AdmissionLimits
from canonry.world.domain.admission import people, places
from canonry.world.domain.admission.kit import Rejection, refusal
from canonry.world.domain.admission.known import KnownWorld
from canonry.world.domain.admission.schema import (
    Action,
    AddLayer,
    ApplyCondition,
    CreateExit,
    Dialogue,
    GenerateAmbience,
    Generation,
    MoveAction,
    Proposed,
    RemoveCondition,
    RemoveExit,
    ResolveCombat,
    Spawn,
    Spend,
    Strict,
    TransferAction,
)
from canonry.world.domain.admission.staging import Stage, wrong_actor
from canonry.world.domain.prompts.templates import find_template, wrong_parameters

_TOLD: Final = (
    "layer_content",
    "text",
    "name",
    "description",
    "blocked",
    "condition",
    "resource",
    "tags",
)


def told_texts(params: Strict) -> Iterator[tuple[str, str]]:
    """Every text of an action that would be told, with the field that it is in."""
    for field in _TOLD:
        value = getattr(params, field, None)
        if isinstance(value, str):
            yield field, value
        elif value:
            yield from ((field, each) for each in value)


def unsafe(
    actions: Sequence[Action], categories_of: Callable[[str], Sequence[str]]
) -> Rejection | None:
    """The refusal of the first text that is flagged."""
    for number, action in enumerate(actions):
        for field, text in told_texts(action.params):
            categories = categories_of(text)
            if categories:
                name = "layerContent" if field == "layer_content" else field
                path = f"/proposedActions/{number}/params/{name}"
                reason = f"the text is flagged as {', '.join(categories)}"
                return refusal(f"safety.{categories[0]}", reason, path=path)
    return None


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


MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
_MILLISECOND: Final = SECOND // 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What was admitted: when, and at the price of how many tokens; the earliest first."""

    instants: list[Instant]
    tokens: list[int]


def over_budget(
    mine: Spent, world: Sequence[Instant], tokens: int, now: Instant, limits: AdmissionLimits
) -> Rejection | None:
    """The refusal of what goes beyond a window; `mine` is the player's, `world` everybody's."""
    for rule, instants, most in (
        ("rate.player", mine.instants, limits.player_a_minute),
        ("rate.world", world, limits.world_a_minute),
    ):
        since = bisect_right(instants, now - MINUTE)
        if len(instants) - since >= most:
            free = instants[len(instants) - most] + MINUTE
            reason = f"{most} proposals were admitted within a minute"
            return _later(rule, reason, free - now)
    return None if tokens == 0 else _tokens(mine, tokens, now, limits.tokens_an_hour)


def _tokens(mine: Spent, tokens: int, now: Instant, most: int) -> Rejection | None:
    since = bisect_right(mine.instants, now - HOUR)
    spent = sum(mine.tokens[since:])
    if spent + tokens <= most:
        return None
    wait = 0
    for at, each in zip(mine.instants[since:], mine.tokens[since:], strict=True):
        spent -= each
        wait = at + HOUR - now
        if spent + tokens <= most:
            break
    reason = f"with these {tokens} tokens an hour would have more than {most}"
    return _later("rate.tokens", reason, wait)


def _later(rule: str, reason: str, wait: int) -> Rejection:
    return refusal(rule, reason, path="", retry_after_ms=max(1, -(-wait // _MILLISECOND)))


# Gate 3, invariants: the actions are played through in their order upon what is known.
#
# The first one that the world does not allow refuses all. Whatever a proposal may overturn is
# state: where somebody is, who has what, how they are; never lore, the builders' exits, or the
# dead.

Play: TypeAlias = Callable[[Stage, Any], Rejection | None]

_PLAYS: Final[Mapping[type, Play]] = {
    MoveAction: people.move,
    TransferAction: people.transfer,
    AddLayer: places.add_layer,
    CreateExit: places.create_exit,
    RemoveExit: places.remove_exit,
    Dialogue: people.say,
    ApplyCondition: people.change_condition,
    RemoveCondition: people.change_condition,
    ResolveCombat: people.fight,
    Spawn: places.spawn,
    Spend: people.spend,
    GenerateAmbience: places.ask_for_ambience,
}


def broken_invariant(proposed: Proposed, known: KnownWorld) -> Rejection | None:
    """The refusal of the first action that the world does not allow.

    Raises:
        Unread: something that this rests on.
    """
    refused = wrong_actor(proposed, known)
    for number, action in enumerate(proposed.actions):
        if refused is not None:
            return refused
        stage = Stage(known, proposed, number, action)
        refused = _PLAYS[type(action.params)](stage, action.params)
    return refused

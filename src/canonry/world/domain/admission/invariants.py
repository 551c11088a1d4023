"""Gate 3, invariants: the actions are played through in their order upon what is known.

The first one that the world does not allow refuses all. Whatever a proposal may overturn is state:
where somebody is, who has what, how they are; never lore, the builders' exits, or the dead.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from canonry.world.domain.admission import people, places
from canonry.world.domain.admission.envelope import (
    AddLayer,
    ApplyCondition,
    CreateExit,
    Dialogue,
    GenerateAmbience,
    MoveAction,
    Proposed,
    RemoveCondition,
    RemoveExit,
    ResolveCombat,
    Spawn,
    Spend,
    TransferAction,
)
from canonry.world.domain.admission.kit import Rejection
from canonry.world.domain.admission.known import KnownWorld
from canonry.world.domain.admission.staging import Stage, wrong_actor

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

"""Gate 2, safety: every text that would be told is moderated before anybody looks at the world."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from canonry.world.domain.admission.envelope import Action, Strict
from canonry.world.domain.admission.kit import Rejection, refusal

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

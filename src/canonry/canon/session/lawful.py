"""Lawful: a direct write obeys the same laws as a proposal, or is refused."""

from collections.abc import Iterable

from canonry.canon.judging.laws import opposed_tags
from canonry.log.items.facts import Axiom
from canonry.values.errors import Conflict, InvalidInput
from canonry.values.policy import Policy


def require_compatible(tags: Iterable[str], policy: Policy, *, path: str) -> None:
    """Refuse tags that cannot hold at once.

    Raises:
        InvalidInput: `state.opposed`.
    """
    opposed = opposed_tags(tags, policy.exclusive_tags)
    if opposed is not None:
        message = f"{path} holds tags that exclude each other; keep one of them"
        raise InvalidInput("state.opposed", message, path=path, tags=list(opposed))


def require_lawful(broken: Iterable[Axiom]) -> None:
    """Refuse what an axiom forbids.

    Raises:
        Conflict: `axiom.forbids`, with the ids of the axioms.
    """
    ids = [axiom.id for axiom in broken]
    if ids:
        message = "an axiom of the universe forbids this; change the law first"
        raise Conflict("axiom.forbids", message, conflicts=ids)

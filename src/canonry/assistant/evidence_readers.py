"""Readers of evidence: the words behind a claim are for no more readers than the claim itself."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from canonry.canon.canonization.create_proposal import Suggestion
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import audience_for, audiences_of
from canonry.gateway.tool import Reply
from canonry.log.secrecy import ids_in
from canonry.values.audience import EVERYBODY, Audience, audience_in, covers

_NAMED_MAX: Final = 3
"""The most pieces of evidence that a hint names."""


async def readers_of_claims(canon: Canon, suggestions: Sequence[Suggestion]) -> list[Audience]:
    """Who may know of each claim: whom it says, and no more than may see what it names.

    A claim that does not say who may know is for no more than may read its evidence.
    """
    found: list[Audience] = []
    for n, asked in enumerate(suggestions):
        told, ids = asked.content.get("audience"), list(ids_in(asked.content))
        if told is None:
            ids += [one.ref for one in asked.evidence]
        said = EVERYBODY if told is None else audience_in(told, path=f"/claims/{n}/for")
        found.append(await audience_for(canon, ids, said))
    return found


async def hints_on_readers(
    canon: Canon, suggestions: Sequence[Suggestion], readers: Sequence[Audience]
) -> list[str]:
    """What whoever claims should know: evidence with more readers, and claims with fewer."""
    cited = {one.ref for asked in suggestions for one in asked.evidence}
    known = await audiences_of(canon, cited) if any(readers) else {}
    hints: list[str] = []
    for n, (asked, audience) in enumerate(zip(suggestions, readers, strict=True)):
        if not audience:
            continue
        if "audience" not in asked.content:
            hints.append(f"claim {n} is for few, because what it names or cites is")
        open_to_more = [
            f"{one} ({'public' if not known.get(one.ref) else 'for more readers'})"
            for one in asked.evidence
            if not covers(audience, known.get(one.ref, EVERYBODY))
        ]
        if open_to_more:
            listed = ", ".join(open_to_more[:_NAMED_MAX])
            hints.append(
                f"claim {n} is for few, but its evidence has more readers: {listed}; "
                "give its words as said, or tell them with for"
            )
    return hints


def with_hints(reply: Mapping[str, Any], hints: Sequence[str]) -> Reply:
    """The reply with these hints beside its own."""
    own = [reply["hint"]] if "hint" in reply else []
    return {**reply, "hint": "; ".join((*own, *hints))} if hints else dict(reply)

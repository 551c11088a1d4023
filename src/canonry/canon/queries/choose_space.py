"""Choose a space: by its id, its name or how that begins; else the one that was used last.

A caller's own account is always among the spaces, even before anything was told there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.every_item import every_item
from canonry.values.errors import InvalidInput, NotFound
from canonry.values.ids import SpaceId
from canonry.values.normal_forms import folded
from canonry.values.spaces import Space, SpaceKind

ACCOUNT_NAMES: Final = ("account", "my account", "me")
SPACES_MAX: Final = 5_000
"""So many spaces are looked at for a name."""
_TOLD: Final = 20
"""So many candidates are named in an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenSpace:
    """A space that a caller may see; `opened` None: the own account, still without any commit."""

    id: SpaceId
    kind: SpaceKind
    name: str
    opened: Space | None

    @property
    def told(self) -> bool:
        """Whether claims are judged in it, and scenes can take place."""
        return self.kind in {SpaceKind.UNIVERSE, SpaceKind.WORLD}


async def list_spaces(canon: Canon, caller: Caller) -> Sequence[ChosenSpace]:
    """The spaces that the caller may see, the oldest first, and then the own account."""
    found = await list_opened(canon, caller)
    if caller.spaces is None or caller.account in caller.spaces:
        found.append(await _own_account(canon, caller))
    return found


async def list_opened(canon: Canon, caller: Caller) -> list[ChosenSpace]:
    """The spaces that somebody opened and the caller may see, the oldest first."""
    found: list[ChosenSpace] = []
    if caller.spaces is None:
        async for space in every_item(partial(canon.state.spaces, kind=None, parent=None)):
            if space.kind is not SpaceKind.ACCOUNT:
                found.append(_chosen(space))
            if len(found) >= SPACES_MAX:
                break
    else:
        granted = (await canon.seen_by(caller).things(caller.spaces)).values()
        spaces = [each for each in granted if isinstance(each, Space) and each.id != caller.account]
        found += map(_chosen, sorted(spaces, key=lambda each: (each.created_at, each.id)))
    return found


async def choose_space(canon: Canon, caller: Caller, named: str | None) -> ChosenSpace:
    """The space that is meant; None means the operator's, or the one that was used last.

    Before any was used, it means the only one that holds anything.

    Raises:
        InvalidInput: `space.ambiguous`, with the candidates.
        NotFound: `space.unknown`, with the names that there are.
    """
    spaces = await list_spaces(canon, caller)
    wanted = named if named is not None else caller.world
    if wanted is None:
        return _used_last(spaces, caller) or _only(spaces)
    text = folded(wanted)
    for fits in (_exactly, _begins):
        found = [each for each in spaces if fits(each, text)]
        if len(found) == 1:
            return found[0]
        if found:
            message = f"{len(found)} spaces are called so; name one by its id"
            raise InvalidInput("space.ambiguous", message, path="/space", **_named(found))
    near = get_close_matches(text, [folded(each.name) for each in spaces], n=1)
    guess = next((f"; did you mean {e.name}?" for e in spaces if [folded(e.name)] == near), "")
    message = f"there is no such space{guess}"
    raise NotFound("space.unknown", message, path="/space", **_named(spaces))


def _used_last(spaces: Sequence[ChosenSpace], caller: Caller) -> ChosenSpace | None:
    """The space that was used last on this connection, as long as the caller may see it."""
    last = caller.space_used_last
    return next((each for each in spaces if each.id == last), None)


async def spaces_held(canon: Canon, caller: Caller) -> Sequence[ChosenSpace]:
    """The spaces that hold anything: the one used last, the own account, then the newest first."""
    spaces = await list_spaces(canon, caller)
    last = _used_last(spaces, caller)
    others = [each for each in reversed(spaces) if each.opened is not None and each != last]
    return others if last is None else [last, *others]


def _only(spaces: Sequence[ChosenSpace]) -> ChosenSpace:
    held = [each for each in spaces if each.opened is not None]
    if len(held) == 1 or (not held and len(spaces) == 1):
        return (held or spaces)[0]
    if not spaces:
        message = "this caller may see no space; ask the operator to grant one"
        raise NotFound("space.unknown", message, path="/space")
    names_of = [folded(each.name) for each in spaces]
    if not held:
        message = "nothing is kept yet: open a space, or name the space 'account' for your own"
    else:
        message = f"there are {len(held)} spaces; say in which one"
    told = sorted(held or spaces, key=lambda each: not each.told)
    names = [e.name if names_of.count(folded(e.name)) == 1 else e.id for e in told]
    raise InvalidInput(
        "space.ambiguous", message, path="/space", names=names, **_named(held or spaces)
    )


def _exactly(space: ChosenSpace, text: str) -> bool:
    own = space.kind is SpaceKind.ACCOUNT and text in ACCOUNT_NAMES
    return own or text in {space.id, folded(space.name)}


def _begins(space: ChosenSpace, text: str) -> bool:
    return bool(text) and (folded(space.name).startswith(text) or space.id.startswith(text))


def _named(spaces: Sequence[ChosenSpace]) -> dict[str, object]:
    return {"candidates": [f"{e.name} ({e.kind} {e.id})" for e in spaces[:_TOLD]]}


def _chosen(space: Space) -> ChosenSpace:
    return ChosenSpace(id=space.id, kind=space.kind, name=space.name, opened=space)


async def _own_account(canon: Canon, caller: Caller) -> ChosenSpace:
    found = await canon.seen_by(caller).thing(caller.account)
    return ChosenSpace(
        id=caller.account,
        kind=SpaceKind.ACCOUNT,
        name="account",
        opened=found if isinstance(found, Space) else None,
    )

"""Sight: whether a caller may know of what lies in a space."""

from canonry.domain.ids import SpaceId
from canonry.domain.spaces import SpaceKind
from canonry.usecases.kernel.account import account_of
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon


async def may_see(canon: Canon, caller: Caller, space: SpaceId) -> bool:
    """Whether the caller sees a space: one granted by its id, or of no other user's account.

    A caller to whom nobody has granted anything in particular sees every space but accounts, and
    the own account.
    """
    if caller.spaces is not None:
        return space in caller.spaces
    kind = await canon.space_kinds.kind_of(canon.state, space)
    return kind is not SpaceKind.ACCOUNT or space == account_of(caller).space

"""What `canonry.ports.views.view.View` promises, whichever view it is."""

from collections.abc import Mapping
from typing import Final

from canonry.testing.conformance.promises import Requirement

VIEW: Final[Mapping[str, Requirement]] = {
    "view:cursor:stands-where-it-shows": Requirement(
        promise="The cursor of a space is the position of the last commit that shows.",
        because="Whoever waits for a write must know whether it is there.",
    ),
    "view:apply:equals-own-fold": Requirement(
        promise="Views that are given what another ledger folded answer as those beside it do.",
        because="An engine may be chosen for each view without changing any answer.",
    ),
    "view:apply:again": Requirement(
        promise="What was applied before changes nothing, also in the middle of what is new.",
        because="An answer may be lost, and several processes may project the same commits.",
    ),
    "view:apply:gap": Requirement(
        promise="Commits that do not follow the cursor are refused, and nothing of them shows.",
        because="A view that skips a commit tells something that never was.",
    ),
    "view:apply:together": Requirement(
        promise="Projectors that run at the same time leave what one alone leaves.",
        because="Whoever waits for a view helps to bring it up.",
    ),
    "view:apply:as-it-is-now": Requirement(
        promise="Views other than the state may be given things as later commits left them.",
        because="A view that lags is brought up from the present state, not from every past one.",
    ),
}

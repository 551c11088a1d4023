"""What `canonry.ports.views.places.Places` promises."""

from collections.abc import Mapping
from typing import Final

from canonry.testing.conformance.promises import Requirement

PLACES: Final[Mapping[str, Requirement]] = {
    "places:edges:interval": Requirement(
        promise="An edge holds from since until just before until; without either, without end.",
        because="Whoever left at a tick is not there at that tick, and is there one before.",
    ),
    "places:edges:ended": Requirement(
        promise="An edge that was ended holds until its end; ended without a date or retconned, "
        "never.",
        because="The past of a world stays as it was, and what never was is nowhere in it.",
    ),
    "places:edges:selection": Requirement(
        promise="Space, type, side, entities and kinds select edges; other relations are none.",
        because="A crowd at an inn must not hide the two who live there.",
    ),
    "places:edges:order": Requirement(
        promise="Edges come by entity and kind as asked, the one that began first before others "
        "or, with newest_first, the one that began last; at most limit of each.",
        because="Of a crowd a few are told, and it must not matter who of them leaves later.",
    ),
    "places:ways:open": Requirement(
        promise="ways gives the exits of places that hold and are not blocked, by place and "
        "direction, also after an exit was changed or ended.",
        because="A path through a wall is no path.",
    ),
    "places:events:newest": Requirement(
        promise="events_until gives canon events that involve an entity, dated at or before an "
        "instant, the newest first.",
        because="What happened last is what a narrator needs first.",
    ),
    "places:following:pages": Requirement(
        promise="entities_after and events_after page through canon things in a stated order, each "
        "page after the last thing of the one before, also while others write.",
        because="An export of a large world must neither slow down nor miss or repeat a thing.",
    ),
}

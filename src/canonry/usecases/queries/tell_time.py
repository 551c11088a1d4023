"""Tell a time: what words say in the calendar of a universe, and how that calendar says it."""

from dataclasses import dataclass

from canonry.domain.calendars.dates import spoken
from canonry.domain.calendars.reckoning import Calendar
from canonry.domain.spaces import Space
from canonry.domain.things.scenes import Scene
from canonry.domain.time import Instant
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.lookup import require, require_same_space, require_universe
from canonry.usecases.kernel.spoken_times import calendar_of, in_words


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldTime:
    """The time as it was said, as it was understood, and in the words of the calendar."""

    said: str
    instant: Instant
    in_calendar: str
    weekday: str | None


async def tell_time(
    canon: Canon, caller: Caller, universe_id: str, said: str, *, scene_id: str | None
) -> ToldTime:
    """What `said` means in the universe, from the time of a scene where one is named.

    Raises:
        InvalidInput: as `read_time`.
        NotFound: `universe.unknown` or `scene.unknown`.
        Conflict: `space.foreign`.
    """
    universe = await require_universe(canon, caller, universe_id)
    place: Space | Scene = universe
    if scene_id is not None:
        place = await require(canon, caller, Scene, scene_id)
        require_same_space(universe.id, (place,), path="/scene_id")
    instant = await in_words(canon, caller, place, lambda times: times(said, "/time"))
    calendar: Calendar = calendar_of(universe)
    weekday = calendar.weekday(instant) if calendar.months else None
    return ToldTime(
        said=said, instant=instant, in_calendar=spoken(instant, calendar), weekday=weekday
    )

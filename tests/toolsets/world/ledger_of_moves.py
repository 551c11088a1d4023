"""A world in plain lists: the laws of movement written a second time, as simply as they can be.

Nothing is ever taken away from a list, so what was so at a tick is read off it.
"""

from dataclasses import dataclass, field
from typing import Final

from canonry.readmodels.edges import OPPOSITE, Direction, travel_ms

END: Final = 2**62


@dataclass(slots=True)
class Passage:
    """A way out of a place from `since` until just before `until`."""

    start: str
    direction: Direction
    end: str
    one_way: bool
    since: int
    until: int = END


@dataclass(slots=True, kw_only=True)
class PlainWorld:
    """The location of every mover and every item, with the ticks at which they changed.

    A rule returns whether it lets something happen; what it refuses changes nothing.
    """

    now: int
    places: frozenset[str]
    positions: dict[str, list[tuple[int, str]]]
    holders: dict[str, list[tuple[int, str]]]
    passages: list[Passage] = field(default_factory=list)
    clocks: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    def place_at(self, mover: str, tick: int) -> str:
        """Return the location of a mover at a tick."""
        return last_reported(self.positions[mover], tick)

    def held_at(self, holder: str, tick: int) -> set[str]:
        """Return the items of a holder at a tick."""
        return {
            item
            for item, reported in self.holders.items()
            if last_reported(reported, tick) == holder
        }

    def passages_at(self, start: str, tick: int) -> dict[Direction, str]:
        """Whereto the exits of a place led."""
        return {p.direction: p.end for p in self._open_exits(tick) if p.start == start}

    def clock_at(self, player: str, tick: int) -> int | None:
        """A player's own time; None before it was first told."""
        return max((time for since, time in self.clocks[player] if since <= tick), default=None)

    def go_through(self, mover: str, direction: Direction, tick: int) -> bool:
        """Through an exit."""
        if not self._may_leave(mover, tick):
            return False
        here = self.positions[mover][-1][1]
        target = self.passages_at(here, tick).get(direction)
        if target is None:
            return False
        self._arrive_at(mover, target, tick, travel_ms(direction, None))
        return True

    def jump_to(self, mover: str, target: str, tick: int) -> bool:
        """Past all exits."""
        if not self._may_leave(mover, tick) or self.positions[mover][-1][1] == target:
            return False
        self._arrive_at(mover, target, tick, 0)
        return True

    def give_item(self, item: str, target: str, tick: int, *, anywhere: bool) -> bool:
        """Hand an item on; at one place, unless `anywhere`."""
        since, holder = self.holders[item][-1]
        if tick > self.now or since > tick or holder == target:
            return False
        if not anywhere and self._spot_of(holder, tick) != self._spot_of(target, tick):
            return False
        self.holders[item].append((tick, target))
        return True

    def build_exit(self, start: str, direction: Direction, end: str, *, one_way: bool) -> bool:
        """Make an exit, with its way back unless it leads one way only."""
        old, back = self._leading(start, direction), self._leading(end, OPPOSITE[direction])
        if start == end or (old is not None and (old.end, old.one_way) != (end, one_way)):
            return False
        if not one_way and back is not None and (back.one_way or back.end != start):
            return False
        if old is None:
            self.passages.append(Passage(start, direction, end, one_way, self.now))
        if back is None and not one_way:
            self.passages.append(Passage(end, OPPOSITE[direction], start, one_way, self.now))
        return True

    def raze_exit(self, start: str, direction: Direction) -> bool:
        """End an exit, and the way back that belongs to it."""
        old = self._leading(start, direction)
        if old is None:
            return False
        back = self._leading(old.end, OPPOSITE[direction])
        old.until = self.now
        if back is not None and back.end == start and not (old.one_way or back.one_way):
            back.until = self.now
        return True

    def wait_time(self, duration: int, player: str | None) -> bool:
        """Let time pass, for the world or for one player."""
        if duration <= 0:
            return False
        if player is None:
            self.now += duration
        else:
            self._set_clock(player, self.now, (self.clock_at(player, END) or 0) + duration)
        return True

    def _may_leave(self, mover: str, tick: int) -> bool:
        return self.positions[mover][-1][0] <= tick <= self.now

    def _arrive_at(self, mover: str, target: str, tick: int, duration: int) -> None:
        self.positions[mover].append((tick, target))
        if mover in self.clocks:
            self._set_clock(mover, tick, max(self.clock_at(mover, END) or 0, tick) + duration)

    def _set_clock(self, player: str, tick: int, time: int) -> None:
        self.clocks[player].append((tick, time))

    def _spot_of(self, holder: str, tick: int) -> str:
        return holder if holder in self.places else self.place_at(holder, tick)

    def _open_exits(self, tick: int) -> list[Passage]:
        return [p for p in self.passages if p.since <= tick < p.until]

    def _leading(self, start: str, direction: Direction) -> Passage | None:
        found = (
            p for p in self._open_exits(self.now) if (p.start, p.direction) == (start, direction)
        )
        return next(found, None)


def last_reported(reported: list[tuple[int, str]], tick: int) -> str:
    return [name for since, name in reported if since <= tick][-1]

"""Likeness: what tests of embedders ask about vectors."""

import math
import struct

from canonry.readmodels.ports.text import Vector


def numbers(vector: Vector) -> tuple[float, ...]:
    """The vector as numbers."""
    return struct.unpack(f"<{len(vector) // 4}f", vector)


def length(vector: Vector) -> float:
    """Return the length of a vector."""
    return math.hypot(*numbers(vector))


def likeness(one: Vector, other: Vector) -> float:
    """The inner product."""
    return sum(a * b for a, b in zip(numbers(one), numbers(other), strict=True))

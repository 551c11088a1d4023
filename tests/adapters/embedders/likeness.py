"""Likeness: what tests of embedders ask about vectors."""

import math
import struct

from canonry.readmodels.ports.text import Vector


def vector_numbers(vector: Vector) -> tuple[float, ...]:
    """The vector as numbers."""
    return struct.unpack(f"<{len(vector) // 4}f", vector)


def vector_length(vector: Vector) -> float:
    """Return the length of a vector."""
    return math.hypot(*vector_numbers(vector))


def inner_product(one: Vector, other: Vector) -> float:
    """The inner product."""
    return sum(a * b for a, b in zip(vector_numbers(one), vector_numbers(other), strict=True))

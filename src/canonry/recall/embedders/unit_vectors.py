"""Unit vectors: numbers of any model become vectors of length one, as the port has them."""

import math
import struct
from collections.abc import Sequence

from canonry.readmodels.ports.embedder import Vector


def unit_vector(numbers: Sequence[float]) -> Vector:
    """The vector scaled to length one; one without a direction points along the first axis.

    Raises:
        ValueError: a number is not finite.
    """
    length = math.sqrt(math.fsum(number * number for number in numbers))
    if not math.isfinite(length):
        raise ValueError("not finite")
    if length == 0:
        return struct.pack(f"<{len(numbers)}f", 1.0, *(0.0 for _ in numbers[1:]))
    return struct.pack(f"<{len(numbers)}f", *(number / length for number in numbers))

"""Safetensors: the file format of model weights, read in place; nothing in it is ever run."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Tensor = NDArray[np.float32]

_HEAD: Final = 8


def read_tensors(path: Path) -> Mapping[str, Tensor]:
    """The 32-bit float tensors of a file by name; their pages are read when they are used.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is not of this format.
    """
    raw: NDArray[np.uint8] = np.memmap(path, dtype=np.uint8, mode="r")
    start = _HEAD + int.from_bytes(raw[:_HEAD].tobytes(), "little")
    if start > raw.size:
        raise ValueError("the header is longer than the file")
    header: dict[str, Any] = json.loads(raw[_HEAD:start].tobytes())
    found: dict[str, Tensor] = {}
    for name, entry in header.items():
        if entry.get("dtype") != "F32":
            continue
        begin, end = entry["data_offsets"]
        values = raw[start + begin : start + end].view(np.dtype("<f4"))
        found[name] = values.reshape(entry["shape"])
    return found

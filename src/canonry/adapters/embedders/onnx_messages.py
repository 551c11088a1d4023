"""ONNX messages: the few parts of the ONNX file format that describe a network, written as bytes.

Writing them takes a page; the library that reads and checks every model there is takes 90 MB.
"""

import struct
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Final, TypeAlias

Attribute: TypeAlias = int | float
"""What a node of the networks built here may be told beside its inputs."""

IR_VERSION: Final = 8
_VARINT: Final = 0
_BYTES: Final = 2
_FIXED_32: Final = 5
_FLOAT_ATTRIBUTE: Final = 1
_INT_ATTRIBUTE: Final = 2
_EXTERNAL: Final = 1


class Element(IntEnum):
    """The element types of tensors, by their numbers in the format."""

    FLOAT = 1
    UINT8 = 2
    INT8 = 3
    INT32 = 6


def node(
    operator: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    *,
    domain: str = "",
    attributes: Mapping[str, Attribute] | None = None,
) -> bytes:
    """One operation; an empty input name leaves an optional input out."""
    parts = [*(_text(1, name) for name in inputs), *(_text(2, name) for name in outputs)]
    parts.append(_text(4, operator))
    parts.extend(_bytes(5, _attribute(name, v)) for name, v in (attributes or {}).items())
    parts.append(_text(7, domain))
    return b"".join(parts)


def external_tensor(name: str, element: Element, shape: Sequence[int]) -> bytes:
    """A constant whose values are handed to the runtime beside the model."""
    dims = b"".join(_int(1, size) for size in shape)
    location = _bytes(13, _text(1, "location") + _text(2, "memory"))
    return dims + _int(2, element) + _text(8, name) + location + _int(14, _EXTERNAL)


def value(name: str, element: Element, shape: Sequence[int | str]) -> bytes:
    """An input or output; a named dimension may differ from call to call."""
    dims = b"".join(
        _bytes(1, _text(2, size) if isinstance(size, str) else _int(1, size)) for size in shape
    )
    tensor = _int(1, element) + _bytes(2, dims)
    return _text(1, name) + _bytes(2, _bytes(1, tensor))


def model(
    *,
    nodes: Sequence[bytes],
    constants: Sequence[bytes],
    inputs: Sequence[bytes],
    outputs: Sequence[bytes],
    opsets: Mapping[str, int],
) -> bytes:
    """A whole model of one graph."""
    graph = b"".join(
        (
            *(_bytes(1, one) for one in nodes),
            _text(2, "graph"),
            *(_bytes(5, one) for one in constants),
            *(_bytes(11, one) for one in inputs),
            *(_bytes(12, one) for one in outputs),
        )
    )
    imports = (_bytes(8, _text(1, name) + _int(2, number)) for name, number in opsets.items())
    return b"".join((_int(1, IR_VERSION), _bytes(7, graph), *imports))


def _attribute(name: str, value: Attribute) -> bytes:
    match value:
        case int():
            return _text(1, name) + _int(3, value) + _int(20, _INT_ATTRIBUTE)
        case float():
            number = _key(2, _FIXED_32) + struct.pack("<f", value)
            return _text(1, name) + number + _int(20, _FLOAT_ATTRIBUTE)


def _varint(number: int) -> bytes:
    out = bytearray()
    rest = number & 0xFFFF_FFFF_FFFF_FFFF
    while rest > 0x7F:  # noqa: PLR2004 - seven bits of payload in each byte
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def _key(field: int, kind: int) -> bytes:
    return _varint(field << 3 | kind)


def _int(field: int, number: int) -> bytes:
    return _key(field, _VARINT) + _varint(number)


def _bytes(field: int, payload: bytes) -> bytes:
    return _key(field, _BYTES) + _varint(len(payload)) + payload


def _text(field: int, text: str) -> bytes:
    return _bytes(field, text.encode())

"""Outlook: a small message as a test wants it, in a compound file that is written stream by stream.

The file has sectors of 512 bytes; whatever is shorter than 4,096 bytes lies in its small sectors.
"""

import struct
from collections.abc import Mapping, Sequence

_SECTOR, _SMALL, _LONG = 512, 64, 4096
_FREE, _END, _TABLE = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
_NONE = 0xFFFFFFFF
_TEXT, _BINARY, _TIME, _NUMBER = 0x001F, 0x0102, 0x0040, 0x0003
Tree = Mapping[str, "bytes | Tree"]


def a_saved_message(
    fields: Mapping[int, str],
    *,
    sent: int,
    to: Sequence[tuple[str, str, int]] = (),
    files: Mapping[str, bytes] | None = None,
) -> bytes:
    """An MSG; `fields` are its texts by their property, `to` names, addresses and roles."""
    tree: dict[str, bytes | Tree] = {}
    times = [(0x0039, _TIME, struct.pack("<Q", (sent + 11_644_473_600) * 10_000_000))]
    head = struct.pack("<8xIIII8x", len(to), len(files or {}), len(to), len(files or {}))
    tree |= pack_properties(
        head, {(pid, _TEXT): encode_wide(text) for pid, text in fields.items()}, times
    )
    for number, (name, address, role) in enumerate(to):
        texts = {(0x3001, _TEXT): encode_wide(name), (0x3003, _TEXT): encode_wide(address)}
        numbers = [(0x0C15, _NUMBER, struct.pack("<Q", role))]
        tree[f"__recip_version1.0_#{number:08X}"] = pack_properties(bytes(8), texts, numbers)
    for number, (name, content) in enumerate((files or {}).items()):
        parts = {(0x3707, _TEXT): encode_wide(name), (0x3701, _BINARY): content}
        by_value = [(0x3705, _NUMBER, struct.pack("<Q", 1))]
        tree[f"__attach_version1.0_#{number:08X}"] = pack_properties(bytes(8), parts, by_value)
    tree["__nameid_version1.0"] = {"__substg1.0_00020102": b"\0"}
    return pack_compound(tree)


def pack_properties(
    head: bytes,
    streams: Mapping[tuple[int, int], bytes],
    fixed: Sequence[tuple[int, int, bytes]],
) -> dict[str, "bytes | Tree"]:
    rows = [struct.pack("<HHI", kind, pid, 6) + value for pid, kind, value in fixed]
    rows += [
        struct.pack("<HHIII", kind, pid, 6, len(value) + (2 if kind == _TEXT else 0), 0)
        for (pid, kind), value in streams.items()
    ]
    named: dict[str, bytes | Tree] = {
        f"__substg1.0_{pid:04X}{kind:04X}": value for (pid, kind), value in streams.items()
    }
    return {**named, "__properties_version1.0": head + b"".join(rows)}


def encode_wide(text: str) -> bytes:
    return text.encode("utf-16-le")


def pack_compound(tree: Tree) -> bytes:
    entries: list[list[object]] = []  # name, kind, left, right, child, content
    add_entries("Root Entry", tree, entries, 5)
    sectors: list[bytes] = []
    chain: list[int] = []
    small: list[bytes] = []
    small_chain: list[int] = []
    starts: dict[int, tuple[int, int]] = {}

    def store(data: bytes, kept: list[bytes], links: list[int], size: int) -> int:
        first, count = len(kept), -(-len(data) // size)
        for place in range(count):
            kept.append(data[place * size : (place + 1) * size].ljust(size, b"\0"))
            links.append(_END if place == count - 1 else first + place + 1)
        return first if count else _END

    for place, entry in enumerate(entries):
        content = entry[5]
        if isinstance(content, bytes):
            kept = (
                store(content, sectors, chain, _SECTOR)
                if len(content) >= _LONG
                else store(content, small, small_chain, _SMALL)
            )
            starts[place] = (kept, len(content))
    stream = b"".join(small)
    starts[0] = (store(stream, sectors, chain, _SECTOR), len(stream))
    table = struct.pack(f"<{len(small_chain)}I", *small_chain)
    small_count = -(-len(table) // _SECTOR)
    small_table = store(table.ljust(small_count * _SECTOR, b"\xff"), sectors, chain, _SECTOR)
    listed = b"".join(
        pack_entry(entry, *starts.get(n, (_END, 0))) for n, entry in enumerate(entries)
    )
    padded = listed.ljust(-(-len(listed) // _SECTOR) * _SECTOR, b"\0")
    directory = store(padded, sectors, chain, _SECTOR)
    tables = 1
    while (len(sectors) + tables) * 4 > tables * _SECTOR:
        tables += 1
    first_table = len(sectors)
    chain += [_TABLE] * tables
    links = struct.pack(f"<{len(chain)}I", *chain).ljust(tables * _SECTOR, b"\xff")
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16)
    head += struct.pack("<HHHHH6x", 0x3E, 3, 0xFFFE, 9, 6)
    head += struct.pack(
        "<IIIIIIIII", 0, tables, directory, 0, _LONG, small_table, small_count, _END, 0
    )
    placed = [first_table + n for n in range(tables)]
    head += struct.pack("<109I", *placed, *[_FREE] * (109 - tables))
    return head + b"".join(sectors) + links


def add_entries(name: str, content: "bytes | Tree", entries: list[list[object]], kind: int) -> int:
    """Put an entry and all below it into the directory; siblings hang on each other's right."""
    place = len(entries)
    entries.append([name, kind, _NONE, _NONE, _NONE, content])
    before = None
    if isinstance(content, Mapping):
        for inner in sorted(content, key=lambda each: (len(each), each.upper())):
            below = content[inner]
            there = add_entries(inner, below, entries, 2 if isinstance(below, bytes) else 1)
            if before is None:
                entries[place][4] = there
            else:
                entries[before][3] = there
            before = there
    return place


def pack_entry(entry: Sequence[object], start: int, size: int) -> bytes:
    name, kind, left, right, child, _ = entry
    wide = str(name).encode("utf-16-le")
    return (
        wide.ljust(64, b"\0")
        + struct.pack("<HBBIII", len(wide) + 2, kind, 1, left, right, child)
        + bytes(36)
        + struct.pack("<IQ", start, size)
    )

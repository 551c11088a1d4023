"""What `canonry.ports.records.blobs.Blobs` promises."""

from collections.abc import Mapping
from typing import Final

from canonry.testing.conformance.promises import Requirement

BLOBS: Final[Mapping[str, Requirement]] = {
    "blobs:put:round-trip": Requirement(
        promise="Bytes of any content and size are read back equal, under their SHA-256.",
        because="A commit holds nothing but the hash.",
    ),
    "blobs:put:same-bytes-same-digest": Requirement(
        promise="Putting the same bytes again, also at the same time, stores them once.",
        because="A retry must cost nothing.",
    ),
    "blobs:get:unknown": Requirement(
        promise="An unknown or malformed digest raises NotFound `blobs.unknown`.",
        because="A digest is not a path.",
    ),
    "blobs:get:altered": Requirement(
        promise="Bytes that no longer have their hash raise BrokenInvariant `blobs.altered`.",
        because="Wrong bytes are worse than none.",
    ),
    "blobs:delete:idempotent": Requirement(
        promise="delete forgets the bytes, and does nothing where there are none.",
        because="Erasing must be repeatable after a crash.",
    ),
    "blobs:digests:paged": Requirement(
        promise="digests gives every stored digest once, in order, page by page.",
        because="Orphans are found by comparing with all of them.",
    ),
    "blobs:durable:reopened": Requirement(
        promise="Bytes are there after closing and opening.",
        because="The commit that names them is.",
    ),
}

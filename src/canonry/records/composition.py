"""Composition of the records package: an erasure also deletes files."""

from canonry.canon.maintenance.erase import ErasureHooks
from canonry.canon.session.canon import Canon
from canonry.records.usecases.files import forget_files


def add_to(canon: Canon) -> Canon:
    """Return the canon with the erasure hook of this package."""
    forget = (*canon.find_service(ErasureHooks).forget, forget_files)
    return canon.revise_service(ErasureHooks, forget=forget)

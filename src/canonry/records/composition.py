"""What records add to a canon: an erasure also deletes the bytes of files."""

from canonry.canon.session.canon import Canon
from canonry.canon.upkeep.erase import ErasureHooks
from canonry.records.usecases.files import forget_files


def add_to(canon: Canon) -> Canon:
    """The canon with all that this package adds."""
    forget = (*canon.service(ErasureHooks).forget, forget_files)
    return canon.revise_service(ErasureHooks, forget=forget)

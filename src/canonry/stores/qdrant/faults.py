"""The one place that turns what Qdrant's client raises into errors that say what to do next."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

from canonry.values.errors import Unavailable

_MISSING: Final = 404


class MissingPoints(Exception):  # noqa: N818 - no error of anybody who indexes or searches
    """What was asked about is not there any more: somebody dropped it meanwhile."""


@contextmanager
def translated() -> Iterator[None]:
    """Raise Canonry's errors in place of the client's.

    Raises:
        MissingPoints: the points that were asked for are not there.
        Unavailable: `vectors.unavailable`.
    """
    try:
        yield
    except (ApiException, QdrantException, TimeoutError) as error:
        if isinstance(error, UnexpectedResponse) and error.status_code == _MISSING:
            raise MissingPoints from error
        raise _unavailable(error) from error
    except ValueError as error:  # so the local mode says what a server says by 404
        if "not found" not in str(error):
            raise
        raise MissingPoints from error
    except RuntimeError as error:
        if "closed" not in str(error):
            raise
        raise _unavailable(error) from error


def moved() -> Unavailable:
    """The error of a batch that does not follow what is there."""
    return Unavailable("vectors.moved", "somebody else indexed meanwhile; look again")


def _unavailable(error: Exception) -> Unavailable:
    message = "the index of meaning did not answer; go on with words"
    return Unavailable("vectors.unavailable", message, cause=type(error).__name__)

"""Writing a server into a client's settings and taking it out again, with a way back."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from canonry.cli.connecting.clients import ClientKind
from canonry.domain.errors import InvalidInput

BACKUP: Final = ".before-canonry"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A change of a settings file: as it is, and as it shall be; None where there is no file."""

    path: Path
    before: str | None
    after: str | None

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return self.before != self.after


def connected(client: ClientKind, path: Path, name: str, command: Sequence[str]) -> Edit:
    """The file with the server in it; everything else in it stays as it is.

    Raises:
        InvalidInput: `connect.unreadable`, the file is not what the client would read.
    """
    before = _text(path)
    after = _edited(client, path, before or "", name, client.entry(command))
    return Edit(path=path, before=before, after=after)


def disconnected(client: ClientKind, path: Path, name: str) -> Edit:
    """The file without the server: as it was before where nothing else has changed since.

    Raises:
        InvalidInput: `connect.unreadable`, the file is not what the client would read.
    """
    before = _text(path)
    if before is None:
        return Edit(path=path, before=None, after=None)
    after: str | None = _edited(client, path, before, name, None)
    saved = _text(_backup(path))
    if saved is not None and _edited(client, path, saved, name, None) == after:
        after = saved
    elif saved is None and not client.text.read(after or ""):
        after = None
    return Edit(path=path, before=before, after=after)


def write(edit: Edit) -> Path | None:
    """Do it, whole or not at all; the path of the copy of what was there, if there was anything.

    A link is followed, so that a file that somebody keeps elsewhere stays there.
    """
    path = edit.path.resolve()
    copy = _backup(edit.path)
    if edit.after is None:
        path.unlink(missing_ok=True)
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    if _text(copy) == edit.after:
        copy.unlink()
    elif edit.before is not None and not copy.exists():
        _replace(copy, edit.before, path)
    _replace(path, edit.after, path)
    return copy if copy.exists() else None


def _replace(path: Path, text: str, like: Path) -> None:
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_text(text, encoding="utf-8", newline="")
    if like.exists():
        fresh.chmod(like.stat().st_mode & 0o777)
    fresh.replace(path)


def _backup(path: Path) -> Path:
    return path.with_name(path.name + BACKUP)


def _text(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise _unreadable(path, "it is not UTF-8") from error
    except OSError as error:
        raise _unreadable(path, error.strerror or "it cannot be read") from error


def _edited(client: ClientKind, path: Path, text: str, name: str, entry: object | None) -> str:
    place = (*client.section, name)
    try:
        mark = "\ufeff" if text.startswith("\ufeff") else ""
        body = text.removeprefix(mark)
        done: str = (
            client.text.drop(body, place) if entry is None else client.text.put(body, place, entry)
        )
        client.text.read(done)
    except (ValueError, IndexError) as error:
        raise _unreadable(path, str(error)) from error
    return mark + done


def _unreadable(path: Path, why: str) -> InvalidInput:
    message = (
        f"{path} cannot be changed safely ({why}); nothing was written. Mend it, or add by hand "
        "the lines that `canonry connect json` prints"
    )
    return InvalidInput("connect.unreadable", message)

"""Writing a server into a client's settings and taking it out again, with a way back."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from canonry.cli.connecting.clients import ClientKind
from canonry.cli.whole_files import whole_file
from canonry.values.errors import InvalidInput

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
    saved = None if _backup(path).is_symlink() else _text(_backup(path))
    if saved is not None and _edited(client, path, saved, name, None) == after:
        after = saved
    elif saved is None and not client.text.read(after or ""):
        after = None
    return Edit(path=path, before=before, after=after)


def require_inside(path: Path, root: Path) -> None:
    """Refuse a settings file that a link leads out of `root`, the user's home or the project.

    Raises:
        InvalidInput: `connect.link`.
    """
    real = _real(path)
    if not real.is_relative_to(_real(root)):
        message = (
            f"{path} leads by a link to {real}, outside of {root}; nothing was written. Replace "
            "the link by a file, or add by hand the lines that `canonry connect json` prints"
        )
        raise InvalidInput("connect.link", message)


def write(edit: Edit) -> Path | None:
    """Do it, whole or not at all; the path of the copy of what was there, if there was anything.

    A link to a file in the same home or project is followed (`require_inside`): the link stays.
    """
    path = _real(edit.path)
    copy = _backup(edit.path)
    if edit.after is None:
        path.unlink(missing_ok=True)
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    if _text(copy) == edit.after:
        copy.unlink()
    elif edit.before is not None and (copy.is_symlink() or not copy.exists()):
        _replace(copy, edit.before, path)
    _replace(path, edit.after, path)
    return copy if copy.exists() else None


def _replace(path: Path, text: str, like: Path) -> None:
    mode = like.stat().st_mode & 0o777 if like.exists() else 0o600
    with whole_file(path, newline="", mode=mode) as out:
        out.write(text)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))  # `resolve` raises where a link leads to itself


def _backup(path: Path) -> Path:
    return path.with_name(path.name + BACKUP)


def _text(path: Path) -> str | None:
    if path.exists() and not path.is_file():
        raise _unreadable(path, "it is no file")
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

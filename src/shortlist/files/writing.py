"""Files that appear whole or not at all: whatever the package writes is written here."""

from __future__ import annotations

import io
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from shortlist.errors import InvalidSetting
from shortlist.printable import printable

PART = ".part"  # the end of a draft's name
ELSEWHERE = "Name a file in a folder that exists and may be written to."


@contextmanager
def new_file(
    path: str | os.PathLike[str], *, replace: bool, rescue: str = ""
) -> Iterator[io.BytesIO]:
    """Put what the block writes under the file's name once the block has ended well.

    A draft in the same folder is filled, brought to the disk and then given the name, in one step.
    Whatever ends the program before that leaves the name as it was. The draft is begun before the
    block runs: what can fail shall fail before a study is asked. A symbolic link, a folder or a
    device is refused; ``replace`` says whether a file may be replaced, and ``rescue`` what to do if
    the file cannot be written after the block.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with new_file(Path(folder, "a.txt"), replace=False) as file:
    ...         _ = file.write(b"whole")
    ...     Path(folder, "a.txt").read_text()
    'whole'
    """
    place = Path(path)
    content = io.BytesIO()
    draft = place.parent / f".{secrets.token_hex(6)}{PART}"
    with _errors_in_words(place, ELSEWHERE):
        mode = _check_name(place, replace)
        file = draft.open("xb")
    try:
        with file:
            yield content
            with _errors_in_words(place, rescue or ELSEWHERE):
                file.write(content.getbuffer())
                file.flush()
                os.fsync(file.fileno())
        with _errors_in_words(place, rescue or ELSEWHERE):
            if mode is not None:
                draft.chmod(mode)
            if replace:
                draft.replace(place)
            else:
                _give_free_name(draft, place)
            with suppress(OSError):  # where folders cannot be opened the system has its own way
                handle = os.open(place.parent, os.O_RDONLY)
                try:
                    os.fsync(handle)
                finally:
                    os.close(handle)
    finally:
        with suppress(OSError):
            draft.unlink()


def write_file(path: str | os.PathLike[str], content: bytes, *, replace: bool = True) -> Path:
    """Write a file; see ``new_file``. A file that has this very content is left as it is.

    Examples
    --------
    >>> write_file("nowhere/a.txt", b"")
    Traceback (most recent call last):
        ...
    shortlist.errors.InvalidSetting: nowhere/a.txt cannot be written (No such file or directory). Name a file in a folder that exists and may be written to.
    """
    place = Path(path)
    same = False
    if not replace:
        with suppress(OSError, ValueError):
            same = place.lstat().st_size == len(content) and place.read_bytes() == content
    if not same:
        with new_file(place, replace=replace) as file:
            file.write(content)
    return place


def make_folder(path: str | os.PathLike[str]) -> Path:
    """Make a folder and those above it, unless it is there."""
    place = Path(path)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidSetting(
            f"the folder {printable(place)} cannot be made ({reason}): name another folder."
        ) from None
    return place


def refuse_link(path: str | os.PathLike[str]) -> None:
    """Refuse to write where the name is a symbolic link, a folder or a device."""
    with _errors_in_words(Path(path), ELSEWHERE):
        _check_name(Path(path), replace=True)


def _check_name(place: Path, replace: bool) -> int | None:
    """The permissions of the file that is there, None if there is none; raise if it has to stay."""
    try:
        there = place.lstat()
    except FileNotFoundError:
        return None
    if not replace:
        raise FileExistsError
    if not stat.S_ISREG(there.st_mode):
        what = "a symbolic link" if stat.S_ISLNK(there.st_mode) else "not a regular file"
        raise InvalidSetting(f"{place} is {what} and was not overwritten: name a regular file.")
    return stat.S_IMODE(there.st_mode)


def _give_free_name(draft: Path, place: Path) -> None:
    try:
        place.hardlink_to(draft)  # unlike a renaming it fails if the name is taken by now
    except FileExistsError:
        raise
    except OSError:  # not every file system has links
        _check_name(place, replace=False)
        draft.rename(place)


@contextmanager
def _errors_in_words(place: Path, remedy: str) -> Iterator[None]:
    try:
        yield
    except InvalidSetting:
        raise
    except FileExistsError:
        raise InvalidSetting(
            f"{place} already exists: name another file, or pass --force to overwrite it."
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error  # a NUL in a name is a ValueError
        raise InvalidSetting(f"{printable(place)} cannot be written ({reason}). {remedy}") from None

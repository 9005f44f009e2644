"""Files that appear whole or not at all."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from shortlist.errors import InvalidSetting


@contextmanager
def new_file(path: Path, *, force: bool, rescue: str = "") -> Iterator[io.BytesIO]:
    """What the block writes stands under the file's name once the block has ended well.

    The name is taken and the folder is tried before the block runs: what can fail shall fail
    before a study is asked.

    Parameters
    ----------
    path : Path
        Where it shall be.
    force : bool
        Whether a file that is there may be replaced.
    rescue : str
        What to do if the file cannot be written after the block.
    """
    content = io.BytesIO()
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with _writing(path):
        if not force:
            path.open("xb").close()
    try:
        with _writing(path):
            draft.open("xb").close()
        yield content
        with _writing(path, rescue), draft.open("wb") as file:
            file.write(content.getvalue())
            file.flush()
            os.fsync(file.fileno())
        with _writing(path, rescue):
            draft.replace(path)
    except BaseException:
        for left in [draft] if force else [draft, path]:
            with suppress(OSError):
                left.unlink()
        raise


@contextmanager
def _writing(path: Path, rescue: str = "") -> Iterator[None]:
    try:
        yield
    except FileExistsError:
        raise InvalidSetting(
            f"{path} is there already: name another file, or pass --force to overwrite it."
        ) from None
    except OSError as error:
        remedy = rescue or "Name a file in a folder that exists and may be written to."
        raise InvalidSetting(
            f"{path} cannot be written ({error.strerror or error}). {remedy}"
        ) from None

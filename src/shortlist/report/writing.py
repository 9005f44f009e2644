"""The page into a file, whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from shortlist.errors import InvalidSetting
from shortlist.report.page import html

if TYPE_CHECKING:
    from shortlist.study.study import Study


def write(study: Study, path: str | os.PathLike[str]) -> Path:
    """Write the report of a study.

    Parameters
    ----------
    study : Study
        In whatever state.
    path : path
        The HTML file. It is replaced when the new page is complete, so a reader never sees half.

    Returns
    -------
    Path
        Where it was written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from shortlist import Study
    >>> study = Study(arms=["a", "b"], m=1, sigma=0.5, seed=0)
    >>> with TemporaryDirectory() as folder:
    ...     write(study, Path(folder, "report.html")).stat().st_size > 1000
    True
    """
    place = Path(path)
    page = html(study).encode()
    beside = place.with_name(f".{place.name}.{secrets.token_hex(4)}.part")
    try:
        try:
            beside.write_bytes(page)
            beside.replace(place)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise InvalidSetting(
            f"the report cannot be written to {place} ({error.strerror or error}): name a file in "
            "a folder that exists and may be written to."
        ) from None
    return place

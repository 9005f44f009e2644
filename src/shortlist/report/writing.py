"""The page into a file, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from shortlist.files.writing import write_file
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
    return write_file(path, html(study).encode())

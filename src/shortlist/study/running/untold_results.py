"""Results that could not be told because the storage was away, in a file to tell them from."""

from __future__ import annotations

import csv
import io
import os
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from shortlist.advice import advise
from shortlist.errors import InvalidInput
from shortlist.files.paths import regular_file
from shortlist.study.trial import Trial

HEADING = ("trial", "arm", "value")


class UntoldResults:
    """A file of results, begun with the first and added to as more come.

    It is put beside the storage of the study where that is a file, or else in the current folder.
    """

    def __init__(self, storage: str) -> None:
        self._storage = storage
        self.path: Path | None = None
        self.results = 0

    def add(self, trial: Trial, value: float) -> None:
        """Write a result, so that it is on the disk when this returns."""
        line = io.StringIO()
        writer = csv.writer(line, lineterminator="\n")
        if self.path is None:
            writer.writerow(HEADING)
        writer.writerow([trial.number, trial.name, repr(value)])
        file = self._file()
        try:
            os.write(file, line.getvalue().encode())
            os.fsync(file)
        finally:
            os.close(file)
        self.results += 1

    def _file(self) -> int:
        if self.path is not None:
            return os.open(self.path, os.O_WRONLY | os.O_APPEND)
        refused = None
        for path in self._places():
            try:
                # A new one, never through a link that somebody has put there.
                file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            except FileExistsError:
                continue
            except OSError as error:
                refused = error
                continue
            self.path = path
            return file
        raise refused or OSError("no file can be made")

    def _places(self) -> Iterator[Path]:
        beside = Path(self._storage)
        folders = [Path.cwd(), Path(tempfile.gettempdir())]
        name = "study"
        if self._storage and "://" not in self._storage:
            folders, name = [beside.parent, *folders], beside.name
        for folder in folders:
            for number in count():
                path = folder / f"{name}.untold-{os.getpid()}-{number}.csv"
                yield path
                if not path.exists():
                    break  # this folder cannot be written to

    def __str__(self) -> str:
        way = advise("tell untold", file=str(self.path))
        return (
            f"{self.results} finished results are kept in {self.path}, one per line: when the storage "
            f"is available again, tell them with {way}."
        )


def read_untold(path: str | os.PathLike[str]) -> list[tuple[int, float]]:
    """The trials and values of a file that the error of a run names, for ``study.tell_many``.

    A run writes such a file when results came and the storage was away.

    Parameters
    ----------
    path : path
        The file.
    """
    try:
        with regular_file(path, InvalidInput).open(newline="", encoding="utf-8") as file:
            return [(int(row["trial"]), float(row["value"])) for row in csv.DictReader(file)]
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        raise InvalidInput(
            f"{path} is not a file of results with the columns {', '.join(HEADING)}: {error!r}."
        ) from None

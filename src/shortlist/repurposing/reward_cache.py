"""Rewards kept with their seeds: an interrupted screen goes on with the very same pulls."""

from __future__ import annotations

import csv
import io
from os import PathLike
from pathlib import Path

from shortlist.errors import InvalidSetting
from shortlist.files.cells import csv_line, unescaped
from shortlist.files.paths import regular_file
from shortlist.files.writing import refuse_link

TITLE = "# rewards of the screen"
COLUMNS = "drug,seed,reward"


class RewardCache:
    """A CSV file, one line a reward, written as the rewards come; made with the first.

    Its first line names the screen, by its fingerprint. A reward depends on the screen, the drug
    and the seed, and on nothing else, so that what is here need not be simulated again.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     RewardCache(Path(folder) / "pulls.csv", "4f75").put("Diazepam", 17, 0.25)
    ...     again = RewardCache(Path(folder) / "pulls.csv", "4f75")
    >>> again.get("Diazepam", 17), again.get("Diazepam", 18), len(again)
    (0.25, None, 1)
    """

    def __init__(self, path: str | PathLike[str], screen: str) -> None:
        self.path = Path(path)
        self.screen = screen
        self._heading = f"{TITLE} {screen}\n{COLUMNS}\n"
        self._known: dict[tuple[str, int], float] = {}
        if self.path.exists():
            self._read()

    def __len__(self) -> int:
        return len(self._known)

    def get(self, drug: str, seed: int) -> float | None:
        """The reward, if it is known."""
        return self._known.get((drug, seed))

    def put(self, drug: str, seed: int, reward: float) -> None:
        """Keep a reward, in the file at once."""
        refuse_link(self.path)
        new = not self.path.exists()
        # Opened for each line: nothing is lost when the program is ended, whatever ends it.
        with self.path.open("a", encoding="utf-8", newline="") as file:
            if new:
                file.write(self._heading)
            file.write(csv_line([drug, seed, repr(reward)]))
        self._known[drug, seed] = reward

    def _read(self) -> None:
        whole = regular_file(self.path, InvalidSetting).read_bytes()
        if self._heading.encode().startswith(whole):  # ended before the first reward
            self.path.unlink()
            return
        # A last line without its end was being written when the program was ended.
        lines = whole[: whole.rfind(b"\n") + 1]
        try:
            title, _, rest = lines.decode("utf-8").partition("\n")
        except UnicodeDecodeError:
            raise self._strange(1) from None
        if not title.startswith(TITLE):
            raise self._strange(1)
        if title != f"{TITLE} {self.screen}":
            raise InvalidSetting(
                f"{self.path} contains rewards of another screen: other data or other settings. "
                "Name another file or folder, or delete this one."
            )
        reader = csv.reader(io.StringIO(rest, newline=""), strict=True)
        try:
            next(reader, None)  # the titles of the columns
            for drug, seed, reward in reader:
                self._known[unescaped(drug), int(seed)] = float(reward)
        except (ValueError, csv.Error):
            raise self._strange(reader.line_num + 1) from None
        if len(lines) < len(whole):
            with self.path.open("r+b") as file:
                file.truncate(len(lines))

    def _strange(self, line: int) -> InvalidSetting:
        return InvalidSetting(
            f"{self.path}, line {line}: this is not a reward cache (expected a line that names "
            f"the screen, then {COLUMNS}). Name another file or folder, or delete this one."
        )

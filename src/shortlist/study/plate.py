"""Plates: CSV files of open trials that go to the lab, and come back with results."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from shortlist.errors import InvalidInput
from shortlist.files.cells import csv_line, escaped
from shortlist.files.csv_files import read_lines, read_numbers
from shortlist.printable import iso

if TYPE_CHECKING:
    from shortlist.study.study import Study
    from shortlist.study.trial import Trial

NEEDED = ("trial", "arm", "value")
NUMBER = re.compile(r"0*(\d{1,18})(\.0+)?", re.ASCII)  # pandas makes floats of them


@dataclass(frozen=True)
class Row:
    """A line of a plate; ``value`` is as written, and blank until there is a result."""

    line: int
    trial: int
    arm: str
    value: str
    study: str


class PlateResults(NamedTuple):
    """Results to tell, and the numbers of trials that were told before or are still blank."""

    results: list[tuple[int, float]]
    known: list[int]
    blank: list[int]


def study_mark(study: Study) -> str:
    """The study's name and digest, so that no plate is told to another study."""
    return f"{study.name}-{study_digest(study)}"


def study_digest(study: Study) -> str:
    """A digest of a study's name and problem, which does not change with its results."""
    problem = study.problem
    figures = [problem.m, problem.noise.written, problem.delta, problem.epsilon, study.seed]
    words = json.dumps([study.name, *figures, *problem.names]).encode()
    return hashlib.blake2b(words + problem.features.tobytes(), digest_size=4).hexdigest()


def write_plate(study: Study, trials: Sequence[Trial], separator: str = ",") -> str:
    """The text of a plate; a byte-order mark tells a spreadsheet how to read names beyond ASCII."""
    due = any(trial.expires_at is not None for trial in trials)
    rows: list[list[object]] = [["study", "trial", "arm", *["due"] * due, "value"]]
    for trial in trials:
        when = [iso(trial.expires_at)] * due
        rows.append([study_mark(study), trial.number, trial.name, *when, ""])
    text = "".join(csv_line(row, separator) for row in rows)
    return text if text.isascii() else "\ufeff" + text


def read_plate(file: Path, data: bytes | None = None) -> list[Row]:
    """Read a plate: columns trial, arm and value, and study if it is there; others are notes.

    ``data`` is what the file holds, where it was sent and is not on the disk.
    """

    def has_trial(heading: list[str], cells: list[str]) -> bool:
        """Whether a line was split at the right places: the trial is a number."""
        titles = [title.lower() for title in heading]
        place = titles.index("trial") if "trial" in titles else len(cells)
        return place < len(cells) and NUMBER.fullmatch(cells[place]) is not None

    (first, heading), *lines = read_lines(file, data=data, is_cut_right=has_trial)
    titles = [title.lower() for title in heading]
    for title in (*NEEDED, "study"):
        if titles.count(title) > 1:
            raise InvalidInput(f"{file}, line {first} has two columns {title!r}: keep one.")
        if title in NEEDED and title not in titles:
            raise InvalidInput(
                f"{file}, line {first} reads {', '.join(heading)[:60]!r}: a heading with the "
                f"columns trial, arm and value is expected, and {title!r} is missing. "
                "`shortlist ask --out` writes such a file; if a spreadsheet shows it in one "
                "column, add --semicolons."
            )
    rows = [_row(file, line, titles, cells) for line, cells in lines]
    seen: dict[int, int] = {}
    for row in rows:
        if row.trial in seen:
            raise InvalidInput(
                f"{file}, line {row.line}: trial {row.trial} stands on line {seen[row.trial]} too. "
                "Keep one of them."
            )
        seen[row.trial] = row.line
    return rows


def _row(file: Path, line: int, titles: list[str], cells: list[str]) -> Row:
    if len(cells) > len(titles):  # 0,5 unquoted is two cells, and the first alone is a number
        raise InvalidInput(
            f"{file}, line {line} has {len(cells)} cells and the heading has {len(titles)}: put "
            "text with a comma in quotes, and write decimals with a point."
        )
    cell = dict(zip(titles, [*cells, *[""] * len(titles)], strict=False))
    number = NUMBER.fullmatch(cell["trial"])
    if number is None:
        raise InvalidInput(
            f"{file}, line {line}: {cell['trial'][:40]!r} is not the number of a trial. Put back "
            "the number that was asked for, or drop the line."
        )
    return Row(line, int(number[1]), cell["arm"], cell["value"], cell.get("study", ""))


def match(file: Path, rows: list[Row], study: Study) -> PlateResults:
    """The results of a plate for a study; the first line that does not fit is an error."""
    mark = study_mark(study)
    filled = [row for row in rows if row.value]
    numbers = read_numbers(
        [row.value for row in filled], lambda k: f"{file}, line {filled[k].line}"
    )
    values = dict(zip(filled, numbers, strict=True))
    matched = PlateResults([], [], [])
    # In the order of asking, whatever order the lines are in.
    for row in sorted(rows, key=lambda row: row.trial):
        where = f"{file}, line {row.line}"
        if row.study and not _is_same(row.study, mark):
            raise InvalidInput(
                f"{where}: this plate belongs to the study {row.study!r} and not to {mark!r}. Tell "
                "it to its own study."
            )
        if row.trial >= len(study.trials):
            raise InvalidInput(
                f"{where}: trial {row.trial} is unknown; the study has asked for "
                f"{len(study.trials)} so far, numbered from 0."
            )
        trial = study.trials[row.trial]
        if not _is_same(row.arm, trial.name):
            raise InvalidInput(
                f"{where}: trial {row.trial} is of {trial.name!r} and the line says {row.arm!r}. "
                "Check which was measured; a spreadsheet may have changed the name."
            )
        if row not in values:
            if trial.state == "pending":
                matched.blank.append(row.trial)
        elif trial.state == "pending":
            try:
                study.bound.check(values[row])
            except InvalidInput as error:
                raise InvalidInput(f"{where}: {error}") from None
            matched.results.append((row.trial, values[row]))
        elif trial.state == "told" and trial.value == values[row]:
            matched.known.append(row.trial)
        else:
            raise InvalidInput(f"{where}: {_closed(trial, values[row])}")
    return matched


def _is_same(cell: str, text: str) -> bool:
    """Whether a cell holds this text, as a plate has it or as a spreadsheet may save it.

    Reading a cell loses the blanks around it, and line ends are those of the system.

    Examples
    --------
    >>> _is_same("'=1+2", "=1+2"), _is_same("=1+2", "=1+2"), _is_same("C07", " C07")
    (True, True, True)
    """
    wanted = ["\n".join(each.splitlines()).strip() for each in (text, escaped(text))]
    return "\n".join(cell.splitlines()).strip() in wanted


def _closed(trial: Trial, value: float) -> str:
    if trial.state == "told":
        return (
            f"trial {trial.number} ({trial.name!r}) was told {trial.value!r} before and is "
            f"{value!r} here. A told result is final, and {trial.value!r} stays stored: put it "
            f"back into the file. If {value!r} is a second measurement, tell it with --arm and --value; "
            f"if {trial.value!r} is wrong, begin another study (another name in the screen.toml) "
            "and tell it the right results."
        )
    reason = f" ({trial.reason})" if trial.reason else ""
    return (
        f"trial {trial.number} ({trial.name!r}) is {trial.state}{reason} and has the value "
        f"{value!r} here. Leave it blank; `shortlist tell --arm NAME --value X` takes a result "
        "without a trial."
    )

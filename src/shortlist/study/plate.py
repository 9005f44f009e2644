"""Plates: CSV files of open trials that go to the lab, and come back with results."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from shortlist.advice import advise
from shortlist.errors import InvalidInput, ToldBefore, unknown_among_many
from shortlist.files.cells import csv_line, escaped, unescaped
from shortlist.files.csv_files import Line, read_lines, read_numbers, resembles_number
from shortlist.printable import iso
from shortlist.study import AGAIN, ROW_KEY

if TYPE_CHECKING:
    from shortlist.arrays import Label
    from shortlist.study.study import Study
    from shortlist.study.trial import Trial

NEEDED = ("trial", "arm", "value")
LONGEST_NAME = 150  # characters of a file's name in the keys of its rows
# Rows that agree before a file is taken for a copy of one of another name: fewer come again by chance.
FEWEST_ALIKE, FEWEST_WHOLE_NUMBERS = 2, 20
NUMBER = re.compile(r"0*(\d{1,18})(\.0+)?", re.ASCII)  # pandas makes floats of them


@dataclass(frozen=True)
class PlateRow:
    """A line of a file of results; ``value`` is as written, and blank until there is a result.

    ``trial`` is None, and ``key`` is set, in a file that names arms and values only; ``own_key``
    says whether the file has the key in a column. ``state`` is that of a trial in an exported file,
    and blank in a plate. ``block`` is blank in a study without blocks.
    """

    line: int
    trial: int | None
    arm: str
    value: str
    study: str
    state: str = ""
    key: str = ""
    own_key: bool = False
    block: str = ""


class PlateResults(NamedTuple):
    """Results to tell, and the numbers of trials that were told before or are still blank.

    ``unasked`` are results without a trial of this study: the arm's name, the value, a key, and
    the block by its name or number.
    ``left`` are trials that are open and have a value, where only what was told before and
    measured again is to be told.
    """

    results: list[tuple[int, float]]
    known: list[int]
    blank: list[int]
    unasked: list[tuple[Label, float, str, int | str | None]]
    left: list[int]


def write_plate(study: Study, trials: Sequence[Trial], separator: str = ",") -> str:
    """The text of a plate; a byte-order mark tells a spreadsheet how to read names beyond ASCII."""
    text = "".join(csv_line(row, separator) for row in plate_rows(study, trials))
    return text if text.isascii() else "\ufeff" + text


def plate_rows(study: Study, trials: Sequence[Trial]) -> list[list[object]]:
    """The rows of a plate, below a heading.

    Where not all trials are needed before the study checks whether it can stop, a column says which.
    """
    from shortlist.study.view import needed_now

    due = any(trial.expires_at is not None for trial in trials)
    needed = needed_now(study, trials)
    spare = needed < len(trials)
    has_blocks = study.problem.blocks.exist
    columns = [*["block"] * has_blocks, *["due"] * due, *["needed"] * spare]
    heading = ["study", "trial", "arm", *columns, "value"]
    rows: list[list[object]] = [list(heading)]
    for place, trial in enumerate(trials):
        when = [*[trial.block] * has_blocks, *[iso(trial.expires_at)] * due]
        use = ["now" if place < needed else "if the study goes on"] * spare
        rows.append([study.mark, trial.number, trial.name, *when, *use, ""])
    return rows


def read_plate(file: Path, data: bytes | None = None) -> list[PlateRow]:
    """Read a file of results; the columns that it does not know are notes.

    A plate and an exported file have the columns trial, arm and value; others have arm (or name)
    and value, or these two without a heading.

    ``data`` is what the file holds, where it was sent and is not on the disk.
    """

    def has_trial(heading: list[str], cells: list[str]) -> bool:
        """Whether a line was split at the right places: the trial is a number."""
        titles = [title.lower() for title in heading]
        place = titles.index("trial") if "trial" in titles else len(cells)
        return place < len(cells) and NUMBER.fullmatch(cells[place]) is not None

    (first, heading), *lines = read_lines(file, data=data, is_cut_right=has_trial)
    titles = [title.lower() for title in heading]
    if len(heading) == 2 and resembles_number(heading[1]):
        lines, titles = [(first, heading), *lines], ["arm", "value"]
    if "trial" not in titles and {"value"} < {*titles} & {"arm", "name", "value"}:
        return _named_rows(file, lines, titles)
    for title in (*NEEDED, "study", "block"):
        if titles.count(title) > 1:
            raise InvalidInput(f"{file}, line {first} has two columns {title!r}: keep one.")
        if title in NEEDED and title not in titles:
            raise InvalidInput(
                f"{file}, line {first} reads {', '.join(heading)[:60]!r}: a heading with the "
                f"columns trial, arm and value is expected, and {title!r} is missing; or arm and "
                "value, for results that nobody asked for. "
                f"{advise('ask')} writes such a file; if a spreadsheet shows it in one column, add "
                "--semicolons."
            )
    rows = [_row(file, line, titles, cells) for line, cells in lines]
    seen: dict[int | None, int] = {}
    for row in rows:
        if row.trial in seen:
            raise InvalidInput(
                f"{file}, line {row.line}: trial {row.trial} is on line {seen[row.trial]} too. "
                "Keep one of them."
            )
        seen[row.trial] = row.line
    return rows


def _named_rows(file: Path, lines: list[Line], titles: list[str]) -> list[PlateRow]:
    """The lines of a file that names arms and values only; each is known by its row in it."""
    arm = "arm" if "arm" in titles else "name"
    for title in (arm, "value", "key", "block"):
        if titles.count(title) > 1:
            raise InvalidInput(f"{file} has two columns {title!r}: keep one.")
    rows, seen = [], dict[str, int]()
    for place, (line, cells) in enumerate(lines, 1):
        cell = _cells(file, line, titles, cells)
        key = cell.get("key") or f"{file.name[-LONGEST_NAME:]}, row {place}{_notes(cell)}"
        if key in seen:
            raise InvalidInput(
                f"{file}, line {line}: the key {key!r} is on line {seen[key]} too. A key "
                "identifies one result: change one of them."
            )
        seen[key] = line
        own_key = bool(cell.get("key"))
        block = cell.get("block", "")
        given = cell[arm], cell["value"]
        rows.append(PlateRow(line, None, *given, "", key=key, own_key=own_key, block=block))
    return rows


def _notes(cell: dict[str, str]) -> str:
    """A digest of what a row says besides its arm, block and value; empty if that is nothing.

    Examples
    --------
    >>> _notes({"arm": "ash", "value": "1", "date": "2 May"})
    ' (fd49eba7)'
    >>> _notes({"arm": "ash", "value": "1", "date": ""})
    ''
    """
    known = ("arm", "name", "value", "key", "block", "")
    notes = [(title, text) for title, text in cell.items() if text and title not in known]
    if not notes:
        return ""
    return f" ({hashlib.blake2b(repr(sorted(notes)).encode(), digest_size=4).hexdigest()})"


def _cells(file: Path, line: int, titles: list[str], cells: list[str]) -> dict[str, str]:
    if len(cells) > len(titles):  # 0,5 unquoted is two cells, and the first alone is a number
        raise InvalidInput(
            f"{file}, line {line} has {len(cells)} cells and the heading has {len(titles)}: put "
            "text with a comma in quotes, and write decimals with a point."
        )
    return dict(zip(titles, [*cells, *[""] * len(titles)], strict=False))


def _row(file: Path, line: int, titles: list[str], cells: list[str]) -> PlateRow:
    cell = _cells(file, line, titles, cells)
    number = NUMBER.fullmatch(cell["trial"])
    if number is None:
        raise InvalidInput(
            f"{file}, line {line}: {cell['trial'][:40]!r} is not a trial number. Restore the "
            "number, or delete the line."
        )
    about = cell.get("study", ""), cell.get("state", "").lower()
    given = cell["arm"], cell["value"]
    return PlateRow(line, int(number[1]), *given, *about, block=cell.get("block", ""))


def match(
    file: Path, rows: list[PlateRow], study: Study, *, measured_again: bool = False
) -> PlateResults:
    """The results of a file for a study; the first line that does not fit is an error.

    A row is known by its key: the number of its trial, or, where the file names arms and values
    only or was exported by another study, a key of the row. What was told before under its key is
    known; where it differs, that is an error (``ToldBefore``), and so is a file that repeats one
    of another name.

    If the file was ``measured_again``, all of it that was told before is told once more, as data
    that nobody asked for, under keys that say so: it counts once however often the file is told.
    The trials in it that are open are then ``left`` as they are.
    """
    filled = [row for row in rows if row.value]
    numbers = read_numbers(
        [row.value for row in filled], lambda k: f"{file}, line {filled[k].line}"
    )
    values = dict(zip(filled, numbers, strict=True))
    for row, value in values.items():
        try:
            study.procedure.noise.check_result(value)
        except InvalidInput as error:
            raise InvalidInput(f"{file}, line {row.line}: {error}") from None
    matched = PlateResults([], [], [], [], [])
    if _has_trials_of(study, file, rows):
        _match_trials(file, rows, values, study, measured_again, matched)
    else:
        _match_unasked(file, values, study, measured_again, matched)
        if not measured_again:
            _check_not_a_copy(file, study, matched)
    return matched


def _has_trials_of(study: Study, file: Path, rows: list[PlateRow]) -> bool:
    """Whether the numbers in a file are those of this study's trials."""
    if any(row.trial is None for row in rows):
        return False
    if not any(row.state for row in rows):
        return True
    if not any(row.study for row in rows):
        raise InvalidInput(
            f"{file} has the column state of an exported file, but not the column study, which "
            "says whose trials these are: export it again, and keep that column."
        )
    return any(_is_same(row.study, study.mark) for row in rows)


def _match_trials(
    file: Path,
    rows: list[PlateRow],
    values: dict[PlateRow, float],
    study: Study,
    measured_again: bool,
    matched: PlateResults,
) -> None:
    """Add rows with numbers of trials of this study."""
    mark = study.mark
    # In the order of asking, whatever order the lines are in.
    for row in sorted(rows, key=lambda row: row.trial or 0):
        assert row.trial is not None
        where = f"{file}, line {row.line}"
        if row.study and not _is_same(row.study, mark):
            raise InvalidInput(
                f"{where}: this plate belongs to the study {row.study!r} and not to {mark!r}. Tell "
                f"it to its own study, {row.study.rpartition('-')[0]!r}, with --study and that name."
            )
        if row.trial >= len(study.trials):
            raise InvalidInput(
                f"{where}: trial {row.trial} is unknown; the study has asked for "
                f"{len(study.trials)} so far, numbered from 0."
            )
        trial = study.trials[row.trial]
        if not _is_same(row.arm, str(trial.name)):
            raise InvalidInput(
                f"{where}: trial {row.trial} is of {trial.name!r} and the line says {row.arm!r}. "
                "Check which was measured; a spreadsheet may have changed the name."
            )
        _check_block(where, row, trial, study)
        if row not in values:
            if trial.state == "pending":
                matched.blank.append(row.trial)
            continue
        value = values[row]
        key = f"{file.name[-LONGEST_NAME:]}, trial {row.trial}{AGAIN}"
        again = study.keyed.get(key)
        if trial.state == "pending":
            if measured_again:
                matched.left.append(row.trial)
            else:
                matched.results.append((row.trial, value))
        elif again is not None and again.was_told(value):
            matched.known.append(again.number)
        elif measured_again:
            if again is not None:
                raise _differs(where, again, row, value, measured_again)
            matched.unasked.append((trial.name, value, key, trial.block))
        elif trial.state == "told" and trial.was_told(value):
            matched.known.append(row.trial)
        else:
            raise _closed(where, trial, value)


def _match_unasked(
    file: Path,
    values: dict[PlateRow, float],
    study: Study,
    measured_again: bool,
    matched: PlateResults,
) -> None:
    """Add rows without a trial of this study."""
    from shortlist.study.ledger import key_of_trial

    names = study.problem.names
    arms = {str(name).strip(): arm for arm, name in enumerate(names)}
    told_as = _told_as(file, values, study)
    for row, value in values.items():
        where = f"{file}, line {row.line}"
        arm = arms.get(row.arm, arms.get(unescaped(row.arm)))
        if arm is None:
            raise InvalidInput(
                f"{where}: {unknown_among_many('arm', row.arm, study.problem.names)} "
                f"{advise('table')} lists them."
            )
        block = _block_of(where, row, study)
        first = told_as.get(row.key, row.key) or key_of_trial(row.study, row.trial or 0)
        again = f"{first}{AGAIN}"
        known = [study.keyed[key] for key in (first, again) if key in study.keyed]
        for trial in known:
            if trial.arm != arm:
                raise _moved(where, trial, row)
        if measured_again:
            known = [study.keyed[again]] if again in study.keyed else []
        same = [trial.number for trial in known if trial.was_told(value)]
        if same:
            matched.known.append(same[-1])
        elif known:
            raise _differs(where, known[0], row, value, measured_again)
        else:
            matched.unasked.append((names[arm], value, again if measured_again else first, block))


def _told_as(file: Path, rows: Iterable[PlateRow], study: Study) -> dict[str, str]:
    """By the keys of rows that were edited since they were told: the keys that they were told with.

    None if it is another file of the same name: what its rows say besides arm and value, such as a
    question or a date, is in none of those that were told.
    """
    told: dict[str, str] = {}  # by place: the key told last
    notes = set[str]()
    for known in study.keyed:
        row_key = ROW_KEY.fullmatch(known)
        if row_key and row_key["file"] == file.name[-LONGEST_NAME:]:
            told[row_key["place"]] = known.removesuffix(AGAIN)
            notes.add(row_key["notes"] or "")
    own = [(row.key, found) for row in rows if (found := ROW_KEY.fullmatch(row.key))]
    if all(found["notes"] and found["notes"] not in notes for _, found in own):
        return {}
    return {
        key: told[found["place"]]
        for key, found in own
        if key not in study.keyed and found["place"] in told
    }


def _check_block(where: str, row: PlateRow, trial: Trial, study: Study) -> None:
    """Raise where a row says another block than its trial has."""
    if row.block and _block_of(where, row, study) != trial.block:
        raise InvalidInput(
            f"{where}: trial {row.trial} is on block {trial.block!r} and the line says "
            f"{row.block!r}. Check on which it was evaluated."
        )


def _block_of(where: str, row: PlateRow, study: Study) -> int | str | None:
    """The block of a row, by its name or number; None in a study without blocks."""
    blocks = study.problem.blocks
    try:
        return blocks.label(blocks.index(unescaped(row.block) or None))
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error}") from None


def _differs(
    where: str, known: Trial, row: PlateRow, value: float, measured_again: bool
) -> ToldBefore:
    one = advise("tell", arm=known.name, value=value)
    again = advise("say measured again")
    whole = "" if measured_again else f" If the whole file was, add {again}."
    place = "needs a key of its own" if row.own_key else "belongs on a new row"
    return ToldBefore(
        f"{where}: this row was told before, as trial {known.number} with {known.value!r} for "
        f"{known.name!r}, but is {value!r} for {row.arm!r} here.",
        f"If it was mistyped, {advise('correct', trial=known.number, value=value)} corrects it. If it was measured again, "
        f"{one} tells it.{whole} Another result {place}.",
    )


def _moved(where: str, known: Trial, row: PlateRow) -> ToldBefore:
    return ToldBefore(
        f"{where}: this row was told before for {known.name!r}, as trial {known.number}, but is "
        f"for {row.arm!r} here.",
        "Nothing was told. "
        + (
            "A key identifies one result: give a new one a key of its own."
            if row.own_key
            else "A row is known by its place in the file: put new results at the end of the "
            "file, into a file of their own, or give every row a key in a column key."
        ),
    )


def _check_not_a_copy(file: Path, study: Study, matched: PlateResults) -> None:
    """Raise where the new rows of a file are those of a file that was told under another name."""
    told: dict[tuple[str, str | None], dict[str, Trial]] = {}
    for known, trial in study.keyed.items():
        row_key = ROW_KEY.fullmatch(known)
        if row_key is not None and trial.state == "told":
            where = row_key["file"], row_key["again"]
            told.setdefault(where, {})[_row_of(row_key)] = trial
    files = {name for name, _ in told}
    mine: dict[str, tuple[Label, float]] = {}
    for arm, value, key, _ in matched.unasked:
        row_key = ROW_KEY.fullmatch(key)
        # Rows with keys of their own; a file that has grown.
        if row_key is None or row_key["file"] in files:
            return
        mine[_row_of(row_key)] = arm, value
    for (name, _), rows in told.items():
        shared = mine.keys() & rows.keys()
        fewest = FEWEST_ALIKE
        if all(mine[row][1].is_integer() for row in shared):
            fewest = FEWEST_WHOLE_NUMBERS
        if len(shared) < max(fewest, min(len(mine), len(rows))):
            continue
        if all(mine[n][0] == rows[n].name and rows[n].was_told(mine[n][1]) for n in shared):
            raise ToldBefore(
                f"{file}: {len(shared)} of its {len(mine)} rows are those of {name!r}, which was told "
                "before: the same arms and values, row by row.",
                f"Nothing was told. If it is a copy, do nothing; put any rows that {name!r} lacks "
                "into a file of their own. If everything was measured again with the same results, "
                f"the same with {advise('say measured again')} tells it, or give every row a key of its "
                "own in a column key, or a column that says what it is of, such as the question or the date.",
            )


def _row_of(key: re.Match[str]) -> str:
    """Which row of its file a key is of, and what else that says."""
    return key["place"] + (key["notes"] or "")


def _is_same(cell: str, text: str) -> bool:
    """Whether a cell contains this text, as a plate has it or as a spreadsheet may save it.

    Reading a cell loses the blanks around it, and line ends are those of the system.

    Examples
    --------
    >>> _is_same("'=1+2", "=1+2"), _is_same("=1+2", "=1+2"), _is_same("C07", " C07")
    (True, True, True)
    """
    wanted = ["\n".join(each.splitlines()).strip() for each in (text, escaped(text))]
    return "\n".join(cell.splitlines()).strip() in wanted


def _closed(where: str, trial: Trial, value: float) -> ToldBefore:
    which = f"{where}: trial {trial.number} ({trial.name!r})"
    again = advise("say measured again")
    one = advise("tell", arm=trial.name, value=value)
    if trial.state == "told":
        return ToldBefore(
            f"{which} was told {trial.value!r} before and is {value!r} here.",
            f"If {trial.value!r} is wrong, {advise('correct', trial=trial.number, value=value)} corrects it. If it was "
            f"measured again, {one} tells it. If the whole file was, add "
            f"{again}: then all values in it count as new results.",
        )
    reason = f" ({trial.reason})" if trial.reason else ""
    return ToldBefore(
        f"{which} is {trial.state}{reason} and has the value {value!r} here.",
        f"Leave it blank. If it was measured after all, {one} tells it. If the whole file was "
        f"measured again, add {again}.",
    )

"""Commands about trials: ``ask``, ``tell``, ``fail``, ``cancel`` and ``why``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from shortlist.advice import advise
from shortlist.cli.output import fold, note, say, say_json, say_state, trial_rows
from shortlist.cli.study_argument import (
    VARIABLE,
    JsonOption,
    NameOption,
    StudyArgument,
    TrialsArgument,
    command_line,
    continued,
    correction,
    open_study,
    open_trials,
)
from shortlist.errors import (
    InvalidSetting,
    LinearityRejected,
    StudyStopped,
    UnknownName,
)
from shortlist.files.csv_files import read_numbers
from shortlist.files.excel import SUFFIX, is_workbook, require_openpyxl, workbook
from shortlist.files.writing import new_file
from shortlist.printable import count
from shortlist.study.insight.summary import study_words, trial_numbers, trial_report
from shortlist.study.plate import PlateResults, match, plate_rows, read_plate, write_plate

if TYPE_CHECKING:
    from shortlist.study.study import Study
    from shortlist.study.trial import Trial

ASK_EXAMPLES = """[bold]Examples[/bold]
$ shortlist ask screen.toml -n 8 --out plate.csv
$ shortlist ask screen.toml --again --out plate-again.csv

The plate has one line per trial. Fill in its column [bold]value[/bold] and give it to
`shortlist tell`. A trial stays open until it is told, failed or cancelled; if
a plate is lost, --again writes the open trials again.
Exit code 4: nothing was asked, because the study has stopped or cannot stop, or
the rest of its budget or its audit is pending, or all arms that are wanted now
keep failing."""

TELL_EXAMPLES = """[bold]Examples[/bold]
$ shortlist tell screen.toml plate.csv
$ shortlist tell screen.toml results.csv              # columns arm and value
$ shortlist tell screen.toml old-trials.csv           # as export wrote it
$ shortlist tell screen.toml --arm C07 --value 0.42
$ shortlist tell screen.toml --arm C07 --value 0.42 --key "plate 3, well B7"

A blank value stays open: tell the same file again when it is filled in. What
was told before is left alone: in a plate by its trial, in a file of arms and
values by a column [bold]key[/bold], or else by the file's name, the row and its other
columns, such as a question or a date. A value that
differs from the one told before is refused, and so is a file that repeats the
rows of another one; with --measured-again they are recorded as new results,
once. If a line is wrong it is named, and nothing of the file is recorded. Files
are read as spreadsheets save them: commas, semicolons or tabs between the
columns, decimal commas where a comma can mean nothing else, and columns of
your own."""

FAIL_EXAMPLES = """[bold]Examples[/bold]
$ shortlist fail screen.toml 12 17 --reason "the plate was dropped"
$ shortlist cancel screen.toml 18"""


WHY_EXAMPLES = """[bold]Examples[/bold]
$ shortlist why screen.toml 12
$ shortlist why screen.toml 12 13 14 --json"""


def ask(
    study: StudyArgument = None,
    n: Annotated[int, typer.Option("-n", min=1, metavar="N", help="How many trials.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="PLATE.csv",
            help="Write a plate, .csv or .xlsx; printed if not given.",
            show_default=False,
        ),
    ] = None,
    semicolons: Annotated[
        bool,
        typer.Option(
            "--semicolons",
            help="Separate columns by semicolons, for spreadsheets that use decimal commas.",
        ),
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Ask for nothing new: write the open trials again.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    name: NameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask for the next trials; write them as a plate for the lab."""
    from shortlist.study.view import more_than_needed

    if out is not None and out.suffix.lower() not in (".csv", SUFFIX):
        raise InvalidSetting(
            f"--out {out}: a plate is a CSV file or a workbook, name one that ends in .csv or {SUFFIX}."
        )
    if out is not None and is_workbook(out):
        require_openpyxl("writing a workbook")  # before anything is asked
    opened, here = open_study(study, name), command_line(study, name)
    before = len(opened.pending)

    def asked() -> list[Trial]:
        return _ask(opened, n, again, study)

    if out is None:
        trials = asked()
    else:
        again_line = here.line("ask", "--again --out FILE.csv")
        rescue = f"The trials are open: `{again_line}` writes them."
        with new_file(out, replace=force, rescue=rescue) as file:
            trials = asked()
            if is_workbook(out):
                file.write(workbook(plate_rows(opened, trials)))
            else:
                file.write(write_plate(opened, trials, ";" if semicolons else ",").encode())
    audited = sum(trial.cause.origin == "audit" for trial in trials)
    if audited:
        note(
            f"{audited} of these trials belong to the audit, which tests whether the means are "
            "linear in the features."
        )
    if not again and len(trials) < n:
        note(_why_so_few(opened, len(trials)))
    if not again and (words := more_than_needed(opened, trials)):
        note(words)
    if before and not again:
        note(f"{count(before, 'earlier trial')} open: `{here.line('ask', '--again')}` lists all.")
    if as_json:
        rows = [trial_report(trial) for trial in trials]
        say_json({"study": opened.name, "trials": rows, "file": out and str(out)})
    elif out is not None:
        say(f"{out}: {count(len(trials), 'trial')} ({trial_numbers(trials)})")
    else:
        say(trial_rows(trials))


def _why_so_few(study: Study, asked: int) -> str:
    from shortlist.study.failing_words import is_for_failures, set_aside_words

    if is_for_failures(study):
        return f"{count(asked, 'trial')} only. {set_aside_words(study)}"
    whose = "pool" if study.problem.blocks.once else "budget"
    whose = "audit" if study.audit.is_running else whose
    return f"the {whose} has room for {count(asked, 'trial')} only."


def _ask(study: Study, n: int, again: bool, place: str | None) -> list[Trial]:
    if again and not study.pending:
        raise InvalidSetting("no trial is open: leave out --again to ask for new ones.")
    try:
        return study.pending if again else study.ask(n)
    except StudyStopped:
        more = f", and {advise('reopen')} lets the study go on" if not study.why_final else ""
        raise StudyStopped(
            f"{study_words(study)} Nothing was asked; {advise('answer')} shows the answer{more}."
        ) from None
    except LinearityRejected:
        from shortlist.study.insight.linearity_words import remedy

        lines = continued(study, "ask", place, f"-n {n}")
        ways = f"It was continued: {lines}." if lines else remedy(study)
        raise LinearityRejected(f"{study_words(study)} Nothing was asked. {ways}") from None


def tell(
    study: StudyArgument = None,
    plate: Annotated[
        str | None,
        typer.Argument(metavar="FILE", help="A plate, or other results.", show_default=False),
    ] = None,
    arm: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Instead of a file: the arm of a single result."),
    ] = None,
    value: Annotated[
        str | None,
        typer.Option(metavar="X", help="The result; without --key it counts again when repeated."),
    ] = None,
    block: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Its block, in a study with blocks."),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Identifies this result: if told again, it counts once."),
    ] = None,
    measured_again: Annotated[
        bool,
        typer.Option(
            "--measured-again",
            help="All that was told of this file before was measured again: record it as new results.",
        ),
    ] = False,
    name: NameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Record results: a whole plate or none of it; safe to repeat."""
    from shortlist.study.insight.watch import Watch

    watch = Watch()  # a tie that was known before is not said again
    is_of_names = False  # whether a file names arms and values only, without trials
    if (arm is None) != (value is None):
        raise typer.BadParameter("--arm and --value go together.")
    if block is not None and arm is None:
        raise typer.BadParameter("--block goes with --arm and --value: trials have their blocks.")
    if key is not None and arm is None:
        raise typer.BadParameter(
            "--key goes with --arm and --value: the lines of a plate are known by their trials."
        )
    if arm is not None and value is not None:
        if plate is not None:
            raise typer.BadParameter("give a plate, or --arm and --value, not both.")
        opened = open_study(study, name)
        watch.news(opened, final=True)
        [result] = read_numbers([value], lambda _: "--value")
        told = _tell_one(opened, arm, result, key, block)
        taken = [number for number, _ in told.results]
    else:
        if study is None or plate is None:
            raise InvalidSetting(
                "name the study and the plate: `shortlist tell screen.toml plate.csv`. With "
                f"{VARIABLE} set, the plate alone will do."
            )
        rows = read_plate(Path(plate))
        is_of_names = any(row.trial is None for row in rows)
        opened = open_study(study, name)
        watch.news(opened, final=True)
        told = match(Path(plate), rows, opened, measured_again=measured_again)
        results, new = opened.tell_once(told.results, told.unasked)
        taken = [trial.number for trial in new]
        # And what somebody told just now, after the plate was looked at.
        told.known.extend(trial.number for trial in results if trial.number not in taken)
    known = f", {len(told.known)} already known" if told.known else ""
    blank = f", {len(told.blank)} left blank" if told.blank else ""
    if told.left:
        note(
            f"{count(len(told.left), 'open trial')} in the file were skipped, since "
            "--measured-again only records results that were told before: leave it out to tell "
            "them."
        )
    if told.known and not (taken or told.blank or told.left or measured_again) and is_of_names:
        note(
            f"{plate} was told before: its name and all that its rows say are the same. If these are "
            f"other results, {advise('say measured again')} records them, or add a column that says what "
            "they are of, such as the question or the date."
        )
    for warning in watch.news(opened, final=True):
        if not isinstance(warning, LinearityRejected):  # the state says it
            note(str(warning))
    say_state(
        opened,
        as_json,
        f"{count(len(taken), 'result')} recorded{known}{blank}.",
        taken=taken,
        known=told.known,
        blank=told.blank,
        left=told.left,
    )


def _tell_one(
    study: Study, arm: str, result: float, key: str | None, block: str | None
) -> PlateResults:
    try:
        study.problem.index(arm)
    except UnknownName as error:
        raise UnknownName(f"{error} {advise('table')} lists them.") from None
    [trial], new = study.tell_once(unasked=[(arm, result, key, block)])
    number = trial.number
    if not new:  # its key was told before
        return PlateResults([], [number], [], [], [])
    return PlateResults([(number, result)], [], [], [], [])


CORRECT_EXAMPLES = """[bold]Examples[/bold]
$ shortlist correct screen.toml 12 --arm C07 --value 0.42 --reason "misread"
$ shortlist why screen.toml 12

With --arm nothing is changed if the trial is of another arm: a number may be
another trial in another study.

Both values stay in the log, and all results are processed again as if the
right one had been told: a study that has stopped may have to go on. The
guarantee says how many results were corrected."""


def correct(
    value: Annotated[str, typer.Option(metavar="X", help="What was measured.")] = "",
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why the told value is wrong.")] = "",
    arm: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The arm of the trial, to be sure that it is the right one."
        ),
    ] = None,
    study: StudyArgument = None,
    trial: Annotated[
        str | None,
        typer.Argument(metavar="TRIAL", help="The number of the trial.", show_default=False),
    ] = None,
    name: NameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Correct a mistyped result."""
    if not value or not reason:
        raise InvalidSetting(
            "a correction needs what was measured and why the told value is wrong: `shortlist "
            'correct STUDY TRIAL --value 0.42 --reason "read 4.2 for 0.42"`.'
        )
    [right] = read_numbers([value], lambda _: "--value")
    opened, [found] = open_trials(study, [] if trial is None else [trial], name)
    was = found.value
    corrected = opened.correct(found, right, reason=reason, arm=arm)
    copied = f", {corrected.carried_from}" if corrected.carried_from else ""
    which = f"Trial {corrected.number} ({corrected.name}{copied})"
    words = f"{which}: {right!r} in place of {was!r}."
    if was == right:
        words = f"{which} is {right!r} already."
    say_state(
        opened,
        as_json,
        words,
        trial=corrected.number,
        was=was,
        value=right,
    )
    _note_copies(opened, corrected, study, reason)


def _note_copies(study: Study, corrected: Trial, place: str | None, reason: str) -> None:
    """Say how to correct a result in the studies that it was carried over to."""
    for name in study.continuations:
        other = open_study(place, name)
        for copy, there in other.differing(study):
            if there.number == corrected.number:
                line = correction(copy, corrected.value, reason, place, name)
                note(f"the study {name!r} still has {copy.value!r}. To correct it there: {line}")


def fail(
    study: StudyArgument = None,
    trials: TrialsArgument = None,
    reason: Annotated[
        str, typer.Option(metavar="TEXT", help="What happened, for the record.")
    ] = "",
    name: NameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Record that trials failed; no value is filled in."""
    _close(study, trials, name, as_json, "failed", reason)


def cancel(
    study: StudyArgument = None,
    trials: TrialsArgument = None,
    name: NameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Record that trials will not be evaluated."""
    _close(study, trials, name, as_json, "cancelled")


def _close(
    place: str | None,
    words: list[str] | None,
    name: str | None,
    as_json: bool,
    state: Literal["failed", "cancelled"],
    reason: str = "",
) -> None:
    study, trials = open_trials(place, words or [], name)
    ended, before = study.end(trials, state, reason)
    closed, known = ([trial.number for trial in each] for each in (ended, before))
    say_state(
        study,
        as_json,
        f"{count(len(closed), 'trial')} {state}{f', {len(known)} before' if known else ''}.",
        closed=closed,
        known=known,
    )


def why(
    study: StudyArgument = None,
    trials: TrialsArgument = None,
    name: NameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say why a trial was asked for."""
    opened, found = open_trials(study, trials or [], name)
    if as_json:
        rows = [{"trial": trial.number, **asdict(opened.why(trial))} for trial in found]
        say_json({"study": opened.name, "trials": rows})
        return
    for trial in found:
        say(fold(f"Trial {trial.number}: {opened.why(trial)}"))

"""The daily commands of a lab: ``ask``, ``tell``, ``fail`` and ``cancel``."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shortlist.cli.decimals import read_results
from shortlist.cli.layout import count, fold, say, say_json
from shortlist.cli.nearest import unknown_among
from shortlist.cli.opening import VARIABLE, JsonOption, NameOption, StudyArgument, open_study
from shortlist.cli.plate import Intake, Row, match, read_plate, write_plate
from shortlist.cli.screen_files import note
from shortlist.cli.standing import standing, standing_words
from shortlist.cli.trials import by_number, find_trials, in_rows, trial_report
from shortlist.errors import (
    InvalidSetting,
    LinearityRejected,
    StudyStopped,
    TrialClosed,
    UnknownName,
)
from shortlist.files.writing import new_file

if TYPE_CHECKING:
    from shortlist.study.study import Study
    from shortlist.study.trial import Trial

ASK_EXAMPLES = """[bold]Examples[/bold]
$ shortlist ask screen.toml -n 8 --out plate.csv
$ shortlist ask screen.toml --again --out plate-again.csv

The plate has a line a trial. Fill in its column [bold]value[/bold] and hand it to
`shortlist tell`. A trial stays open until it is told, failed or cancelled; if
a plate is lost, --again writes the open trials once more.
Exit code 4: nothing was asked, as the study has stopped or cannot, or the
last of its budget or its audit is under way."""

TELL_EXAMPLES = """[bold]Examples[/bold]
$ shortlist tell screen.toml plate.csv
$ shortlist tell screen.toml --arm C07 --value 0.42   # nobody asked for it
$ shortlist tell screen.toml --arm C07 --value 0.42 --key "plate 3, well B7"

A blank value stays open: tell the same file again when it is filled in. What
was told before is left alone. If a line is wrong it is named, and nothing of
the file is taken. Files as spreadsheets save them are read: commas,
semicolons or tabs between the columns, decimal commas where a comma can mean
nothing else, and columns of your own."""

FAIL_EXAMPLES = """[bold]Examples[/bold]
$ shortlist fail screen.toml 12 17 --reason "the plate was dropped"
$ shortlist cancel screen.toml 18"""

UNCHANGED = "nothing was changed"

TrialsArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="TRIAL", help="Numbers of trials.", show_default=False),
]


def ask(
    study: StudyArgument = None,
    n: Annotated[int, typer.Option("-n", min=1, metavar="N", help="How many trials.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option(metavar="PLATE.csv", help="Write a plate; else print.", show_default=False),
    ] = None,
    semicolons: Annotated[
        bool,
        typer.Option(
            "--semicolons", help="Between the columns, for spreadsheets that want decimal commas."
        ),
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Ask for nothing new: the open trials once more.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    name: NameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask what to evaluate next; write a plate for the lab."""
    if out is not None and out.suffix.lower() != ".csv":
        raise InvalidSetting(f"--out {out}: a plate is a CSV file, name one that ends in .csv.")
    opened = open_study(study, name)
    before = len(opened.pending)
    if out is None:
        trials = _ask(opened, n, again)
    else:
        rescue = "The trials are open: `shortlist ask --again --out FILE` writes them."
        with new_file(out, replace=force, rescue=rescue) as file:
            trials = _ask(opened, n, again)
            file.write(write_plate(opened, trials, ";" if semicolons else ",").encode())
    audited = sum(trial.cause.origin == "audit" for trial in trials)
    if audited:
        note(f"{count(audited, 'trial')} of the audit: are the means linear in the features?")
    if not again and len(trials) < n:
        whose = "audit" if opened.audit.is_open else "budget"
        note(f"the {whose} has room for {count(len(trials), 'trial')} only.")
    if before and not again:
        note(f"{count(before, 'earlier trial')} open: `shortlist ask --again` lists all.")
    if as_json:
        rows = [trial_report(trial) for trial in trials]
        say_json({"study": opened.name, "trials": rows, "file": out and str(out)})
    elif out is not None:
        say(f"{out}: {count(len(trials), 'trial')} ({by_number(trials)})")
    else:
        say(in_rows(trials))


def _ask(study: Study, n: int, again: bool) -> list[Trial]:
    if again and not study.pending:
        raise InvalidSetting("no trial is open: leave out --again to ask for new ones.")
    try:
        return study.pending if again else study.ask(n)
    except StudyStopped:
        raise StudyStopped(
            f"{standing_words(study)} Nothing was asked; `shortlist status` shows the answer"
            f"{', and `shortlist reopen` lets the study go on' if study.budget is None else ''}."
        ) from None
    except LinearityRejected:
        raise LinearityRejected(
            f"{standing_words(study)} Nothing was asked, and nothing told is lost: `shortlist "
            "without-features` goes on with every result and assumes nothing of the means, "
            "`shortlist with-misspecification` assumes that they are within C of linear."
        ) from None


def tell(
    study: StudyArgument = None,
    plate: Annotated[
        str | None, typer.Argument(metavar="PLATE", help="The filled-in file.", show_default=False)
    ] = None,
    arm: Annotated[
        str | None, typer.Option(metavar="NAME", help="In place of a plate: the arm of a result.")
    ] = None,
    value: Annotated[
        str | None,
        typer.Option(metavar="X", help="And the result; without --key it counts every time."),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Names this result: told again, it counts once."),
    ] = None,
    name: NameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell what came out: all of a plate or nothing, safe to repeat."""
    if (arm is None) != (value is None):
        raise typer.BadParameter("--arm and --value go together.")
    if key is not None and arm is None:
        raise typer.BadParameter(
            "--key goes with --arm and --value: the lines of a plate are known by their trials."
        )
    if arm is not None and value is not None:
        if plate is not None:
            raise typer.BadParameter("give a plate, or --arm and --value, not both.")
        [result] = read_results([("--value", value)])
        opened = open_study(study, name)
        if arm not in opened.problem.names:
            hint = unknown_among("arm", arm, opened.problem.names)
            raise UnknownName(f"{hint} `shortlist export --table` lists them.")
        before = len(opened.trials)
        told = opened.tell(arm=arm, value=result, key=key)
        if told.number < before:
            _say_told(opened, Intake([], [told.number], []), as_json)
        else:
            _say_told(opened, Intake([(told.number, result)], [], []), as_json)
        return
    if plate is None:  # a single word is the plate, if the environment names the study
        study, plate = os.environ.get(VARIABLE), study
    if study is None or plate is None:
        raise InvalidSetting(
            "name the study and the plate: `shortlist tell screen.toml plate.csv`. With "
            f"{VARIABLE} set, the plate alone will do."
        )
    rows = read_plate(Path(plate))
    opened = open_study(study, name)
    _say_told(opened, _take_in(Path(plate), rows, opened), as_json)


def _take_in(file: Path, rows: list[Row], study: Study) -> Intake:
    intake = match(file, rows, study)
    try:
        study.tell_many(intake.results)
    except TrialClosed:  # somebody told some of these just now: look again
        study.refresh()
        intake = match(file, rows, study)
        study.tell_many(intake.results)
    return intake


def _say_told(study: Study, intake: Intake, as_json: bool) -> None:
    if as_json:
        taken = [number for number, _ in intake.results]
        told = {"taken": taken, "known": intake.known, "blank": intake.blank}
        say_json({**told, **standing(study)})
        return
    known = f", {len(intake.known)} known already" if intake.known else ""
    blank = f", {len(intake.blank)} left blank" if intake.blank else ""
    say(f"{count(len(intake.results), 'result')} taken{known}{blank}.")
    say(fold(standing_words(study)))


def fail(
    study: StudyArgument = None,
    trials: TrialsArgument = None,
    reason: Annotated[
        str, typer.Option(metavar="TEXT", help="What happened, for the record.")
    ] = "",
    name: NameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say that trials came to nothing; no value is made up."""
    _close(study, trials, name, as_json, "failed", lambda book, trial: book.fail(trial, reason))


def cancel(
    study: StudyArgument = None,
    trials: TrialsArgument = None,
    name: NameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say that trials will not be evaluated."""
    _close(study, trials, name, as_json, "cancelled", lambda book, trial: book.cancel(trial))


def _close(
    place: str | None,
    words: list[str] | None,
    name: str | None,
    as_json: bool,
    state: str,
    close: Callable[[Study, Trial], Trial],
) -> None:
    """End open trials; those that ended the same way before are left alone."""
    study, trials = find_trials(place, words or [], name)
    for trial in trials:
        if trial.state not in ("pending", state):
            raise TrialClosed(_why_not(trial, state, UNCHANGED))
    ending = [trial for trial in trials if trial.state == "pending"]
    for done, trial in enumerate(ending):
        try:
            close(study, trial)
        except TrialClosed:  # somebody ended it just now
            if study.trials[trial.number].state != state:
                outcome = (
                    f"only {by_number(ending[:done])} could be {state} before"
                    if done
                    else UNCHANGED
                )
                raise TrialClosed(_why_not(study.trials[trial.number], state, outcome)) from None
    if as_json:
        known = [trial.number for trial in trials if trial not in ending]
        closed = [trial.number for trial in ending]
        say_json({"closed": closed, "known": known, **standing(study)})
        return
    before = f", {len(trials) - len(ending)} before" if len(ending) < len(trials) else ""
    say(f"{count(len(ending), 'trial')} {state}{before}.")
    say(fold(standing_words(study)))


def _why_not(trial: Trial, state: str, outcome: str) -> str:
    stored = "" if trial.value is None else f" ({trial.value!r} is stored and final)"
    return (
        f"trial {trial.number} ({trial.name!r}) is {trial.state} and cannot be {state}{stored}: "
        f"{outcome}."
    )


def reopen(
    study: StudyArgument = None, name: NameOption = None, as_json: JsonOption = False
) -> None:
    """Take a stop back, to evaluate more. The guarantee holds at the next stop too."""
    opened = open_study(study, name)
    opened.reopen()
    if as_json:
        say_json(standing(opened))
    else:
        say(fold(standing_words(opened)))

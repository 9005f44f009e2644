"""Commands about whole studies: look at them, list them, reopen them, go on without linearity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from shortlist.cli.opening import JsonOption, NameOption, StudyArgument, named_place, open_study
from shortlist.cli.output import fold, say, say_entry, say_json, say_state, trial_rows
from shortlist.cli.screen_toml import ScreenFile
from shortlist.errors import DamagedStorage, InvalidInput, StorageError
from shortlist.files.paths import from_here
from shortlist.printable import count, few
from shortlist.study.insight.summary import (
    findings,
    status_report,
    study_report,
    study_words,
    trial_numbers,
)

if TYPE_CHECKING:
    from shortlist.study.study import Study

STATUS_EXAMPLES = """[bold]Examples[/bold]
$ shortlist status screen.toml
$ shortlist status screen.toml --json | jq .shortlist
$ SHORTLIST_STUDY=screen.toml shortlist status"""

REOPEN_EXAMPLES = """[bold]Examples[/bold]
$ shortlist reopen screen.toml
$ shortlist ask screen.toml -n 8 --out plate.csv"""

LIST_EXAMPLES = """[bold]Examples[/bold]
$ shortlist list screen.db
$ shortlist list postgresql://ann@db/screens --json"""

CONTINUING_EXAMPLES = """[bold]Examples[/bold]
$ shortlist without-features screen.db
$ shortlist with-features-as-guide screen.db
$ shortlist with-misspecification screen.db 0.1
$ shortlist ask screen.db --study "screen, without features" -n 8 --out plate.csv

A new study is created next to the old one, with every result that was told;
the old one stays as it is. If you run it again, it finds the study that it created."""

SHOWN = 12  # open trials, before the rest is only counted

NewNameOption = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="Of the new study.", show_default=False)
]


def status(
    study: StudyArgument = None, name: NameOption = None, as_json: JsonOption = False
) -> None:
    """Show where a study stands: progress, open trials, shortlist."""
    opened = open_study(study, name)
    if as_json:
        say_json(status_report(opened))
        return
    answer = opened.shortlist
    figures = answer.table.drop(columns="in_shortlist")
    health = findings(opened.health())
    say(f"{opened.name} in {from_here(opened.storage)}\n")
    say_entry("state", study_words(opened))
    if not opened.done:
        say_entry("to go", str(opened.remaining()))
    if failed := [trial for trial in opened.trials if trial.state == "failed"]:
        say_entry("failed", f"{count(len(failed), 'trial')} ({trial_numbers(failed)})")
    if opened.waiting:
        results = f"{count(len(opened.waiting), 'result')} ({trial_numbers(opened.waiting)})"
        say_entry("waiting", f"{results} until the trials asked for before are closed")
    if len(answer):
        say("\nThe shortlist" if answer.final else "\nThe shortlist so far")
        say(figures.to_string(index=False, float_format="{:.4g}".format))
        say(fold(answer.guarantee))
    if opened.pending:
        say(f"\nOpen trials ({len(opened.pending)})")
        say(trial_rows(opened.pending[:SHOWN]))
        if len(opened.pending) > SHOWN:
            say(f"… and {len(opened.pending) - SHOWN} more: `shortlist ask --again`.")
    if warnings := [finding for finding in health if finding["level"] == "warning"]:
        say()
    for finding in warnings:
        say_entry("warning", f"{finding['words']} {finding['meaning']}")


def list_studies(storage: StudyArgument = None, as_json: JsonOption = False) -> None:
    """List the studies in a storage, and the state of each.

    A damaged study is named and does not hide the others; the exit code is then
    5.
    """
    from shortlist.study.storage.opening import study_names
    from shortlist.study.study import Study

    place = named_place(storage)
    if isinstance(place, ScreenFile):
        place = place.storage
    names = study_names(place)
    studies: list[dict[str, Any]] = []
    damaged: list[str] = []
    for name in names:
        try:
            study = Study.load(place, name)
            studies.append({**study_report(study), "words": study_words(study)})
        except (InvalidInput, StorageError) as error:
            studies.append({"study": name, "words": str(error)})
            if isinstance(error, StorageError):  # else its rules are the user's, and not stored
                damaged.append(name)
    if as_json:
        say_json({"studies": studies})
    else:
        for row in studies:
            say_entry(row["study"], row["words"])
    if damaged:
        raise DamagedStorage(
            f"{len(damaged)} of {len(names)} studies cannot be read: "
            f"{few(damaged)}. Restore the file from a copy; the others are as listed."
        )


def reopen(
    study: StudyArgument = None, name: NameOption = None, as_json: JsonOption = False
) -> None:
    """Undo a stop, to evaluate more. The guarantee holds at the next stop too."""
    opened = open_study(study, name)
    opened.reopen()
    say_state(opened, as_json)


def without_features(
    study: StudyArgument = None,
    new_name: NewNameOption = None,
    name: NameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Continue with all results, and assume nothing about the means."""
    _say_continued(open_study(study, name).without_features(name=new_name), as_json)


def with_features_as_guide(
    study: StudyArgument = None,
    new_name: NewNameOption = None,
    name: NameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Continue with all results; the features help to guess, and prove nothing."""
    _say_continued(open_study(study, name).with_features_as_guide(name=new_name), as_json)


def with_misspecification(
    study: StudyArgument,
    c: Annotated[float, typer.Argument(metavar="C", help="How far from linear a mean may be.")],
    new_name: NewNameOption = None,
    name: NameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Continue with all results, and assume that means are within C of linear."""
    _say_continued(open_study(study, name).with_misspecification(c, name=new_name), as_json)


def _say_continued(study: Study, as_json: bool) -> None:
    carried = sum(trial.cause.origin == "carried" for trial in study.trials)
    words = (
        f"Study {study.name!r}, in {from_here(study.storage)}: {study.bound.name}, with "
        f"{count(carried, 'result')} carried over. Name it with --study."
    )
    say_state(study, as_json, fold(words))

"""Looking at a study: ``status``, ``why`` and ``list``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shortlist.cli.findings import finding_words, findings
from shortlist.cli.layout import count, entry, few, fold, from_here, say, say_json
from shortlist.cli.opening import (
    JsonOption,
    NameOption,
    StudyArgument,
    is_screen_file,
    named,
    open_study,
)
from shortlist.cli.screen_toml import read_screen_file
from shortlist.cli.standing import standing, standing_words
from shortlist.cli.trials import by_number, find_trials, in_rows, trial_report
from shortlist.errors import DamagedStorage, InvalidInput, StorageError

if TYPE_CHECKING:
    from shortlist.study.study import Study

EXAMPLES = """[bold]Examples[/bold]
$ shortlist status screen.toml
$ shortlist status screen.toml --json | jq .shortlist
$ SHORTLIST_STUDY=screen.toml shortlist status"""

SHOWN = 12  # open trials, before the rest is only counted


def status(
    study: StudyArgument = None, name: NameOption = None, as_json: JsonOption = False
) -> None:
    """Show where a study stands: progress, open trials, shortlist."""
    opened = open_study(study, name)
    if as_json:
        say_json(_report(opened))
    else:
        _print(opened)


def _report(study: Study) -> dict[str, Any]:
    from shortlist.study.guarantee import worth

    answer = study.shortlist
    return {
        **standing(study),
        "guarantee": answer.guarantee,
        "worth": worth(study, answer.error).badge,
        "table": answer.table.drop(columns="in_shortlist").to_dict(orient="records"),
        "open": [trial_report(trial) for trial in study.pending],
        "waiting_trials": [trial.number for trial in study.waiting],
        "health": findings(study.health()),
    }


def _print(study: Study) -> None:
    answer = study.shortlist
    failed = [trial for trial in study.trials if trial.state == "failed"]
    say(f"{study.name} in {from_here(study.storage)}\n")
    say(entry("state", standing_words(study)))
    if not study.done:
        say(entry("to go", str(study.remaining())))
    if failed:
        say(entry("failed", f"{count(len(failed), 'trial')} ({by_number(failed)})"))
    if study.waiting:
        say(
            entry(
                "waiting",
                f"{count(len(study.waiting), 'result')} ({by_number(study.waiting)}) until the "
                "trials asked for before are closed",
            )
        )
    if len(answer):
        figures = answer.table.drop(columns="in_shortlist")
        say(
            f"\n{'The shortlist' if answer.final else 'The shortlist so far'}\n"
            f"{figures.to_string(index=False, float_format='{:.4g}'.format)}"
        )
        say(fold(answer.guarantee))
    if study.pending:
        say(f"\nOpen trials ({len(study.pending)})")
        say(in_rows(study.pending[:SHOWN]))
        if len(study.pending) > SHOWN:
            say(f"… and {len(study.pending) - SHOWN} more: `shortlist ask --again`.")
    warnings = [each for each in findings(study.health()) if each["level"] == "warning"]
    if warnings:
        say()
    for finding in warnings:
        say(entry("warning", finding_words(finding)))


def why(
    study: StudyArgument = None,
    trials: Annotated[
        list[str] | None,
        typer.Argument(metavar="TRIAL", help="Numbers of trials.", show_default=False),
    ] = None,
    name: NameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say why a trial was asked for."""
    opened, found = find_trials(study, trials or [], name)
    if as_json:
        rows = [{"trial": trial.number, **asdict(opened.why(trial))} for trial in found]
        say_json({"study": opened.name, "trials": rows})
        return
    for trial in found:
        say(fold(f"Trial {trial.number}: {opened.why(trial)}"))


def list_studies(storage: StudyArgument = None, as_json: JsonOption = False) -> None:
    """List the studies in a storage, and the state of each.

    One that is damaged is named and does not hide the others; the exit code is
    5 then.
    """
    from shortlist.study.storage.opening import study_names
    from shortlist.study.study import Study

    place = named(storage)
    if is_screen_file(place):
        place = read_screen_file(Path(place)).storage
    names = study_names(place)
    studies: list[dict[str, Any]] = []
    damaged: list[str] = []
    for name in names:
        try:
            study = Study.load(place, name)
            studies.append({**standing(study), "words": standing_words(study)})
        except InvalidInput as error:  # rules of the user's own are not stored
            studies.append({"study": name, "words": str(error)})
        except StorageError as error:
            studies.append({"study": name, "words": str(error)})
            damaged.append(name)
    if as_json:
        say_json({"studies": studies})
    else:
        for row in studies:
            say(entry(row["study"], row["words"]))
    if damaged:
        raise DamagedStorage(
            f"{len(damaged)} of {len(names)} studies cannot be read: "
            f"{few(damaged)}. Restore the file from a copy; the others are as listed."
        )

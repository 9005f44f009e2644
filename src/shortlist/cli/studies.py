"""Commands about whole studies: look at them, list them, reopen, verify, widen and continue them."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shortlist.advice import CommandLine, read_by
from shortlist.cli.output import (
    LABEL,
    decimal,
    fold,
    say,
    say_entry,
    say_json,
    say_state,
    trial_rows,
)
from shortlist.cli.screen_toml import ScreenFile, numbers_by_arm
from shortlist.cli.study_argument import (
    JsonOption,
    NameOption,
    StudyArgument,
    command_line,
    continued,
    correction,
    named_place,
    open_study,
)
from shortlist.errors import DamagedStorage, InvalidInput, InvalidSetting, StorageError
from shortlist.files.paths import from_here
from shortlist.printable import count, first_names
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

VERIFY_EXAMPLES = """[bold]Examples[/bold]
$ shortlist verify screen.toml
$ shortlist ask screen.toml -n 8 --out plate.csv"""

WIDEN_EXAMPLES = """[bold]Examples[/bold]
$ shortlist widen screen.toml
$ shortlist widen screen.toml --epsilon 0.1"""

REOPEN_EXAMPLES = """[bold]Examples[/bold]
$ shortlist reopen screen.toml
$ shortlist ask screen.toml -n 8 --out plate.csv"""

LIST_EXAMPLES = """[bold]Examples[/bold]
$ shortlist list screen.db
$ shortlist list postgresql://ann@db/screens --json"""

CONTINUE_EXAMPLES = """[bold]Examples[/bold]
$ shortlist continue screen.db --without-features
$ shortlist continue screen.db --guide
$ shortlist continue screen.db --sigma 0.3 --name "screen, larger sigma"
$ shortlist ask screen.db --study "screen, without features" -n 8

A new study is created next to the old one, with every result that was told,
every failure and every correction, under the same numbers; the old one stays
as it is. If you run it again, it finds the study that it created, and adds
what is new in the old one."""

SHOWN = 12  # open trials, before the rest is only counted


def status(
    study: StudyArgument = None,
    in_full: Annotated[
        bool, typer.Option("--guarantee", help="Print the exact guarantee, with all conditions.")
    ] = False,
    name: NameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show where a study stands: progress, open trials, shortlist."""
    opened, here = open_study(study, name), command_line(study, name)
    if as_json:
        say_json(status_report(opened))
        return
    answer = opened.shortlist
    figures = answer.table.drop(columns="in_shortlist").reset_index()
    health = findings(opened.health())
    say(f"{opened.name} in {from_here(opened.storage)}\n")
    rejected = opened.audit.rejection is not None
    words = f"{count(opened.evaluations, 'evaluation')}. The study cannot stop: see the warning."
    say_entry("state", words if rejected else study_words(opened))
    if not opened.done and not rejected:
        say_entry("to go", str(opened.remaining()))
    for source in () if opened.done else opened.sources:  # then the guarantee says it
        say_entry("before", source.words)
    _say_all_differences(opened, study)
    if lines := continued(opened, "status", study):
        say_entry("continued", lines)
    if failed := [trial for trial in opened.trials if trial.state == "failed"]:
        say_entry("failed", f"{count(len(failed), 'trial')} ({trial_numbers(failed)})")
    if opened.waiting:
        results = f"{count(len(opened.waiting), 'result')} ({trial_numbers(opened.waiting)})"
        say_entry("waiting", f"{results}, until trials that were asked for earlier are closed")
    if len(answer):
        say("\nThe shortlist" if answer.final else "\nThe shortlist so far")
        say(figures.to_string(index=False, float_format="{:z.4g}".format, na_rep="–"))
        if "estimate" in figures:
            words = (
                "A mean is the average of the arm's own pulls; lower and upper bound the estimate."
            )
            say(fold(words))
        if in_full or not rejected:
            said = answer.guarantee.text if in_full else answer.guarantee.short
            say("\n".join(fold(line) for line in said.split("\n")))
        else:
            say("Not certified.")
        if answer.already:
            say(fold(answer.already))
        say(fold(answer.coverage))
    if opened.pending:
        say(f"\nOpen trials ({len(opened.pending)})")
        say(trial_rows(opened.pending[:SHOWN]))
        if len(opened.pending) > SHOWN:
            more = here.line("ask", "--again")
            say(f"… and {len(opened.pending) - SHOWN} more: `{more}`.")
    warnings = [finding for finding in health if finding["level"] == "warning"]
    if shown := [
        each for each in warnings if rejected or each["words"] not in answer.guarantee.short
    ]:
        say()
    for finding in shown:
        say_entry("warning", f"{finding['words']} {finding['meaning']}")


def _say_all_differences(study: Study, place: str | None) -> None:
    """Say which results differ from the studies in the same storage that they come from."""
    from shortlist.storage.opening import study_names
    from shortlist.study.study import Study

    address = study.address
    known = study_names(address) if study.sources and address else []
    for source in study.sources:
        if address is not None and source.name in known:
            say_differences(study, Study.load(address, source.name), place)


def say_differences(study: Study, old: Study, place: str | None) -> None:
    """Say which results have another value in the study they come from, and how to correct them."""
    from shortlist.study.guarantee_parts import DIFFERENCES_SHOWN, differences

    different = study.differing(old)
    if different:
        say_entry("differs", differences(different, old.name))
    for own, there in different[:DIFFERENCES_SHOWN]:
        reason = f"as in {old.name}"
        say(f"{' ' * LABEL}{correction(own, there.value, reason, place, study.name)}")


def list_studies(storage: StudyArgument = None, as_json: JsonOption = False) -> None:
    """List the studies in a storage, and the state of each.

    A damaged study is named, and the others are still listed; the exit code is
    then 5.
    """
    from shortlist.storage.opening import study_names
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
            with read_by(command_line(storage, name)):
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
            f"{first_names(damaged)}. Restore the file from a copy; the others are as listed."
        )


def reopen(
    study: StudyArgument = None, name: NameOption = None, as_json: JsonOption = False
) -> None:
    """Undo a stop, to evaluate more. The guarantee holds at the next stop too."""
    opened = open_study(study, name)
    opened.reopen()
    say_state(opened, as_json)


def widen(
    study: StudyArgument = None,
    epsilon: Annotated[
        float | None,
        typer.Option(
            parser=decimal, metavar="ε", help="The slack from now on.", show_default=False
        ),
    ] = None,
    name: NameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Go on with a larger ε, which may end a study that stalls on a tie.

    Without --epsilon it takes the least ε that ends the study now, in two
    digits; `shortlist status` says it. The guarantee is then for that ε.
    """
    opened = open_study(study, name)
    if epsilon is None:
        if why := opened.why_not_wider:
            raise InvalidInput(why)
        now = opened.shortlist.certain
        if now is None or now.stops_at is None:
            raise InvalidInput(
                "no ε would end the study now: ask and tell more, or name one with --epsilon."
            )
        epsilon = now.stops_at
    opened.widen(epsilon)
    say_state(opened, as_json)


def verify(
    study: StudyArgument = None, name: NameOption = None, as_json: JsonOption = False
) -> None:
    """Go on until each arm's own results prove the list: no linear means needed."""
    opened = open_study(study, name)
    opened.verify()
    say_state(opened, as_json)


def number_or_word(text: str) -> float | str:
    """What a screen.toml has in quotes if it is a word, such as the noise.

    Examples
    --------
    >>> number_or_word("0.5"), number_or_word("estimate")
    (0.5, 'estimate')
    """
    return text if text.startswith(("estimate", "bounded")) else decimal(text)


different = partial(typer.Option, rich_help_panel="What is different", show_default=False)


def continue_study(
    study: StudyArgument = None,
    without_features: Annotated[
        bool, different("--without-features", help="Assume nothing about the means.")
    ] = False,
    guide: Annotated[
        bool, different("--guide", help="The features help to guess, and prove nothing.")
    ] = False,
    intercept: Annotated[
        bool, different("--intercept", help="The means may have a level of their own.")
    ] = False,
    algorithm: Annotated[
        str | None, different(metavar="NAME", help="By another algorithm.")
    ] = None,
    blocks: Annotated[
        str | None,
        different(metavar="shift", help="Results that came together share an unknown shift."),
    ] = None,
    m: Annotated[int | None, different("-m", metavar="M", help="How many arms to find.")] = None,
    sigma: Annotated[
        Any,
        different(
            parser=number_or_word,
            metavar="σ",
            help='A number, "estimate" or "estimate per arm".',
        ),
    ] = None,
    delta: Annotated[
        float | None, different(parser=decimal, metavar="δ", help="The risk of a wrong answer.")
    ] = None,
    epsilon: Annotated[
        float | None, different(parser=decimal, metavar="ε", help="The slack in the means.")
    ] = None,
    costs: Annotated[
        Path | None,
        different(metavar="FILE", help="Name of an arm and cost of an evaluation, in two columns."),
    ] = None,
    budget: Annotated[
        int | None, different(metavar="T", help="Stop after this number of results.")
    ] = None,
    new_name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Name of the new study.", show_default=False),
    ] = None,
    name: NameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Continue as a new study with all results, and with some settings changed."""
    plain = {"m": m, "sigma": sigma, "delta": delta, "epsilon": epsilon, "budget": budget}
    plain["blocks"] = blocks
    plain["algorithm"] = algorithm
    changes: dict[str, Any] = {key: value for key, value in plain.items() if value is not None}
    if without_features:
        changes["features"] = None
    if guide:
        changes["trust"] = "guide"
    if intercept:
        changes["intercept"] = True
    if costs is not None:
        changes["costs"] = numbers_by_arm(costs, "cost")
    if not changes:
        raise InvalidSetting("say what is different, such as --without-features or --delta 0.01.")

    old = open_study(study, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said below, in words for people
        continuation = old.continued(name=new_name, **changes)
    _say_continued(old, continuation, study, as_json)


def _say_continued(old: Study, study: Study, place: str | None, as_json: bool) -> None:
    here = command_line(place, study.name)
    words = (
        f"Study {study.name!r}, in {from_here(study.storage)}: {study.procedure.name}, with "
        f"{carried_words(study, here)}."
    )
    with read_by(here):
        say_state(study, as_json, fold(words))
    if as_json:
        return
    _say_all_differences(study, place)
    say(fold(f"{old.name!r} stays as it is. To go on with {study.name!r}:"))
    verb, more = ("status", "") if study.done else ("ask", "-n 8 --out plate.csv")
    say(f"  {here.line(verb, more)}")


def carried_words(study: Study, here: CommandLine) -> str:
    """How many results a study has from others, and whether their numbers are the same."""
    copies = [trial for trial in study.trials if trial.cause.origin == "carried"]
    told = [trial for trial in copies if trial.state == "told"]
    failed = sum(trial.state == "failed" for trial in copies)
    corrected = sum(bool(trial.corrections) for trial in told)
    words = f"{count(len(told), 'result')} carried over"
    words += f" ({corrected:,} of them corrected)" if corrected else ""
    words += f" and {count(failed, 'failed trial')}" if failed else ""
    same = all(
        trial.key is None or int(trial.key.rpartition(" ")[2]) == trial.number for trial in copies
    )
    if same:
        return f"{words}, under the same numbers"
    return (
        f"{words}. Some trials have another number than in the study they come from: "
        f"`{here.line('export')}` has both, and `shortlist correct` with --arm checks which one it is"
    )

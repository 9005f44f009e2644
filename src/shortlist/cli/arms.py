"""Commands about the arms of a study that runs: ``retire`` and ``add``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shortlist.cli.output import say_state
from shortlist.cli.study_argument import (
    VARIABLE,
    JsonOption,
    NameOption,
    StudyArgument,
    open_study,
)
from shortlist.errors import InvalidSetting
from shortlist.printable import count

RETIRE_EXAMPLES = """[bold]Examples[/bold]
$ shortlist retire screen.toml C07 --reason "no stock"
$ shortlist retire screen.toml C09 --reason "toxic in a later assay"

The arm is never asked for again, its open trials are cancelled, and the
guarantee is about the others. What was proven of the others stays, or, if the arm
was on the list, is collected again. Algorithms of gap indices cannot go on
without an arm. It cannot be undone."""

ADD_EXAMPLES = """[bold]Examples[/bold]
$ shortlist add screen.toml C21 C22                   # without features
$ shortlist add screen.toml --features analogues.csv  # with the same columns

Which arms are added may depend on the results: evidence on pairs with them counts
from now on. Guess-and-verify can do that, but not with linear means of results in a
range, nor after `shortlist widen`. Otherwise arms can be added before the first
trial. The screen.toml may stay as it is, or name the longer table, with the
new arms at its end."""


def retire(
    study: StudyArgument = None,
    arm: Annotated[
        str | None, typer.Argument(metavar="ARM", help="Its name.", show_default=False)
    ] = None,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why, for the record.")] = "",
    name: NameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Never ask for an arm again; the answer covers the others."""
    if study is None or arm is None or not reason:
        raise InvalidSetting(
            "name the study and the arm, and say why it is retired: `shortlist retire screen.toml "
            f'C07 --reason "out of stock"`. With {VARIABLE} set, the arm alone will do.'
        )
    opened = open_study(study, name)
    before = len(opened.retired)
    opened.retire(arm, reason=reason)
    again = "" if len(opened.retired) > before else " before"
    words = f"{arm} was retired{again}."
    say_state(opened, as_json, words, arm=arm)


def add(
    study: StudyArgument = None,
    arms: Annotated[
        list[str] | None,
        typer.Argument(metavar="ARM", help="Names, without features.", show_default=False),
    ] = None,
    features: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A table of the new arms: .csv, .xlsx or .parquet.",
            show_default=False,
        ),
    ] = None,
    name: NameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add arms to a running study."""
    if study is None or (features is None) != bool(arms):
        raise InvalidSetting(
            "name the study, and the new arms or a table of them: `shortlist add screen.toml C21 "
            f"C22`, or `shortlist add screen.toml --features more.csv`. With {VARIABLE} set, the arms "
            "alone will do."
        )
    opened = open_study(study, name)
    before = opened.problem.arms
    opened.add(None if features is None else str(features), arms=arms)
    new = opened.problem.arms - before
    words = f"{count(new, 'arm')} added."
    say_state(opened, as_json, words)


READMIT_EXAMPLES = """[bold]Examples[/bold]
$ shortlist readmit screen.toml

Arms whose evaluations failed three times in a row are set aside, and a first plan
goes on without them. Once their evaluation is repaired this asks for all of them
again; so does `shortlist tell` for one of them."""


def readmit(
    study: StudyArgument = None, name: NameOption = None, as_json: JsonOption = False
) -> None:
    """Ask again for all arms that failed too often."""
    opened = open_study(study, name)
    opened.readmit()
    words = "No arm is set aside."
    say_state(opened, as_json, words)

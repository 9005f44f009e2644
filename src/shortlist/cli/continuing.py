"""Going on with all results where the means are not linear: two commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from shortlist.cli.layout import count, fold, from_here, say, say_json
from shortlist.cli.opening import JsonOption, NameOption, StudyArgument, open_study
from shortlist.cli.standing import standing, standing_words

if TYPE_CHECKING:
    from shortlist.study.study import Study

EXAMPLES = """[bold]Examples[/bold]
$ shortlist without-features screen.db
$ shortlist with-misspecification screen.db 0.1
$ shortlist ask screen.db --study "screen, without features" -n 8 --out plate.csv

A new study is made beside the old one, with every result that was told; the
old one stays as it is. Run again, it finds the study that it made."""

NewNameOption = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="Of the new study.", show_default=False)
]


def without_features(
    study: StudyArgument = None,
    new_name: NewNameOption = None,
    name: NameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Go on with all results, and assume nothing about the means."""
    _say(open_study(study, name).without_features(name=new_name), as_json)


def with_misspecification(
    study: StudyArgument,
    c: Annotated[float, typer.Argument(metavar="C", help="How far from linear a mean may be.")],
    new_name: NewNameOption = None,
    name: NameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Go on with all results, and assume that means are within C of linear."""
    _say(open_study(study, name).with_misspecification(c, name=new_name), as_json)


def _say(study: Study, as_json: bool) -> None:
    if as_json:
        say_json(standing(study))
        return
    carried = sum(trial.cause.origin == "carried" for trial in study.trials)
    say(
        fold(
            f"Study {study.name!r}, in {from_here(study.storage)}: {study.bound.name}, with "
            f"{count(carried, 'result')} carried over. Name it with --study."
        )
    )
    say(fold(standing_words(study)))

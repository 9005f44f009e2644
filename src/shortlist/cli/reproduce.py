"""``shortlist reproduce``: the paper's figures and tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shortlist.cli.layout import say

EXAMPLES = """[bold]Examples[/bold]
$ shortlist reproduce --list
$ shortlist reproduce figure-1a figure-1b --runs 500 --workers 2
$ shortlist reproduce all --out results"""


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Figures and tables, or [bold]all[/bold]."),
    ] = None,
    show: Annotated[
        bool, typer.Option("--list", help="List the figures and tables, and stop.")
    ] = False,
    runs: Annotated[int, typer.Option(min=1, metavar="N", help="Runs of each algorithm.")] = 500,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Same seed, same results.")] = 0,
    out: Annotated[
        Path,
        typer.Option(
            file_okay=False, metavar="FOLDER", help="Folder for pictures, tables and the page."
        ),
    ] = Path("results"),
    workers: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="How many cores to use; all of them if not given."),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress; print the page's path only.")
    ] = False,
) -> None:
    """Run the paper's experiments again: pictures, tables, and a page to compare them.

    What is finished is kept: after an interruption, run the same command again.
    """
    from shortlist import paper

    if show:
        _list()
        return
    if not names:
        raise typer.BadParameter("name a figure or a table, or 'all'; --list lists them.")
    page = paper.reproduce(
        names, runs=runs, seed=seed, out=out, workers=workers, progress=not quiet
    )
    say(page if quiet else f"The page: {page}")


def _list() -> None:
    from shortlist import paper

    width = max(map(len, paper.EXPERIMENTS))
    for name, experiment in paper.EXPERIMENTS.items():
        say(f"{name:{width}}  {experiment.title}")
    say(f"{'all':{width}}  every one of these")

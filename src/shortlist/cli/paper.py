"""Commands about the paper: ``reproduce`` its figures and tables, fetch its public ``data``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shortlist.cli.output import say

REPRODUCE_EXAMPLES = """[bold]Examples[/bold]
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
    """Rerun the paper's experiments: pictures, tables, and a page to compare them.

    Finished runs are saved: after an interruption, run the same command again.
    """
    from shortlist import paper

    if show:
        width = max(map(len, paper.EXPERIMENTS))
        for name, experiment in paper.EXPERIMENTS.items():
            say(f"{name:{width}}  {experiment.title}")
        say(f"{'all':{width}}  every one of these")
        return
    if not names:
        raise typer.BadParameter("name a figure or a table, or 'all'; --list lists them.")
    page = paper.reproduce(
        names, runs=runs, seed=seed, out=out, workers=workers, progress=not quiet
    )
    say(page if quiet else f"The page: {page}")


DATA_EXAMPLES = """[bold]Examples[/bold]
$ shortlist data fetch
$ shortlist data path epilepsy_scores.csv
$ SHORTLIST_DATA=~/DR_Data shortlist data list"""

data_app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")


@data_app.callback()
def data() -> None:
    """The paper's public data set: fetch it, list it, find a file.

    13 files, 6.6 MB, from github.com/clreda/linear-top-m (MIT), at a fixed
    commit. Each is checked against its SHA-256.

    SHORTLIST_DATA names a folder that already holds them. It is then used
    instead of the network, and never written to.
    SHORTLIST_CACHE names the folder to keep downloads in.
    """


@data_app.command()
def fetch(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Which files; all of them if none is named."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing.")] = False,
) -> None:
    """Download what is missing or damaged, and check the rest."""
    from shortlist.data import dataset

    def say_file(name: str, _: Path) -> None:
        say(f"{name}  {_size(dataset.FILES[name].size)}")

    paths = dataset.fetch(names or None, progress=None if quiet else say_file)
    if not quiet:
        folder = dataset.mirror()
        where = dataset.cache() if folder is None else f"{folder} (SHORTLIST_DATA)"
        say(f"{len(paths)} of {len(dataset.FILES)} files checked, in {where}")


@data_app.command("list")
def list_files() -> None:
    """List the files, and whether each is here, missing or damaged."""
    from shortlist.data import dataset

    width = max(map(len, dataset.FILES))
    for name, file in dataset.FILES.items():
        say(f"{name:{width}}  {_size(file.size)}  {dataset.state(name):7}  {file.about}")


@data_app.command()
def path(name: Annotated[str, typer.Argument(metavar="NAME", help="A file's name.")]) -> None:
    """Print where a file is; it is downloaded first if it must be."""
    from shortlist.data import dataset

    say(dataset.path(name))


def _size(size: int) -> str:
    return f"{size / 1000:7.1f} kB"

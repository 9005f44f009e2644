"""The paper's public data set: ``shortlist data``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shortlist.cli.output import say

EXAMPLES = """[bold]Examples[/bold]
$ shortlist data fetch
$ shortlist data path epilepsy_scores.csv
$ SHORTLIST_DATA=~/DR_Data shortlist data list"""

app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")


@app.callback()
def data() -> None:
    """The paper's public data set: fetch it, list it, find a file.

    13 files, 6.6 MB, from github.com/clreda/linear-top-m (MIT), at a fixed
    commit. Each is checked against its SHA-256.

    SHORTLIST_DATA names a folder that already holds them. It is then used
    instead of the network, and never written to.
    SHORTLIST_CACHE names the folder to keep downloads in.
    """


@app.command()
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


@app.command("list")
def list_files() -> None:
    """List the files, and whether each is here, missing or damaged."""
    from shortlist.data import dataset

    width = max(map(len, dataset.FILES))
    for name, file in dataset.FILES.items():
        say(f"{name:{width}}  {_size(file.size)}  {dataset.state(name):7}  {file.about}")


@app.command()
def path(name: Annotated[str, typer.Argument(metavar="NAME", help="A file's name.")]) -> None:
    """Print where a file is; it is downloaded first if it must be."""
    from shortlist.data import dataset

    say(dataset.path(name))


def _size(size: int) -> str:
    return f"{size / 1000:7.1f} kB"

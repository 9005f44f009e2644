"""``shortlist compile``."""

from __future__ import annotations

from typing import Annotated

import typer

from shortlist.cli.layout import say

EXAMPLES = """[bold]Examples[/bold]
$ shortlist compile                 # all of it: a minute or two
$ shortlist compile few plans       # what most studies use
$ NUMBA_CACHE_DIR=/opt/machine-code shortlist compile"""


def compile_all(
    kinds: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KIND",
            help="few, many, some, allocations, misspecified, plans, classical or budgets; all if none.",
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing.")] = False,
) -> None:
    """Compile beforehand, for a container or the image of a cluster.

    A study compiles what it uses when that pays, and keeps it: nobody has to
    run this. The machine code is kept beside the package, or in the user's
    cache folder where that cannot be written to, or in NUMBA_CACHE_DIR. It is
    made for this CPU, and made anew after an upgrade.
    """
    from shortlist.simulation.preparation import prepare

    for kind in prepare(kinds or ()):
        if not quiet:
            say(f"{kind}: compiled")

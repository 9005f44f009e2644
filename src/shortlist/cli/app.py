"""The program ``shortlist``: its commands, and what happens when one fails."""

from __future__ import annotations

import io
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from shortlist.cli import algorithms, bound, data, reproduce, repurpose
from shortlist.errors import DataUnavailable, ShortlistError

USAGE, NO_DATA, INTERRUPTED = 2, 3, 130


class Door(TyperGroup):
    """Every failure that is foreseen leaves here, as one line and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        try:
            return super().invoke(ctx)
        except ShortlistError as error:
            leave(str(error), NO_DATA if isinstance(error, DataUnavailable) else USAGE)
        except ImportError as error:
            if "pip install 'shortlist[" not in str(error):  # only ours say which extra is missing
                raise
            leave(str(error), USAGE)
        except KeyboardInterrupt:
            leave("interrupted: run it again to go on.", INTERRUPTED)


def leave(message: str, code: int) -> None:
    """Say why, on one line, and end with an exit code."""
    typer.echo("shortlist: " + " ".join(message.split()), err=True)
    raise typer.Exit(code)


app = typer.Typer(
    name="shortlist",
    cls=Door,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,  # an unforeseen failure is a bug: show it as Python does
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""[bold]Examples[/bold]
$ shortlist bound --features X.csv --theta theta.csv -m 5 --sigma 0.5
$ shortlist data fetch
$ shortlist repurpose --synthetic
$ shortlist reproduce figure-1a --runs 500 --workers 2

`shortlist COMMAND --help` has more. Exit codes: 0 done, 2 wrong input,
3 data not available, 130 interrupted.""",
)


def _version(wanted: bool) -> None:
    if wanted:
        from shortlist import __version__

        typer.echo(f"shortlist {__version__}")
        raise typer.Exit


@app.callback()
def shortlist(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Find the m best of K candidates from few noisy evaluations."""


app.command("algorithms", rich_help_panel="Look up")(algorithms.algorithms)
app.command("bound", rich_help_panel="Look up", epilog=bound.EXAMPLES)(bound.bound)
app.command("repurpose", rich_help_panel="Screen", epilog=repurpose.EXAMPLES)(repurpose.repurpose)
app.command("reproduce", rich_help_panel="The paper", epilog=reproduce.EXAMPLES)(
    reproduce.reproduce
)
app.add_typer(data.app, name="data", rich_help_panel="The paper", epilog=data.EXAMPLES)


def main() -> None:
    """What the console script calls."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # σ and δ must not end a program in cp1252
            stream.reconfigure(errors="replace")
    app(prog_name="shortlist")

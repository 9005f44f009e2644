"""The program ``shortlist``: its commands, and what happens when one fails."""

from __future__ import annotations

import errno
import io
import os
import sys
import warnings
from contextlib import suppress
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from shortlist.cli import (
    algorithms,
    bound,
    compilation,
    continuing,
    data,
    export,
    new,
    reproduce,
    repurpose,
    status,
    study,
)
from shortlist.cli.layout import say
from shortlist.errors import (
    BudgetSpent,
    DataUnavailable,
    GuaranteeInDoubt,
    LinearityRejected,
    ShortlistError,
    StorageError,
    StudyMismatch,
    StudyNotFound,
    StudyStopped,
)

USAGE, NO_DATA, STOPPED, STORAGE, OUTPUT, INTERRUPTED = 2, 3, 4, 5, 6, 130
# The first that fits counts.
CODES: tuple[tuple[type[ShortlistError], int], ...] = (
    (DataUnavailable, NO_DATA),
    (StudyStopped, STOPPED),
    (BudgetSpent, STOPPED),
    (LinearityRejected, STOPPED),
    (StudyNotFound, USAGE),
    (StudyMismatch, USAGE),
    (StorageError, STORAGE),
    (ShortlistError, USAGE),
)


class Door(TyperGroup):
    """Every failure that is foreseen leaves here, as one line and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        # What a command prints says it, in words for people.
        warnings.simplefilter("ignore", GuaranteeInDoubt)
        try:
            return super().invoke(ctx)
        except ShortlistError as error:
            leave(str(error), next(code for kind, code in CODES if isinstance(error, kind)))
        except ImportError as error:
            if "pip install 'shortlist[" not in str(error):  # only ours say which extra is missing
                raise
            leave(str(error), USAGE)
        except KeyboardInterrupt:
            leave("interrupted: run it again to go on.", INTERRUPTED)


def leave(message: str, code: int) -> None:
    """Say why, on one line, and end with an exit code."""
    say("shortlist: " + " ".join(message.split()), err=True)
    raise typer.Exit(code)


app = typer.Typer(
    name="shortlist",
    cls=Door,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,  # an unforeseen failure is a bug: show it as Python does
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""[bold]A screen in the lab[/bold]
$ shortlist new screen.toml
$ shortlist ask screen.toml -n 8 --out plate.csv   # measure, fill in, and
$ shortlist tell screen.toml plate.csv             # so on until it stops
$ shortlist status screen.toml

[bold]Examples[/bold]
$ shortlist bound --features X.csv --theta theta.csv -m 5 --sigma 0.5
$ shortlist repurpose --synthetic
$ shortlist reproduce figure-1a --runs 500 --workers 2

`shortlist COMMAND --help` has more. Exit codes: 0 done, 2 wrong input,
3 data not available, 4 the study has stopped or cannot stop, or its last
trials are under way (ask), 5 the storage cannot be used (damaged, foreign, newer, out of
reach), 6 the output cannot be written, 130 interrupted.""",
)


def _version(wanted: bool) -> None:
    if wanted:
        from shortlist._version import __version__

        say(f"shortlist {__version__}")
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


LAB = "Lab"
app.command("new", rich_help_panel=LAB, epilog=new.EXAMPLES)(new.new)
app.command("ask", rich_help_panel=LAB, epilog=study.ASK_EXAMPLES)(study.ask)
app.command("tell", rich_help_panel=LAB, epilog=study.TELL_EXAMPLES)(study.tell)
app.command("fail", rich_help_panel=LAB, epilog=study.FAIL_EXAMPLES)(study.fail)
app.command("cancel", rich_help_panel=LAB, epilog=study.FAIL_EXAMPLES)(study.cancel)
app.command("reopen", rich_help_panel=LAB)(study.reopen)
app.command("without-features", rich_help_panel=LAB, epilog=continuing.EXAMPLES)(
    continuing.without_features
)
app.command("with-misspecification", rich_help_panel=LAB, epilog=continuing.EXAMPLES)(
    continuing.with_misspecification
)
app.command("status", rich_help_panel=LAB, epilog=status.EXAMPLES)(status.status)
app.command("why", rich_help_panel=LAB)(status.why)
app.command("list", rich_help_panel=LAB)(status.list_studies)
app.command("export", rich_help_panel=LAB, epilog=export.EXAMPLES)(export.export)
app.command("report", rich_help_panel=LAB)(export.report)
app.command("algorithms", rich_help_panel="Look up")(algorithms.algorithms)
app.command("bound", rich_help_panel="Look up", epilog=bound.EXAMPLES)(bound.bound)
app.command("repurpose", rich_help_panel="Screen", epilog=repurpose.EXAMPLES)(repurpose.repurpose)
app.command("reproduce", rich_help_panel="The paper", epilog=reproduce.EXAMPLES)(
    reproduce.reproduce
)
app.command("compile", rich_help_panel="This machine", epilog=compilation.EXAMPLES)(
    compilation.compile_all
)
app.add_typer(data.app, name="data", rich_help_panel="The paper", epilog=data.EXAMPLES)


# What writing to a file that was opened before may fail with.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def main() -> None:
    """What the console script calls."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # σ and δ must not end a program in cp1252
            stream.reconfigure(errors="replace")
    try:
        app(prog_name="shortlist")
    except OSError as error:  # a closed pipe ends silently, within app
        if error.filename is not None or error.errno not in NO_ROOM:
            raise
        with suppress(OSError):
            say(
                f"shortlist: the output cannot be written ({error.strerror}). What was asked or told "
                "is kept: `shortlist status` shows it.",
                err=True,
            )
        # What is still in the buffer would fail once more when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(OUTPUT)

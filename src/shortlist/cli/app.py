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
from typer.core import TyperCommand, TyperGroup

from shortlist._version import __version__
from shortlist.advice import read_by
from shortlist.cli import arms, data, export, init, new, repurpose, serve, studies, trials
from shortlist.cli.output import say
from shortlist.cli.study_argument import command_line, find_study
from shortlist.errors import (
    ArmSetAside,
    BudgetSpent,
    DataUnavailable,
    GuaranteeInDoubt,
    LikelyTie,
    LinearityRejected,
    OnlyFailingArms,
    ShortlistError,
    StorageError,
    StudyMismatch,
    StudyNotFound,
    StudyStopped,
)

USAGE, NO_DATA, STOPPED, STORAGE, OUTPUT, INTERRUPTED = 2, 3, 4, 5, 6, 130
# The first class that fits counts.
CODES: tuple[tuple[type[ShortlistError], int], ...] = (
    (DataUnavailable, NO_DATA),
    (StudyStopped, STOPPED),
    (BudgetSpent, STOPPED),
    (OnlyFailingArms, STOPPED),
    (LinearityRejected, STOPPED),
    (StudyNotFound, USAGE),
    (StudyMismatch, USAGE),
    (StorageError, STORAGE),
    (ShortlistError, USAGE),
)


def folded(epilog: str) -> str:
    r"""The end of a help text, its prose to be folded at the width of the terminal.

    A paragraph under a heading holds examples, whose lines stay as they are.

    Examples
    --------
    >>> folded("[bold]Examples[/bold]\n$ one\n$ two\n\nProse\nof two lines.")
    '[bold]Examples[/bold]\n$ one\n$ two\n\nProse of two lines.'
    """
    parts = epilog.split("\n\n")
    return "\n\n".join(
        part if part.startswith("[bold]") else " ".join(part.split("\n")) for part in parts
    )


class PlainHelp:
    """Commands whose help shows a flag as a flag, without the type of a value, and folds prose."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **{**more, "epilog": folded(more.get("epilog") or "")})

    def get_params(self, ctx: Any) -> Any:
        """The parameters, as the help lists them."""
        found = super().get_params(ctx)  # type: ignore[misc]
        for each in found:
            if getattr(each, "is_flag", False):
                each.metavar = ""
        return found


class Command(PlainHelp, TyperCommand):
    """One command; it advises commands about the study that it named."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        find_study(ctx)
        here = command_line(ctx.params.get("study"), ctx.params.get("name"))
        if "screen" in ctx.params:
            here = command_line(str(ctx.params["screen"]), None)
        try:
            with read_by(here):
                return super().invoke(ctx)
        except ShortlistError as error:
            code = next(code for kind, code in CODES if isinstance(error, kind))
            leave(str(error), code)


class Commands(PlainHelp, TyperGroup):
    """Turns every expected failure of a command into one line and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        # Commands print what such a warning says, in words for people.
        for category in (GuaranteeInDoubt, ArmSetAside, LikelyTie):
            warnings.simplefilter("ignore", category)
        try:
            return super().invoke(ctx)
        except ImportError as error:
            if "pip install 'shortlist[" not in str(error):  # only ours say which extra is missing
                raise
            leave(str(error), USAGE)
        except KeyboardInterrupt:
            leave("interrupted: run it again to continue.", INTERRUPTED)


def leave(message: str, code: int) -> None:
    """Print why on one line, and end with an exit code."""
    say("shortlist: " + " ".join(message.split()), err=True)
    raise typer.Exit(code)


app = typer.Typer(
    name="shortlist",
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,  # an unexpected failure is a bug: show it as Python does
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""[bold]A screen in the lab[/bold]
$ shortlist init features.csv                      # writes screen.toml
$ shortlist new screen.toml
$ shortlist ask screen.toml -n 8 --out plate.csv   # measure, fill in, and
$ shortlist tell screen.toml plate.csv             # repeat until it stops
$ shortlist status screen.toml

[bold]Examples[/bold]
$ shortlist repurpose --synthetic

`shortlist COMMAND --help` shows more. Exit codes: 0 done, 2 wrong input,
3 data not available, 4 the study has stopped or cannot stop, or its last
trials are pending, or only failing arms are wanted (ask), 5 the storage
cannot be used (damaged, foreign, newer, unreachable), 6 the output cannot be
written, 130 interrupted.""",
)


def _version(wanted: bool) -> None:
    if wanted:
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


def algorithms(
    every: Annotated[bool, typer.Option("--all", help="Also variants.")] = False,
) -> None:
    """List the algorithms to choose among, with a line on each."""
    from shortlist.catalog.registry import NEEDING
    from shortlist.catalog.registry import algorithms as catalog

    known = catalog(all=every)
    width = max(map(len, known))
    for name in known:
        say(f"{name:{width}}  {known[name]}")
    for name, kind in NEEDING.items():
        say(f"\n{kind.needs.heading}:" if kind.needs else "")
        say(f"{name:{width}}  {kind.summary}")


ALGORITHMS_EXAMPLES = """[bold]Examples[/bold]
$ shortlist algorithms
$ shortlist algorithms --all | grep LinGIFA"""

LAB, LOOK_UP, PAPER = "Lab", "Look up", "The paper"
for name, panel, command, examples in (
    ("init", LAB, init.init, init.EXAMPLES),
    ("new", LAB, new.new, new.EXAMPLES),
    ("ask", LAB, trials.ask, trials.ASK_EXAMPLES),
    ("tell", LAB, trials.tell, trials.TELL_EXAMPLES),
    ("fail", LAB, trials.fail, trials.FAIL_EXAMPLES),
    ("correct", LAB, trials.correct, trials.CORRECT_EXAMPLES),
    ("cancel", LAB, trials.cancel, trials.FAIL_EXAMPLES),
    ("retire", LAB, arms.retire, arms.RETIRE_EXAMPLES),
    ("add", LAB, arms.add, arms.ADD_EXAMPLES),
    ("readmit", LAB, arms.readmit, arms.READMIT_EXAMPLES),
    ("reopen", LAB, studies.reopen, studies.REOPEN_EXAMPLES),
    ("verify", LAB, studies.verify, studies.VERIFY_EXAMPLES),
    ("widen", LAB, studies.widen, studies.WIDEN_EXAMPLES),
    ("continue", LAB, studies.continue_study, studies.CONTINUE_EXAMPLES),
    ("status", LAB, studies.status, studies.STATUS_EXAMPLES),
    ("why", LAB, trials.why, trials.WHY_EXAMPLES),
    ("list", LAB, studies.list_studies, studies.LIST_EXAMPLES),
    ("export", LAB, export.export, export.EXAMPLES),
    ("report", LAB, export.report, export.REPORT_EXAMPLES),
    ("serve", LAB, serve.serve, serve.EXAMPLES),
    ("algorithms", LOOK_UP, algorithms, ALGORITHMS_EXAMPLES),
    ("repurpose", "Screen", repurpose.repurpose, repurpose.EXAMPLES),
):
    app.command(name, cls=Command, rich_help_panel=panel, epilog=examples)(command)
for each in data.app.registered_commands:
    each.cls, each.epilog = Command, data.EXAMPLES
app.add_typer(data.app, name="data", rich_help_panel=PAPER, epilog=data.EXAMPLES)


# Errors of writing to a file that is already open.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def main() -> None:
    """Run the program, as the console script does."""
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
                f"shortlist: the output cannot be written ({error.strerror}). What was asked or "
                "told is kept: `shortlist status` shows it.",
                err=True,
            )
        # Flushing the rest of the buffer would fail once more when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(OUTPUT)

"""Commands that write files about a study: ``export`` and ``report``."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shortlist.cli.output import say, say_json
from shortlist.cli.study_argument import (
    JsonOption,
    NameOption,
    StudyArgument,
    open_study,
)
from shortlist.errors import InvalidSetting, unknown_name
from shortlist.files.cells import csv_of
from shortlist.files.excel import SUFFIX, workbook
from shortlist.files.writing import new_file
from shortlist.printable import count, plain
from shortlist.study.insight.summary import trial_report

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = [
    *(
        "trial",
        "arm",
        "block",
        "state",
        "value",
        "reason",
        "asked",
        "closed",
        "due",
        "worker",
        "seed",
    ),
    *("why", "first_value", "correction", "study"),
]
FORMATS = (".csv", ".json", ".parquet", ".xlsx")

EXAMPLES = """[bold]Examples[/bold]
$ shortlist export screen.toml --out trials.csv
$ shortlist export screen.toml --table --out arms.parquet
$ shortlist export screen.toml > trials.csv

One row per trial: trial, arm, block, state, value, reason, asked, closed, due
(times in UTC), worker, seed, why, first_value (before a correction), correction
(its reason), study. `shortlist tell` reads such a file. With --table one row per
arm: name, pulls, mean, lower, upper, in_shortlist."""


REPORT_EXAMPLES = """[bold]Examples[/bold]
$ shortlist report screen.toml --out report.html"""


def export(
    study: StudyArgument = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help=".csv, .xlsx, .parquet or .json; else CSV on stdout.",
            show_default=False,
        ),
    ] = None,
    table: Annotated[bool, typer.Option("--table", help="The arms instead of the trials.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    name: NameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write every trial, or the table of the arms, to a file."""
    if out is not None and out.suffix.lower() not in FORMATS:
        raise unknown_name("format", out.suffix, FORMATS)
    opened = open_study(study, name)
    if table:
        frame = opened.table().reset_index()
    else:
        import pandas as pd

        trials, mark = opened.trials, opened.mark
        reasons = opened.reasons(trials)
        rows = [
            {"study": mark, **trial_report(trial), "why": str(reason)}
            for trial, reason in zip(trials, reasons, strict=True)
        ]
        frame = pd.DataFrame(rows, columns=COLUMNS)
    if out is not None:
        with new_file(out, replace=force) as file:
            file.write(_encoded(frame, out.suffix.lower()))
    if as_json:
        what = {"file": str(out), "rows": len(frame)}
        say_json({"study": opened.name, **(what if out else {"rows": frame.to_dict("records")})})
    elif out is not None:
        say(f"{out}: {count(len(frame), 'row')}")
    else:
        text = csv_of(frame, index=False)
        if sys.stdout.isatty():
            say(text.decode().removesuffix("\n"))
        else:  # the bytes of a file: a stdout in another encoding would lose characters
            typer.echo(text, nl=False)


def report(
    study: StudyArgument = None,
    out: Annotated[Path, typer.Option(metavar="FILE.html", help="The file to write.")] = Path(
        "report.html"
    ),
    force: Annotated[bool, typer.Option("--force", help="Overwrite any file.")] = False,
    name: NameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a page about a study, for readers who were not involved.

    An earlier page of the same study, written by this command, is replaced. Any
    other file is left alone unless --force is given.
    """
    if out.suffix.lower() not in (".html", ".htm"):
        raise InvalidSetting(f"--out {out}: a report is a page, name a file that ends in .html.")
    from shortlist import report as reports

    opened = open_study(study, name)
    # The digest in the mark does not change with the results.
    signature = f"<!-- shortlist report {opened.mark.rpartition('-')[2]} -->\n".encode()
    try:
        is_ours = out.read_bytes().endswith(signature)
    except OSError:  # there is no file, or writing will say what is wrong
        is_ours = False
    with new_file(out, replace=force or is_ours) as file:
        page = reports.html(opened)
        file.write(page.encode() + signature)
    if as_json:
        say_json({"study": opened.name, "file": str(out)})
    else:
        say(f"The page: {out}")


def _encoded(frame: pd.DataFrame, suffix: str) -> bytes:
    if suffix == ".csv":
        return csv_of(frame, index=False)
    if suffix == SUFFIX:
        return workbook([list(map(str, frame.columns)), *frame.to_numpy(dtype=object).tolist()])
    if suffix == ".json":
        rows = plain(frame.to_dict(orient="records"))
        return (json.dumps(rows, indent=2, ensure_ascii=False) + "\n").encode()
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ImportError(
            "writing Parquet needs pyarrow: pip install 'shortlist[parquet]', or name a .csv file."
        ) from None
    file = io.BytesIO()
    frame.to_parquet(file, index=False)
    return file.getvalue()

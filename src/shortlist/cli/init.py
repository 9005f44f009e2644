"""``shortlist init``: write a screen.toml for a file of features, with a comment on every line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from shortlist.advice import CommandLine
from shortlist.cli.output import say
from shortlist.errors import InvalidSetting
from shortlist.files.writing import new_file
from shortlist.printable import count, quoted

EXAMPLES = """[bold]Examples[/bold]
$ shortlist init features.csv
$ shortlist init features.csv -m 5 --out screens/spring.toml

Edit the file, then `shortlist new screen.toml`."""

TEMPLATE = """\
# A screen of {arms}: {names}.
# Each has {columns}.
# Edit it, then: {new}

features = {features}   # one line per arm, its name first

# How many arms are wanted: the answer is the m arms with the best means, so that about as many can be
# followed up. It is fixed from the start. A tenth of the arms unless you said otherwise.
m = {m}

# The noise: the standard deviation of repeated results of one arm. If it is too small the answer may
# be wrong, if it is too large it takes more evaluations. "estimate" finds it from the first results,
# for normal noise; "bounded" is for results within a range.
sigma = "estimate"
# sigma = 0.1
# sigma = "bounded"
# reward_range = [0, 1]

# The difference that you do not care about, in the units of the results. With 0, two arms that are
# equal are compared without end.
epsilon = 0.0

delta = 0.05   # the risk of a wrong answer: 0.05 for 95 % confidence
direction = "maximize"   # or "minimize", if small results are good

# On plates, or on several days: results of one request share an unknown shift, and only differences
# within it count. Ask for whole plates then, such as 24 wells.
# blocks = "shift"
# controls = ["DMSO"]   # arms on every plate that are never listed; {{"DMSO" = 2}} for two wells

# budget = 600   # stop after this many evaluations, without a guarantee
# lease = "7 days"   # a trial without a result by then is given out again
# pilot = "pilot.csv"   # means known from before (name, mean): `shortlist new` forecasts the effort
# trust = "guide"   # assume nothing about how the results depend on the features
"""


def init(
    features: Annotated[
        Path, typer.Argument(metavar="FEATURES", help="CSV, TSV, Excel or Parquet: a line per arm.")
    ],
    m: Annotated[int | None, typer.Option("-m", metavar="M", help="How many to find.")] = None,
    out: Annotated[Path, typer.Option(metavar="SCREEN.toml", help="The file to write.")] = Path(
        "screen.toml"
    ),
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> None:
    """Write a screen.toml, with comments, for a file of features."""
    import json

    from shortlist.printable import first_names
    from shortlist.problem import Problem

    if out.suffix.lower() != ".toml":
        raise InvalidSetting(f"--out {out}: name a file that ends in .toml.")
    # Everything is checked as `shortlist new` will check it; ε, since arms may be alike.
    problem = Problem.of(str(features), m or 1, sigma=1.0, epsilon=1.0)
    beside = os.path.relpath(features, out.parent)
    here = CommandLine(str(out))
    columns = count(problem.dimension, "feature")
    if problem.columns is not None:
        columns += f": {quoted(problem.columns, 8)}"
    text = TEMPLATE.format(
        arms=count(problem.arms, "arm"),
        columns=columns,
        names=first_names(problem.names),
        new=here.line("new"),
        features=json.dumps(beside, ensure_ascii=False),
        m=m or max(1, problem.arms // 10),
    )
    with new_file(out, replace=force) as file:
        file.write(text.encode())
    say(f"{count(problem.arms, 'arm')}, each with {columns}.")
    say(f"{out}: edit it, then run `{here.line('new')}`.")

"""``shortlist bound``: how many evaluations no algorithm can do without."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shortlist.cli.layout import say, say_json

if TYPE_CHECKING:
    from shortlist.simulation.instances import Instance

EXAMPLES = """[bold]Examples[/bold]
$ shortlist bound --features X.csv --theta theta.csv -m 5 --sigma 0.5
$ shortlist bound --features X.csv --means means.csv -m 5 --sigma 0.5 --json

X.csv has one line an arm and one column a feature; its first column names the
arms if it is text. theta.csv has one number a feature, means.csv one an arm,
in a column or in a line."""


def bound(
    features: Annotated[
        Path, typer.Option(metavar="X.csv", help="The features.", rich_help_panel="The instance")
    ],
    m: Annotated[
        int,
        typer.Option(
            "-m", metavar="M", help="How many arms are wanted.", rich_help_panel="The instance"
        ),
    ],
    theta: Annotated[
        Path | None,
        typer.Option(
            metavar="theta.csv", help="θ; the means are Xθ.", rich_help_panel="The instance"
        ),
    ] = None,
    means: Annotated[
        Path | None,
        typer.Option(
            metavar="means.csv",
            help="The means, instead of θ; Xθ for some θ.",
            rich_help_panel="The instance",
        ),
    ] = None,
    sigma: Annotated[
        float | None,
        typer.Option(
            metavar="σ",
            help="Standard deviation of the noise, taken as normal. There is no default: without "
            "it the answer is in units of σ².",
            rich_help_panel="The instance",
        ),
    ] = None,
    delta: Annotated[
        float,
        typer.Option(metavar="δ", help="The risk of a wrong answer.", rich_help_panel="The answer"),
    ] = 0.05,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON.", rich_help_panel="The answer")
    ] = False,
) -> None:
    """Compute how many evaluations no sure algorithm can do without.

    An algorithm that errs with probability at most δ on every instance makes at
    least kl(δ, 1−δ) · T* evaluations of this one, on average. The allocation is
    how the best of them would share these among the arms.
    """
    if (theta is None) == (means is None):
        raise typer.BadParameter("give either --theta or --means, not both and not neither.")
    instance = _instance(features, theta, means, m, sigma)
    from shortlist import theory

    answer = theory.lower_bound(instance, delta)
    report = _report(instance, answer, delta, sigma)
    if as_json:
        say_json(report)
    else:
        _print(instance, report)


def _instance(
    features: Path, theta: Path | None, means: Path | None, m: int, sigma: float | None
) -> Instance:
    from shortlist.cli.tables import read_table, read_vector
    from shortlist.simulation import instances

    table = read_table(features)
    truth: dict[str, Any] = {}
    if theta is not None:
        count = len(table.values[0])
        truth["theta"] = read_vector(theta, table.columns, count, "a feature")
    if means is not None:
        truth["means"] = read_vector(means, table.rows, len(table.values), "an arm")
    # T* grows as σ²: at σ = 1 it is the answer in units of σ².
    noise = 1.0 if sigma is None else sigma
    return instances.from_arrays(table.values, m=m, sigma=noise, arms=table.rows, **truth)


def _report(instance: Instance, answer: Any, delta: float, sigma: float | None) -> dict[str, Any]:
    low, high = answer.bracket
    return {
        "t_star": float(answer.t_star),
        "bracket": [float(low), float(high)],
        "samples": float(answer.samples),
        "unit": "evaluations" if sigma is not None else "evaluations / sigma^2",
        "delta": delta,
        "sigma": sigma,
        "m": instance.m,
        "allocation": {
            name: float(share)
            for name, share in zip(instance.names, answer.allocation, strict=True)
        },
    }


def _print(instance: Instance, report: dict[str, Any]) -> None:
    unit = "" if report["sigma"] is not None else " σ²"
    low, high = report["bracket"]
    say(f"T*           {report['t_star']:.6g}{unit}  (between {low:.6g} and {high:.6g})")
    say(
        f"evaluations  {report['samples']:.6g}{unit}  at least, on average, at δ = {report['delta']:g}"
    )
    if unit:
        say("σ was not given: put its square for σ², or pass --sigma.")
    width = max(3, *(len(name) for name in instance.names))
    say(f"\n{'arm':{width}}        mean   share  (* among the {instance.m} best)")
    best = instance.acceptable()
    for arm, (name, share) in enumerate(report["allocation"].items()):
        star = "*" if best[arm] else " "
        say(f"{name:{width}} {star} {instance.means[arm]:9.4g}  {share:6.4f}")

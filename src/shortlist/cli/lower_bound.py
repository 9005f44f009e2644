"""``shortlist bound``: the lower bound on the number of evaluations of an instance."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shortlist.cli.output import decimal, say, say_json

if TYPE_CHECKING:
    from shortlist.simulation.instances import Instance

EXAMPLES = """[bold]Examples[/bold]
$ shortlist bound --features X.csv --theta theta.csv -m 5 --sigma 0.5
$ shortlist bound --features X.csv --means means.csv -m 5 --sigma 0.5 --json

X.csv has one line per arm and one column per feature; its first column names the
arms if it is text. theta.csv has one number per feature, means.csv one per arm,
in a column or in a line."""

SIGMA = """Standard deviation of the noise, taken as normal. There is no default: without it the \
answer is in units of σ²."""

about_instance = partial(typer.Option, rich_help_panel="The instance")
about_answer = partial(typer.Option, rich_help_panel="The answer")


def bound(
    features: Annotated[Path, about_instance(metavar="X.csv", help="The features.")],
    m: Annotated[int, about_instance("-m", metavar="M", help="How many arms are wanted.")],
    theta: Annotated[
        Path | None, about_instance(metavar="theta.csv", help="θ; the means are Xθ.")
    ] = None,
    means: Annotated[
        Path | None,
        about_instance(
            metavar="means.csv", help="The means, instead of θ; they must be Xθ for some θ."
        ),
    ] = None,
    sigma: Annotated[float | None, about_instance(parser=decimal, metavar="σ", help=SIGMA)] = None,
    delta: Annotated[
        float, about_answer(parser=decimal, metavar="δ", help="The risk of a wrong answer.")
    ] = 0.05,
    as_json: Annotated[bool, about_answer("--json", help="Print JSON.")] = False,
) -> None:
    """Compute the minimum number of evaluations that any δ-correct algorithm needs.

    An algorithm that errs with probability at most δ on every instance makes at
    least kl(δ, 1−δ) · T* evaluations of this one, on average. The allocation is
    how the best of them would divide these among the arms.
    """
    if (theta is None) == (means is None):
        raise typer.BadParameter("give exactly one of --theta and --means.")
    instance = read_instance(features, theta, means, m, sigma)
    from shortlist import theory

    answer = theory.lower_bound(instance, delta)
    low, high = answer.bracket
    if as_json:
        shares = zip(instance.names, answer.allocation.tolist(), strict=True)
        say_json(
            {
                "t_star": answer.t_star,
                "bracket": [low, high],
                "samples": answer.samples,
                "unit": "evaluations" if sigma is not None else "evaluations / sigma^2",
                "delta": delta,
                "sigma": sigma,
                "m": m,
                "allocation": dict(shares),
            }
        )
        return
    unit = "" if sigma is not None else " σ²"
    say(f"T*           {answer.t_star:.6g}{unit}  (between {low:.6g} and {high:.6g})")
    say(f"evaluations  {answer.samples:.6g}{unit}  at least, on average, at δ = {delta:g}")
    if unit:
        say("σ was not given: replace σ² by its value, or pass --sigma.")
    width = max(3, *map(len, instance.names))
    say(f"\n{'arm':{width}}        mean   share  (* among the {m} best)")
    best = instance.acceptable()
    for arm, name in enumerate(instance.names):
        star, share = "*" if best[arm] else " ", answer.allocation[arm]
        say(f"{name:{width}} {star} {instance.means[arm]:9.4g}  {share:6.4f}")


def read_instance(
    features: Path, theta: Path | None, means: Path | None, m: int, sigma: float | None
) -> Instance:
    """The instance of a features file, with its θ or its means from another."""
    from shortlist.files.csv_files import read_table, read_vector
    from shortlist.simulation import instances

    table = read_table(features)
    truth: dict[str, Any] = {}
    if theta is not None:
        count = len(table.values[0])
        truth["theta"] = read_vector(theta, table.columns, count, "per feature")
    if means is not None:
        truth["means"] = read_vector(means, table.rows, len(table.values), "per arm")
    # T* grows as σ²: at σ = 1 it is the answer in units of σ².
    noise = 1.0 if sigma is None else sigma
    return instances.from_arrays(table.values, m=m, sigma=noise, arms=table.rows, **truth)

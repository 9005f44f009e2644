"""``shortlist new``: a screen from its description, and what it will take."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shortlist.cli.agreement import blaming
from shortlist.cli.findings import finding_words, findings
from shortlist.cli.layout import count, entry, few, from_here, say, say_json
from shortlist.cli.opening import JsonOption, begin, names_in, open_screen
from shortlist.cli.outlook import look_ahead
from shortlist.cli.screen_toml import ScreenFile, read_screen_file
from shortlist.errors import UnhealthyFeatures

if TYPE_CHECKING:
    from shortlist.cli.outlook import Forecast, Outlook
    from shortlist.study.study import Study

EXAMPLES = """[bold]A screen.toml[/bold]
features = "features.csv"   # CSV, TSV, Parquet: a line an arm, its name first
m = 3                       # how many are wanted
sigma = 0.1                 # noise of one evaluation: its standard deviation;
                            # or "estimate", or "bounded" with reward_range
delta = 0.05                # risk of a wrong answer
epsilon = 0.05              # slack in the means

In place of delta, budget = 600 ends the screen after so many evaluations,
without a guarantee. Further keys: arms = ["a", "b"] (or a file of names) in place of features,
algorithm, threshold, misspecification, S, seed, lease = "7 days", audit = false,
pilot = "pilot.csv" (name and mean), storage = "screen.db" (or a PostgreSQL
URL), name. Files are sought beside the screen.toml.

[bold]Examples[/bold]
$ shortlist new screen.toml
$ shortlist ask screen.toml -n 8 --out plate.csv"""


def new(
    screen: Annotated[
        Path, typer.Argument(metavar="SCREEN.toml", help="The description of the screen.")
    ],
    as_json: JsonOption = False,
) -> None:
    """Make a study from a screen.toml, and say what it will take.

    Everything is checked before anything is written. Run again, it finds the
    study that is there; a changed setting or features file is refused.
    """
    from shortlist.study.study import Study

    described = read_screen_file(screen)
    settings = described.settings()
    pilot = described.pilot()
    there = described.name in names_in(described.storage)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnhealthyFeatures)  # they are among the findings
        if there:
            study = open_screen(described, settings)
        else:
            with blaming(described):
                study = Study(**settings)
        with blaming(described, described.beside(described.keys.get("pilot", ""))):
            outlook = look_ahead(study, pilot, settings)
        if not there:  # nothing is written before all is known to be right
            study = begin(described, settings)
    if as_json:
        say_json(_report(study, not there, outlook))
    else:
        _print(described, study, not there, outlook)


def _audit_words(study: Study) -> str:
    """How it is tested that the means are linear, where that is assumed; else nothing."""
    from shortlist.study.insight.audit import audit_size, is_audited

    if not is_audited(study.bound):
        return ""
    if not study.audit.wanted:
        return "none: that the means are linear in the features is assumed, and not tested."
    least = count(audit_size(study.problem.arms, 0), "evaluation")
    return (
        f"{least}, or a tenth of all if that is more, test whether the means are linear in the "
        "features before the answer is final."
    )


def _report(study: Study, made: bool, outlook: Outlook) -> dict[str, Any]:
    from shortlist.study.insight.audit import is_audited
    from shortlist.study.insight.health import examine_features

    problem = study.problem
    return {
        "study": study.name,
        "storage": from_here(study.storage),
        "made": made,
        "evaluations": study.evaluations,
        "arms": problem.arms,
        "dimension": problem.dimension,
        "m": problem.m,
        "sigma": problem.sigma,
        "noise": problem.noise.figure,
        "delta": problem.delta,
        "epsilon": problem.epsilon,
        "budget": study.budget,
        "S": problem.S,
        "algorithm": study.bound.name,
        "threshold": study.bound.threshold.name,
        "proven": study.bound.proven,
        "guarantee": study.bound.guarantee(),
        "audit": study.audit.wanted and is_audited(study.bound),
        "findings": findings(examine_features(problem)),
        "outlook": asdict(outlook),
    }


def _print(described: ScreenFile, study: Study, made: bool, outlook: Outlook) -> None:
    from shortlist.study.insight.health import examine_features

    problem = study.problem
    if made:
        say(f"Study {study.name!r} made, in {from_here(study.storage)}.\n")
    else:
        say(
            f"Study {study.name!r} is there already, in {from_here(study.storage)}, with "
            f"{count(study.evaluations, 'evaluation')}. Nothing was changed.\n"
        )
    about = f", each with {count(problem.dimension, 'feature')}"
    say(
        entry(
            "arms",
            f"{problem.arms}{about if 'features' in described.keys else ''}: {few(problem.names)}",
        )
    )
    slack = f", up to ε = {problem.epsilon:g}" if problem.epsilon else ""
    until = f"with risk δ = {problem.delta:g}"
    if study.budget is not None:
        until = f"as well as {count(study.budget, 'evaluation')} can tell"
    say(entry("wanted", f"the {problem.m} best{slack}, {until}"))
    single = " in a single evaluation" if problem.noise.kind == "given" else ""
    say(entry("noise", problem.noise.figure + single))
    say(entry("algorithm", f"{study.bound.name}, threshold {study.bound.threshold.name}"))
    say(entry("answer", study.bound.guarantee()))
    if audited := _audit_words(study):
        say(entry("audit", audited))
    for finding in findings(examine_features(problem)):
        say(entry(finding["level"], finding_words(finding)))
    say("\nWhat it will take")
    for label, words in _outlook_words(described, study, outlook):
        say(entry(label, words))


def _outlook_words(
    described: ScreenFile, study: Study, outlook: Outlook
) -> Iterator[tuple[str, str]]:
    from shortlist.study.view import makes_plans

    problem = study.problem
    m = problem.m
    if outlook.initial:
        arms = count(outlook.initial_arms, "arm")
        first = f"{count(outlook.initial, 'initial pull')} of {arms}"
        if makes_plans(study):
            first = f"a plan of {count(outlook.initial, 'pull')} of {arms}"
        yield "first", f"{first}, whatever comes out; there is no answer before that."
    if study.budget is not None:
        yield from _budget_words(described, study.budget, outlook)
        return
    if problem.noise.is_open:
        yield "then", "σ is estimated, and only then can be said what is left."
        return
    if outlook.misfit is None:
        yield (
            "then",
            f"it depends on how far apart the means of ranks {m} and {m + 1} are. With means of a "
            f'pilot (pilot = "pilot.csv" in {described.path}) you get a bound and a forecast.',
        )
        return
    yield "pilot", f"{_if_true(described, outlook)}:"
    if outlook.lower_bound is None:
        yield "at least", f"no bound: {outlook.why_no_bound}"
    elif problem.epsilon:
        yield (
            "at ε = 0",
            f"no algorithm that is as sure does with fewer than {outlook.lower_bound:,.0f} "
            f"evaluations on average; with ε = {problem.epsilon:g} fewer may do. It is a bound, not "
            "a forecast.",
        )
    else:
        yield (
            "at least",
            f"{outlook.lower_bound:,.0f} evaluations on average: no algorithm that is as sure "
            "does with fewer. It is a bound, not a forecast.",
        )
    if outlook.forecast is not None:
        yield "forecast", _forecast_words(outlook.forecast)


def _budget_words(
    described: ScreenFile, budget: int, outlook: Outlook
) -> Iterator[tuple[str, str]]:
    yield (
        "in all",
        f"{count(budget, 'evaluation')}, neither more nor less. Those that fail or are cancelled do "
        "not count.",
    )
    if outlook.errors is None:
        yield (
            "then",
            "the study says how probable a wrong shortlist is. With means of a pilot (pilot = "
            f'"pilot.csv" in {described.path}) you get a forecast of that.',
        )
        return
    errors = outlook.errors
    yield (
        "pilot",
        f"{_if_true(described, outlook)}, {errors.wrong} of {errors.runs} simulated screens ended "
        f"with a wrong shortlist: a probability between {errors.low:.2g} and {errors.high:.2g}.",
    )


def _if_true(described: ScreenFile, outlook: Outlook) -> str:
    """By its name: the algorithm may make a pilot of its own."""
    return (
        f"if the means of {described.keys['pilot']} were true (made linear in the features, "
        f"{outlook.misfit:.3g} off at most)"
    )


def _forecast_words(forecast: Forecast) -> str:
    cut = ""
    if forecast.unfinished:
        cut = (
            f"{forecast.unfinished} of {forecast.runs} simulated screens were cut off at "
            f"{forecast.most:,} evaluations, to save time."
        )
    if 2 * forecast.unfinished >= forecast.runs:
        return f"more than {forecast.median:,.0f} evaluations: {cut}"
    return (
        f"about {forecast.median:,.0f} evaluations ({forecast.low:,.0f} to {forecast.high:,.0f} in "
        f"{forecast.runs} simulated screens, one evaluation at a time). {cut}".rstrip()
    )

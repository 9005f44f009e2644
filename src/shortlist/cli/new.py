"""``shortlist new``: make a study from its screen.toml, and say what it will take."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shortlist.cli.opening import JsonOption, naming_the_file, open_screen
from shortlist.cli.output import count, few, from_here, say, say_entry, say_json
from shortlist.cli.screen_toml import ScreenFile, read_screen_file
from shortlist.cli.summary import findings
from shortlist.errors import StudyNotFound, UnhealthyFeatures

if TYPE_CHECKING:
    from shortlist.simulation.outlook import Forecast, Outlook
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
algorithm, threshold, misspecification, trust = "guide", S, seed, lease = "7 days", audit = false,
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
    from shortlist.simulation.outlook import look_ahead
    from shortlist.study.insight.health import examine_features
    from shortlist.study.storage.opening import study_names
    from shortlist.study.study import Study

    described = read_screen_file(screen)
    settings = described.settings()
    pilot = described.pilot()
    try:
        made = described.name not in study_names(described.storage)
    except StudyNotFound:  # there is no such file yet
        made = True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnhealthyFeatures)  # they are among the findings
        if made:
            with naming_the_file(described):
                study = Study(**settings)
        else:
            study = open_screen(described, settings)
        with naming_the_file(described, described.beside(described.keys.get("pilot", ""))):
            outlook = look_ahead(study, pilot, settings)
        if made:  # nothing is written before all is known to be right
            with naming_the_file(described):
                # If somebody was quicker, this goes on with their study.
                study = Study(**settings, storage=described.storage, name=described.name)
    found = findings(examine_features(study.problem))
    if as_json:
        say_json({**_report(study, made), "findings": found, "outlook": asdict(outlook)})
        return
    where = f"in {from_here(study.storage)}"
    evaluations = count(study.evaluations, "evaluation")
    if made:
        say(f"Study {study.name!r} made, {where}.\n")
    else:
        say(
            f"Study {study.name!r} is there already, {where}, with {evaluations}. "
            "Nothing was changed.\n"
        )
    for label, words in _study_entries(study, "features" in described.keys):
        say_entry(label, words)
    for finding in found:
        say_entry(finding["level"], f"{finding['words']} {finding['meaning']}")
    say("\nWhat it will take")
    for label, words in _outlook_entries(described, study, outlook):
        say_entry(label, words)


def _report(study: Study, made: bool) -> dict[str, Any]:
    from shortlist.study.insight.audit import is_audited

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
    }


def _study_entries(study: Study, has_features: bool) -> Iterator[tuple[str, str]]:
    from shortlist.study.insight.audit import audit_size, is_audited

    problem, bound = study.problem, study.bound
    about = f", each with {count(problem.dimension, 'feature')}" if has_features else ""
    yield "arms", f"{problem.arms}{about}: {few(problem.names)}"
    slack = f", up to ε = {problem.epsilon:g}" if problem.epsilon else ""
    until = f"with risk δ = {problem.delta:g}"
    if study.budget is not None:
        until = f"as well as {count(study.budget, 'evaluation')} can tell"
    yield "wanted", f"the {problem.m} best{slack}, {until}"
    single = " in a single evaluation" if problem.noise.kind == "given" else ""
    yield "noise", problem.noise.figure + single
    yield "algorithm", f"{bound.name}, threshold {bound.threshold.name}"
    yield "answer", bound.guarantee()
    if not is_audited(bound):
        return
    if study.audit.wanted:
        least = count(audit_size(problem.arms, 0), "evaluation")
        yield (
            "audit",
            f"{least}, or a tenth of all if that is more, test whether the means are linear in the "
            "features before the answer is final.",
        )
    else:
        words = "none: that the means are linear in the features is assumed, and not tested."
        yield "audit", words


def _outlook_entries(
    described: ScreenFile, study: Study, outlook: Outlook
) -> Iterator[tuple[str, str]]:
    from shortlist.study.view import makes_plans

    problem, m = study.problem, study.problem.m
    if outlook.initial:
        what = "pull" if makes_plans(study) else "initial pull"
        pulls = f"{count(outlook.initial, what)} of {count(outlook.initial_arms, 'arm')}"
        first = f"a plan of {pulls}" if makes_plans(study) else pulls
        yield "first", f"{first}, whatever comes out; there is no answer before that."
    with_a_pilot = f'With means of a pilot (pilot = "pilot.csv" in {described.path}) you get'
    # The pilot by its name: the algorithm may make a pilot of its own.
    if_true = (
        f"if the means of {described.keys.get('pilot')} were true (made linear in the features, "
        f"{outlook.misfit or 0.0:.3g} off at most)"
    )
    if study.budget is not None:
        yield (
            "in all",
            f"{count(study.budget, 'evaluation')}, neither more nor less. Those that fail or are "
            "cancelled do not count.",
        )
        if outlook.errors is None:
            probable = "the study says how probable a wrong shortlist is."
            yield "then", f"{probable} {with_a_pilot} a forecast of that."
        else:
            errors = outlook.errors
            yield (
                "pilot",
                f"{if_true}, {errors.wrong} of {errors.runs} simulated screens ended with a wrong "
                f"shortlist: a probability between {errors.low:.2g} and {errors.high:.2g}.",
            )
        return
    if problem.noise.is_open:
        yield "then", "σ is estimated, and only then can be said what is left."
        return
    if outlook.misfit is None:
        depends = f"it depends on how far apart the means of ranks {m} and {m + 1} are."
        yield "then", f"{depends} {with_a_pilot} a bound and a forecast."
        return
    yield "pilot", f"{if_true}:"
    if outlook.lower_bound is None:
        yield "at least", f"no bound: {outlook.why_no_bound}"
    elif problem.epsilon:
        yield (
            "at ε = 0",
            f"no algorithm that is as sure does with fewer than {outlook.lower_bound:,.0f} "
            f"evaluations on average; with ε = {problem.epsilon:g} fewer may do. It is a bound, "
            "not a forecast.",
        )
    else:
        yield (
            "at least",
            f"{outlook.lower_bound:,.0f} evaluations on average: no algorithm that is as sure "
            "does with fewer. It is a bound, not a forecast.",
        )
    if outlook.forecast is not None:
        yield "forecast", _forecast_words(outlook.forecast)


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

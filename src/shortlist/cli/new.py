"""``shortlist new``: make a study from its screen.toml, and say what it will take."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shortlist.cli.output import fold, say, say_entry, say_json
from shortlist.cli.screen_toml import ScreenFile, read_screen_file
from shortlist.cli.studies import carried_words, say_differences
from shortlist.cli.study_argument import (
    JsonOption,
    command_line,
    has_study,
    naming_the_file,
    open_screen,
    open_study,
)
from shortlist.errors import UnhealthyFeatures
from shortlist.files.paths import from_here
from shortlist.printable import count, first_names
from shortlist.study.insight.summary import findings

if TYPE_CHECKING:
    import pandas as pd

    from shortlist.simulation.outlook import Outlook
    from shortlist.study.study import Study

EXAMPLES = """[bold]A screen.toml[/bold]
features = "features.csv"   # CSV, TSV, Parquet: a line per arm, name first
m = 3                       # how many are wanted
sigma = 0.1                 # noise of one evaluation: its standard deviation;
                            # or "estimate", "estimate per arm",
                            # or "bounded" with reward_range
delta = 0.05                # risk of a wrong answer
epsilon = 0.05              # slack in the means
direction = "minimize"      # if small is good; "maximize" if it is left out

Results that share a question, a patient or a seed: blocks = 500 (a pool; or
its names, or a file of names), blocks = "random". If all wells of a plate, or
all results of a day, may be shifted: blocks = "shift"; each ask is a plate.

Instead of delta, budget = 600 ends the screen after that many evaluations,
without a guarantee. Other keys: arms = ["a", "b"] (or a file of names) instead
of features, intercept = false (mean 0 where all features are 0), costs =
"costs.csv" (name, and cost of an evaluation), controls = ["DMSO"] (with
blocks = "shift": on every plate, and never listed), algorithm, threshold,
trust = "guide", S, seed, lease = "7 days", audit = false,
pilot = "pilot.csv" (name and mean), storage = "screen.db" (or a
PostgreSQL URL), name. File names are relative to the folder of the screen.toml.

[bold]Examples[/bold]
$ shortlist new screen.toml
$ shortlist new wider.toml --from screen.toml   # with all its results
$ shortlist ask screen.toml -n 8 --out plate.csv"""


def new(
    screen: Annotated[
        Path, typer.Argument(metavar="SCREEN.toml", help="The description of the screen.")
    ],
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="STUDY",
            help="Begin with the results of another study: its screen.toml or its storage.",
        ),
    ] = None,
    source_name: Annotated[
        str | None,
        typer.Option(
            "--from-study", metavar="NAME", help="Which one, if its storage holds several."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Create a study from a screen.toml, and forecast how long it will take.

    Everything is checked before anything is written. If you run it
    again, it finds the study that is there; a changed setting or features
    file is refused.
    Each result of another study is copied once.
    """
    from shortlist.simulation.outlook import look_ahead
    from shortlist.study.insight.feature_findings import examine_features
    from shortlist.study.study import Study

    described = read_screen_file(screen)
    here = command_line(str(screen), None)
    settings = described.settings()
    pilot = described.pilot()
    old = None if source is None else open_study(source, source_name)
    made = not has_study(described)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnhealthyFeatures)  # they are among the findings
        if made:
            with naming_the_file(described):
                study = Study(**settings)
        else:
            study = open_screen(described, settings)
        with naming_the_file(described, described.beside(described.keys.get("pilot", ""))):
            outlook = look_ahead(study, pilot, settings)
        if old is not None and made:
            study.carry_over(old)  # in memory, to see that it can be done
        if made:  # nothing is written before all is known to be right
            with naming_the_file(described):
                # If somebody was quicker, this goes on with their study.
                study = Study(**settings, storage=described.storage, name=described.name)
    before, changes, carried = len(study.trials), study.changes, 0
    if old is not None:
        carried = sum(trial.number >= before for trial in study.carry_over(old))
    found = findings(examine_features(study.problem))
    if as_json:
        report = {**_report(study, made), "carried": carried}
        say_json({**report, "findings": found, "outlook": asdict(outlook)})
        return
    where = f"in {from_here(study.storage)}"
    evaluations = count(study.evaluations, "evaluation")
    taken_over = ""
    if old is not None:
        known = set(map(str, study.problem.names))
        taken_over = f" {count(carried, 'result')} of {old.name!r} taken over."
        if left := sum(str(trial.name) not in known for trial in old.taken):
            taken_over += f" {count(left, 'result')} of arms that are not in it left out."
    if made:
        say(f"Study {study.name!r} made, {where}.{taken_over}")
    else:
        changed = taken_over if study.changes > changes else " Nothing was changed."
        say(f"Study {study.name!r} already exists, {where}, with {evaluations}.{changed}")
    if old is not None:
        say(fold(f"It has {carried_words(study, here)}."))
        say_differences(study, old, str(screen))
    say()
    for label, words in _study_entries(study, settings.get("features")):
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
        "dimension": problem.dimension - problem.intercept,
        "m": problem.m,
        "sigma": problem.sigma,
        "noise": problem.noise.figure,
        "delta": problem.delta,
        "epsilon": problem.epsilon,
        "direction": problem.direction,
        "intercept": problem.intercept,
        "blocks": problem.blocks.announcement if problem.blocks.exist else None,
        "controls": problem.controls.by_name(problem.names),
        "budget": study.budget,
        "S": problem.S,
        "algorithm": study.procedure.name,
        "threshold": study.procedure.threshold.name,
        "proven": study.claim.proven,
        "guarantee": study.claim.text,
        "audit": study.audit.wanted and is_audited(study.procedure),
    }


def _study_entries(study: Study, features: pd.DataFrame | None) -> Iterator[tuple[str, str]]:
    import pandas as pd

    from shortlist.guarantee import Answer, in_two_lines
    from shortlist.study.insight.audit import audit_size, is_audited

    problem, procedure = study.problem, study.procedure
    about = "" if features is None else f", each with {problem.features_in_words}"
    yield "arms", f"{problem.arms}{about}: {first_names(problem.names)}"
    if features is not None and isinstance(features.index, pd.RangeIndex):  # the file has no names
        yield (
            "names",
            "the first column of the file has no names, so the arms are named by their rows, "
            'counted from 0. To name them, put a column "name" first.',
        )
    slack = f", up to ε = {problem.epsilon:g}" if problem.epsilon else ""
    until = study.aim.wanted(problem)
    best = "of smallest mean" if problem.minimizes else "best"
    yield "wanted", f"the {problem.m} {best}{slack}, {until}"
    yield "noise", procedure.noise.announcement
    if problem.blocks.exist:
        yield "blocks", problem.blocks.announcement
    if problem.controls.exist:
        yield "controls", f"{problem.controls.words(problem.names)}; they are never listed"
    if procedure.cost_words:
        yield "costs", procedure.cost_words
    yield "algorithm", f"{procedure.name}, threshold {procedure.threshold.name}"
    claim = study.claim
    line = claim.at_stop(Answer(problem, study.evaluations))
    yield "answer", in_two_lines(line, claim, claim.assumptions).replace("\n", " ")
    if not is_audited(procedure):
        return
    if study.audit.wanted:
        least = count(audit_size(problem, 0), "evaluation")
        yield (
            "audit",
            f"{least}, or up to a tenth of all if that is more, test whether the means are linear in the "
            "features.",
        )
    else:
        words = "none: that the means are linear in the features is assumed, not tested."
        yield "audit", words


def _outlook_entries(
    described: ScreenFile, study: Study, outlook: Outlook
) -> Iterator[tuple[str, str]]:
    from shortlist.simulation.outlook import is_far_from_linear

    problem, m = study.problem, study.problem.m
    if outlook.initial:
        which = study.procedure.engine.setup.pace.opening_pulls
        arms = count(outlook.initial_arms, "arm")
        yield (
            "first",
            f"{outlook.initial:,} {which}, of {arms}, whatever the results; there is no answer "
            "before that.",
        )
    with_a_pilot = f'With means of a pilot (pilot = "pilot.csv" in {described.path}) you get'
    # The pilot by its name: the algorithm may make a pilot of its own.
    how = (
        " (replaced by the nearest linear ones, which differ by at most "
        f"{outlook.misfit or 0.0:.3g})"
    )
    if not study.procedure.relation.uses_features:
        how = f", and the {count(outlook.filled, 'arm')} without one had the average of the others"
        how = how if outlook.filled else ""
    if_true = f"if the means of {described.keys.get('pilot')} were true{how}"
    if is_far_from_linear(outlook, problem):
        yield (
            "warning",
            f"your pilot is not linear in the features: {outlook.misfit:.3g} off, σ = "
            f'{problem.sigma:g}. Use trust = "guide", which assumes nothing about the means, or give '
            "the names alone (arms in place of features). There is no forecast for means that are "
            "not linear.",
        )
    if study.budget:
        yield (
            "in all",
            f"{count(study.budget, 'evaluation')}, exactly. Those that fail or are cancelled do not "
            "count.",
        )
        if outlook.errors is None and not is_far_from_linear(outlook, problem):
            probable = "the study says how probable a wrong shortlist is."
            yield "then", f"{probable} {with_a_pilot} a forecast of that."
        elif outlook.errors is not None:
            errors = outlook.errors
            yield (
                "pilot",
                f"{if_true}, {errors.wrong} of {errors.runs} simulated screens ended with a wrong "
                f"shortlist: a probability between {errors.low:.2g} and {errors.high:.2g}.",
            )
        return
    if problem.cells is not None and outlook.forecast is None:
        yield "at most", f"{problem.cells:,} evaluations: every arm on every block."
    if problem.noise.needs_replicates:
        yield "then", "σ is not known, and without it the rest cannot be forecast."
        return
    if outlook.misfit is None:
        depends = f"it depends on how far apart the means of ranks {m} and {m + 1} are."
        yield "then", f"{depends} {with_a_pilot} a bound and a forecast."
        return
    if is_far_from_linear(outlook, problem):
        return
    yield "pilot", f"{if_true}:"
    if outlook.lower_bound is None:
        yield "at least", f"no bound: {outlook.why_no_bound}"
    elif problem.epsilon:
        yield (
            "at ε = 0",
            f"any δ-correct algorithm needs at least {outlook.lower_bound:,.0f} "
            f"evaluations on average; with ε = {problem.epsilon:g} fewer may be enough. It is a bound, "
            "not a forecast.",
        )
    else:
        yield (
            "at least",
            f"{outlook.lower_bound:,.0f} evaluations on average: the minimum that any δ-correct "
            "algorithm needs. It is a bound, not a forecast.",
        )
    if outlook.forecast is not None:
        least = 0.0 if problem.epsilon else outlook.lower_bound or 0.0
        yield "forecast", outlook.forecast.words(least)

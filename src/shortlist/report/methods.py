"""Text to paste into a paper: what was done, with which numbers, and what it is worth."""

from __future__ import annotations

import unicodedata
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from shortlist.engine.follow import REOPEN, TAKE
from shortlist.guarantee import contradicted
from shortlist.printable import count, slack_words
from shortlist.references import PAPER, SOFTWARE, Work, named_in, work
from shortlist.report.analysis import Analysis
from shortlist.report.rendering import displayable
from shortlist.report.sections import software
from shortlist.study.guarantee_parts import out_of_order
from shortlist.study.insight.linearity import LEVEL
from shortlist.study.insight.linearity_words import departure, is_linearity_tested
from shortlist.study.view import beyond_first_plan

if TYPE_CHECKING:
    from shortlist.study.study import Study

NAMES_LISTED = 30  # a longer list belongs into a table


def methods(analysis: Analysis) -> str:
    """The text without markup: four paragraphs, each one line.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study(arms=["a", "b"], m=1, sigma=0.5, algorithm="LUCB", seed=0)
    >>> print(methods(Analysis(study)).split(" (")[0])
    We looked for the best of K = 2 arms by top-m identification with fixed confidence
    """
    study = analysis.study
    worth = [study.shortlist.guarantee.text]
    if analysis.warnings:
        worth.append(f"The data contradict what this assumes: {contradicted(analysis.warnings)}.")
    own, *others = (f"{name} {version}" for name, version in software().items())
    tools = [
        f"Computed with {own} ({', '.join(others)}), seed {study.seed}.",
        f"Hash of settings, features and results: {study.fingerprint}.",
    ]
    paragraphs = (_design(study), _course(analysis), worth, tools)
    return "\n\n".join(" ".join(sentences) for sentences in paragraphs)


def cited(study: Study) -> list[Work]:
    """The works that the text names, this software and the paper first, each once."""
    own, source = study.procedure.algorithm.cited, study.procedure.threshold.source
    return list(dict.fromkeys([SOFTWARE, work(PAPER), *own, *named_in(source)]))


def plain(name: str) -> str:
    r"""A name for the middle of a sentence: one line, no character that turns its direction.

    Examples
    --------
    >>> plain("aspirin\n  \u202eevil")
    'aspirin evil'
    """
    kept = (each for each in displayable(name) if unicodedata.category(each) != "Cf")
    return " ".join("".join(kept).split())


def _design(study: Study) -> list[str]:
    problem, procedure = study.problem, study.procedure
    wanted = "the best" if problem.m == 1 else f"the m = {problem.m:,} best"
    if problem.minimizes:
        wanted += " (smallest mean)"
    model = plain(procedure.relation.method)
    paper, which = work(PAPER).short, f"{wanted} of K = {problem.eligible:,} arms"
    looked = study.aim.method(which, paper)
    if not (study.aim.certifies or study.aim.proves):
        return [
            looked,
            model,
            plain(procedure.algorithm.method),
            f"The noise was taken as normal with σ = {problem.sigma:g}; the slack was "
            f"ε = {slack_words(problem.epsilon)}.",
        ]
    S = f" and the bound S = {problem.S:g} on ‖θ‖" if procedure.threshold.needs_S else ""
    return [
        looked,
        model,
        plain(procedure.algorithm.method),
        f"Its confidence widths used the threshold '{plain(procedure.threshold.name)}' "
        f"({procedure.threshold.source}) with risk δ = {problem.delta:g}, slack "
        f"ε = {slack_words(problem.epsilon)}, {procedure.noise.description}{S}.",
    ]


def _course(analysis: Analysis) -> list[str]:
    """What was done, sentence by sentence, as far as it was done in this study."""
    study = analysis.study
    words = _origins(study)
    if out_of_order(study):
        words.append(
            "Results were processed as they came, some before others that had been asked for "
            "earlier."
        )
    kinds = study.all_steps().kinds
    told = np.cumsum(kinds == TAKE)[kinds == REOPEN].tolist()
    if told:
        after = ", ".join(f"{number:,}" for number in told)
        words.append(
            f"An earlier stop was taken back and the study reopened (after evaluations: {after})."
        )
    for epsilon, told in study.widenings:
        words.append(
            f"After {count(told, 'evaluation')} the slack was widened to ε = {slack_words(epsilon)}, in view of "
            "the results."
        )
    if study.model.verifies:
        first = study.model.first_procedure
        words.append(
            f"The first {count(study.model.verified_from, 'evaluation')} were chosen by "
            f"{plain(first.name)}, whose answer would assume that {first.relation.assumed}. Its "
            "list was then named and verified by each arm's own later results."
        )
    if study.done:
        words.append(f"The study stopped after {count(study.answered_at, 'evaluation')}.")
    else:
        words.append(
            f"After {count(study.evaluations, 'evaluation')} the study had not stopped: the "
            "list is a guess."
        )
    words += _audit(study)
    if analysis.late:
        words.append(
            f"{count(analysis.late, 'result')} {_were(analysis.late)} told after the stop; the "
            "list and what it is worth do not rest on that."
        )
    states = Counter(trial.state for trial in study.trials)
    if states["failed"] or states["cancelled"]:
        words.append(
            f"Failed: {states['failed']:,}; cancelled: {states['cancelled']:,}; no value was made "
            "up for these."
        )
    corrected = sum(bool(trial.corrections) for trial in study.trials)
    if corrected:
        results = count(corrected, "result")
        words.append(f"{results} {_were(corrected)} corrected after being told.")
    names = [plain(str(name)) for name in study.shortlist.names]
    if 0 < len(names) <= NAMES_LISTED:
        between = "; " if any("," in name for name in names) else ", "
        words.append(f"The shortlist, best estimated mean first: {between.join(names)}.")
    return words


def _audit(study: Study) -> list[str]:
    """How it was tested that the means are linear in the features, if it was."""
    if study.audit.rejection is not None:
        why = departure(study)
        return [f"Tests of linearity rejected it: {why}"]
    results = study.audit.results
    if not results or is_linearity_tested(study):  # then the guarantee says it
        return []
    tested = count(len({trial.arm for trial in results}), "arm")
    return [
        f"With the first plan, {count(len(results), 'evaluation')} of {tested} that were fixed beforehand "
        "tested whether the means are linear in the features, and did not reject it at level "
        f"{LEVEL:g}."
    ]


def _origins(study: Study) -> list[str]:
    """How the evaluations came to be made."""
    taken = study.taken[: study.answered_at] if study.model.stopped else study.taken
    causes = Counter(trial.cause.origin for trial in taken)
    beyond = len(beyond_first_plan(study, taken))
    parts = {
        f"set beforehand ({study.procedure.engine.setup.pace.opening_pulls})": causes["initial"]
        - beyond,
        "asked for before the results of the first plan were in": beyond,
        "chosen in view of the results by then": causes["round"] + causes["second of a round"],
        "told without having been asked for": causes["unasked"],
        "made to test linearity": causes["audit"],
        "of controls, which every block has and which are never listed": causes["control"],
        "carried over from an earlier study": causes["carried"],
    }
    said = [f"{number:,} {_were(number)} {how}" for how, number in parts.items() if number]
    words = [f"Of {count(len(taken), 'evaluation')}, {', '.join(said)}."] if said else []
    if not study.done:  # then the guarantee says it
        words += [source.words for source in study.sources]
    return words


def _were(number: int) -> str:
    return "was" if number == 1 else "were"

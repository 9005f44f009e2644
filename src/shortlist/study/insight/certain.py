"""What is certain before the stop: the least ε at which the list is certified, and single arms."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shortlist.arrays import Mask
from shortlist.printable import on_one_line, rounded_up
from shortlist.study.answer import Certain
from shortlist.study.view import View

NAMES = 5  # of arms that are listed


def certain(study: View) -> Certain | None:
    """What is certain of the list of a study; None where nothing can be.

    There is nothing before the stop is looked for, where the results contradict what the answer
    assumes, and with a budget that is spent on estimates.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study(arms=["ash", "elm", "oak"], m=1, sigma=0.1, seed=0, algorithm="LUCB")
    >>> means = [0.5, 0.45, 0.1]
    >>> _ = study.run(lambda trial: means[trial.arm], max_evaluations=80, progress=False)
    >>> print(certain(study))
    Proven already: the list is right up to a difference of 0.17. If the list is wrong, its worst arm is ash, and the best one that it lacks is elm or oak.
    """
    decision, aim = study.model.decision, study.aim
    claim = study.claim if aim.certifies else study.procedure.claim_within(study.problem.epsilon)
    if study.statistic is None or not (aim.certifies or aim.proves) or decision is None:
        return None
    if study.audit.rejection is not None:
        return None
    names = np.array(study.problem.names, object)
    certified = study.procedure.engine.certified(study.model.posterior, study.round, decision)

    def named(arms: Mask) -> tuple[str, ...]:
        return tuple(names[arms].tolist())

    least = certified.epsilon if math.isfinite(certified.epsilon) else None
    if least is not None and study.retired:  # then what is proven is for one ε
        least = study.problem.epsilon if least <= study.problem.epsilon else None
    undecided = ~(certified.inside | certified.outside)
    parts = (certified.inside, undecided, certified.open_inside, certified.open_outside)
    inside, maybe, *doubtful = map(named, parts)
    said = []
    if least is not None:
        said.append(f"the list is right up to a difference of {rounded_up(least):g}")
    if inside and doubtful[0]:  # else all of the list are
        said.append(f"{_listed(inside)} {'is' if len(inside) == 1 else 'are'} among the best")
    words = []
    if said:
        # Whether the means are linear is tested, and not proven: "if" stays.
        lead = claim.first_words.replace("Proven", "Proven already", 1)
        words.append(f"{lead if claim.proven else 'By a heuristic'}: {', and '.join(said)}")
    if doubtful[0]:
        words.append(
            f"If the list is wrong, its worst arm is {_listed(doubtful[0], 'or')}, and the best one "
            f"that it lacks is {_listed(doubtful[1], 'or')}"
        )
    text = "".join(f"{sentence}. " for sentence in words).rstrip()
    return Certain(least, inside, maybe, doubtful[0], doubtful[1], text)


def way_to_stop(study: View) -> str:
    """How far the list is right so far, and when the study stops, in a sentence.

    Examples
    --------
    >>> from shortlist import Study
    >>> way_to_stop(Study(arms=["ash", "elm"], m=1, sigma=0.1, epsilon=0.05))
    'The study stops when the list is right up to ε = 0.05.'
    """
    now, claim, epsilon = certain(study), study.claim, f"ε = {study.problem.epsilon:g}"
    if now is None or now.epsilon is None:
        return f"The study stops when the list is right up to {epsilon}."
    heuristic = "" if claim.proven else ", by a heuristic,"
    condition = f", if {claim.premise}" if claim.premise else ""
    return (
        f"So far{heuristic} the list is right up to a difference of {now.stops_at:g}"
        f"{condition}; the study stops at {epsilon}."
    )


def _listed(names: Sequence[str], last: str = "and") -> str:
    """Names in a sentence; of many, how many.

    Examples
    --------
    >>> _listed(["a", "b", "c"]), _listed(["a", "b"], "or"), _listed(list("abcdef"), "or")
    ('a, b and c', 'a or b', 'one of 6 arms')
    """
    if len(names) > NAMES:
        return f"one of {len(names):,} arms" if last == "or" else f"{len(names):,} arms"
    shown = list(map(on_one_line, names))
    return f"{', '.join(shown[:-1])} {last} {shown[-1]}" if len(shown) > 1 else shown[0]

"""What is certain before the stop: the least ε at which the list is certified, and single arms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Any

import numpy as np

from shortlist.arrays import Mask
from shortlist.printable import on_one_line
from shortlist.study.view import View

NAMES = 5  # of arms that are listed


@dataclass(frozen=True)
class Certain:
    """What is certain of a list, at any moment, with the probability of the guarantee.

    All of it holds at all times together, and together with the answer at the stop.

    Attributes
    ----------
    epsilon : float or None
        The least ε at which the list is certified now; None if there is none yet. It may be smaller
        than the study's, after a stop too. ``study.widen(epsilon)`` stops the study at it.
    inside : tuple of str
        Arms of the list that are among the m best, up to the study's ε.
    undecided : tuple of str
        Arms that may or may not be: all others are not needed, up to ε.
    open_inside, open_outside : tuple of str
        If the list is wrong, its worst arm is one of the first, and the best arm that it lacks is one
        of the second. Both are empty where the list is certified.
    words : str
        All that, to be read.
    """

    epsilon: float | None
    inside: tuple[str, ...]
    undecided: tuple[str, ...]
    open_inside: tuple[str, ...]
    open_outside: tuple[str, ...]
    words: str

    def __str__(self) -> str:
        return self.words

    @property
    def stops_at(self) -> float | None:
        """The least ε that ends the study now, rounded up to two digits; None if there is none."""
        return None if self.epsilon is None else rounded_up(self.epsilon)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)


def certain(study: View) -> Certain | None:
    """What is certain of the list of a study; None where nothing can be.

    There is nothing with a budget, before the stop is looked for, and where the results contradict
    what the answer assumes.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study(arms=["ash", "elm", "oak"], m=1, sigma=0.1, seed=0, algorithm="LUCB")
    >>> means = [0.5, 0.45, 0.1]
    >>> _ = study.run(lambda trial: means[trial.arm], max_evaluations=40, progress=False)
    >>> print(certain(study))
    Proven already: the list is right up to ε = 0.17. Still undecided: ash, elm. If the list is wrong, its worst arm is ash, and the best one that it lacks is elm.
    """
    decision, claim = study.model.decision, study.bound.claim
    if study.statistic is None or not study.aim.certifies or decision is None:
        return None
    if study.audit.rejection is not None:
        return None
    names = np.array(study.problem.names, object)
    found = study.bound.engine.certified(study.model.posterior, study.round, decision)

    def named(arms: Mask) -> tuple[str, ...]:
        return tuple(names[arms].tolist())

    least = found.epsilon if math.isfinite(found.epsilon) else None
    undecided = ~(found.inside | found.outside)
    parts = (found.inside, undecided, found.open_inside, found.open_outside)
    inside, maybe, *doubtful = map(named, parts)
    said = []
    if least is not None:
        said.append(f"the list is right up to ε = {rounded_up(least):g}")
    if inside and maybe:
        said.append(f"{_listed(inside)} {'is' if len(inside) == 1 else 'are'} among the best")
    words = []
    if said:
        # Whether the means are linear is tested, and not proven: "if" stays.
        lead = claim.first_words.replace("Proven", "Proven already", 1)
        words.append(f"{lead if claim.proven else 'By a heuristic'}: {', and '.join(said)}")
    if 0 < len(maybe) <= 2 * NAMES:
        words.append(f"Still undecided: {', '.join(map(on_one_line, maybe))}")
    if doubtful[0]:
        words.append(
            f"If the list is wrong, its worst arm is {_listed(doubtful[0], 'or')}, and the best one "
            f"that it lacks is {_listed(doubtful[1], 'or')}"
        )
    text = "".join(f"{sentence}. " for sentence in words).rstrip()
    return Certain(least, inside, maybe, doubtful[0], doubtful[1], text)


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


def rounded_up(number: float) -> float:
    """The next number of two significant digits.

    Examples
    --------
    >>> rounded_up(0.07729), rounded_up(12.0), rounded_up(0.5), rounded_up(0.0)
    (0.078, 12.0, 0.5, 0.0)
    """
    if number == 0.0:
        return 0.0
    step = Decimal(1).scaleb(math.floor(math.log10(number)) - 1)
    return float(Decimal(number).quantize(step, ROUND_CEILING))

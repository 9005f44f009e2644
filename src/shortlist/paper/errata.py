"""Where the published code departs from the text, and the algorithm that is run for a row."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from shortlist.paper.experiment import AS_PUBLISHED, CORRECTED, PaperRow

if TYPE_CHECKING:
    from shortlist.catalog.gifa import GIFA


class Erratum(NamedTuple):
    """A departure of the published code from the text: in a few words, and in sentences."""

    short: str
    sentence: str


LAGGED = Erratum(
    "lagged stop",
    "Lagged stop: the published runs test τ_LUCB on the pair that was chosen before the last pull, "
    "so a lucky pull can end a run too early. Algorithm 1 tests the pair of the moment.",
)
MIXED = Erratum(
    "threshold not valid as coded",
    "Threshold not valid as coded: the published m-LinGapE computes its threshold with "
    "λ_V = (σ/20)² while its posterior has λ_V = 1. As Algorithm 1 says, both have (σ/20)².",
)
RIDGE = Erratum(
    "λ_V = 1",
    "λ_V = 1: the published m-LinGapE has it in the posterior where the text says λ = σ/20. As "
    "Algorithm 1 says, λ_V is (σ/20)².",
)
UNSCALED = Erratum(
    "1/σ² missing",
    "1/σ² missing: the published LinGame leaves it out of the GLR statistic, so that it stops "
    "about four times too late at σ = 0.5. Its opponent answers the counts instead of the player's "
    "weights, it takes sqrt(‖x‖) where ‖x‖ is meant, and it tracks t·w_t, the last weights alone, "
    "instead of their sum Σ w_s (D-tracking).",
)
HEURISTIC = (
    "The heuristic threshold sqrt(2 ln((1 + ln t)/δ)) has no proof and does not hold in general."
)


def errata(row: PaperRow) -> tuple[Erratum, ...]:
    """The errata that touch a row, which is then run both ways.

    Examples
    --------
    >>> [erratum.short for erratum in errata(PaperRow("LUCB", "both", "lucb1"))]
    ['lagged stop']
    """
    match row.algorithm:
        case "LUCB" | "LinGIFA (tau LUCB)":
            return (LAGGED,)
        case "m-LinGapE":
            return (LAGGED, RIDGE if row.threshold == "heuristic" else MIXED)
        case "LinGame":
            return (UNSCALED,)
        case _:
            return ()


def algorithm_of(row: PaperRow) -> GIFA:
    """The algorithm that is run for a row, with its threshold.

    Examples
    --------
    >>> row = PaperRow("m-LinGapE", "greedy", "frequentist", kind="as Algorithm 1 says")
    >>> algorithm = algorithm_of(row)
    >>> algorithm.stopping.name, algorithm.threshold.name, algorithm.initialization
    ('lucb', 'frequentist', 'each')
    """
    from shortlist.catalog import gifa, tracking
    from shortlist.rules.thresholds import published_regularization

    if row.kind == CORRECTED:
        return replace(tracking.LINGAME, threshold=row.threshold)
    published = {**gifa.ALGORITHMS, **tracking.ALGORITHMS}[f"{row.label} (as published)"]
    if row.kind == AS_PUBLISHED:
        # The presets' own threshold is the published one, slips included, but for `heuristic`.
        swap = row.threshold == "heuristic" and row.algorithm != "LinGame"
        return replace(published, threshold="heuristic") if swap else published
    lagged = published.rules["stopping"].name == "lucb_lagged"
    return replace(
        published,
        stopping="lucb" if lagged else published.stopping,
        threshold=row.threshold,
        regularization=0.0 if published.classical else published_regularization,
    )


def settings_in_words(row: PaperRow, sigma: float) -> str:
    """Rules, regularisation, threshold and initial pulls, in a line."""
    algorithm = algorithm_of(row)
    rules = algorithm.rules
    ridge = algorithm.regularization
    ridge = ridge(sigma) if callable(ridge) else ridge
    # None is left to the threshold, and `heuristic`, which LinGame has here, wants none.
    where = f"λ_V = {ridge:.3g}" if ridge else "no regularisation"
    own = getattr(algorithm.threshold, "own_regularization", None)
    threshold = getattr(algorithm.threshold, "name", str(algorithm.threshold))
    if own is not None and own(sigma) != ridge:
        threshold += f" with λ_V = {own(sigma):.3g}"
    pulled = (
        "no initial pulls" if algorithm.initialization is None else "every arm pulled once first"
    )
    stop = {"lucb": "τ_LUCB", "ugape": "τ_UGapE", "lucb_lagged": "τ_LUCB on the last pair"}
    features = "no features" if algorithm.classical else where
    return (
        f"{rules['indices'].name} indices, {stop[rules['stopping'].name]}, {features}, {pulled}, "
        f"threshold {threshold}"
    )

"""The runs of a comparison, their summary and their files."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from shortlist import notebook
from shortlist.errors import InvalidSetting, warn_caller
from shortlist.files.cells import csv_of
from shortlist.files.writing import new_file, write_file
from shortlist.printable import in_figures, printable
from shortlist.simulation.instances import Instance
from shortlist.theory import lower_bound

WORTH = ("threshold", "proven")  # what the answers of an algorithm are worth
QUANTILES = {"q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95}


@dataclass(frozen=True, eq=False)
class Results:
    """One row per run in ``frame``: instance (its label), algorithm, run, seed, samples, stopped, correct,
    recommendation (names), pulls (one number per arm), threshold (its name), proven (whether a theorem
    covers the answer if what it assumes holds) and by (what made the rounds: NumPy or compiled code).
    ``each`` are the results on each of the ``instances``.
    """

    frame: pd.DataFrame
    instances: tuple[Instance, ...]
    delta: float
    epsilon: float

    @cached_property
    def each(self) -> tuple[Results, ...]:
        """The results on each instance; on one alone they are these."""
        if len(self.instances) == 1:
            return (self,)
        return tuple(
            replace(self, frame=self.frame[self.frame["instance"] == one.label], instances=(one,))
            for one in self.instances
        )

    @property
    def instance(self) -> Instance:
        """The instance, where there is one."""
        if len(self.instances) > 1:
            raise InvalidSetting(
                f"these are results on {len(self.instances)} instances: results.each are those on "
                "each of them, such as results.each[0].lower_bound."
            )
        return self.instances[0]

    def __repr__(self) -> str:
        return printable(self._overview().to_string(index=False, float_format=in_figures))

    def _repr_html_(self) -> str:
        table = self._overview()
        return notebook.table(list(table.columns), table.itertuples(index=False, name=None))

    def _overview(self) -> pd.DataFrame:
        """The summary, without the bound, which may take long."""
        columns = ["threshold", "proven", "runs", "unfinished", "mean", *QUANTILES, "error_rate"]
        table = self.summary(lower_bound=False)[columns].reset_index()
        table["proven"] = np.where(table["proven"], "yes", "no: heuristic")
        return table

    @property
    def heuristic(self) -> set[str]:
        """The algorithms whose answers no theorem covers."""
        return set(self.frame.loc[~self.frame["proven"], "algorithm"])

    @cached_property
    def _bound(self) -> tuple[float, str]:
        """The lower bound, or NaN and why there is none."""
        if self.epsilon > 0.0:
            return math.nan, f"it is known for ε = 0 only, and epsilon = {self.epsilon:g}"
        if self.delta >= 0.5:
            return math.nan, f"it is known for δ below 0.5 only, and delta = {self.delta:g}"
        if self.instance.S is None:
            why = "it is known for means linear in the features only, and these are not"
            return math.nan, why
        try:
            return lower_bound(self.instance, self.delta).samples, ""
        except InvalidSetting:
            return math.nan, "the means of ranks m and m + 1 are equal"

    @property
    def why_no_lower_bound(self) -> str:
        """Why there is no lower bound for these settings; empty if there is one."""
        return self._bound[1]

    @property
    def lower_bound(self) -> float:
        """kl(δ, 1 − δ)·T*: the minimum that any δ-correct algorithm needs on average.

        It is the bound for normal noise with the declared σ; with other noise, such as recorded or
        Bernoulli rewards, fewer may be enough. NaN if it is not defined: for ε > 0, for δ ≥ ½, if
        the means are not linear in the features, or if those of ranks m and m + 1 are equal up to
        rounding.
        """
        return self._bound[0]

    def summary(self, *, lower_bound: bool = True) -> pd.DataFrame:
        """One row per algorithm: samples needed, and errors with their 95 % interval.

        On several instances the rows are named by instance and algorithm.

        Parameters
        ----------
        lower_bound : bool
            Whether to compute the columns ``lower_bound`` and ``ratio``; with 10⁴ arms that takes
            about ten seconds, the first time.

        Notes
        -----
        ``threshold`` is the threshold's name, and ``proven`` says whether a theorem covers the answer
        if what it assumes holds; where it is False, the algorithm is a heuristic.

        ``ratio`` is the mean divided by ``lower_bound``; a warning says why where there is none
        (ε > 0, for example), and ``lower_bound=False`` asks for none. It is below 1 only by chance, or if the
        bound does not apply: if an algorithm errs more often than δ on some instance, or if the
        noise is not normal with the declared σ.

        Runs that were cut off by ``max_samples`` are counted as ``unfinished``. Their samples are
        those used until then, so the mean is too small.
        """
        if len(self.instances) > 1:
            tables = [one.summary(lower_bound=lower_bound) for one in self.each]
            labels = [one.label for one in self.instances]
            return pd.concat(tables, keys=labels, names=["instance"])
        bound, why = self._bound if lower_bound else (math.nan, "")
        if why:
            no_bound = f"no lower bound, so ratio is NaN: {why}."
            warn_caller(UserWarning(f"{no_bound} summary(lower_bound=False) does not ask for it."))
        rows: dict[Any, dict[str, Any]] = {}
        for name, group in self.frame.groupby("algorithm", sort=False):
            samples, errors = group["samples"], int((~group["correct"]).sum())
            low, high = clopper_pearson(errors, len(group))
            rows[name] = {
                **{key: group[key].iloc[0] for key in WORTH},
                "runs": len(group),
                "unfinished": int((~group["stopped"]).sum()),
                "mean": samples.mean(),
                "std": samples.std(),
                **{key: samples.quantile(q) for key, q in QUANTILES.items()},
                "error_rate": errors / len(group),
                "error_low": low,
                "error_high": high,
                "lower_bound": bound,
                "ratio": samples.mean() / bound,
                **({"cost": group["cost"].mean()} if "cost" in group else {}),
            }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("algorithm")

    def to_parquet(self, path: str | PathLike[str]) -> None:
        """Write the runs as Parquet; needs ``pip install 'shortlist[parquet]'``."""
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise ImportError(
                "writing Parquet needs pyarrow: pip install 'shortlist[parquet]', or use to_csv."
            ) from None
        with new_file(path, replace=True) as file:
            # Instances may have labels of several types, and in a file a column has one.
            listed = self.frame["recommendation"].map(lambda each: list(map(str, each)))
            self.frame.assign(recommendation=listed).to_parquet(file, index=False)

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write the runs as CSV; lists become words separated by semicolons."""
        flat = self.frame.copy()
        for column in ("recommendation", "pulls"):
            flat[column] = [";".join(map(str, values)) for values in flat[column]]
        write_file(path, csv_of(flat, index=False))


def clopper_pearson(errors: int, runs: int, confidence: float = 0.95) -> tuple[float, float]:
    """The exact (Clopper–Pearson) interval for the probability of an error.

    Examples
    --------
    >>> low, high = clopper_pearson(0, 500)
    >>> low, round(high, 4)
    (0.0, 0.0074)
    """
    tail = (1.0 - confidence) / 2.0
    from scipy.special import betaincinv  # loads late: a tenth of a second

    low = 0.0 if errors == 0 else float(betaincinv(errors, runs - errors + 1, tail))
    high = 1.0 if errors == runs else float(betaincinv(errors + 1, runs - errors, 1.0 - tail))
    return low, high

"""What a screen came to: the shortlist, the baseline beside it, measures, a picture, files."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlist.files.cells import csv_of
from shortlist.files.writing import write_file
from shortlist.printable import printable
from shortlist.repurposing.screen import DrugScreen
from shortlist.repurposing.validation import assumptions, drug_table, measures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from shortlist.study.study import Study

DRAWN = 40  # drugs in a picture at most
TABLE, PICTURE = "drugs.csv", "rewards"  # names in the folder; the picture is a PNG and an SVG


@dataclass(frozen=True, eq=False)
class Outcome:
    """A study of a screen, and every drug simulated beside it.

    Attributes
    ----------
    screen : DrugScreen
        The environment.
    study : Study
        Of ``screen.study``, run.
    rewards : array, drugs × patients × walks
        Of ``screen.simulate``: the study did not see them; they serve to check it.

    Examples
    --------
    >>> from shortlist.repurposing import synthetic
    >>> screen = synthetic(seed=1).screen()
    >>> study = screen.study(m=5, epsilon=0.2)
    >>> _ = study.run(screen.objective, progress=False)
    >>> outcome = Outcome(screen, study, screen.simulate())
    >>> outcome.measures.loc[["study", "baseline"], "HR@5"].to_dict()
    {'study': 1.0, 'baseline': 0.2}
    """

    screen: DrugScreen
    study: Study
    rewards: NDArray[np.float64]

    @cached_property
    def table(self) -> pd.DataFrame:
        """Every drug, the shortlist first; see ``drug_table``."""
        return drug_table(self.screen, self.study, self.rewards)

    @cached_property
    def measures(self) -> pd.DataFrame:
        """HR@r and AUC of the study's means, of the simulated means and of the baseline."""
        columns = {"study": "mean", "simulated": "simulated", "baseline": "baseline"}
        scores = {name: self.table[column] for name, column in columns.items()}
        return measures(scores, self.table["label"])

    @property
    def notes(self) -> list[str]:
        """What the guarantee rests on."""
        return assumptions(self.study, self.rewards)

    def ranking(self) -> pd.DataFrame:
        """The shortlist with its intervals, and the baseline's first drugs beside it."""
        own = self.table.loc[list(self.study.shortlist.names)]
        other = self.table["baseline"].sort_values(ascending=False, kind="stable").head(len(own))
        return pd.DataFrame(
            {
                "shortlist": own.index,
                "mean": own["mean"].to_numpy(),
                "lower": own["lower"].to_numpy(),
                "upper": own["upper"].to_numpy(),
                "pulls": own["pulls"].to_numpy(),
                "simulated": own["simulated"].to_numpy(),
                "baseline's": other.index.where(other.notna(), "–"),
                "score": other.to_numpy(),
            },
            index=range(1, len(own) + 1),
        )

    def __str__(self) -> str:
        answer = self.study.shortlist
        _, patients, walks = self.rewards.shape
        ranking = self.ranking().to_string(float_format="{:.3f}".format)
        text = [
            ranking if answer.names else "No shortlist yet: the initial pulls are not done.",
            f"(simulated: every drug on all {patients} patients, {walks} walks each, not seen by "
            "the study; baseline: L1000 CDS²)",
            "",
            answer.effort,
            answer.guarantee,
            *self.notes,
        ]
        if len(self.measures):
            text += ["", self.measures.to_string(float_format="{:.3f}".format)]
        elif (self.screen.labels != 0).any():
            text += [
                "",
                "No hit rates and no AUC: they need drugs that are known to work (label 1) and "
                "drugs that are known not to (−1), with scores.",
            ]
        return printable("\n".join(text))

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        answer = self.study.shortlist
        table = self.table.astype(object).where(self.table.notna(), None)
        return {
            "shortlist": list(answer.names),
            "final": answer.final,
            "evaluations": answer.evaluations,
            "guarantee": answer.guarantee,
            "assumptions": self.notes,
            "measures": self.measures.to_dict(orient="index"),
            "drugs": table.reset_index().to_dict(orient="records"),
        }

    def figure(self) -> Figure:
        """Box plots of the simulated rewards by drug, coloured by label, the baseline as a line.

        Of more than 40 drugs it shows the shortlist, then those with a label, then the best.
        """
        from shortlist import plot

        table = self.table
        wanted = table.assign(known=table["label"] != 0).sort_values(
            ["in_shortlist", "known", "mean"], ascending=False
        )
        drawn = wanted.index[:DRAWN]
        rewards = dict(zip(self.screen.drugs, self.rewards, strict=True))
        _, patients, walks = self.rewards.shape
        title = f"{len(drawn)} of {len(table)} drugs, {patients} patients × {walks} walks"
        if len(self.measures):
            r = max(column for column in ("HR@1", "HR@2", "HR@5") if column in self.measures)
            for row in self.measures.index.intersection(["study", "baseline"]):
                title += f"; {r} {float(self.measures[r][row]):.2g} ({row})"
        return plot.rewards(
            {drug: rewards[drug] for drug in drawn},
            labels={drug: float(table.loc[drug, "label"]) for drug in drawn},
            baseline={drug: float(table.loc[drug, "baseline"]) for drug in drawn},
            shortlist=self.study.shortlist.names,
            title=title,
        )

    def write(self, folder: str | PathLike[str], *, replace: bool = True) -> Path:
        """Write the table to ``drugs.csv``; if not ``replace``, not over another table."""
        table = csv_of(self.table, index_label="drug")
        return write_file(Path(folder) / TABLE, table, replace=replace)

    def draw(self, folder: str | PathLike[str], *, replace: bool = True) -> list[Path]:
        """Write the picture to ``rewards.png`` and ``rewards.svg``; needs the extra ``plot``."""
        from shortlist import plot

        return plot.save(self.figure(), Path(folder) / PICTURE, replace=replace)

"""A lab that is made up: python measure.py plate.csv fills in the values that are blank."""

from __future__ import annotations

import csv
import random
import sys
from pathlib import Path

EFFECTS = {"constant": 0.40, "lipophilicity": 0.15, "charge": -0.08, "size": 0.05}
NOISE = 0.1


def mean(compound: str) -> float:
    """The truth, which a real lab does not know."""
    with Path(__file__).with_name("features.csv").open() as file:
        known = {row["compound"]: row for row in csv.DictReader(file)}
    return sum(effect * float(known[compound][name]) for name, effect in EFFECTS.items())


def measure(trial: int, compound: str) -> float:
    """A noisy value; the same trial gives the same one again."""
    return round(mean(compound) + NOISE * random.Random(trial).gauss(), 4)  # noqa: S311


def fill(plate: str | Path, *, every: int = 1) -> None:
    """Fill in the blank values of a plate, or of every second (third …) trial only."""
    with Path(plate).open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        if not row["value"] and int(row["trial"]) % every == 0:
            row["value"] = str(measure(int(row["trial"]), row["arm"]))
    with Path(plate).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    for plate in sys.argv[1:]:
        fill(plate)

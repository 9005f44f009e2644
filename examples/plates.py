"""The 3 best of 40 compounds, on plates of 24 wells, each of which reads higher or lower as a whole.

With ``blocks="shift"`` every request is a plate, and only wells of one plate are compared: its shift
cancels, whatever it is. Run it with ``python examples/plates.py``.
"""

from __future__ import annotations

import numpy as np

import shortlist

COMPOUNDS, WELLS, M = 40, 24, 3
NOISE, EPSILON = 0.3, 0.2


def main() -> None:
    """Ask for plate after plate, measure it in a simulated lab, and tell the results."""
    rng = np.random.default_rng(2)
    names = [f"compound {k}" for k in range(COMPOUNDS)]
    activity = rng.normal(size=COMPOUNDS)  # unknown in practice

    # sigma is the noise within a plate: that of two wells of one compound.
    study = shortlist.Study(arms=names, m=M, sigma=NOISE, epsilon=EPSILON, blocks="shift", seed=0)
    plates = 0
    while not study.done:
        plate = study.ask(WELLS)
        shift = 2.0 * rng.normal()  # reagents, temperature, reader: larger than most effects
        if plates == 1:
            study.fail(plate.pop(), "the well was empty")  # no value is made up for it
        study.tell_many((well, activity[well.arm] + shift + NOISE * rng.normal()) for well in plate)
        plates += 1
    print(study.shortlist)
    print(f"{plates} plates of {WELLS} wells")

    worst, third = activity[study.shortlist.arms].min(), np.sort(activity)[-M]
    print("right" if worst >= third - EPSILON else "wrong")


if __name__ == "__main__":
    main()

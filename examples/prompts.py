"""The 3 best of 40 prompts: a judge says whether an answer is right, on a pool of 200 questions.

All prompts are tried on the same questions, so that easy and hard ones cancel: ``blocks=200``. The
answer is about these 200 questions. Run it with ``python examples/prompts.py``.
"""

from __future__ import annotations

import numpy as np

import shortlist

PROMPTS, QUESTIONS, M, EPSILON = 40, 200, 3, 0.05


def main() -> None:
    """Find the best prompts with a simulated judge, and compare with scoring everything."""
    rng = np.random.default_rng(0)
    skill, difficulty = rng.normal(0, 1.2, PROMPTS), rng.normal(0, 1.5, QUESTIONS)
    chance = 1 / (1 + np.exp(difficulty - skill[:, None]))
    right = rng.random(chance.shape) < chance  # what the judge would say; unknown in practice

    def judge(trial: shortlist.Trial) -> float:
        """Ask the model with this prompt and this question, and have its answer judged."""
        return float(right[trial.arm, trial.block])

    study = shortlist.Study(
        arms=[f"prompt {k}" for k in range(PROMPTS)],
        m=M,
        sigma="bounded",
        reward_range=(0, 1),
        blocks=QUESTIONS,
        epsilon=EPSILON,  # 5 questions in 100: a difference that does not matter
        seed=0,
    )
    print(study.run(judge, progress=False))
    print(f"Scoring every prompt on every question takes {right.size:,} evaluations.")

    scores = right.mean(axis=1)
    worst, third = scores[study.shortlist.arms].min(), np.sort(scores)[-M]
    print("right" if worst >= third - EPSILON else "wrong")


if __name__ == "__main__":
    main()

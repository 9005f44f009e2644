"""Words of other libraries, such as Optuna and scikit-learn, and what takes their place here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from shortlist.errors import UnknownName, unknown_name

ENDS = (
    "the study stops by itself when it is certain enough. budget=n in Study stops it after n "
    "results, without a guarantee; max_evaluations=n in study.run pauses it"
)
PARALLEL = (
    "study.run(objective, executor=pool, batch=n) keeps n evaluations running, where pool is a "
    "concurrent.futures.ThreadPoolExecutor(n), for example"
)
BLOCKS = (
    "blocks=… names what all arms are evaluated on: blocks=500 for a pool of 500 questions, or a list "
    "of their names"
)
OF_RUN = "it is a setting of a run: study.run(objective, {}=…)"
ANSWER = "study.shortlist is the answer, study.shortlist.names are the best arms"
SETTINGS = {  # of Study
    "confidence": "delta is the risk of a wrong answer: for 95 % confidence write delta=0.05",
    "alpha": "delta is the risk of a wrong answer: delta=0.05 is usual",
    "maximize": "write direction='minimize' for small means, and nothing for large ones",
    "minimize": "write direction='minimize'",
    "directions": "write direction='maximize' or direction='minimize'",
    "n_trials": ENDS,
    "max_evaluations": ENDS,
    "n_jobs": PARALLEL,
    "workers": PARALLEL,
    "max_workers": PARALLEL,
    "executor": OF_RUN.format("executor"),
    "batch": OF_RUN.format("batch"),
    "retries": OF_RUN.format("retries"),
    "max_failures": OF_RUN.format("max_failures"),
    "questions": BLOCKS,
    "items": BLOCKS,
    "pool": BLOCKS,
    "noise": "write sigma=…, the standard deviation of one result",
    "tolerance": "write epsilon=…, the difference that you do not care about",
    "n_best": "write m=…, how many to find",
    "top_k": "write m=…, how many to find",
    "top": "write m=…, how many to find",
    "k": "write m=…, how many to find",
    "candidates": "write features=… for a table, or arms=[…] for names alone",
    "names": "write arms=[…]",
    "random_state": "write seed=…",
    "study_name": "write name=…",
    "load_if_exists": "a stored study of the same name and settings is always continued",
    "objective": "give it to study.run(objective)",
}
RUN = {
    "n_trials": ENDS,
    "n_jobs": PARALLEL,
    "workers": PARALLEL,
    "max_workers": PARALLEL,
    "pool": PARALLEL,
    "batch_size": PARALLEL,
    "max_retries": "write retries=…, how often an evaluation that raised is repeated",
    "show_progress_bar": "write progress=True or progress=False",
    "catch": "write max_failures=…, how many evaluations may fail",
}
ATTRIBUTES = {  # of a study
    "optimize": "study.run(objective) evaluates until the answer is certain enough",
    "fit": "study.run(objective) evaluates until the answer is certain enough",
    "best_params": ANSWER,
    "best_trial": ANSWER,
    "best_trials": ANSWER,
    "best_value": f"{ANSWER}, and study.shortlist.table has their means",
    "best_estimator_": ANSWER,
    "best_params_": ANSWER,
    "cv_results_": "study.table() has every arm",
    "enqueue_trial": "study.tell(arm=…, value=…) takes a result that nobody asked for",
    "add_trial": "study.tell(arm=…, value=…) takes a result that nobody asked for",
    "stop": "leave off asking: study.shortlist is the answer so far",
    "names": "study.problem.names are all arms, study.shortlist.names those of the answer",
}


def unexpected(
    of: str, given: Iterable[str], pointers: Mapping[str, str], known: Iterable[str]
) -> UnknownName:
    """The error for an argument that a call does not have.

    Examples
    --------
    >>> print(unexpected("Study", ["n_best"], SETTINGS, ["m", "sigma"]))
    Study has no setting 'n_best': write m=…, how many to find.
    >>> print(unexpected("Study", ["sgma"], SETTINGS, ["m", "sigma"]))
    unknown setting of Study 'sgma': did you mean 'sigma'? Known: m, sigma.
    """
    first = next(iter(given))
    if first in pointers:
        return UnknownName(f"{of} has no setting {first!r}: {pointers[first]}.")
    return unknown_name(f"setting of {of}", first, known)


def no_attribute(name: str) -> AttributeError:
    """The error for an attribute that a study does not have.

    Examples
    --------
    >>> print(no_attribute("optimize"))
    a study has no 'optimize': study.run(objective) evaluates until the answer is certain enough.
    """
    if name in ATTRIBUTES:
        return AttributeError(f"a study has no {name!r}: {ATTRIBUTES[name]}.")
    return AttributeError(f"'Study' object has no attribute {name!r}")


def settings_of(call: Any) -> list[str]:
    """The names of the arguments that a call takes, without those that it collects.

    Examples
    --------
    >>> def call(self, a, *, b=1, **others): ...
    >>> settings_of(call)
    ['a', 'b']
    """
    code = call.__code__
    named = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return [name for name in named if name != "self"]

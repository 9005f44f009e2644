"""The exceptions and warnings of this package, as a tree.

```text
ShortlistError
├── InvalidInput            (also a ValueError)
│   ├── InvalidFeatures
│   │   └── IndistinguishableArms
│   ├── UnknownName
│   ├── InvalidSetting
│   ├── ToldBefore
│   ├── InvalidNetwork
│   └── InvalidExpression
├── TrialError
│   ├── UnknownTrial
│   └── TrialClosed
├── StudyStopped
├── BudgetSpent
├── OnlyFailingArms
├── StorageError
│   ├── OutcomeUnknown
│   ├── StudyNotFound
│   ├── StudyMismatch
│   ├── ForeignStorage
│   ├── DamagedStorage
│   └── OtherTables
├── SingularDesign
├── InferenceFailed
│   ├── Unsatisfiable
│   └── InferenceTimeout     (also a TimeoutError)
└── DataUnavailable

UserWarning
├── UnhealthyFeatures
├── ArmSetAside
├── LikelyTie
└── GuaranteeInDoubt
    └── LinearityRejected    (also a ShortlistError)
```
"""

from __future__ import annotations

import difflib
import inspect
import re
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from shortlist.printable import on_one_line


class ShortlistError(Exception):
    """Anything this package raises on purpose."""


class InvalidInput(ShortlistError, ValueError):
    """A value from outside that cannot be used; the message names it and says what to do."""


class InvalidFeatures(InvalidInput):
    """Features of a wrong shape, with missing numbers, or names that repeat."""


class UnhealthyFeatures(UserWarning):
    """Features that can be used, but put the guarantee or its numbers in doubt."""


class ArmSetAside(UserWarning):
    """An arm failed three times in a row and is not asked for until a result of it is told."""


class LikelyTie(UserWarning):
    """Two arms that may be too alike to be told apart: the study may go on very long."""


class GuaranteeInDoubt(UserWarning):
    """Results that contradict what the guarantee assumes, or that no proof covers."""


class LinearityRejected(ShortlistError, GuaranteeInDoubt):
    """Results that contradict linear means with this σ; warned of when found, raised by ``ask``."""


class IndistinguishableArms(InvalidFeatures):
    """Arms that no number of evaluations can tell apart."""


class UnknownName(InvalidInput):
    """No algorithm, rule or threshold has this name."""


class InvalidSetting(InvalidInput):
    """A number outside its range, or settings that contradict each other."""


class ToldBefore(InvalidInput):
    """Results in a file that were told before, or that differ from what was told.

    Attributes
    ----------
    found : str
        What is the matter, without advice.
    """

    def __init__(self, found: str, advice: str = "") -> None:
        super().__init__(f"{found} {advice}".rstrip())
        self.found = found


class InvalidNetwork(InvalidInput):
    """A Boolean network, a rule or an expression that cannot be read; names the file and line."""


class InvalidExpression(InvalidInput):
    """Expression data that cannot be read or used; names the file and line, or the gene."""


class TrialError(ShortlistError):
    """A trial was told, failed or cancelled in a way that its state does not allow."""


class UnknownTrial(TrialError):
    """The study never asked for this trial."""


class TrialClosed(TrialError):
    """The trial is no longer pending."""


class StudyStopped(ShortlistError):
    """The study has stopped: its answer is final until it is reopened."""


class BudgetSpent(ShortlistError):
    """Every evaluation of the budget, or of the pool, is told or pending: none is left to ask for."""


class OnlyFailingArms(ShortlistError):
    """All that the study wants evaluated now are arms set aside because they keep failing."""


class StorageError(ShortlistError):
    """A study could not be stored or found; nothing was changed (but see ``OutcomeUnknown``)."""


class OutcomeUnknown(StorageError):
    """The reply to a commit was lost: the change may or may not be stored. Repeat it: it counts once.

    The same key makes it count once, and so does ``tell(trial, value, if_told="same")``.
    """


class StudyNotFound(StorageError):
    """There is no study of this name, or no such file."""


class StudyMismatch(StorageError):
    """The stored study of this name has other settings or features.

    Attributes
    ----------
    in_files : str
        The same for who reads a file, where features are counted from 1.
    """

    def __init__(self, message: str, in_files: str = "") -> None:
        super().__init__(message)
        self.in_files = in_files or message


class ForeignStorage(StorageError):
    """The file or database was not made by this package."""


class DamagedStorage(StorageError):
    """What is stored is truncated, altered or inconsistent."""


class OtherTables(StorageError):
    """The file or database was written by another version of this package."""


class SingularDesign(ShortlistError):
    """The evaluations so far do not span the features, and there is no regularisation."""


class InferenceFailed(ShortlistError):
    """No network was inferred from the experiments."""


class Unsatisfiable(InferenceFailed):
    """No network explains the experiments.

    Attributes
    ----------
    conflict : tuple of str
        Experiments that no network explains together.
    smallest : bool
        Whether it is known that no smaller set of them is in conflict.
    """

    def __init__(self, message: str, conflict: tuple[str, ...], smallest: bool = True) -> None:
        super().__init__(message)
        self.conflict = conflict
        self.smallest = smallest


class InferenceTimeout(InferenceFailed, TimeoutError):
    """The time limit ended the search.

    Attributes
    ----------
    found : sequence of Inferred
        The solutions found before.
    """

    def __init__(self, message: str, found: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.found = found


class DataUnavailable(ShortlistError):
    """A file of the public data set cannot be found or downloaded; the message says what to do."""


def warn_caller(warning: Warning) -> None:
    """Warn, and blame the line outside this package that led to the warning."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").startswith("shortlist."):
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level + 1)


NAMES_SHOWN = 100
LONGEST = 200  # characters of a name that are compared and shown


def unknown_name(kind: str, name: object, known: Iterable[str]) -> UnknownName:
    """The error for a name that is not among ``known``, with the nearest name that is.

    Examples
    --------
    >>> print(unknown_name("selection rule", "gredy", ["greedy", "both_arms"]))
    unknown selection rule 'gredy': did you mean 'greedy'? Known: greedy, both_arms.
    """
    names = list(known)
    lower = {candidate.lower(): candidate for candidate in names}
    near = difflib.get_close_matches(str(name)[:LONGEST].lower(), list(lower), n=1, cutoff=0.5)
    hint = f": did you mean {lower[near[0]]!r}?" if near else "."
    shown = ", ".join(map(on_one_line, names[:NAMES_SHOWN]))
    if len(names) > NAMES_SHOWN:
        shown += f" … ({len(names):,} in all)"
    text = repr(name)
    text = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    return UnknownName(f"unknown {kind} {text}{hint} Known: {shown}.")


def number_hint(value: object) -> str:
    """How to write a number that came as text; empty for what is not a number.

    Examples
    --------
    >>> number_hint("0,93"), number_hint("6"), number_hint("six")
    (' Write 0.93: a decimal point, no quotes.', ' Write 6, without quotes.', '')
    """
    if not isinstance(value, str):
        return ""
    text = value.strip()
    if re.fullmatch(r"[+-]?\d+,\d+", text, re.ASCII):
        return f" Write {text.replace(',', '.')}: a decimal point, no quotes."
    is_number = re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text, re.ASCII)
    return f" Write {text}, without quotes." if is_number else ""


NAMES_OFFERED = 3


def unknown_among_many(kind: str, name: str, known: Sequence[int | str]) -> UnknownName:
    """The error for a name that is not among thousands: the nearest three, and how many there are.

    Examples
    --------
    >>> print(unknown_among_many("arm", "c7", ["C07", "C17", "C20", "beta"]))
    unknown arm 'c7': did you mean 'C07' or 'C17'? There are 4 arms.
    >>> print(unknown_among_many("arm", "xyz", ["C07", "C17", "C20", "beta"]))
    unknown arm 'xyz': no similar name. There are 4 arms, such as 'C07', 'C17' or 'C20'.
    """

    def bare(text: str) -> str:  # without capitals and leading zeros, which spreadsheets take away
        return re.sub(r"0+(?=\d)", "", text.casefold())

    def alternatives(names: Sequence[int | str]) -> str:
        *others, last = (repr(each) for each in names)
        return f"{', '.join(others)} or {last}" if others else last

    alike: dict[str, list[int | str]] = {}
    for candidate in known:
        alike.setdefault(bare(str(candidate)), []).append(candidate)
    found = difflib.get_close_matches(bare(name), alike, n=NAMES_OFFERED)
    near = [candidate for each in found for candidate in alike[each]][:NAMES_OFFERED]
    hint = f"did you mean {alternatives(near)}?" if near else "no similar name."
    such = "" if near else f", such as {alternatives(known[:NAMES_OFFERED])}"
    return UnknownName(f"unknown {kind} {name!r}: {hint} There are {len(known):,} {kind}s{such}.")

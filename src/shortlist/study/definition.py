"""What defines a study, as it is stored: plain data, from which nothing is ever executed."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.advice import advise, reader
from shortlist.arrays import Label
from shortlist.blocks import Blocks
from shortlist.catalog.gifa import threshold_name
from shortlist.catalog.registry import ALGORITHMS, find_algorithm
from shortlist.engine.algorithm import OWN, Algorithm
from shortlist.errors import (
    DamagedStorage,
    GuaranteeInDoubt,
    InvalidSetting,
    StudyMismatch,
    warn_caller,
)
from shortlist.features import Features, column_name
from shortlist.linalg import blocks
from shortlist.noise import Noise
from shortlist.problem import Controls, Costs, Problem, flag
from shortlist.storage.base import Settings
from shortlist.study.model import Addition
from shortlist.study.trial import FeatureRow

LONGEST = 1e10  # seconds: dates end with the year 9999
KEYS = (
    *("m", "sigma", "delta", "epsilon", "S", "direction", "intercept"),
    *("algorithm", "threshold", "seed", "lease", "audit", "blocks", "costs", "controls"),
)


@dataclass(frozen=True, eq=False)
class Definition:
    """Everything that was chosen when a study was begun."""

    choices: dict[str, Any]  # by ``KEYS``: numbers and names only
    names: tuple[Label, ...]  # the arms'
    features: NDArray[np.float64] | None  # None for a classical study
    # What the features are called, for people: no part of what defines the study.
    columns: tuple[str, ...] | None = None

    @classmethod
    def of(
        cls,
        problem: Problem,
        *,
        algorithm: Algorithm,
        threshold: Any,
        seed: int,
        lease: object,
        classical: bool,
        audit: object = True,
        intercept: bool = True,
    ) -> Definition:
        """The definition of a study of this problem; checks the lease and the flag."""
        choices = {
            "m": problem.m,
            "sigma": problem.noise.written,
            "delta": problem.delta,
            "epsilon": problem.epsilon,
            "S": problem.S,
            "algorithm": _described(algorithm),
            "threshold": None if threshold is None else threshold_name(threshold),
            "seed": seed,
            "lease": None if lease is None else checked_seconds("lease", lease),
            "audit": flag("audit", audit),
            "direction": problem.direction,
            "intercept": intercept,
            "blocks": problem.blocks.written,
            "costs": problem.costs.written,
            "controls": problem.controls.written,
        }
        given = problem.given
        features = None if classical else given.numbers
        return cls(
            choices,
            problem.names,
            features,
            None if given.columns is None else tuple(given.columns),
        )

    @classmethod
    def read(cls, stored: Settings, name: str) -> Definition:
        """The definition of a study of this name that :attr:`settings` gave."""
        try:
            read, listed = json.loads(stored.choices), tuple(json.loads(stored.arms))
            lacking = [key for key in KEYS if key not in read]
            if lacking or not _describes(read["algorithm"]):
                raise ValueError(f"{(lacking or ['algorithm'])[0]} is missing")
            matrix = None
            if stored.features is not None:
                flat = np.frombuffer(stored.features, "<f8").astype(np.float64, copy=False)
                matrix = flat.reshape(len(listed), -1)
            titles = stored.columns and tuple(map(str, json.loads(stored.columns)))
            definition = cls(read, listed, matrix, titles or None)
        except (ValueError, TypeError, RecursionError) as error:
            raise DamagedStorage(f"the stored settings cannot be read: {error}.") from None
        if definition.features_hash != stored.features_hash:
            raise DamagedStorage(
                f"the features of the study {name!r} are not those that were stored."
            )
        return definition

    def feature_row(self, arm: int) -> FeatureRow | None:
        """The features of an arm, as they were given."""
        return None if self.features is None else FeatureRow(self.features[arm], self.columns)

    @property
    def audit(self) -> bool:
        """Whether linearity is tested."""
        return bool(self.choices["audit"])

    @cached_property
    def blocks(self) -> Blocks:
        """What results share."""
        return Blocks.read(self.choices["blocks"])

    def leave_open(self, stored: Definition, *, seed: bool, algorithm: bool) -> None:
        """Take over the stored choices that the caller left open; a budget never is left open."""
        described = [each.choices["algorithm"].get("settings", {}) for each in (self, stored)]
        budgets = [each.get("budget") for each in described]
        algorithm = algorithm and budgets[0] == budgets[1]
        taken = ["seed"] * seed + ["algorithm", "threshold"] * algorithm
        self.choices.update((key, stored.choices[key]) for key in taken)

    def problem(self) -> Problem:
        """The problem of the study."""
        keys = ("m", "delta", "epsilon", "S", "direction", "intercept")
        asked = {key: self.choices[key] for key in keys}
        given: Features | None = None
        if self.features is not None:
            fits = len(self.columns or ()) == self.features.shape[1]
            given = Features(self.features, self.names, self.columns if fits else None)
        try:  # only what is stored can be wrong here: what was given was checked
            noise = Noise.read(self.choices["sigma"])
            asked["blocks"], asked["costs"] = self.blocks, Costs.read(self.choices["costs"])
            asked["controls"] = Controls.read(self.choices["controls"])
        except (LookupError, OverflowError, TypeError, ValueError) as error:
            raise DamagedStorage(f"the stored settings cannot be read: {error!r}.") from error
        return Problem.of(given, arms=self.names, sigma=noise, **asked)

    def settings(self, created_at: float) -> Settings:
        """The definition as it is stored: choices and names as JSON, features as bytes."""
        return Settings(
            json.dumps(self.choices, sort_keys=True),
            json.dumps(self.names),
            None if self.features is None else b"".join(self._blocks()),
            self.features_hash,
            json.dumps(self.columns) if self.columns else None,
            created_at,
        )

    def _blocks(self) -> Iterator[bytes]:
        """The bytes of the features, some rows at a time; none without features."""
        for rows in () if self.features is None else blocks(self.features):
            assert self.features is not None
            # Zeros have a sign, which means nothing here and would make other bytes.
            yield (self.features[rows] + 0.0).astype("<f8", copy=False).tobytes()

    @cached_property
    def features_hash(self) -> str:
        """A digest of the features and of the arms' names."""
        content = hashlib.blake2b(json.dumps(self.names).encode(), digest_size=16)
        for part in self._blocks():
            content.update(part)
        return content.hexdigest()

    @property
    def digest(self) -> bytes:
        """A digest of the whole definition, from which the study's fingerprint starts."""
        choices = json.dumps(self.choices, sort_keys=True)
        return hashlib.blake2b((choices + self.features_hash).encode()).digest()

    @property
    def fingerprint(self) -> str:
        """The study's fingerprint before any change."""
        return first_fingerprint(self.digest).hexdigest()

    def as_begun(self, stored: Definition, added: Sequence[Addition]) -> Definition:
        """Without the arms at its end that were added to the stored study later; else as it is."""
        later: list[Label] = []
        rows: list[NDArray[np.float64]] = []
        first = len(stored.names)
        for names, more in added:
            later += names
            rows += [] if more is None else [more]
        if self.names != (*stored.names, *later)[: len(self.names)] or len(self.names) <= first:
            return self
        if self.features is None or stored.features is None:
            return replace(self, names=stored.names)
        now = np.vstack([stored.features, *rows])[: len(self.names)]
        if not np.array_equal(now, self.features):
            return self
        return replace(self, names=stored.names, features=stored.features)

    def check_same(self, stored: Definition, name: str) -> None:
        """Raise where a study of this name was begun with other settings."""
        for key, value in self.choices.items():
            was = stored.choices[key]
            if was != value:
                stored_as, given = _shown(was, key), _shown(value, key)
                if stored_as == given:
                    pairs = zip_longest(_flat(was), _flat(value))
                    one, other = next(pair for pair in pairs if pair[0] != pair[1])
                    given = f"the same with {other!r} in place of {one!r}"
                raise StudyMismatch(
                    f"the study {name!r} is stored with {key} = {stored_as}, but "
                    f"{key} = {given} was given: the settings of a study cannot change."
                    f"{_unless('settings it has')}"
                )
        if self.features_hash == stored.features_hash:
            return
        words = [
            f"the study {name!r} is stored with other features "
            f"({_difference(self, stored, first)}): what was measured would not fit them."
            f"{_unless('features it began with')}"
            for first in (0, 1)
        ]
        raise StudyMismatch(*words)

    def recalled(self, algorithm: Algorithm | None, name: str) -> tuple[Algorithm, Any]:
        """The algorithm and the threshold, which must be given again if they are the user's own."""
        stored, threshold = self.choices["algorithm"], self.choices["threshold"]
        settings = stored.get("settings", {})
        if algorithm is not None:
            chosen = find_algorithm(algorithm)
            given = _described(chosen)
            if _without_parameters(given) == _without_parameters(stored):
                _warn_of_another_model(name, settings, given.get("settings", {}))
            else:
                raise StudyMismatch(
                    f"the study {name!r} is stored with algorithm = {_shown(stored)}, but "
                    f"{_shown(given)} was given."
                )
        elif OWN in settings.values():
            raise InvalidSetting(
                f"the study {name!r} was run with rules of your own ({_shown(stored)}), and storage "
                f"keeps names, never code: {_passed_again('algorithm', 'algorithm')}."
            )
        else:
            chosen = _algorithm(stored)
        if threshold == OWN:
            raise InvalidSetting(
                f"the study {name!r} was run with a threshold of your own, and storage keeps names, "
                f"never code: {_passed_again('threshold as part of a GIFA', 'algorithm')}."
            )
        return chosen, threshold


def _without_parameters(described: dict[str, Any]) -> dict[str, Any]:
    settings = dict(described.get("settings", {}))
    settings.pop("parameters", None)
    return {**described, "settings": settings}


def _warn_of_another_model(name: str, stored: dict[str, Any], given: dict[str, Any]) -> None:
    """Warn where a study that features guide is loaded with other parameters of its model."""
    was, now = (each.get("parameters", {}) for each in (stored, given))
    others = [key for key in {**was, **now} if was.get(key) != now.get(key)]
    if others:
        begun, loaded = (
            f"{stored['model']}({', '.join(f'{key}={of[key]}' for key in others if key in of)})"
            for of in (was, now)
        )
        warn_caller(
            GuaranteeInDoubt(
                f"the study {name!r} was begun with the model {begun} and is loaded with {loaded}: its "
                "results are processed again with this one, so that the list may be another one. What "
                "is proven holds only if the choice of this model did not depend on the results. "
                "Otherwise load the study with the model that it was begun with."
            )
        )


def first_fingerprint(settings: bytes) -> Any:
    """The digest of a study's settings, to which every change is added."""
    return hashlib.blake2b(settings, digest_size=16)


def _unless(what: str) -> str:
    return f" Give another name, or the {what}; or open it as it is {advise('name it')}."


def _passed_again(what: str, argument: str) -> str:
    return f"only a program that has this {what} can open it{reader().loaded_with(argument)}"


def checked_seconds(
    name: str, value: object, *, zero: bool = False, endless: bool = False
) -> float:
    """A number of seconds above 0, or from 0 on; a finite one unless it may be endless.

    Examples
    --------
    >>> checked_seconds("lease", 0)
    Traceback (most recent call last):
        ...
    shortlist.errors.InvalidSetting: lease must be a number of seconds above 0, or None, got 0.
    >>> checked_seconds("lease", 3e11)
    Traceback (most recent call last):
        ...
    shortlist.errors.InvalidSetting: lease must be at most 1e+10 seconds (300 years), or None, got 3e+11.
    >>> checked_seconds("patience", -1, zero=True)
    Traceback (most recent call last):
        ...
    shortlist.errors.InvalidSetting: patience must be a number of seconds from 0 on, got -1.
    """
    if (
        not isinstance(value, int | float)
        or isinstance(value, bool)
        or not (value > 0 or (zero and value == 0))
        or not (value < math.inf or endless)
    ):
        bounds = "from 0 on" if zero else "above 0, or None"
        raise InvalidSetting(f"{name} must be a number of seconds {bounds}, got {value!r}.")
    if value > LONGEST and not endless:
        raise InvalidSetting(
            f"{name} must be at most {LONGEST:g} seconds (300 years), or None, got {value:g}."
        )
    return float(value)


def _described(algorithm: Algorithm) -> dict[str, Any]:
    """An algorithm as names and numbers; ``OWN`` stands for what is the user's code."""
    known = ALGORITHMS.get(algorithm.name)
    if known is algorithm or known == algorithm:
        return {"name": algorithm.name}
    kind = type(algorithm).__name__
    return {"name": algorithm.name, "kind": kind, "settings": algorithm.settings}


def _describes(described: object) -> bool:
    """Whether what is stored may be an algorithm as ``_described`` writes it."""
    if not isinstance(described, dict):
        return False
    name, kind = described.get("name"), described.get("kind", "")
    settings = described.get("settings", {})
    return isinstance(name, str) and isinstance(kind, str) and isinstance(settings, dict)


def _algorithm(described: dict[str, Any]) -> Algorithm:
    if "kind" not in described:
        return find_algorithm(str(described["name"]))
    if described["kind"] not in Algorithm.kinds:
        raise DamagedStorage(
            f"the study's algorithm, {described['name']}, is not known to this version."
        )
    try:
        return Algorithm.kinds[described["kind"]].read(described["settings"])
    except (KeyError, TypeError) as error:
        raise DamagedStorage(f"the stored algorithm cannot be read: {error}.") from None


def _shown(value: Any, key: str = "algorithm") -> str:
    """The value of a setting in words."""
    if key == "sigma":
        return Noise.read(value).specification
    if key == "blocks":
        return Blocks.read(value).announcement
    if key == "costs":
        return Costs.read(value).announcement
    if key == "controls":
        return Controls.read(value).announcement
    if isinstance(value, dict):
        return str(value.get("name")) + ("" if len(value) == 1 else f" {value}")
    return repr(value)


def _flat(value: Any) -> Iterator[Any]:
    """What lists in lists contain.

    Examples
    --------
    >>> list(_flat(["pool", ["q1", "q2"]]))
    ['pool', 'q1', 'q2']
    """
    for each in value if isinstance(value, list) else [value]:
        yield from _flat(each) if isinstance(each, list) else [each]


def _difference(given: Definition, stored: Definition, first: int) -> str:
    """What differs in the features, in words; features without names are counted from ``first``."""
    if given.names != stored.names:
        if len(given.names) != len(stored.names):
            return f"{len(stored.names)} arms, not {len(given.names)}"
        pairs = zip(given.names, stored.names, strict=True)
        one, other = next((a, b) for a, b in pairs if a != b)
        return f"an arm {other!r} in place of {one!r}"
    if given.features is None or stored.features is None:
        return "none, the arms alone" if stored.features is None else "a table, not the arms alone"
    if given.features.shape != stored.features.shape:
        return f"{stored.features.shape[1]} columns, not {given.features.shape[1]}"
    arm, column = np.argwhere(given.features != stored.features)[0]
    return (
        f"{column_name(given.columns, int(column) + first * (given.columns is None))} of arm "
        f"{given.names[arm]!r} was {float(stored.features[arm, column])!r} and is "
        f"{float(given.features[arm, column])!r}"
    )

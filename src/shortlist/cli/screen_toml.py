"""``screen.toml``, the file that describes a lab's study, and the files that it names."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortlist.errors import (
    InvalidFeatures,
    InvalidInput,
    InvalidSetting,
    UnknownName,
    number_hint,
    unknown_name,
)
from shortlist.files.csv_files import labels, may_be_names, read_lines, read_table
from shortlist.files.paths import checked_path, from_home, regular_file

if TYPE_CHECKING:
    import pandas as pd

    from shortlist.arrays import Label

# Passed on to Study as they are.
PLAIN = (
    *("m", "reward_range", "delta", "epsilon", "direction", "S", "budget", "algorithm"),
    *("threshold", "seed", "audit", "intercept", "controls"),
)
FILES = ("features", "arms", "pilot")
KEYS = (
    *FILES,
    *PLAIN,
    "sigma",
    "blocks",
    "costs",
    "trust",
    "lease",
    "storage",
    "name",
)
TEXTS = ("features", "pilot", "algorithm", "threshold", "lease", "storage", "name")
HEADINGS = {
    "arm",
    "arms",
    "block",
    "blocks",
    "name",
    "names",
}  # that a file of names may begin with
SECONDS = {"s": 1, "min": 60, "h": 3600, "day": 86400, "days": 86400}


@dataclass(frozen=True)
class ScreenFile:
    """A screen.toml before the files that it names are read: where it is, and its keys."""

    path: Path
    keys: dict[str, Any]

    @property
    def storage(self) -> str:
        """Where the study is stored: a path, or the URL of a database."""
        if "storage" not in self.keys:
            return str(self.path.with_suffix(".db"))
        from shortlist.storage.address import check_address, is_url, sqlite_path

        place = sqlite_path(str(self.keys["storage"]))
        check_address(place)
        return place if is_url(place) else str(self.beside(place))

    @property
    def name(self) -> str:
        """The study's name, by default that of the file."""
        return str(self.keys.get("name", self.path.stem))

    @property
    def arms_file(self) -> Path:
        """The file that describes the arms, which may be the screen.toml itself."""
        source = self.keys.get("features", self.keys.get("arms"))
        return self.beside(source) if isinstance(source, str) else self.path

    def beside(self, name: str) -> Path:
        """The path of a file that the screen.toml names."""
        return self.path.parent / from_home(checked_path(name, InvalidSetting), InvalidSetting)

    def settings(self) -> dict[str, Any]:
        """The arguments of ``Study``, with the arms read from their file."""
        settings = {key: self.keys[key] for key in PLAIN if key in self.keys}
        self._check_algorithm()
        if "trust" in self.keys:
            settings |= self._by_trust(settings.get("algorithm"))
        if "sigma" in self.keys:
            sigma = settings["sigma"] = self.keys["sigma"]
            if isinstance(sigma, str) and Path(sigma).suffix and not number_hint(sigma):
                settings["sigma"] = numbers_by_arm(self.beside(sigma), "sigma")
        if "costs" in self.keys:
            costs = settings["costs"] = self.keys["costs"]
            if isinstance(costs, str):
                settings["costs"] = numbers_by_arm(self.beside(costs), "cost")
        if "blocks" in self.keys:
            blocks = settings["blocks"] = self.keys["blocks"]
            if isinstance(blocks, str) and Path(blocks).suffix:
                settings["blocks"] = _names(self.beside(blocks))
        if "lease" in self.keys:
            settings["lease"] = self._lease()
        if ("features" in self.keys) == ("arms" in self.keys):
            raise InvalidSetting(
                f"{self.path}: give exactly one of features (a file: one line per arm, its name first) and "
                "arms (names alone, if nothing is known about the arms)."
            )
        if "m" not in self.keys:
            raise InvalidSetting(f"{self.path}: m, the number of arms to find, is missing.")
        arms = self._features() if "features" in self.keys else {"arms": self._arms()}
        return {**arms, **settings}

    def pilot(self) -> dict[str, float] | None:
        """Means of a pilot, by the name of the arm; not every arm needs one."""
        if "pilot" not in self.keys:
            return None
        return numbers_by_arm(self.beside(self.keys["pilot"]), "mean")

    def _features(self) -> dict[str, Any]:
        """The features, and the names of the arms if the first column has them."""
        import pandas as pd

        if self.arms_file.suffix.lower() in (".parquet", ".pq"):
            return {"features": _read_parquet(self.arms_file)}
        names, columns, rows = read_table(self.arms_file)
        if names and "" in names:
            raise InvalidFeatures(
                f"{self.arms_file}: the arm in row {names.index('') + 1} has no name in the first "
                "column."
            )
        return {"features": pd.DataFrame(rows, names, columns)}

    def _arms(self) -> list[Label]:
        arms = self.keys["arms"]
        if isinstance(arms, list):
            return arms
        if not isinstance(arms, str):
            raise InvalidSetting(
                f"{self.path}: arms must be a list of names or the name of a file, got {arms!r}."
            )
        otherwise = " If the file holds features, write features in place of arms."
        return labels(_names(self.arms_file, otherwise))

    def _check_algorithm(self) -> None:
        """Refuse an algorithm that is chosen by another key, or needs one."""
        from shortlist.catalog.registry import NEEDING

        named = self.keys.get("algorithm")
        needs = NEEDING[named].needs if named in NEEDING else None
        if needs is not None and needs.key not in self.keys:
            raise InvalidSetting(
                f"{self.path}: algorithm = {json.dumps(named)} needs the key {needs.key}, which "
                f"{needs.use}."
            )

    def _by_trust(self, algorithm: Any) -> dict[str, Any]:
        """The algorithm that goes with the key trust, where it is another."""
        from shortlist.catalog.recommendation import algorithm_for_trust

        trust, has_features = self.keys["trust"], "features" in self.keys
        try:
            chosen = algorithm_for_trust(trust, algorithm, has_features=has_features)
        except InvalidInput as error:
            raise type(error)(f"{self.path}: {error}") from None
        return {} if chosen is algorithm else {"algorithm": chosen}

    def _lease(self) -> float:
        text = self.keys["lease"]
        parts = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]+)", text.strip(), re.ASCII)
        if parts is None or parts[2] not in SECONDS or float(parts[1]) <= 0:
            raise InvalidSetting(
                f"{self.path}: lease must be a number and a unit (s, min, h or days), such as "
                f"'7 days', got {text!r}."
            )
        return float(parts[1]) * SECONDS[parts[2]]


def read_screen_file(path: Path) -> ScreenFile:
    """Read a screen.toml and check its keys."""
    try:
        keys = tomllib.loads(regular_file(path, InvalidSetting).read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise InvalidSetting(f"there is no file {path}: check the path.") from None
    except OSError as error:
        raise InvalidSetting(f"{path} cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError:
        raise InvalidSetting(f"{path} is not text in UTF-8: save it as such.") from None
    except RecursionError:
        raise InvalidSetting(f"{path}: lists or tables are nested too deeply.") from None
    except (tomllib.TOMLDecodeError, ValueError) as error:  # an endless number is a ValueError
        raise InvalidSetting(
            f'{path}: {error}. A line reads key = number, or key = "text" in quotes.'
        ) from None
    for key, value in keys.items():
        if key == "confidence":
            raise UnknownName(
                f"{path}: there is no key confidence: write the risk of a wrong answer, delta = "
                f"{_risk(value)}."
            )
        if key not in KEYS:
            raise UnknownName(f"{path}: {unknown_name('key', key, KEYS)}")
        if key in TEXTS and not (isinstance(value, str) and value.strip()):
            came = "" if key == "storage" else f", got {value!r}"  # it may contain a password
            raise InvalidSetting(f"{path}: {key} must be text in quotes{came}.")
    return ScreenFile(path, keys)


def _names(file: Path, otherwise: str = "") -> list[str]:
    """The names in a file, one a line."""
    lines = read_lines(file)
    for number, cells in lines:
        if len(cells) > 1:
            raise InvalidFeatures(
                f"{file}, line {number} has {len(cells)} cells: one name per line is expected, in "
                f"quotes if it has a comma.{otherwise}"
            )
    names = [cells[0] for _, cells in lines]
    if names and names[0].casefold() in HEADINGS:
        raise InvalidFeatures(
            f"{file}, line {lines[0][0]} is {names[0]!r}, which is a heading and no name: a file of "
            "names has none. Delete the line."
        )
    return names


def _risk(confidence: object) -> str:
    """The delta that goes with a confidence, which may be in per cent."""
    if isinstance(confidence, float | int) and 0 < confidence < 100:
        share = confidence if confidence < 1 else confidence / 100
        return f"{1 - share:.3g}"
    return "0.05"


def numbers_by_arm(file: Path, what: str) -> dict[str, float]:
    """A file of two columns: the name of an arm and a number."""
    names, _, rows = read_table(file, named=True)
    if len(rows[0]) != 1:
        raise InvalidFeatures(
            f"{file} has {len(rows[0]) + 1} columns where 2 are expected: the name of an arm and "
            f"its {what}. A decimal comma needs quotes around the number, or semicolons between "
            "the columns."
        )
    numbers: dict[str, float] = {}
    for name, [number] in zip(map(str, names or ()), rows, strict=True):
        if name in numbers:
            raise InvalidFeatures(f"{file} names the arm {name!r} twice: keep one {what}.")
        numbers[name] = number
    return numbers


def _read_parquet(file: Path) -> pd.DataFrame:
    import pandas as pd

    from shortlist.files.arrow import read_frame, require_pyarrow

    require_pyarrow("reading Parquet needs pyarrow")
    if not file.exists():
        raise InvalidFeatures(f"there is no file {file}: check the path.")
    table = read_frame(file, InvalidFeatures)
    if not table.shape[1]:
        raise InvalidFeatures(f"{file} has no columns: a name and numbers are expected.")
    if isinstance(table.index, pd.RangeIndex):  # it only counts the rows, and names nothing
        first = table.columns[0]
        if may_be_names(str(first), table[first].astype(str).tolist()):
            table = table.set_index(first)
    for column in table.columns[table.isna().any()]:
        arm = table.index[table[column].isna()][0]
        raise InvalidFeatures(
            f"{file}: {str(column)!r} of arm {str(arm)!r} is missing. Fill it in, or drop its row "
            "or its column."
        )
    return table

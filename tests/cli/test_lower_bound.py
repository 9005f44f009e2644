"""``shortlist bound``: what it prints, and files that it cannot use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shortlist
from command_line import fails, run


@pytest.fixture
def classic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> shortlist.instances.Instance:
    """The classic instance with ω = π/6 as files in the current folder."""
    monkeypatch.chdir(tmp_path)
    instance = shortlist.instances.classic(K=4, m=2, omega=np.pi / 6, sigma=0.5)
    np.savetxt("X.csv", instance.features, delimiter=",")
    np.savetxt("theta.csv", [1.0, 0.0, 0.0])
    np.savetxt("means.csv", instance.means)
    return instance


def test_bound_prints_the_bound_and_the_allocation(classic: Any) -> None:
    result = run("bound", "--features", "X.csv", "--theta", "theta.csv", "-m", 2, "--sigma", 0.5)
    assert result.exit_code == 0, result.output
    assert "T*           118.4" in result.stdout
    assert "evaluations  313." in result.stdout
    assert "δ = 0.05" in result.stdout
    arms = result.stdout.splitlines()[-4:]
    assert [line.split()[:2] for line in arms[:2]] == [["0", "*"], ["1", "*"]]
    assert sum(float(line.split()[-1]) for line in arms) == pytest.approx(1.0, abs=2e-4)


def test_bound_in_json_by_theta_and_by_means_is_the_same(classic: Any) -> None:
    common = ["bound", "--features", "X.csv", "-m", 2, "--sigma", 0.5, "--json", "--delta", 0.1]
    by_theta = json.loads(run(*common, "--theta", "theta.csv").stdout)
    by_means = json.loads(run(*common, "--means", "means.csv").stdout)
    assert by_theta["t_star"] == pytest.approx(118.45, rel=1e-3)
    assert by_means["t_star"] == pytest.approx(by_theta["t_star"], rel=1e-6)
    low, high = by_theta["bracket"]
    assert low <= by_theta["t_star"] <= high
    kl = 0.8 * np.log(9.0)  # kl(δ, 1−δ) = (1 − 2δ) log((1 − δ)/δ)
    assert by_theta["samples"] == pytest.approx(kl * by_theta["t_star"], rel=1e-6)
    assert sum(by_theta["allocation"].values()) == pytest.approx(1.0)
    assert (by_theta["delta"], by_theta["sigma"], by_theta["m"]) == (0.1, 0.5, 2)
    assert by_theta["unit"] == "evaluations"


def test_without_sigma_the_bound_is_in_units_of_its_square(classic: Any) -> None:
    words = ["bound", "--features", "X.csv", "--theta", "theta.csv", "-m", 2]
    said = run(*words).stdout
    assert " σ²  (between" in said
    assert "σ was not given" in said
    report = json.loads(run(*words, "--json").stdout)
    assert report["t_star"] == pytest.approx(118.45 / 0.5**2, rel=1e-3)
    assert (report["sigma"], report["unit"]) == (None, "evaluations / sigma^2")


def test_names_in_the_files_are_used_and_matched(classic: Any) -> None:
    Path("X.csv").write_text(
        ";length;width;depth\ngold;1;0;0\nsilver;1;1;0\nbrass;0.8660254;0;0.5\ntin;0;0;1\n"
    )
    Path("means.csv").write_text("arm,mean\ntin,0\nbrass,0.8660254\nsilver,1\ngold,1\n")
    Path("theta.csv").write_text("depth,width,length\n0,0,1\n")
    common = ["bound", "--features", "X.csv", "-m", 2, "--sigma", 0.5, "--json"]
    for truth in (["--means", "means.csv"], ["--theta", "theta.csv"]):
        report = json.loads(run(*common, *truth).stdout)
        assert list(report["allocation"]) == ["gold", "silver", "brass", "tin"]
        assert report["t_star"] == pytest.approx(118.45, rel=1e-3)


BAD_MEANS = {
    "means.csv has 2 numbers where 4 are expected: one per arm": "1\n2\n",
    "means.csv is a table of 2 × 3 numbers where one column or one line": "1,2,3\n4,5,6\n",
    "there is no file means.csv": None,
}


@pytest.mark.parametrize("message", BAD_MEANS)
def test_bad_means_are_named(classic: Any, message: str) -> None:
    Path("means.csv").unlink()
    if BAD_MEANS[message]:
        Path("means.csv").write_text(str(BAD_MEANS[message]))
    result = run("bound", "--features", "X.csv", "--means", "means.csv", "-m", 2, "--sigma", 1)
    fails(result, 2, message)


def test_names_that_do_not_match_are_named(classic: Any) -> None:
    Path("X.csv").write_text("a,1,0\nb,0,1\nc,1,1\n")
    Path("means.csv").write_text("a,1\nb,0\nd,2\n")
    result = run("bound", "--features", "X.csv", "--means", "means.csv", "-m", 1, "--sigma", 1)
    fails(result, 2, "means.csv names 'd' 1 times", "0 times")


def test_bad_settings_of_bound(classic: Any) -> None:
    common = ["bound", "--features", "X.csv", "--theta", "theta.csv"]
    fails(run(*common, "-m", 4, "--sigma", 1), 2, "m must be at least 1")
    fails(run(*common, "-m", 2, "--sigma", -1), 2, "sigma")
    fails(run(*common, "-m", 2, "--sigma", 1, "--delta", 1.5), 2, "delta")
    fails(run(*common, "-m", 1, "--sigma", 1), 2)  # means 1 and 1 at ranks 1 and 2
    both = run(*common, "--means", "means.csv", "-m", 2)
    neither = run("bound", "--features", "X.csv", "-m", 2)
    for result in (both, neither):
        assert result.exit_code == 2
        assert "exactly one of --theta" in result.stderr
    assert run("bound", "--theta", "theta.csv", "-m", 2).exit_code == 2


def test_a_decimal_comma_is_shown_with_the_point_it_needs() -> None:
    words = ["bound", "--features", "features.csv", "--means", "means.csv", "-m", 3]
    said = " ".join(run(*words, "--sigma", "0,5").stderr.split())
    assert "'0,5' is not a number. Write 0.5, with a decimal point." in said.replace(" │ │", "")
